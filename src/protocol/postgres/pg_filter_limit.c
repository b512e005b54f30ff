/* SPDX-License-Identifier: MIT */
/* Limits on the rows that a statement may change. It runs inside a transaction block: one of ours,
 * which is committed when the number of rows is known and bearable, or else rolled back; or the
 * client's own, which is made to fail. Meanwhile nothing else of the client reaches the server, so
 * that nothing can be built on it, nor commit it.
 *
 * Simple protocol: BEGIN, the statement, COMMIT or ROLLBACK, each when the last was answered, so
 * that a statement whose BEGIN was cancelled does not run by itself. Its CommandComplete is told
 * when the COMMIT was. Extended protocol: BEGIN stands right before the Execute, by names of ours;
 * the client's portals live on, for it is the same transaction. COMMIT or ROLLBACK come when the
 * Sync was answered. What else is executed in the batch shares its fate, as it would have. */
#include "protocol/postgres/pg_filter_limit.h"

#include "base/limits.h"
#include "base/must.h"
#include "protocol/postgres/pg_filter_judge.h"
#include "protocol/postgres/pg_filter_mask.h"
#include "protocol/postgres/pg_filter_names.h"
#include "protocol/postgres/pg_filter_refuse.h"
#include "protocol/postgres/pg_filter_rehearse.h"

#define IN_BATCH                                                                                   \
    "a statement with a limit on its rows was sent before, and no Sync behind it: nothing may "    \
    "end "                                                                                         \
    "its transaction"

/* What the server skips, or refuses by itself, changes nothing. */
static bool pg_filter_is_limited(const struct pg_filter *filter,
                                 const struct pg_filter_facts *facts)
{
    return facts->max_rows >= 0 && !filter->state.is_skipping &&
           filter->state.transaction != PGWIRE_FAILED_TRANSACTION;
}

static void pg_filter_limit_clear(struct pg_filter *filter)
{
    struct pg_filter_limit *limit = &filter->limit;
    limit->phase = PG_FILTER_UNLIMITED;
    limit->wraps = false;
    limit->is_simple = false;
    limit->is_over = false;
    limit->is_at_sync = false;
    buf_clear(&limit->query);
    buf_clear(&limit->notice);
    buf_clear(&limit->held);
    buf_clear(&limit->undo);
    pg_filter_rehearse_clear(filter);
    arena_reset(&limit->arena);
}

/* Before it runs --------------------------------------------------------------------------------
 */

static enum err pg_filter_limit_refuse(struct pg_filter *filter, char type, const char *why,
                                       struct error *reterr_error)
{
    return pg_filter_refuse_for(filter, type, "42501", why, reterr_error);
}

enum err pg_filter_limit_query(struct pg_filter *filter, const struct pg_filter_message *message,
                               const struct pg_filter_facts *facts, bool *ret_is_taken,
                               struct error *reterr_error)
{
    struct pg_filter_limit *limit = &filter->limit;
    *ret_is_taken = false;
    if (limit->phase == PG_FILTER_IN_BATCH) {
        return pg_filter_limit_refuse(filter, message->type, IN_BATCH, reterr_error);
    }
    if (facts->max_rows < 0 || filter->state.is_skipping) {
        return ERR_NONE;
    }
    if (facts->why_unlimited != NULL) {
        return pg_filter_limit_refuse(filter, message->type, facts->why_unlimited, reterr_error);
    }
    if (filter->state.is_in_batch) {
        return pg_filter_limit_refuse(filter, message->type,
                                      "a statement with a limit on its rows needs a Sync before it",
                                      reterr_error);
    }
    if (pgwire_state_owes_ready(&filter->state)) {
        return ERR_AGAIN;
    }
    if (filter->state.transaction != PGWIRE_IDLE) {
        return ERR_NONE;
    }
    const struct pgwire_frame frame = {
        .packet = PGWIRE_MESSAGE, .type = message->type, .size = (uint32_t)message->body.len};
    must(pgwire_header_write(&limit->query, &frame) == ERR_NONE &&
         buf_append(&limit->query, message->body) == ERR_NONE);
    limit->phase = PG_FILTER_BEGINNING;
    limit->wraps = true;
    limit->is_simple = true;
    limit->facts = *facts;
    limit->facts.rule = guard_finding_copy_in(&limit->arena, &facts->rule);
    *ret_is_taken = true;
    limit->is_rehearsing = facts->rehearses;
    if (!facts->rehearses) {
        return pg_filter_send_query(filter, "BEGIN", &limit->id, reterr_error);
    }
    struct slice begin =
        arena_format(&limit->arena, "BEGIN; %.*s", SLICE_ARG(pg_filter_rehearse_begin(filter)));
    return pg_filter_send_query(filter, arena_text(&limit->arena, begin), &limit->id, reterr_error);
}

/* By names of ours: what an earlier one may have left goes before. */
static enum err pg_filter_send_begin(struct pg_filter *filter, struct error *reterr_error)
{
    const struct slice name = SLICE(PG_FILTER_NAME);
    const struct pgwire_object statement = {.kind = PGWIRE_STATEMENT, .name = name};
    const struct pgwire_object portal = {.kind = PGWIRE_PORTAL, .name = name};
    const struct pgwire_execute execute = {.portal = name};
    struct buf buf CLEANUP(buf_release);
    uint64_t id = 0;
    bool is_rehearsing = filter->limit.is_rehearsing;
    const struct slice texts[] = {SLICE("BEGIN"),
                                  is_rehearsing ? pg_filter_rehearse_begin(filter) : SLICE("")};
    size_t count = is_rehearsing ? 2 : 1;
    buf_init(&buf, LIMIT_KIB(8));
    must(pgwire_close_write(&buf, &statement) == ERR_NONE);
    for (size_t i = 0; i < count; i++) {
        must(pgwire_parse_write(&buf, name, texts[i]) == ERR_NONE &&
             pgwire_bind_portal_write(&buf, name, name) == ERR_NONE &&
             pgwire_execute_write(&buf, &execute) == ERR_NONE &&
             pgwire_close_write(&buf, &portal) == ERR_NONE &&
             pgwire_close_write(&buf, &statement) == ERR_NONE);
    }
    return pg_filter_send_own(filter, buf_view(&buf), &id, reterr_error);
}

static const char *pg_filter_why_not_now(const struct pg_filter *filter,
                                         const struct pg_filter_facts *facts,
                                         const struct pgwire_execute *execute)
{
    const char *why = pg_filter_rehearse_why_not_now(filter, facts, execute->portal);
    return why != NULL                    ? why
           : facts->why_unlimited != NULL ? facts->why_unlimited
           : execute->row_count_max > 0   ? "the limit on rows cannot be held for a portal that is "
                                            "executed in parts"
           : filter->has_controlled       ? "the limit on rows cannot be held behind the end of a "
                                            "transaction in the same batch"
                                          : NULL;
}

enum err pg_filter_limit_execute(struct pg_filter *filter, const struct pg_filter_facts *facts,
                                 const struct pgwire_execute *execute, struct error *reterr_error)
{
    struct pg_filter_limit *limit = &filter->limit;
    if (limit->phase == PG_FILTER_IN_BATCH && (facts->controls || facts->begins)) {
        return pg_filter_limit_refuse(filter, PGWIRE_CLIENT_EXECUTE, IN_BATCH, reterr_error);
    }
    bool is_behind = limit->phase == PG_FILTER_IN_BATCH && limit->is_rehearsing;
    if ((facts->max_rows < 0 && !is_behind) || filter->state.is_skipping) {
        return ERR_NONE;
    }
    const char *why = pg_filter_why_not_now(filter, facts, execute);
    if (why != NULL) {
        return pg_filter_limit_refuse(filter, PGWIRE_CLIENT_EXECUTE, why, reterr_error);
    }
    if (limit->phase == PG_FILTER_IN_BATCH) {
        return ERR_NONE;
    }
    if (pgwire_state_owes_ready(&filter->state)) {
        return ERR_AGAIN;
    }
    limit->phase = PG_FILTER_IN_BATCH;
    limit->wraps = filter->state.transaction == PGWIRE_IDLE && !filter->has_begun;
    limit->is_rehearsing = facts->rehearses;
    return limit->wraps ? pg_filter_send_begin(filter, reterr_error) : ERR_NONE;
}

void pg_filter_limit_request(struct pg_filter *filter, uint64_t id,
                             const struct pg_filter_facts *facts)
{
    struct pg_filter_limit *limit = &filter->limit;
    if (!pg_filter_is_limited(filter, facts)) {
        return;
    }
    struct pg_filter_request *request = pg_filter_request_add(filter, id);
    request->max_rows = facts->max_rows;
    request->rule = guard_finding_copy_in(&request->arena, &facts->rule);
    if (limit->phase != PG_FILTER_IN_BATCH) {
        limit->is_simple = true;
        limit->phase = PG_FILTER_RUNNING;
        limit->id = id;
    }
}

void pg_filter_limit_end_batch(struct pg_filter *filter, uint64_t id, char type)
{
    if (filter->limit.phase == PG_FILTER_IN_BATCH) {
        filter->limit.is_at_sync = type == PGWIRE_CLIENT_SYNC;
        filter->limit.phase = PG_FILTER_RUNNING;
        filter->limit.id = id;
    }
}

/* A Query in a batch that failed is skipped as well: the batch ends with a Sync only. */
void pg_filter_limit_error(struct pg_filter *filter)
{
    struct pg_filter_limit *limit = &filter->limit;
    if (limit->phase == PG_FILTER_RUNNING && !pgwire_state_owes(&filter->state, limit->id)) {
        limit->phase = PG_FILTER_IN_BATCH;
    }
}

/* What came of it -------------------------------------------------------------------------------
 */

/* Told before it is so; should the server be gone before the ROLLBACK, it rolls back by itself. */
static enum err pg_filter_tell_too_many(struct pg_filter *filter,
                                        const struct pg_filter_request *request, uint64_t rows,
                                        struct error *reterr_error)
{
    struct arena arena CLEANUP(arena_release);
    struct buf words CLEANUP(buf_release);
    const struct guard_finding *rule = &request->rule;
    arena_init(&arena);
    buf_init(&words, LIMIT_PG_FILTER_WORDS_SIZE);
    struct slice message = arena_format(
        &arena, "%llu rows would be changed, guard rail '%.*s'%s%.*s%s allows %lld%s%.*s",
        (unsigned long long)rows, SLICE_ARG(rule->guardrail_name),
        rule->rule_name.len > 0 ? ", rule '" : "", SLICE_ARG(rule->rule_name),
        rule->rule_name.len > 0 ? "'" : "", (long long)request->max_rows,
        rule->message.len > 0 ? ": " : "", SLICE_ARG(slice_sub(rule->message, 0, LIMIT_KIB(8))));
    const struct guard_event event = {
        .kind = GUARD_EVENT_TOO_MANY,
        .request = request->number,
        .finding = rule,
        .words = message,
        .rows = rows,
    };
    filter->settings.on_event(filter->settings.owner, &event);
    pg_filter_write_error(&words, "42501", slice_sub(message, 0, slice_find_byte(message, '\0')),
                          SLICE("Nothing was changed. Change fewer rows at a time."));
    return pg_filter_tell(filter, buf_view(&words), reterr_error);
}

enum err pg_filter_limit_complete(struct pg_filter *filter, const struct pg_filter_request *request,
                                  struct slice body, bool *ret_passes, struct error *reterr_error)
{
    struct pg_filter_limit *limit = &filter->limit;
    struct pgwire_completion completion;
    enum err err = pgwire_completion_read(body, &completion, reterr_error);
    if (err != ERR_NONE) {
        return err;
    }
    bool is_over = !completion.has_row_count || completion.row_count > (uint64_t)request->max_rows;
    if (limit->rehearsal != NULL) {
        limit->rehearsal->rows = completion.row_count;
    }
    *ret_passes = !limit->is_simple && !is_over;
    if (is_over) {
        /* For the client a batch that erred is skipped, a Query in it, too. */
        limit->is_over = true;
        filter->is_muted = true;
        filter->is_discarding = !limit->is_simple && !limit->is_at_sync;
        return pg_filter_tell_too_many(filter, request, completion.row_count, reterr_error);
    }
    if (limit->is_simple) {
        const struct pgwire_frame frame = {.packet = PGWIRE_MESSAGE,
                                           .type = PGWIRE_SERVER_COMMAND_COMPLETE,
                                           .size = (uint32_t)body.len};
        must(pgwire_header_write(&limit->held, &frame) == ERR_NONE &&
             buf_append(&limit->held, body) == ERR_NONE);
    }
    return ERR_NONE;
}

/* Prepared statements outlive a ROLLBACK; a client that takes them for skipped prepares them again.
 * What was closed, or the unnamed one, cannot be brought back. */
void pg_filter_limit_undo(struct pg_filter *filter, const struct pg_filter_request *request,
                          enum pgwire_server_kind kind, struct slice body)
{
    struct slice rest;
    bool is_defined = kind == PGWIRE_SERVER_PARSE_COMPLETE ||
                      (kind == PGWIRE_SERVER_COMMAND_COMPLETE &&
                       slice_equals(slice_cut(body, '\0', &rest), SLICE("PREPARE")));
    if (!is_defined || list_is_empty(&request->changes)) {
        return;
    }
    struct pg_filter_change *change =
        LIST_ITEM(request->changes.next, struct pg_filter_change, link);
    const struct pgwire_object object = {.kind = PGWIRE_STATEMENT, .name = buf_view(&change->name)};
    if (pgwire_close_write(&filter->limit.undo, &object) == ERR_NONE) { /* no room: it stays */
        pg_filter_statement_unref(filter, change->statement);
        change->kind = PG_FILTER_ENDS_STATEMENT;
        change->statement = NULL;
    }
}

bool pg_filter_limit_passes(struct pg_filter *filter, enum pgwire_server_kind kind)
{
    struct pg_filter_limit *limit = &filter->limit;
    bool is_error = kind == PGWIRE_SERVER_ERROR;
    if (filter->is_muted) {
        return false;
    }
    if (limit->phase >= PG_FILTER_ASKING && is_error) {
        buf_clear(&limit->held); /* not committed */
        return true;
    }
    return is_error || limit->phase == PG_FILTER_RUNNING;
}

/* Sends what was kept for after BEGIN. */
static enum err pg_filter_limit_run(struct pg_filter *filter, struct error *reterr_error)
{
    struct pg_filter_limit *limit = &filter->limit;
    struct slice bytes = buf_view(&limit->query);
    const struct pg_filter_message message = {.type = PGWIRE_CLIENT_QUERY,
                                              .body = slice_from(bytes, PGWIRE_HEADER_SIZE)};
    uint64_t id = 0;
    enum err err = pg_filter_mask_request(filter, &message, reterr_error);
    if (err == ERR_DENIED) {
        err = fail(reterr_error, ERR_LIMIT, "too many requests wait for their answers");
    }
    err = err == ERR_NONE ? pg_filter_send_message(filter, &message, &id, reterr_error) : err;
    if (err == ERR_NONE) {
        limit->phase = PG_FILTER_RUNNING;
        limit->id = id;
        struct pg_filter_request *request = pg_filter_request_add(filter, id);
        request->max_rows = limit->facts.max_rows;
        request->number = filter->number - 1;
        request->rule = guard_finding_copy_in(&request->arena, &limit->facts.rule);
        request->is_noticed = limit->notice.len > 0;
        must(buf_append(&request->words, buf_view(&limit->notice)) == ERR_NONE);
    }
    buf_wipe(&limit->query);
    return err;
}

enum err pg_filter_limit_finish(struct pg_filter *filter, const char *text,
                                struct error *reterr_error)
{
    struct pg_filter_limit *limit = &filter->limit;
    uint64_t id = 0;
    enum err err = pg_filter_send_own(filter, buf_view(&limit->undo), &id, reterr_error);
    buf_clear(&limit->undo);
    limit->phase = PG_FILTER_FINISHING;
    return err != ERR_NONE ? err
                           : pg_filter_send_query(filter, text, &filter->limit.id, reterr_error);
}

/* state.transaction is what this ReadyForQuery says. */
enum err pg_filter_limit_ready(struct pg_filter *filter, bool *ret_passes,
                               struct error *reterr_error)
{
    struct pg_filter_limit *limit = &filter->limit;
    enum pgwire_transaction transaction = filter->state.transaction;
    bool is_open = transaction != PGWIRE_IDLE;
    *ret_passes = false;
    if (limit->phase == PG_FILTER_BEGINNING && transaction == PGWIRE_IN_TRANSACTION) {
        return pg_filter_limit_run(filter, reterr_error);
    }
    if (limit->phase == PG_FILTER_RUNNING && limit->wraps && is_open) {
        bool is_good = transaction == PGWIRE_IN_TRANSACTION && !limit->is_over;
        return is_good && limit->is_rehearsing
                   ? pg_filter_rehearse_ask(filter, reterr_error)
                   : pg_filter_limit_finish(filter, is_good ? "COMMIT" : "ROLLBACK", reterr_error);
    }
    if (pg_filter_rehearse_is_asking(filter)) {
        return transaction == PGWIRE_IN_TRANSACTION
                   ? pg_filter_rehearse_asked(filter, reterr_error)
                   : pg_filter_rehearse_failed(filter, reterr_error);
    }
    if (limit->phase == PG_FILTER_RUNNING && limit->is_over &&
        transaction == PGWIRE_IN_TRANSACTION) {
        return pg_filter_limit_finish(filter, PG_FILTER_SUBSTITUTE, reterr_error);
    }
    *ret_passes = !limit->is_over || limit->is_simple || limit->is_at_sync;
    enum err err = pg_filter_tell(filter, buf_view(&limit->held), reterr_error);
    pg_filter_limit_clear(filter);
    return err;
}
