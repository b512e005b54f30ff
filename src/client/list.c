/* SPDX-License-Identifier: MIT */
/* Connections: which there are, what one is, how a client reaches it, and why one may. */
#include "base/limits.h"
#include "base/memory.h"
#include "client/credential.h"
#include "client/show.h"
#include "codec/url.h"

#define PAGE_SIZE 100

/* All of them ---------------------------------------------------------------------------------- */

struct list_pages {
    struct json *items;
    size_t count;
    size_t capacity;
};

static struct slice list_query_in(struct client_run *run)
{
    struct arena *arena = run->arena;
    struct slice tags = SLICE("");
    for (size_t i = 0; i < run->given.counts[CLIENT_TAG]; i++) {
        tags = arena_format(arena, "%.*s%s%s", SLICE_ARG(tags), i == 0 ? "" : ",",
                            run->given.values[CLIENT_TAG][i]);
    }
    return tags.len == 0
               ? SLICE("")
               : arena_format(arena, "&tag_selector=%.*s", SLICE_ARG(url_encode(arena, tags)));
}

/* 'type' may be that, or the subtype. */
static bool list_is_wanted(const struct client_run *run, const struct json *connection)
{
    const char *type = client_given(run, CLIENT_TYPE);
    return type == NULL || slice_equals(show_text(connection, "type"), slice_of_text(type)) ||
           slice_equals(show_text(connection, "subtype"), slice_of_text(type));
}

static void list_take(struct client_run *run, struct list_pages *all, const struct json *data,
                      size_t count)
{
    if (all->count + count > all->capacity) {
        size_t capacity = (all->count + count) * 2;
        struct json *items = arena_alloc_array(run->arena, capacity, sizeof(*items));
        for (size_t i = 0; i < all->count; i++) {
            items[i] = all->items[i];
        }
        all->items = items;
        all->capacity = capacity;
    }
    for (size_t i = 0; i < count; i++) {
        struct json item = json_item(data, i);
        if (list_is_wanted(run, &item)) {
            all->items[all->count++] = item;
        }
    }
}

static enum err list_read(struct client_run *run, struct list_pages *all, struct error *reterr)
{
    struct slice query = list_query_in(run);
    size_t count = PAGE_SIZE;
    enum err err = ERR_NONE;
    for (int64_t page = 1; err == ERR_NONE && count == PAGE_SIZE; page++) {
        struct json answer;
        err = client_get(&run->client,
                         arena_format(run->arena, "/api/connections?page=%lld&page_size=%d%.*s",
                                      (long long)page, PAGE_SIZE, SLICE_ARG(query)),
                         &answer, reterr);
        if (err == ERR_NONE) {
            struct json data = json_member(&answer, "data");
            err = json_as_array(data, &count, reterr);
            list_take(run, all, &data, err == ERR_NONE ? count : 0);
        }
    }
    return err;
}

enum err client_list(struct client_run *run, struct error *reterr)
{
    static const struct show_column columns[] = {{"NAME", "name"},
                                                 {"TYPE", "type"},
                                                 {"SUBTYPE", "subtype"},
                                                 {"STATUS", "status"},
                                                 {"TAGS", "connection_tags"}};
    struct list_pages all = {.count = 0};
    enum err err = client_open(run, reterr);
    if (err == ERR_NONE) {
        err = list_read(run, &all, reterr);
    }
    if (err == ERR_NONE) {
        show_list(run, all.items, all.count, columns, COUNT_OF(columns));
    }
    return err;
}

/* One ------------------------------------------------------------------------------------------ */

static enum err list_get(struct client_run *run, const char *behind, struct json *ret_json,
                         struct error *reterr)
{
    struct slice name = slice_of_text(run->given.words[0]);
    return client_get(&run->client,
                      arena_format(run->arena, "/api/connections/%.*s%s",
                                   SLICE_ARG(url_encode(run->arena, name)), behind),
                      ret_json, reterr);
}

static enum err list_show_properties(struct client_run *run, struct error *reterr)
{
    static const struct show_pair names[] = {{"name", "name", {0}},
                                             {"type", "type", {0}},
                                             {"subtype", "subtype", {0}},
                                             {"status", "status", {0}},
                                             {"resource", "resource_name", {0}},
                                             {"clients", "access_mode_connect", {0}},
                                             {"executions", "access_mode_exec", {0}},
                                             {"longest access", "access_max_duration", {0}},
                                             {"metadata", "mandatory_metadata_fields", {0}},
                                             {"reviewers", "reviewers", {0}},
                                             {"tags", "connection_tags", {0}}};
    struct json connection;
    struct show_pair pairs[COUNT_OF(names)];
    enum err err = list_get(run, "", &connection, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    if (client_wants_json(run)) {
        (void)printf("%.*s\n", SLICE_ARG(json_as_written(connection)));
        return ERR_NONE;
    }
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        pairs[i] = names[i];
        pairs[i].value = show_words_in(run->arena, json_member(&connection, names[i].member));
    }
    show_pairs(run, pairs, COUNT_OF(names));
    return ERR_NONE;
}

/* Before a credential is made of something that has no such form. */
static enum err list_show_form(struct client_run *run, enum client_form form,
                               enum client_option option, struct error *reterr)
{
    struct client_target target;
    enum err err = client_target_find(run, run->given.words[0], &target, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct client_credential credential = {.target = target,
                                           .host = SLICE(""),
                                           .user = SLICE(""),
                                           .password = SLICE(""),
                                           .database = SLICE("")};
    if (target.protocol->form_in(run->arena, &credential, form).at == NULL) {
        return fail(reterr, ERR_INPUT, "show: --%s makes no sense for '%s', which is of subtype %s",
                    client_options[option].name, run->given.words[0], target.protocol->subtype);
    }
    err = client_credential_make(run, &target, &credential, reterr);
    if (err == ERR_NONE) {
        struct slice text = target.protocol->form_in(run->arena, &credential, form);
        (void)printf("%.*s\n", SLICE_ARG(text));
    }
    return err;
}

enum err client_show(struct client_run *run, struct error *reterr)
{
    static const struct {
        enum client_option option;
        enum client_form form;
    } forms[] = {
        {CLIENT_SHOW_URL, CLIENT_FORM_URL},   {CLIENT_SHOW_JDBC, CLIENT_FORM_JDBC},
        {CLIENT_SHOW_DSN, CLIENT_FORM_DSN},   {CLIENT_SHOW_ENV, CLIENT_FORM_ENV},
        {CLIENT_SHOW_PSQL, CLIENT_FORM_PSQL}, {CLIENT_SHOW_MARIADB, CLIENT_FORM_MARIADB},
        {CLIENT_SHOW_SSH, CLIENT_FORM_SSH},   {CLIENT_SHOW_SSH_CONFIG, CLIENT_FORM_SSH_CONFIG}};
    size_t chosen = COUNT_OF(forms);
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        if (client_given(run, forms[i].option) != NULL && chosen < COUNT_OF(forms)) {
            return fail(reterr, ERR_INPUT,
                        "show: one of --url, --jdbc, --dsn, --env, --psql, --mariadb, --ssh and "
                        "--ssh-config");
        }
        chosen = client_given(run, forms[i].option) != NULL ? i : chosen;
    }
    enum err err = client_open(run, reterr);
    if (err != ERR_NONE || chosen == COUNT_OF(forms)) {
        return err == ERR_NONE ? list_show_properties(run, reterr) : err;
    }
    return list_show_form(run, forms[chosen].form, forms[chosen].option, reterr);
}

/* Why ------------------------------------------------------------------------------------------ */

struct why {
    struct client_run *run;
    struct json me;
    struct json connection;
    struct json controls;
    struct json access; /* absent: not for the caller to read */
    bool has_access;
    bool is_there;
};

static enum err why_read(struct why *self, struct error *reterr)
{
    struct client_run *run = self->run;
    struct error ignored;
    enum err err = client_get(&run->client, SLICE("/api/userinfo"), &self->me, reterr);
    if (err == ERR_NONE) {
        err = list_get(run, "", &self->connection, reterr);
    }
    self->is_there = err == ERR_NONE;
    if (err != ERR_NONE) {
        return err == ERR_NOT_FOUND ? ERR_NONE : err;
    }
    self->has_access = list_get(run, "/access", &self->access, &ignored) == ERR_NONE;
    return list_get(run, "/controls", &self->controls, reterr);
}

static struct slice why_words_in(struct arena *arena, const struct json *object, const char *member)
{
    return show_words_in(arena, json_member(object, member));
}

static struct slice why_groups(const struct why *self)
{
    if (self->has_access) {
        struct slice groups = why_words_in(self->run->arena, &self->access, "groups");
        return groups.len > 0 ? groups : SLICE("everybody: no group is named");
    }
    return SLICE("not for you to read: an admin or an auditor sees it");
}

/* All that can be done there to that degree. */
static struct slice why_controls_in(struct arena *arena, const struct json *controls,
                                    const char *degree)
{
    struct json_members members = json_members_of(controls);
    struct slice text = SLICE("");
    struct slice name;
    struct json value;
    while (json_next_member(&members, &name, &value)) {
        struct slice more = SLICE("");
        if (json_as_object(value, NULL) == ERR_NONE && slice_equals(name, SLICE("guardrails"))) {
            more = why_controls_in(arena, &value, degree);
        } else if (json_is_text(value) &&
                   slice_equals(json_as_written(value), slice_of_text(degree))) {
            more = name;
        }
        if (more.len > 0) {
            text = arena_format(arena, "%.*s%s%.*s", SLICE_ARG(text), text.len > 0 ? ", " : "",
                                SLICE_ARG(more));
        }
    }
    return text;
}

/* What stands in the way of a native client or a script, in the words of the connection. */
static struct slice why_way_in(struct arena *arena, const struct json *connection, bool is_exec)
{
    const char *member = is_exec ? "access_mode_exec" : "access_mode_connect";
    struct json features = json_member(connection, "effective_features");
    struct json request = json_member(&features, "access_request");
    size_t reviewers = 0;
    struct json list = json_member(connection, "reviewers");
    (void)!json_as_array(list, &reviewers, NULL);
    if (!slice_equals(show_text(connection, member), SLICE("enabled"))) {
        return arena_format(arena, "no: turned off for this connection ('%s')", member);
    }
    if (reviewers > 0 || show_is_true(&request, "jit") ||
        (is_exec && show_is_true(&request, "command"))) {
        return SLICE("only after a review");
    }
    return SLICE("yes");
}

static void why_print(const struct why *self)
{
    struct arena *arena = self->run->arena;
    const struct json *connection = &self->connection;
    struct json features = json_member(connection, "effective_features");
    const struct show_pair pairs[] = {
        {"connection", "connection", show_text(connection, "name")},
        {"you are", "user", show_text(&self->me, "email")},
        {"your role", "role", show_text(&self->me, "role")},
        {"your groups", "groups", why_words_in(arena, &self->me, "groups")},
        {"open to", "access_groups", why_groups(self)},
        {"clients", "connect", why_way_in(arena, connection, false)},
        {"scripts", "exec", why_way_in(arena, connection, true)},
        {"to be given", "mandatory_metadata_fields",
         why_words_in(arena, connection, "mandatory_metadata_fields")},
        {"guard rails", "guardrails",
         show_is_true(&features, "guardrails") ? SLICE("act here") : SLICE("none")},
        {"masking", "data_masking",
         show_is_true(&features, "data_masking") ? SLICE("acts here") : SLICE("none")},
        {"can be enforced", "enforced", why_controls_in(arena, &self->controls, "enforced")},
        {"only observed", "observed", why_controls_in(arena, &self->controls, "observed")},
        {"impossible", "impossible", why_controls_in(arena, &self->controls, "impossible")},
    };
    show_pairs(self->run, pairs, COUNT_OF(pairs));
}

enum err client_why(struct client_run *run, struct error *reterr)
{
    struct why self = {.run = run};
    enum err err = client_open(run, reterr);
    if (err == ERR_NONE) {
        err = why_read(&self, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    if (!self.is_there) {
        return fail(reterr, ERR_NOT_FOUND,
                    "'%s' is not there for %.*s: no such connection, or none of your groups (%.*s) "
                    "may use it; ask an admin of %.*s",
                    run->given.words[0], SLICE_ARG(show_text(&self.me, "email")),
                    SLICE_ARG(slice_sub(why_words_in(run->arena, &self.me, "groups"), 0, 100)),
                    SLICE_ARG(show_text(&self.me, "org_name")));
    }
    why_print(&self);
    return ERR_NONE;
}
