/* SPDX-License-Identifier: MIT */
#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
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

static enum err apply_put_connections(const struct apply *self, struct json_writer *json,
                                      struct json names, struct error *reterr)
{
    size_t count = 0;
    enum err err = json_as_array(names, &count, reterr);
    json_member_array(json, "connection_ids");
    for (size_t i = 0; i < count && err == ERR_NONE; i++) {
        struct json found;
        err = manifest_find(&self->estate.connections, json_as_written(json_item(&names, i)),
                            &found, reterr);
        if (err == ERR_NONE) {
            json_text(json, show_text(&found, "id"));
        }
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
        return apply_put_connections(self, json, value, reterr);
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
           (item->kind->has_connections && slice_equals(name, SLICE("connection_ids")) &&
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
static enum err apply_explain(const struct apply *self, const struct apply_item *item, enum err err,
                              struct error *reterr)
{
    struct slice rest = SLICE_NONE;
    struct slice words = arena_copy(self->run->arena, slice_of_text(reterr->message));
    (void)slice_cut(words, '\'', &rest);
    struct slice path = rest.at == NULL ? SLICE("") : slice_cut(rest, '\'', &rest);
    path = slice_starts_with(path, SLICE("connection_ids")) ? SLICE("connections")
           : slice_equals(path, SLICE("agent_id"))          ? SLICE("agent")
                                                            : path;
    return fail(reterr, err, "%s:%zu: %s '%.*s': %.*s", item->file,
                yamltext_line_of(&item->document, path), item->kind->word, SLICE_ARG(item->name),
                SLICE_ARG(words));
}

static enum err apply_send_item(struct apply *self, const struct apply_item *item,
                                struct error *reterr)
{
    struct arena *arena = self->run->arena;
    struct client_answer answer = {0};
    struct buf buf CLEANUP(buf_wipe);
    buf_init(&buf, LIMIT_CLIENT_ANSWER_SIZE);
    struct json_writer json = json_writer_to(&buf);
    enum err err = apply_body(self, item, &json, reterr);
    if (err == ERR_NONE && json_writer_done(&json) != ERR_NONE) {
        err = fail(reterr, ERR_LIMIT, "it is too large");
    }
    bool is_new = item->action == APPLY_ADD && item->kind->behind == NULL;
    const struct client_request request = {
        .method = is_new ? "POST" : item->kind->method,
        .path = is_new ? slice_of_text(item->kind->path)
                       : manifest_path_in(arena, item->kind, item->name, &item->current),
        .body = buf_view(&buf),
    };
    if (err == ERR_NONE) {
        err = client_call(&self->run->client, &request, &answer, reterr);
    }
    return err == ERR_NONE ? err : apply_explain(self, item, err, reterr);
}

static enum err apply_delete(struct apply *self, const struct apply_item *item,
                             struct error *reterr)
{
    struct client_answer answer = {0};
    const struct client_request request = {
        .method = "DELETE",
        .path = manifest_path_in(self->run->arena, item->kind, item->name, &item->current),
    };
    enum err err = client_call(&self->run->client, &request, &answer, reterr);
    if (err == ERR_NONE || err == ERR_NOT_FOUND) { /* it went with what it belonged to */
        return ERR_NONE;
    }
    struct slice words = arena_copy(self->run->arena, slice_of_text(reterr->message));
    return fail(reterr, err, "%s '%.*s' is not deleted: %.*s", item->kind->word,
                SLICE_ARG(item->name), SLICE_ARG(words));
}

/* When all else is done, and what needs others before them. */
static enum err apply_send_deletions(struct apply *self, size_t *done, struct error *reterr)
{
    enum err err = ERR_NONE;
    for (size_t i = self->count; i > 0 && err == ERR_NONE; i--) {
        const struct apply_item *item = &self->items[i - 1];
        if (item->action == APPLY_DELETE) {
            err = apply_delete(self, item, reterr);
            *done += err == ERR_NONE ? 1 : 0;
        }
    }
    return err;
}

enum err apply_send(struct apply *self, struct error *reterr)
{
    const struct manifest_kind *before = NULL;
    size_t done = 0;
    enum err err = ERR_NONE;
    for (size_t i = 0; i < self->count && err == ERR_NONE; i++) {
        struct apply_item *item = &self->items[i];
        if (item->action == APPLY_KEEP || item->action == APPLY_DELETE) {
            continue;
        }
        if (item->kind != before && item->kind->has_connections) { /* some are new */
            err = manifest_estate_load(&self->estate, reterr);
        }
        before = item->kind;
        err = err == ERR_NONE ? apply_send_item(self, item, reterr) : err;
        done += err == ERR_NONE ? 1 : 0;
    }
    err = err == ERR_NONE ? apply_send_deletions(self, &done, reterr) : err;
    if (err == ERR_NONE && done > 0 && !client_wants_json(self->run)) {
        show_line(arena_format(self->run->arena, "%zu done", done));
    } else if (err != ERR_NONE) {
        (void)fprintf(stderr, "gatehouse: %zu were done before this, and stay\n", done);
    }
    return err;
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
