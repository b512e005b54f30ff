/* SPDX-License-Identifier: MIT */
/* The server: as PostgreSQL does it, where the language of pg_play.h reaches. */
#include "pg_play.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "wire/pgwire_answer.h"
#include "wire/pgwire_query.h"

#include <stdio.h>
#include <string.h>

#define OUT_SIZE LIMIT_MIB(64)

static const uint8_t no_seed[MAP_SEED_SIZE];

static void out(struct play_server *server, char type, struct slice body)
{
    const struct pgwire_frame frame = {
        .packet = PGWIRE_MESSAGE, .type = type, .size = (uint32_t)body.len};
    must(pgwire_header_write(&server->out, &frame) == ERR_NONE &&
         buf_append(&server->out, body) == ERR_NONE);
}

/* 'rest' are more fields. */
static void out_error(struct play_server *server, const char *sqlstate, struct slice rest)
{
    char body[100];
    int len = snprintf(body, sizeof(body), "SERROR%cVERROR%cC%s%cMno%c%.*s%c", 0, 0, sqlstate, 0, 0,
                       SLICE_ARG(rest), 0);
    out(server, PGWIRE_SERVER_ERROR, slice_of(body, (size_t)len + (rest.len > 0)));
}

static void out_notice(struct play_server *server)
{
    const struct pgwire_notice notice = {
        .severity = SLICE("NOTICE"), .sqlstate = SLICE("01000"), .message = SLICE("look")};
    must(pgwire_notice_write(&server->out, &notice) == ERR_NONE);
}

static void out_complete(struct play_server *server, const char *word, uint64_t count)
{
    char tag[64];
    int len = count == UINT64_MAX
                  ? snprintf(tag, sizeof(tag), "%s", word)
                  : snprintf(tag, sizeof(tag), "%s %llu", word, (unsigned long long)count);
    out(server, PGWIRE_SERVER_COMMAND_COMPLETE, slice_of(tag, (size_t)len + 1));
}

/* Names --------------------------------------------------------------------------------------- */

static void forget(struct map *map, struct slice name)
{
    struct buf *text = map_remove(map, name);
    if (text != NULL) {
        buf_release(text);
        memory_free(text);
    }
}

static void define(struct map *map, struct slice name, struct slice value)
{
    struct buf *text = memory_new(sizeof(*text));
    buf_init(text, OUT_SIZE);
    must(buf_append(text, value) == ERR_NONE);
    forget(map, name);
    (void)map_put(map, name, text);
}

static bool look_up(const struct map *map, struct slice name, struct slice *ret_text)
{
    const struct buf *text = map_get(map, name);
    *ret_text = text == NULL ? SLICE("") : buf_view(text);
    return text != NULL;
}

static void clear(struct map *map)
{
    struct slice name;
    void *text = NULL;
    for (size_t at = 0; map_next(map, &at, &name, &text);) {
        buf_release(text);
        memory_free(text);
    }
    map_release(map);
}

/* Transactions -------------------------------------------------------------------------------- */

static void commit(struct play_server *server)
{
    server->committed += server->changed;
    server->changed = 0;
    server->transaction = 'I';
}

static void roll_back(struct play_server *server)
{
    server->changed = 0;
    server->transaction = 'I';
}

static bool errs_with(struct play_server *server, const char *sqlstate, struct slice fields)
{
    out_error(server, sqlstate, fields);
    server->changed = 0;
    server->transaction = server->transaction == 'I' ? 'I' : 'E';
    return false;
}

static bool errs(struct play_server *server, const char *sqlstate)
{
    return errs_with(server, sqlstate, SLICE(""));
}

static void out_ready(struct play_server *server)
{
    if (server->transaction == 'I') {
        commit(server);
        clear(&server->portals);
        map_init(&server->portals, no_seed);
    }
    server->is_limited = false;
    server->has_controlled = false;
    out(server, PGWIRE_SERVER_READY, slice_of(&server->transaction, 1));
}

/* Statements ---------------------------------------------------------------------------------- */

static bool is_word(struct slice a, const char *b)
{
    return slice_equals(a, slice_of_text(b));
}

static uint64_t number_of(struct slice text)
{
    uint64_t number = 0;
    for (size_t i = 0; i < text.len && text.at[i] >= '0' && text.at[i] <= '9' && i < 9; i++) {
        number = number * 10 + (uint64_t)(text.at[i] - '0');
    }
    return number;
}

static bool is_one_of(struct slice word, const char *const *words)
{
    while (*words != NULL && !is_word(word, *words)) {
        words++;
    }
    return *words != NULL;
}

/* What parsing alone finds wrong, and what the rules say. */
static bool understands(struct play_server *server, struct slice text)
{
    static const char *const known[] = {"select",   "update", "fail",    "begin",     "commit",
                                        "rollback", "copy",   "prepare", "execute",   "deallocate",
                                        "blocked",  "warned", "BEGIN",   "COMMIT",    "ROLLBACK",
                                        "SELECT",   "show",   "send",    "returning", "reviewed",
                                        "worded",   NULL};
    struct slice rest = text;
    while (rest.len > 0) {
        struct slice part = slice_trim(slice_cut(rest, ';', &rest), " ");
        struct slice word = play_word(&part);
        if (word.len > 0 && !is_one_of(word, known)) {
            char where[20];
            int len = snprintf(where, sizeof(where), "P%zu", (size_t)(word.at - text.at) + 1);
            return errs_with(server, "42601", slice_of(where, (size_t)len));
        }
    }
    return true;
}

static bool run_transaction(struct play_server *server, struct slice word)
{
    if (slice_equals_nocase(word, SLICE("begin"))) {
        if (server->transaction == 'T') {
            out_notice(server);
        }
        server->transaction = 'T';
        out_complete(server, "BEGIN", UINT64_MAX);
        return true;
    }
    bool commits = slice_equals_nocase(word, SLICE("commit")) && server->transaction != 'E';
    if (server->transaction == 'I') {
        out_notice(server);
    }
    if (commits) {
        commit(server);
    } else {
        roll_back(server);
    }
    out_complete(server, commits ? "COMMIT" : "ROLLBACK", UINT64_MAX);
    return true;
}

static bool run_update(struct play_server *server, uint64_t rows)
{
    int64_t max = server->is_reference ? server->rules->max_rows : -1;
    if (max >= 0 && rows > (uint64_t)max) {
        return errs(server, "42501");
    }
    server->changed += rows;
    out_complete(server, "UPDATE", rows);
    return true;
}

/* Or copied to the client. */
static bool run_select(struct play_server *server, uint64_t rows, bool is_described, bool is_copy)
{
    if (is_copy) {
        out(server, PGWIRE_SERVER_COPY_OUT, slice_of("\0\0\0", 3));
    } else if (!is_described) {
        out(server, PGWIRE_SERVER_ROW_DESCRIPTION, slice_of("\0\0", 2));
    }
    for (uint64_t i = 0; i < rows && i < 1000; i++) {
        out(server, is_copy ? 'd' : 'D', is_copy ? SLICE("x\n") : slice_of("\0\0", 2));
    }
    if (is_copy) {
        out(server, PGWIRE_SERVER_COPY_DONE, SLICE(""));
    }
    out_complete(server, is_copy ? "COPY" : "SELECT", rows);
    return true;
}

/* One column, of text, the first of table 7. */
static const char description[] = "\0\1value\0\0\0\0\7\0\1\0\0\0\x19\xff\xff\xff\xff\xff\xff\0";

static bool run_show(struct play_server *server, struct slice value, bool is_described)
{
    const char head[] = {0, 1, 0, 0, (char)(value.len >> 8 & 0xff), (char)(value.len & 0xff)};
    struct buf body;
    if (!is_described) {
        out(server, PGWIRE_SERVER_ROW_DESCRIPTION, slice_of(description, sizeof(description)));
    }
    buf_init(&body, OUT_SIZE);
    must(buf_append(&body, slice_of(head, sizeof(head))) == ERR_NONE &&
         buf_append(&body, value) == ERR_NONE);
    out(server, PGWIRE_SERVER_DATA_ROW, buf_view(&body));
    out_complete(server, "SHOW", UINT64_MAX);
    buf_release(&body);
    return true;
}

static bool run(struct play_server *server, struct slice text, bool is_extended)
{
    struct slice rest = text;
    struct slice word = play_word(&rest);
    struct slice prepared;
    bool is_control = slice_equals_nocase(word, SLICE("begin")) ||
                      slice_equals_nocase(word, SLICE("commit")) ||
                      slice_equals_nocase(word, SLICE("rollback"));
    must(buf_append(&server->log, text) == ERR_NONE &&
         buf_append(&server->log, SLICE("\n")) == ERR_NONE);
    if (server->transaction == 'E' && (!is_control || slice_equals_nocase(word, SLICE("begin")))) {
        return errs(server, "25P02");
    }
    if (is_control) {
        return run_transaction(server, word);
    }
    if (is_word(word, "update")) {
        return run_update(server, number_of(rest));
    }
    if (is_word(word, "show")) {
        return run_show(server, rest, is_extended);
    }
    if (is_word(word, "fail")) {
        return errs(server, "42703");
    }
    if (is_word(word, "prepare")) {
        struct slice name = play_word(&rest);
        (void)play_word(&rest);
        if (look_up(&server->statements, name, &prepared)) {
            return errs(server, "42P05");
        }
        define(&server->statements, name, rest);
        out_complete(server, "PREPARE", UINT64_MAX);
        return true;
    }
    if (is_word(word, "deallocate")) {
        forget(&server->statements, play_word(&rest));
        out_complete(server, "DEALLOCATE", UINT64_MAX);
        return true;
    }
    if (is_word(word, "execute")) {
        bool is_known = look_up(&server->statements, play_word(&rest), &prepared);
        return is_known && slice_starts_with(prepared, SLICE("execute")) ? errs(server, "0A000")
               : is_known ? run(server, prepared, is_extended)
                          : errs(server, "26000");
    }
    if (is_word(word, "copy")) {
        out(server, PGWIRE_SERVER_COPY_IN, slice_of("\0\0\0", 3));
        server->is_copying = true;
        server->copies_extended = is_extended;
        server->copied = 0;
        return true;
    }
    bool is_copy = is_word(word, "send");
    bool has_number = is_copy || is_word(word, "select") || is_word(word, "returning");
    server->changed += is_word(word, "returning") ? number_of(rest) : 0;
    return run_select(server, has_number ? number_of(rest) : 1, is_extended, is_copy);
}

/* The rules, of a reference ------------------------------------------------------------------- */

struct thought {
    bool is_blocked;
    bool is_warned;
    bool is_update;
    bool is_control;
    size_t count;
};

static struct thought think(const struct play_server *server, struct slice text)
{
    struct thought thought = {0};
    struct slice rest = text;
    while (rest.len > 0) {
        struct slice part = slice_trim(slice_cut(rest, ';', &rest), " ");
        struct slice word = play_word(&part);
        struct slice prepared;
        thought.count += word.len > 0;
        thought.is_blocked = thought.is_blocked || is_word(word, "blocked");
        thought.is_warned = thought.is_warned || is_word(word, "warned");
        thought.is_update = thought.is_update || is_word(word, "update");
        thought.is_control = thought.is_control || is_word(word, "commit") ||
                             is_word(word, "rollback") || is_word(word, "begin");
        if (is_word(word, "prepare")) {
            (void)play_word(&part);
            (void)play_word(&part);
            thought.is_blocked = thought.is_blocked || is_word(play_word(&part), "blocked");
        }
        if (is_word(word, "execute") && look_up(&server->statements, play_word(&part), &prepared)) {
            bool is_nested = slice_starts_with(prepared, SLICE("execute"));
            struct thought inner = is_nested ? (struct thought){0} : think(server, prepared);
            thought.is_control = thought.is_control || inner.is_control;
            thought.is_update = thought.is_update || inner.is_update ||
                                slice_find(prepared, SLICE("update")) < prepared.len;
            thought.is_blocked =
                thought.is_blocked || inner.is_blocked ||
                (slice_starts_with(prepared, SLICE("execute")) && server->rules->blocks_unknown);
        } else if (is_word(word, "execute")) {
            thought.is_blocked = thought.is_blocked || server->rules->blocks_unknown;
        }
    }
    thought.is_blocked = thought.is_blocked && !server->rules->is_lenient;
    thought.is_update = thought.is_update && server->rules->max_rows >= 0;
    return thought;
}

static bool allows_query(struct play_server *server, struct slice text, bool is_in_batch)
{
    if (!server->is_reference) {
        return true;
    }
    struct thought thought = think(server, text);
    bool is_refused = thought.is_blocked || server->is_limited ||
                      (thought.is_update && (thought.count != 1 || is_in_batch));
    if (!is_refused && thought.is_warned) {
        out_notice(server);
    }
    return is_refused ? errs(server, "42501") : true;
}

static bool allows_execute(struct play_server *server, struct slice text, int32_t rows)
{
    if (!server->is_reference) {
        return true;
    }
    struct thought thought = think(server, text);
    bool is_refused =
        (server->is_limited && thought.is_control) ||
        (thought.is_update && (thought.count != 1 || rows > 0 || server->has_controlled));
    server->is_limited = server->is_limited || (!is_refused && thought.is_update);
    server->has_controlled =
        server->has_controlled || (thought.is_control && !slice_starts_with(text, SLICE("begin")));
    return is_refused ? errs(server, "42501") : true;
}

/* Messages ------------------------------------------------------------------------------------ */

static bool take_query(struct play_server *server, struct slice body)
{
    struct slice text;
    must(pgwire_query_read(body, &text, NULL) == ERR_NONE);
    bool goes_on = allows_query(server, text, server->is_in_batch) && understands(server, text);
    while (goes_on && text.len > 0 && !server->is_copying) {
        struct slice part = slice_trim(slice_cut(text, ';', &text), " ");
        goes_on = part.len == 0 || run(server, part, false);
    }
    server->is_in_batch = false;
    if (!server->is_copying) {
        out_ready(server);
    }
    return true;
}

static bool take_parse(struct play_server *server, struct slice body)
{
    struct pgwire_parse parse;
    struct slice text;
    must(pgwire_parse_read(body, &parse, NULL) == ERR_NONE);
    struct thought thought = think(server, parse.text);
    if (server->is_reference && thought.is_blocked) {
        return errs(server, "42501");
    }
    if (server->is_reference && thought.is_warned) {
        out_notice(server);
    }
    if (!understands(server, parse.text)) {
        return false;
    }
    if (thought.count > 1) {
        return errs(server, "42601");
    }
    if (parse.statement.len > 0 && look_up(&server->statements, parse.statement, &text)) {
        return errs(server, "42P05");
    }
    define(&server->statements, parse.statement, parse.text);
    out(server, PGWIRE_SERVER_PARSE_COMPLETE, SLICE(""));
    return true;
}

static bool take_bind(struct play_server *server, struct slice body)
{
    struct pgwire_bind bind;
    struct slice text;
    must(pgwire_bind_read(body, &bind, NULL) == ERR_NONE);
    bool is_known = look_up(&server->statements, bind.statement, &text);
    if (server->is_reference && !server->rules->is_lenient &&
        (is_known ? think(server, text).is_blocked : server->rules->blocks_unknown)) {
        return errs(server, "42501");
    }
    if (!is_known) {
        return errs(server, "26000");
    }
    define(&server->portals, bind.portal, text);
    out(server, PGWIRE_SERVER_BIND_COMPLETE, SLICE(""));
    return true;
}

static bool take_execute(struct play_server *server, struct slice body)
{
    struct pgwire_execute execute;
    struct slice text;
    must(pgwire_execute_read(body, &execute, NULL) == ERR_NONE);
    if (!look_up(&server->portals, execute.portal, &text)) {
        return errs(server, "34000");
    }
    return allows_execute(server, text, execute.row_count_max) && run(server, text, true);
}

static bool take_describe(struct play_server *server, struct slice body)
{
    struct pgwire_object object;
    struct slice text;
    must(pgwire_object_read(body, &object, NULL) == ERR_NONE);
    bool is_portal = object.kind == PGWIRE_PORTAL;
    if (!look_up(is_portal ? &server->portals : &server->statements, object.name, &text)) {
        return errs(server, is_portal ? "34000" : "26000");
    }
    if (!is_portal) {
        out(server, PGWIRE_SERVER_PARAMETER_DESCRIPTION, slice_of("\0\0", 2));
    }
    struct slice rest = text;
    if (is_word(play_word(&rest), "execute") &&
        !look_up(&server->statements, play_word(&rest), &text)) {
        return errs(server, "26000");
    }
    if (slice_starts_with(text, SLICE("show"))) {
        out(server, PGWIRE_SERVER_ROW_DESCRIPTION, slice_of(description, sizeof(description)));
    } else {
        out(server, PGWIRE_SERVER_NO_DATA, SLICE(""));
    }
    return true;
}

static bool take_close(struct play_server *server, struct slice body)
{
    struct pgwire_object object;
    must(pgwire_object_read(body, &object, NULL) == ERR_NONE);
    forget(object.kind == PGWIRE_STATEMENT ? &server->statements : &server->portals, object.name);
    out(server, PGWIRE_SERVER_CLOSE_COMPLETE, SLICE(""));
    return true;
}

static bool take_copy(struct play_server *server, char type)
{
    if (type == PGWIRE_CLIENT_COPY_DATA) {
        server->copied++;
        return true;
    }
    if (type == PGWIRE_CLIENT_FLUSH || type == PGWIRE_CLIENT_SYNC) {
        return true;
    }
    if (type != PGWIRE_CLIENT_COPY_DONE && type != PGWIRE_CLIENT_COPY_FAIL) {
        return false;
    }
    bool is_extended = server->copies_extended;
    server->is_copying = false;
    if (type == PGWIRE_CLIENT_COPY_DONE) {
        out_complete(server, "COPY", server->copied);
    } else {
        server->is_skipping = !errs(server, "57014") && is_extended;
    }
    if (!is_extended) {
        out_ready(server);
    }
    return true;
}

static bool take_extended(struct play_server *server, char type, struct slice body)
{
    server->is_in_batch = true;
    switch ((int)type) {
    case PGWIRE_CLIENT_PARSE:
        return take_parse(server, body);
    case PGWIRE_CLIENT_BIND:
        return take_bind(server, body);
    case PGWIRE_CLIENT_EXECUTE:
        return take_execute(server, body);
    case PGWIRE_CLIENT_CLOSE:
        return take_close(server, body);
    case PGWIRE_CLIENT_DESCRIBE:
        return take_describe(server, body);
    default:
        return true;
    }
}

static bool take(struct play_server *server, char type, struct slice body)
{
    if (server->is_copying) {
        return take_copy(server, type);
    }
    if (type == PGWIRE_CLIENT_SYNC) {
        server->is_skipping = false;
        server->is_in_batch = false;
        out_ready(server);
        return true;
    }
    if (server->is_skipping) {
        return true;
    }
    if (type == PGWIRE_CLIENT_QUERY) {
        return take_query(server, body);
    }
    server->is_skipping = !take_extended(server, type, body);
    return true;
}

/* From outside -------------------------------------------------------------------------------- */

void play_server_start(struct play_server *server, bool is_reference,
                       const struct play_rules *rules)
{
    *server =
        (struct play_server){.is_reference = is_reference, .rules = rules, .transaction = 'I'};
    buf_init(&server->in, OUT_SIZE);
    buf_init(&server->out, OUT_SIZE);
    buf_init(&server->log, OUT_SIZE);
    buf_init(&server->body, OUT_SIZE);
    pgwire_framer_init(&server->framer, PGWIRE_FROM_CLIENT);
    pgwire_framer_skip_start(&server->framer);
    map_init(&server->statements, no_seed);
    map_init(&server->portals, no_seed);
}

void play_server_end(struct play_server *server)
{
    clear(&server->statements);
    clear(&server->portals);
    buf_release(&server->in);
    buf_release(&server->out);
    buf_release(&server->log);
    buf_release(&server->body);
}

bool play_server_run(struct play_server *server)
{
    bool is_sound = true;
    while (is_sound && server->in.len > 0) {
        struct pgwire_event event;
        size_t taken = 0;
        enum err err =
            pgwire_framer_next(&server->framer, buf_view(&server->in), &taken, &event, NULL);
        if (err != ERR_NONE && err != ERR_MORE) {
            return false;
        }
        const struct pgwire_frame *frame = &server->framer.frame;
        if (err == ERR_NONE && event.kind == PGWIRE_EVENT_HEADER && frame->size > 0) {
            must(pgwire_framer_collect(&server->framer, &server->body, NULL) == ERR_NONE);
        } else if (err == ERR_NONE) {
            is_sound = take(server, frame->type, event.bytes);
            buf_clear(&server->body);
        }
        buf_consume(&server->in, taken);
    }
    return is_sound;
}
