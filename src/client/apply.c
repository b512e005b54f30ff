/* SPDX-License-Identifier: MIT */
#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"
#include "client/apply_internal.h"
#include "client/show.h"

/* What is shown -------------------------------------------------------------------------------- */

static const char *const apply_marks[] = {
    [APPLY_KEEP] = " ", [APPLY_ADD] = "+", [APPLY_CHANGE] = "~", [APPLY_DELETE] = "-"};
static const char *const apply_words[] = {[APPLY_KEEP] = "keep",
                                          [APPLY_ADD] = "add",
                                          [APPLY_CHANGE] = "change",
                                          [APPLY_DELETE] = "delete"};

static void apply_print_item(const struct apply *self, const struct apply_item *item)
{
    struct arena *arena = self->run->arena;
    if (item->action != APPLY_KEEP) {
        show_line(arena_format(arena, "%s %s '%.*s'", apply_marks[item->action], item->kind->word,
                               SLICE_ARG(item->name)));
    }
    for (size_t i = 0; i < item->change_count; i++) {
        const struct apply_change *change = &item->changes[i];
        struct slice from = slice_sub(change->from, 0, 200);
        show_line(item->action == APPLY_ADD
                      ? arena_format(arena, "    %.*s: %.*s", SLICE_ARG(change->member),
                                     SLICE_ARG(slice_sub(change->to, 0, 200)))
                      : arena_format(arena, "    %.*s: %.*s -> %.*s", SLICE_ARG(change->member),
                                     SLICE_ARG(from.len == 0 ? SLICE("nothing") : from),
                                     SLICE_ARG(slice_sub(change->to, 0, 200))));
    }
}

static void apply_print_json(const struct apply *self)
{
    struct buf buf;
    buf_init(&buf, LIMIT_CLIENT_ANSWER_SIZE);
    struct json_writer json = json_writer_to(&buf);
    json_begin_array(&json);
    for (size_t i = 0; i < self->count; i++) {
        const struct apply_item *item = &self->items[i];
        json_begin_object(&json);
        json_member_text(&json, "action", slice_of_text(apply_words[item->action]));
        json_member_text(&json, "kind", slice_of_text(item->kind->word));
        json_member_text(&json, "name", item->name);
        json_member_array(&json, "changes");
        for (size_t j = 0; j < item->change_count; j++) {
            json_text(&json, item->changes[j].member);
        }
        json_end_array(&json);
        json_member_int(&json, "not_compared", (int64_t)item->hidden_count);
        json_end_object(&json);
    }
    json_end_array(&json);
    must(json_writer_done(&json) == ERR_NONE);
    (void)printf("%.*s\n", SLICE_ARG(buf_view(&buf)));
    buf_release(&buf);
}

void apply_print(const struct apply *self)
{
    size_t counts[COUNT_OF(apply_marks)] = {0};
    size_t hidden_count = 0;
    for (size_t i = 0; i < self->count; i++) {
        counts[self->items[i].action]++;
        hidden_count += self->items[i].hidden_count;
    }
    if (client_wants_json(self->run)) {
        apply_print_json(self);
        return;
    }
    for (size_t i = 0; i < self->count; i++) {
        apply_print_item(self, &self->items[i]);
    }
    if (self->prunes) {
        show_line(arena_format(
            self->run->arena, "%zu to add, %zu to change, %zu to delete, %zu as they are",
            counts[APPLY_ADD], counts[APPLY_CHANGE], counts[APPLY_DELETE], counts[APPLY_KEEP]));
    } else {
        show_line(arena_format(self->run->arena, "%zu to add, %zu to change, %zu as they are",
                               counts[APPLY_ADD], counts[APPLY_CHANGE], counts[APPLY_KEEP]));
    }
    if (hidden_count > 0) {
        show_line(arena_format(self->run->arena,
                               "%zu values of secrets are there and cannot be compared: --secrets "
                               "writes them again",
                               hidden_count));
    }
    (void)fflush(stdout);
}

/* What is sent --------------------------------------------------------------------------------- */

static enum err apply_put_connections(struct json_writer *json, struct json names,
                                      struct error *reterr)
{
    size_t count = 0;
    enum err err = json_as_array(names, &count, reterr);
    json_member_array(json, "connection_names");
    for (size_t i = 0; i < count && err == ERR_NONE; i++) {
        json_text(json, json_as_written(json_item(&names, i)));
    }
    json_end_array(json);
    return err;
}

/* A PATCH keeps those that are not sent. With a PUT they would go, so they are sent as the gateway
 * showed them: null is one that it does not show. */
static void apply_put_pairs(const struct apply_item *item, struct json_writer *json,
                            struct json pairs)
{
    struct json there = manifest_member(&item->current, slice_of_text(item->kind->pairs));
    struct json_members members = json_members_of(&there);
    struct slice key;
    struct json value;
    bool is_whole = strcmp(item->kind->method, "PUT") == 0;
    json_key(json, item->kind->pairs);
    json_begin_object(json);
    while (is_whole && json_next_member(&members, &key, &value)) {
        if (json_is_absent(manifest_member(&pairs, key))) {
            json_key_text(json, key);
            manifest_put(json, value);
        }
    }
    members = json_members_of(&pairs);
    for (size_t i = 0; json_next_member(&members, &key, &value); i++) {
        bool stays = item->pair_values[i].at == NULL;
        if (stays && is_whole) {
            json_key_text(json, key);
            manifest_put(json, manifest_member(&there, key));
        } else if (!stays) {
            json_key_text(json, key);
            json_text(json, item->pair_values[i]);
        }
    }
    json_end_object(json);
}

static enum err apply_put_member(const struct apply *self, const struct apply_item *item,
                                 struct json_writer *json, struct slice name, struct json value,
                                 struct error *reterr)
{
    if (item->kind->pairs != NULL && slice_equals(name, slice_of_text(item->kind->pairs))) {
        apply_put_pairs(item, json, value);
        return ERR_NONE;
    }
    if (item->kind->has_connections && slice_equals(name, SLICE("connections"))) {
        return apply_put_connections(json, value, reterr);
    }
    if (item->kind->has_agent && slice_equals(name, SLICE("agent"))) {
        struct json agent;
        enum err err = manifest_find(&self->estate.agents, json_as_written(value), &agent, reterr);
        if (err == ERR_NONE) {
            json_member_text(json, "agent_id", show_text(&agent, "id"));
        }
        return err;
    }
    json_key_text(json, name);
    manifest_put(json, value);
    return ERR_NONE;
}

/* Of what a member is called in a document, and in the API. */
static bool apply_is_said(const struct apply_item *item, struct slice name)
{
    const struct json *said = &item->document.json;
    return !json_is_absent(manifest_member(said, name)) ||
           (item->kind->has_agent && slice_equals(name, SLICE("agent_id")) &&
            !json_is_absent(json_member(said, "agent"))) ||
           (item->kind->has_connections &&
            (slice_equals(name, SLICE("connection_ids")) ||
             slice_equals(name, SLICE("connection_names"))) &&
            !json_is_absent(json_member(said, "connections")));
}

/* A PUT replaces all, so it has what the document leaves out as it is. */
static enum err apply_body(const struct apply *self, const struct apply_item *item,
                           struct json_writer *json, struct error *reterr)
{
    bool is_whole = item->kind->method == NULL || strcmp(item->kind->method, "PUT") == 0;
    struct json_members members = json_members_of(&item->current);
    struct slice name;
    struct json value;
    enum err err = ERR_NONE;
    json_begin_object(json);
    if (item->kind->behind == NULL) {
        json_member_text(json, "name", item->name);
    }
    while (is_whole && item->action == APPLY_CHANGE && json_next_member(&members, &name, &value)) {
        if (!slice_equals(name, SLICE("name")) && !apply_is_said(item, name) &&
            !manifest_is_made_by_gateway(item->kind, name)) {
            json_key_text(json, name);
            manifest_put(json, value);
        }
    }
    members = json_members_of(&item->document.json);
    while (err == ERR_NONE && json_next_member(&members, &name, &value)) {
        if (!slice_equals(name, SLICE("kind")) && !slice_equals(name, SLICE("name"))) {
            err = apply_put_member(self, item, json, name, value, reterr);
        }
    }
    json_end_object(json);
    return err;
}

/* The gateway names the member that it means in quotes; the file has a line for that. */
static enum err apply_explain(const struct apply_item *item, enum err err, struct slice words,
                              struct error *reterr)
{
    struct slice rest = SLICE_NONE;
    if (item->action == APPLY_DELETE) {
        return fail(reterr, err, "%s '%.*s' is not deleted: %.*s", item->kind->word,
                    SLICE_ARG(item->name), SLICE_ARG(words));
    }
    (void)slice_cut(words, '\'', &rest);
    struct slice path = rest.at == NULL ? SLICE("") : slice_cut(rest, '\'', &rest);
    path = slice_starts_with(path, SLICE("connection_names")) ? SLICE("connections")
           : slice_equals(path, SLICE("agent_id"))            ? SLICE("agent")
                                                              : path;
    return fail(reterr, err, "%s:%zu: %s '%.*s': %.*s", item->file,
                yamltext_line_of(&item->document, path), item->kind->word, SLICE_ARG(item->name),
                SLICE_ARG(words));
}

static enum err apply_add_operation(const struct apply *self, const struct apply_item *item,
                                    struct json_writer *json, struct error *reterr)
{
    struct buf buf CLEANUP(buf_wipe);
    bool is_new = item->action == APPLY_ADD && item->kind->behind == NULL;
    bool is_deletion = item->action == APPLY_DELETE;
    buf_init(&buf, LIMIT_CLIENT_ANSWER_SIZE);
    struct json_writer body = json_writer_to(&buf);
    enum err err = is_deletion ? ERR_NONE : apply_body(self, item, &body, reterr);
    if (err == ERR_NONE && !is_deletion && json_writer_done(&body) != ERR_NONE) {
        err = fail(reterr, ERR_LIMIT, "%s '%.*s' is too large", item->kind->word,
                   SLICE_ARG(item->name));
    }
    json_begin_object(json);
    json_member_text(json, "method",
                     slice_of_text(is_deletion ? "DELETE"
                                   : is_new    ? "POST"
                                               : item->kind->method));
    json_member_text(
        json, "path",
        is_new ? slice_of_text(item->kind->path)
               : manifest_path_in(self->run->arena, item->kind, item->name, &item->current));
    if (!is_deletion) {
        json_member_text(json, "body", buf_view(&buf));
    }
    json_end_object(json);
    return err;
}

/* Of an operation's number, counted from 1, as the gateway's words begin with it; 0: of none. */
static size_t apply_failed_number(struct slice words, struct slice *ret_words)
{
    struct slice rest = SLICE_NONE;
    uint64_t number = 0;
    *ret_words = words;
    if (!slice_starts_with(words, SLICE("operation "))) {
        return 0;
    }
    struct slice text = slice_cut(slice_from(words, strlen("operation ")), ':', &rest);
    if (rest.at == NULL || text_parse_u64(text, &number) != ERR_NONE) {
        return 0;
    }
    *ret_words = slice_trim(rest, " ");
    return (size_t)number;
}

static enum err apply_blame(const struct apply *self, const struct apply_item *const *order,
                            size_t count, enum err err, struct error *reterr)
{
    struct slice words = arena_copy(self->run->arena, slice_of_text(reterr->message));
    size_t number = apply_failed_number(words, &words);
    (void)fprintf(stderr, "gatehouse: nothing was changed\n");
    return number == 0 || number > count ? err
                                         : apply_explain(order[number - 1], err, words, reterr);
}

/* Things in the order in which they need each other; deletions behind all else, in the other one.
 */
static size_t apply_order(const struct apply *self, const struct apply_item **ret_order)
{
    size_t count = 0;
    for (size_t i = 0; i < self->count; i++) {
        const struct apply_item *item = &self->items[i];
        if (item->action != APPLY_KEEP && item->action != APPLY_DELETE) {
            ret_order[count++] = item;
        }
    }
    for (size_t i = self->count; i > 0; i--) {
        if (self->items[i - 1].action == APPLY_DELETE) {
            ret_order[count++] = &self->items[i - 1];
        }
    }
    return count;
}

/* All in one request, which the gateway does whole or not at all. */
enum err apply_send(struct apply *self, struct error *reterr)
{
    const struct apply_item **order =
        arena_alloc_array(self->run->arena, self->count + 1, sizeof(*order));
    size_t count = apply_order(self, order);
    struct client_answer answer = {0};
    struct buf buf CLEANUP(buf_wipe);
    enum err err = ERR_NONE;
    buf_init(&buf, LIMIT_CLIENT_ANSWER_SIZE);
    if (count == 0) {
        return ERR_NONE;
    }
    struct json_writer json = json_writer_to(&buf);
    json_begin_object(&json);
    json_member_array(&json, "operations");
    for (size_t i = 0; i < count && err == ERR_NONE; i++) {
        err = apply_add_operation(self, order[i], &json, reterr);
    }
    json_end_array(&json);
    json_end_object(&json);
    if (err == ERR_NONE && json_writer_done(&json) != ERR_NONE) {
        err = fail(reterr, ERR_LIMIT, "what is to be changed is too large for one request");
    }
    if (err != ERR_NONE) {
        return err;
    }
    const struct client_request request = {
        .method = "POST", .path = SLICE("/api/apply"), .body = buf_view(&buf)};
    err = client_call(&self->run->client, &request, &answer, reterr);
    if (err != ERR_NONE) {
        return apply_blame(self, order, count, err, reterr);
    }
    if (!client_wants_json(self->run)) {
        show_line(arena_format(self->run->arena, "%zu done", count));
    }
    return ERR_NONE;
}

enum err client_apply(struct client_run *run, struct error *reterr)
{
    struct apply self = {.run = run,
                         .estate = {.run = run},
                         .writes_hidden = client_given(run, CLIENT_SECRETS) != NULL,
                         .prunes = client_given(run, CLIENT_PRUNE) != NULL};
    const char *path = client_given(run, CLIENT_FROM);
    if (path == NULL) {
        return fail(reterr, ERR_INPUT,
                    "apply: -f says which folder or file; see 'gatehouse apply "
                    "--help'");
    }
    enum err err = apply_read(&self, path, reterr);
    if (err == ERR_NONE) {
        err = client_open(run, reterr);
    }
    if (err == ERR_NONE) {
        err = apply_plan(&self, reterr);
    }
    if (err == ERR_NONE) {
        apply_print(&self);
    }
    return err == ERR_NONE && client_given(run, CLIENT_PLAN) == NULL ? apply_send(&self, reterr)
                                                                     : err;
}
