/* SPDX-License-Identifier: MIT */
#include "pg_play.h"

#include "pg_facts_made.h"

#include "base/arena.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/reader.h"
#include "base/text.h"
#include "wire/pgwire_answer.h"
#include "wire/pgwire_query.h"

#include <string.h>

#define SIZE_MAX_OF_ALL LIMIT_MIB(64)

static void append(struct buf *buf, struct slice bytes)
{
    must(buf_append(buf, bytes) == ERR_NONE);
}

/* The language -------------------------------------------------------------------------------- */

struct slice play_word(struct slice *rest)
{
    *rest = slice_trim(*rest, " ");
    struct slice behind;
    struct slice word = slice_cut(*rest, ' ', &behind);
    *rest = slice_trim(behind, " ");
    return word;
}

static bool next_statement(struct slice *text, struct slice *ret_statement)
{
    while (text->len > 0) {
        struct slice rest;
        *ret_statement = slice_trim(slice_cut(*text, ';', &rest), " ");
        *text = rest;
        if (ret_statement->len > 0) {
            return true;
        }
    }
    return false;
}

static const struct {
    struct slice word;
    enum sql_operation operation;
} verbs[] = {
    {SLICE_INIT("select"), SQL_SELECT},         {SLICE_INIT("update"), SQL_UPDATE},
    {SLICE_INIT("begin"), SQL_BEGIN},           {SLICE_INIT("commit"), SQL_COMMIT},
    {SLICE_INIT("rollback"), SQL_ROLLBACK},     {SLICE_INIT("copy"), SQL_COPY},
    {SLICE_INIT("prepare"), SQL_PREPARE},       {SLICE_INIT("execute"), SQL_EXECUTE},
    {SLICE_INIT("deallocate"), SQL_DEALLOCATE}, {SLICE_INIT("send"), SQL_COPY},
    {SLICE_INIT("returning"), SQL_INSERT},      {SLICE_INIT("reviewed"), SQL_GRANT},
};

/* The rules ----------------------------------------------------------------------------------- */

static void analyze(struct sql_statement *statement, struct slice text)
{
    struct slice rest = text;
    struct slice word = play_word(&rest);
    statement->verb = SQL_SELECT;
    statement->why = "";
    for (size_t i = 0; i < COUNT_OF(verbs); i++) {
        if (slice_equals(word, verbs[i].word)) {
            statement->verb = verbs[i].operation;
        }
    }
    statement->operations = SQL_BIT(statement->verb);
    statement->prepared = SLICE("");
    if (statement->verb == SQL_PREPARE || statement->verb == SQL_EXECUTE ||
        statement->verb == SQL_DEALLOCATE) {
        statement->prepared = play_word(&rest);
        statement->is_unknown = statement->verb == SQL_EXECUTE;
    }
    if (statement->verb == SQL_PREPARE) {
        struct sql_statement inner = {0};
        (void)play_word(&rest);
        analyze(&inner, rest);
        statement->operations |= inner.operations;
        statement->without_where = inner.without_where;
    }
    /* That a statement is to be blocked is carried by a member that this language does not need. */
    statement->without_where = statement->without_where || slice_equals(word, SLICE("blocked"));
}

static struct sql_script play_analyze(struct arena *arena, const struct sql_settings *settings,
                                      struct slice text)
{
    struct sql_script script = {
        .statements = arena_alloc_array(arena, text.len + 1, sizeof(*script.statements))};
    struct slice rest = text;
    struct slice part;
    (void)settings;
    while (next_statement(&rest, &part)) {
        struct sql_statement *statement = &script.statements[script.count++];
        statement->offset = (size_t)(part.at - text.at);
        statement->len = part.len;
        analyze(statement, part);
    }
    return script;
}

static void find(struct guard_verdict *verdict, enum guard_action action, const char *rule,
                 const char *why)
{
    if (verdict->count < GUARD_FINDINGS_MAX) {
        verdict->findings[verdict->count++] = (struct guard_finding){
            .action = action,
            .guardrail_name = SLICE("play"),
            .rule_name = slice_of_text(rule),
            .rule_type = SLICE("sql"),
            .message = SLICE("not that"),
            .why = slice_of_text(why),
        };
    }
    verdict->action = action > verdict->action ? action : verdict->action;
}

static void play_judge_script(void *context, const struct sql_settings *settings, struct slice text,
                              const struct sql_script *script, struct guard_verdict *verdict)
{
    struct play_rules *rules = context;
    (void)settings;
    *verdict = (struct guard_verdict){.action = GUARD_PASS, .max_rows = -1};
    rules->judged_count++;
    if (script == NULL && rules->blocks_unknown) {
        find(verdict, GUARD_BLOCK, "unknown", "it is not SQL");
    }
    for (size_t i = 0; script != NULL && i < script->count; i++) {
        const struct sql_statement *statement = &script->statements[i];
        struct slice rest = slice_sub(text, statement->offset, statement->len);
        bool is_known = !statement->is_unknown || !rules->blocks_unknown;
        if (!rules->is_lenient && (statement->without_where || !is_known)) {
            find(verdict, GUARD_BLOCK, "words", statement->without_where ? "" : "unknown");
        }
        struct slice word = play_word(&rest);
        if (slice_equals(word, SLICE("warned"))) {
            find(verdict, GUARD_WARN, "words", "");
        }
        if ((statement->operations & SQL_BIT(SQL_GRANT)) != 0 ||
            slice_equals(word, SLICE("worded"))) {
            find(verdict, GUARD_REVIEW, "review", "");
        }
        if ((statement->operations & SQL_BIT(SQL_UPDATE)) != 0) {
            verdict->max_rows = rules->max_rows;
            verdict->max_rows_rule = (struct guard_finding){
                .action = GUARD_BLOCK,
                .guardrail_name = SLICE("play"),
                .rule_name = SLICE("rows"),
                .rule_type = SLICE("sql"),
                .message = SLICE("fewer"),
                .why = SLICE(""),
            };
        }
    }
    if (script != NULL && script->count == 0 && !rules->is_lenient &&
        slice_equals(text, SLICE("bad value"))) {
        find(verdict, GUARD_BLOCK, "value", "");
    }
    if (script != NULL && script->count == 0 && slice_equals(text, SLICE("doubtful value"))) {
        find(verdict, GUARD_REVIEW, "value", "");
    }
}

static void play_judge(void *context, const struct sql_settings *settings, struct slice text,
                       struct guard_verdict *verdict, struct guard_facts *facts)
{
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    struct sql_script script = play_analyze(&arena, settings, text);
    play_judge_script(context, settings, text, &script, verdict);
    *facts = (struct guard_facts){.statement_count = script.count, .prepared = SLICE("")};
    for (size_t i = 0; i < script.count; i++) {
        facts->operations |= script.statements[i].operations;
        facts->is_unknown = facts->is_unknown || script.statements[i].is_unknown;
    }
    if (script.count > 0) {
        facts->verb = script.statements[0].verb;
        facts->prepared = script.statements[0].prepared;
        facts->is_counted_write = script.count == 1 && facts->verb == SQL_UPDATE;
    }
}

void play_policy(struct play_rules *rules, uint64_t generation, struct passage_policy *policy)
{
    *policy = (struct passage_policy){
        .generation = generation,
        .looks_at_values = true,
        .asks_review = true,
        .judge = play_judge,
        .analyze = play_analyze,
        .judge_script = play_judge_script,
        .context = rules,
        .masking = rules->masking,
        .output = rules->output,
        .budgets = rules->budgets,
        .budget_count = rules->budget_count,
    };
}

/* What the client sees ------------------------------------------------------------------------ */

static void tell_message(char type, struct slice body, struct buf *text)
{
    struct slice rest;
    append(text, slice_of(&type, 1));
    if (type == PGWIRE_SERVER_ERROR || type == PGWIRE_SERVER_COMMAND_COMPLETE ||
        type == PGWIRE_SERVER_READY) {
        append(text, SLICE("("));
        append(text, type == PGWIRE_SERVER_READY   ? body
                     : type == PGWIRE_SERVER_ERROR ? pgwire_notice_find(body, PGWIRE_FIELD_SQLSTATE)
                                                   : slice_cut(body, '\0', &rest));
        append(text, SLICE(")"));
    }
    append(text, SLICE(" "));
}

void play_tell(struct slice bytes, struct buf *text)
{
    struct reader reader = reader_of(bytes);
    while (reader_left(&reader) > 0) {
        char type = (char)reader_u8(&reader);
        struct slice body = reader_view(&reader, reader_u32(&reader) - 4);
        must(!reader.failed);
        tell_message(type, body, text);
    }
}

/* A client --------------------------------------------------------------------------------------
 */

void play_query(struct buf *buf, const char *text)
{
    must(pgwire_query_write(buf, slice_of_text(text)) == ERR_NONE);
}

void play_parse(struct buf *buf, const char *name, const char *text)
{
    must(pgwire_parse_write(buf, slice_of_text(name), slice_of_text(text)) == ERR_NONE);
}

void play_bind(struct buf *buf, const char *portal, const char *name)
{
    must(pgwire_bind_portal_write(buf, slice_of_text(portal), slice_of_text(name)) == ERR_NONE);
}

void play_execute(struct buf *buf, const char *portal, int32_t rows)
{
    const struct pgwire_execute execute = {.portal = slice_of_text(portal), .row_count_max = rows};
    must(pgwire_execute_write(buf, &execute) == ERR_NONE);
}

void play_sync(struct buf *buf)
{
    must(pgwire_sync_write(buf) == ERR_NONE);
}

void play_extended(struct buf *buf, const char *text)
{
    play_parse(buf, "", text);
    play_bind(buf, "", "");
    play_execute(buf, "", 0);
}

/* A session -------------------------------------------------------------------------------------
 */

static void on_event(void *owner, const struct guard_event *event)
{
    static const char *const words[] = {[GUARD_EVENT_FINDING] = "found",
                                        [GUARD_EVENT_REFUSED] = "refused",
                                        [GUARD_EVENT_TOO_MANY] = "too many"};
    struct play *play = owner;
    append(&play->events, slice_of_text(words[event->kind]));
    append(&play->events, SLICE(";"));
}

static void on_ask(void *owner)
{
    struct play *play = owner;
    must(!play->is_asked);
    play->is_asked = true;
    play->lookup_count++;
}

/* The columns of one table. */
static bool on_known(void *owner, struct catalog_known *ret_known)
{
    struct play *play = owner;
    *ret_known = (struct catalog_known){.facts = play->facts, .stamp = {.at_us = 1}};
    return play->is_known;
}

static struct catalog_stamp on_stamp(void *owner)
{
    (void)owner;
    return (struct catalog_stamp){.at_us = 1};
}

static void on_change(void *owner, enum catalog_change what, bool is_over)
{
    (void)what;
    (void)owner;
    (void)is_over;
}

static const struct passage_events catalog = {
    .on_ask = on_ask, .on_known = on_known, .on_stamp = on_stamp, .on_change = on_change};

void play_inform(struct play *play)
{
    static const pg_facts_made_row table[] = {
        {"r", "7", "public", "things", "r", "", "1:value,2:n"}};
    play->is_asked = false;
    play->is_known = true;
    if (!play->is_ignorant && play->facts == NULL) {
        play->facts = pg_facts_made(play->rules.masking, table, COUNT_OF(table));
    }
    pg_filter_informed(play->filter);
}

static void on_block(void *owner)
{
    struct play *play = owner;
    play->block_count++;
}

static bool on_read(void *owner, const struct read_amount *more, const struct read_amount *most,
                    struct read_hour *ret_hour)
{
    struct play *play = owner;
    bool is_read =
        play->hour.rows + more->rows <= most->rows && play->hour.bytes + more->bytes <= most->bytes;
    if (is_read) {
        play->hour.rows += more->rows;
        play->hour.bytes += more->bytes;
    }
    *ret_hour =
        (struct read_hour){.read = play->hour, .falls_in_ms = play->hour.rows > 0 ? 119000 : 0};
    return is_read;
}

static void on_hold(void *owner, const struct held_statement *held)
{
    struct play *play = owner;
    must(!play->is_held);
    play->is_held = true;
    append(&play->held, held->text);
    append(&play->held, SLICE("("));
    for (size_t i = 0; i < held->value_count; i++) {
        const struct held_value *value = &held->values[i];
        append(&play->held, i > 0 ? SLICE(",") : SLICE(""));
        append(&play->held, value->bytes.at == NULL ? SLICE("NULL") : value->bytes);
    }
    append(&play->held, held->has_locks ? SLICE(") locked;") : SLICE(");"));
}

static void on_unhold(void *owner)
{
    struct play *play = owner;
    must(play->is_held);
    play->is_held = false;
}

static void on_record(void *owner, const struct pg_record *record)
{
    (void)owner;
    (void)record;
}

void play_start(struct play *play)
{
    const struct pg_filter_settings settings = {
        .transaction = PGWIRE_IDLE,
        .on_event = on_event,
        .catalog = &catalog,
        .catalog_owner = play,
        .on_block = on_block,
        .on_hold = on_hold,
        .on_unhold = on_unhold,
        .on_read = on_read,
        .owner = play,
    };
    struct pg_filter_settings own = settings;
    const struct pg_tap_settings tap = {.row_limit = LIMIT_KIB(1), .on_record = on_record};
    play_policy(&play->rules, 1, &own.policy);
    play_server_start(&play->server, false, &play->rules);
    play->tap = pg_tap_new(&tap);
    own.tap = play->tap;
    play->filter = pg_filter_new(&own);
    buf_init(&play->client, SIZE_MAX_OF_ALL);
    buf_init(&play->got, SIZE_MAX_OF_ALL);
    buf_init(&play->events, SIZE_MAX_OF_ALL);
    buf_init(&play->held, SIZE_MAX_OF_ALL);
}

void play_end(struct play *play)
{
    pg_filter_free(play->filter);
    pg_tap_free(play->tap);
    pg_facts_unref(play->facts);
    play->facts = NULL;
    play->is_known = false;
    play_server_end(&play->server);
    buf_release(&play->client);
    buf_release(&play->got);
    buf_release(&play->events);
    buf_release(&play->held);
}

/* What passes lies in memory of its own, so that nothing can point into what is gone. */
static enum err pass(struct play *play, enum pump_side side, struct buf *from)
{
    size_t size = play->pieces[side] == 0 ? from->len : play->pieces[side];
    struct slice view = slice_sub(buf_view(from), 0, size);
    struct buf piece;
    buf_init(&piece, view.len);
    append(&piece, view);
    buf_consume(from, view.len);
    struct slice bytes = buf_view(&piece);
    enum err err = pg_filter_pass(play->filter, side, &bytes, &play->error);
    if (err == ERR_NONE) {
        append(side == PUMP_CLIENT ? &play->server.in : &play->got, bytes);
    }
    if (err == ERR_NONE && side == PUMP_TARGET) {
        append(&play->server.in, pg_filter_words(play->filter));
    }
    buf_release(&piece);
    return err;
}

/* What the filter waits for is told, and it goes on. */
static enum err go_on(struct play *play)
{
    struct buf nothing;
    if (play->is_asked) {
        play_inform(play);
    } else {
        pg_filter_cancelled(play->filter);
    }
    buf_init(&nothing, 0);
    return pass(play, PUMP_TARGET, &nothing);
}

static enum err decide(struct play *play)
{
    static const enum hold_end ends[] = {
        [PLAY_APPROVE] = HOLD_PASSES, [PLAY_DENY] = HOLD_REFUSED, [PLAY_CANCEL] = HOLD_CANCELLED};
    const struct hold_answer answer = {
        .end = ends[play->next], .message = SLICE("no"), .hint = SLICE("ask")};
    struct buf nothing;
    play->is_held = false;
    pg_filter_decided(play->filter, &answer);
    buf_init(&nothing, 0);
    return pass(play, PUMP_TARGET, &nothing);
}

enum err play_run(struct play *play)
{
    enum err err = ERR_NONE;
    for (;;) {
        /* Who asked the catalog is answered, also where it is the client that waits for that. */
        if (pg_filter_waits(play->filter) || play->is_asked) {
            err = go_on(play);
            if (err != ERR_NONE) {
                return err;
            }
            continue;
        }
        bool is_decided = play->is_held && play->next != PLAY_UNDECIDED;
        bool is_idle =
            play->client.len == 0 && play->server.in.len == 0 && play->server.out.len == 0;
        if (is_decided && (!play->is_patient || is_idle)) {
            err = decide(play);
            if (err != ERR_NONE) {
                return err;
            }
            continue;
        }
        bool may_speak = play->client.len > 0 && !pg_filter_holds(play->filter);
        bool is_server_due = play->server.in.len > 0 && (play->is_eager || !may_speak);
        if (is_server_due && !play_server_run(&play->server)) {
            return fail(&play->error, ERR_CLOSED, "the server does not understand");
        }
        if (play->server.out.len > 0 && (play->is_eager || !may_speak)) {
            err = pass(play, PUMP_TARGET, &play->server.out);
        } else if (may_speak) {
            err = pass(play, PUMP_CLIENT, &play->client);
        } else if (play->server.in.len == 0) {
            break;
        }
        if (err != ERR_NONE) {
            return err;
        }
    }
    must(!pg_filter_holds(play->filter) || play->client.len > 0);
    return play->client.len == 0 ? ERR_NONE
                                 : fail(&play->error, ERR_BUSY, "the client waits for good");
}
