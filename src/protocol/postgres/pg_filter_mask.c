/* SPDX-License-Identifier: MIT */
/* What pg_mask is told of the two ways, and what becomes of what it says. */
#include "protocol/postgres/pg_filter_mask.h"

#include "base/limits.h"
#include "base/must.h"
#include "protocol/postgres/pg_filter_budget.h"
#include "protocol/postgres/pg_filter_judge.h"
#include "protocol/postgres/pg_filter_known.h"
#include "protocol/postgres/pg_filter_refuse.h"
#include "protocol/postgres/pg_filter_target.h"

/* Of the server's, whose effect is to be known even where they do not go on. */
#define NOTED "123CTnZ"

/* Rules -----------------------------------------------------------------------------------------
 */

void pg_filter_mask_init(struct pg_filter *filter)
{
    buf_init(&filter->whole, LIMIT_PASSAGE_OUT_SIZE);
    buf_init(&filter->masked, LIMIT_PASSAGE_OUT_SIZE);
    buf_init(&filter->wait.message, LIMIT_PASSAGE_OUT_SIZE);
    buf_init(&filter->wait.rest, LIMIT_PASSAGE_OUT_SIZE);
}

void pg_filter_mask_release(struct pg_filter *filter)
{
    pg_mask_free(filter->mask);
    buf_wipe(&filter->whole);
    buf_wipe(&filter->masked);
    buf_wipe(&filter->wait.message);
    buf_wipe(&filter->wait.rest);
}

static void pg_filter_on_ask(void *owner)
{
    struct pg_filter *filter = owner;
    filter->settings.catalog->on_ask(filter->settings.catalog_owner);
}

static bool pg_filter_on_known(void *owner, struct catalog_known *ret_known)
{
    struct pg_filter *filter = owner;
    return filter->settings.catalog->on_known(filter->settings.catalog_owner, ret_known);
}

static struct catalog_stamp pg_filter_on_stamp(void *owner)
{
    struct pg_filter *filter = owner;
    return filter->settings.catalog->on_stamp(filter->settings.catalog_owner);
}

static void pg_filter_on_change(void *owner, enum catalog_change what, bool is_over)
{
    struct pg_filter *filter = owner;
    filter->settings.catalog->on_change(filter->settings.catalog_owner, what, is_over);
}

static bool pg_filter_on_check(void *owner, const struct catalog_stamp *known)
{
    struct pg_filter *filter = owner;
    return filter->settings.catalog->on_check(filter->settings.catalog_owner, known);
}

/* Of an answer of many rows, once; when there is no room to tell, again. */
static bool pg_filter_is_found(struct pg_filter *filter, const struct guard_finding *finding)
{
    if (filter->found_request != filter->answered.request) {
        filter->found_request = filter->answered.request;
        filter->found_count = 0;
    }
    for (size_t i = 0; i < filter->found_count; i++) {
        if (filter->found_rules[i] == finding->rule) {
            return true;
        }
    }
    if (filter->found_count < GUARD_FINDINGS_MAX) {
        filter->found_rules[filter->found_count++] = finding->rule;
    }
    return false;
}

static void pg_filter_on_finding(void *owner, const struct guard_finding *finding)
{
    struct pg_filter *filter = owner;
    if (pg_filter_is_found(filter, finding)) {
        return;
    }
    const struct guard_event event = {
        .kind = GUARD_EVENT_FINDING,
        .request = filter->answered.number,
        .finding = finding,
    };
    filter->settings.on_event(filter->settings.owner, &event);
}

/* What Parse defined before there was a mask. */
static void pg_filter_mask_learn_names(struct pg_filter *filter)
{
    struct slice name;
    void *item = NULL;
    for (size_t at = 0; map_next(&filter->statements, &at, &name, &item);) {
        const struct pg_filter_statement *statement = item;
        struct slice text = buf_view(&statement->text);
        const struct sql_settings settings = {
            .dialect = SQL_POSTGRES, .is_backslash_quoted = statement->is_backslash_quoted};
        if (!statement->is_of_sql && !statement->is_ambiguous) {
            struct arena arena CLEANUP(arena_release);
            arena_init(&arena);
            const struct sql_script script = filter->policy.analyze(&arena, &settings, text);
            pg_mask_learn_statement(filter->mask, name, text, &script);
        }
    }
}

/* Once there is a mask, it stays: it knows what was prepared. What was asked before is answered as
 * it was asked, without it. */
void pg_filter_mask_set(struct pg_filter *filter)
{
    const struct passage_policy *policy = &filter->policy;
    bool has_catalog = filter->settings.catalog != NULL;
    const struct pg_mask_settings settings = {
        .rules = policy->masking,
        .scratch = policy->scratch,
        .scope = policy->output,
        .is_encoding_unsafe = filter->is_encoding_unsafe,
        .may_rest = policy->only_masks,
        .on_ask = has_catalog ? pg_filter_on_ask : NULL,
        .on_known = has_catalog ? pg_filter_on_known : NULL,
        .on_stamp = has_catalog ? pg_filter_on_stamp : NULL,
        .on_change = has_catalog ? pg_filter_on_change : NULL,
        .on_check = has_catalog ? pg_filter_on_check : NULL,
        .on_finding = pg_filter_on_finding,
        .owner = filter,
    };
    bool is_needed = policy->masking != NULL ||
                     (policy->output != NULL && guard_scope_looks_at(policy->output, GUARD_OUTPUT));
    filter->found_count = 0;
    if (filter->mask != NULL) {
        pg_mask_set_rules(filter->mask, &settings);
    } else if (is_needed) {
        filter->mask = pg_mask_new(&settings);
        filter->mask_from = filter->state.next_id;
        if (filter->number > 0) {
            /* what ran before may have left something */
            pg_mask_set_rules(filter->mask, &settings);
            pg_filter_mask_learn_names(filter);
        }
    }
}

const struct mask_counts *pg_filter_mask_counts(const struct pg_filter *filter)
{
    return filter->mask == NULL ? NULL : pg_mask_counts(filter->mask);
}

/* What is asked ---------------------------------------------------------------------------------
 */

static void pg_filter_keep_script(struct pg_filter *filter, struct slice text,
                                  const struct pg_filter_judgement *judgement)
{
    const struct sql_settings settings = {.dialect = SQL_POSTGRES,
                                          .is_backslash_quoted = filter->is_backslash_quoted};
    filter->has_script = true;
    filter->is_script_known = text.at != NULL && !judgement->is_ambiguous;
    if (filter->is_script_known) {
        filter->script = judgement->script.count > 0
                             ? judgement->script
                             : filter->policy.analyze(&filter->arena, &settings, text);
    }
}

enum err pg_filter_mask_check(struct pg_filter *filter, char type, struct slice text,
                              const struct pg_filter_judgement *judgement,
                              struct error *reterr_error)
{
    const char *words = "";
    if (filter->mask == NULL || filter->policy.masking == NULL) {
        return ERR_NONE;
    }
    pg_filter_keep_script(filter, text, judgement);
    const struct sql_script *script = filter->is_script_known ? &filter->script : NULL;
    switch (pg_mask_refuses(filter->mask, script, text, &words)) {
    case PG_MASK_PASSES:
        return ERR_NONE;
    case PG_MASK_ASKS:
        return ERR_AGAIN;
    case PG_MASK_IS_REFUSED:
        break;
    }
    return pg_filter_refuse_masked(filter, type, PG_MASK_REFUSED_SQLSTATE, words, reterr_error);
}

/* The text of a message that was not looked at before: one that waited. */
static void pg_filter_analyze_message(struct pg_filter *filter,
                                      const struct pg_filter_message *message)
{
    struct pgwire_parse parse = {.text = SLICE_NONE};
    bool is_text = false;
    if (message->type == PGWIRE_CLIENT_QUERY) {
        is_text = pgwire_query_read(message->body, &parse.text, NULL) == ERR_NONE;
    } else if (message->type == PGWIRE_CLIENT_PARSE) {
        is_text = pgwire_parse_read(message->body, &parse, NULL) == ERR_NONE;
    }
    if (is_text && !filter->has_script) {
        const struct pg_filter_judgement judgement = {
            .is_ambiguous = pg_filter_is_ambiguous(filter, parse.text)};
        pg_filter_keep_script(filter, parse.text, &judgement);
    }
}

static struct slice pg_filter_text_of(const struct pg_filter_message *message)
{
    struct pgwire_parse parse = {.text = SLICE_NONE};
    if (message->type == PGWIRE_CLIENT_QUERY &&
        pgwire_query_read(message->body, &parse.text, NULL) != ERR_NONE) {
        return SLICE_NONE;
    }
    if (message->type == PGWIRE_CLIENT_PARSE &&
        pgwire_parse_read(message->body, &parse, NULL) != ERR_NONE) {
        return SLICE_NONE;
    }
    return parse.text;
}

/* The next one that the server gets has the number that the state gives. */
static enum err pg_filter_mask_tell(struct pg_filter *filter,
                                    const struct pg_filter_message *message, bool is_own,
                                    struct error *reterr_error)
{
    bool has_text = message->type == PGWIRE_CLIENT_QUERY || message->type == PGWIRE_CLIENT_PARSE;
    const struct pg_mask_request request = {
        .id = filter->state.next_id,
        .type = message->type,
        .is_own = is_own,
        .body = message->body,
        .script =
            has_text && filter->has_script && filter->is_script_known ? &filter->script : NULL,
        .text = has_text ? pg_filter_text_of(message) : SLICE_NONE,
        .is_backslash_quoted = filter->is_backslash_quoted,
    };
    return pg_mask_request(filter->mask, &request, reterr_error);
}

static enum err pg_filter_send_describe(struct pg_filter *filter, struct slice execute_body,
                                        struct error *reterr_error)
{
    struct pgwire_execute execute;
    struct buf buf CLEANUP(buf_release);
    uint64_t id = 0;
    enum err err = pgwire_execute_read(execute_body, &execute, reterr_error);
    if (err != ERR_NONE) {
        return err;
    }
    const struct pgwire_object portal = {.kind = PGWIRE_PORTAL, .name = execute.portal};
    buf_init(&buf, 2 * LIMIT_PGWIRE_SMALL_CLIENT_SIZE);
    must(pgwire_describe_write(&buf, &portal) == ERR_NONE);
    const struct pg_filter_message message = {
        .type = PGWIRE_CLIENT_DESCRIBE, .body = slice_from(buf_view(&buf), PGWIRE_HEADER_SIZE)};
    err = pg_filter_mask_tell(filter, &message, true, reterr_error);
    return err == ERR_NONE ? pg_filter_send_own(filter, buf_view(&buf), &id, reterr_error) : err;
}

enum err pg_filter_mask_request(struct pg_filter *filter, const struct pg_filter_message *message,
                                struct error *reterr_error)
{
    struct error why;
    enum err err = ERR_NONE;
    if (filter->mask == NULL) {
        return ERR_NONE;
    }
    pg_filter_analyze_message(filter, message);
    if (message->type == PGWIRE_CLIENT_EXECUTE &&
        pg_mask_needs_describe(filter->mask, message->body)) {
        err = pg_filter_send_describe(filter, message->body, &why);
    }
    err = err == ERR_NONE ? pg_filter_mask_tell(filter, message, false, &why) : err;
    if (err != ERR_NONE) {
        return pg_filter_refuse_masked(filter, message->type, err == ERR_LIMIT ? "54000" : "08P01",
                                       why.message, reterr_error);
    }
    return ERR_NONE;
}

/* What is answered ------------------------------------------------------------------------------
 */

bool pg_filter_mask_wants(const struct pg_filter *filter, char type)
{
    return filter->mask != NULL && pg_mask_wants(filter->mask, type);
}

/* Nothing of it once a read budget has ended the answer. Of a large message, which comes in parts,
 * it is always followed where it ends, for budgets may come meanwhile. */
static enum err pg_filter_put_masked(struct pg_filter *filter, struct error *reterr_error)
{
    struct slice masked = buf_view(&filter->masked);
    bool is_followed = filter->directions[PUMP_TARGET].is_masked || pg_filter_has_budgets(filter);
    enum err err = ERR_NONE;
    filter->reading.count = 0; /* it was of what came */
    if (!filter->is_blocked) {
        err = is_followed ? pg_filter_budget_put(filter, masked, false, reterr_error)
                          : pg_filter_put_message(filter, masked, false, reterr_error);
    }
    buf_truncate(&filter->masked, 0);
    if (filter->masked.capacity > LIMIT_READ_SIZE) {
        buf_clear(&filter->masked);
    }
    return err;
}

/* As they are. */
static enum err pg_filter_put_same(struct pg_filter *filter, struct slice messages, bool is_lasting,
                                   struct error *reterr_error)
{
    return messages.len > 0 && pg_filter_budget_counts(filter, messages.at[0])
               ? pg_filter_budget_put(filter, messages, is_lasting, reterr_error)
               : pg_filter_put_message(filter, messages, is_lasting, reterr_error);
}

/* What is to be done with the verdict on messages; 'is_lasting' as above. */
static enum err pg_filter_follow(struct pg_filter *filter, enum pg_mask_verdict verdict,
                                 struct slice messages, bool is_lasting, struct error *reterr_error)
{
    enum err err = ERR_NONE;
    switch (verdict) {
    case PG_MASK_SAME:
        return pg_filter_put_same(filter, messages, is_lasting, reterr_error);
    case PG_MASK_CHANGED:
        return pg_filter_put_masked(filter, reterr_error);
    case PG_MASK_WAIT:
        err = buf_append(&filter->wait.message, messages);
        filter->wait.count += filter->reading.count;
        return err == ERR_NONE ? ERR_AGAIN : fail(reterr_error, err, "too much for the client");
    case PG_MASK_BLOCKED:
        err = pg_filter_put_masked(filter, reterr_error);
        pg_filter_block(filter);
        return err;
    }
    must(false);
}

enum err pg_filter_mask_pass(struct pg_filter *filter, struct slice messages, bool is_lasting,
                             struct error *reterr_error)
{
    enum pg_mask_verdict verdict = PG_MASK_SAME;
    bool is_ready = messages.at[0] == PGWIRE_SERVER_READY;
    if (!filter->answered.is_of_mask && !is_ready) {
        return pg_filter_put_same(filter, messages, is_lasting, reterr_error);
    }
    enum err err = pg_mask_answer(filter->mask, filter->answered.request, messages, &filter->masked,
                                  &verdict, reterr_error);
    return err == ERR_NONE ? pg_filter_follow(filter, verdict, messages, is_lasting, reterr_error)
                           : err;
}

enum err pg_filter_pass_messages(struct pg_filter *filter, struct slice messages, bool is_lasting,
                                 struct error *reterr_error)
{
    char type = messages.at[0];
    if (type == PGWIRE_SERVER_READY && filter->wait.is_for_cancel) {
        return pg_filter_follow(filter, PG_MASK_WAIT, messages, is_lasting, reterr_error);
    }
    return pg_filter_mask_wants(filter, type)
               ? pg_filter_mask_pass(filter, messages, is_lasting, reterr_error)
               : pg_filter_put_same(filter, messages, is_lasting, reterr_error);
}

enum err pg_filter_mask_note(struct pg_filter *filter, struct slice message,
                             struct error *reterr_error)
{
    enum pg_mask_verdict verdict = PG_MASK_SAME;
    bool is_noted = strchr(NOTED, message.at[0]) != NULL && filter->answered.is_of_mask;
    if (!is_noted || (filter->is_blocked && message.at[0] != PGWIRE_SERVER_READY)) {
        return ERR_NONE;
    }
    enum err err = pg_mask_answer(filter->mask, filter->answered.request, message, &filter->masked,
                                  &verdict, reterr_error);
    buf_truncate(&filter->masked, 0);
    return err;
}

/* Large ones ------------------------------------------------------------------------------------
 */

enum err pg_filter_mask_large(struct pg_filter *filter, struct slice header,
                              struct error *reterr_error)
{
    struct pg_filter_direction *direction = &filter->directions[PUMP_TARGET];
    enum pg_mask_verdict verdict = PG_MASK_SAME;
    if (filter->answered.is_of_mask) {
        enum err err = pg_mask_large(filter->mask, filter->answered.request, &direction->frame,
                                     &filter->masked, &verdict, reterr_error);
        if (err != ERR_NONE) {
            return err;
        }
    }
    if (verdict == PG_MASK_WAIT) {
        filter->wait.is_large = true;
        return ERR_AGAIN;
    }
    if (verdict == PG_MASK_SAME) {
        return pg_filter_put_header(filter, header, reterr_error);
    }
    direction->is_masked = verdict == PG_MASK_CHANGED;
    direction->is_dropped = verdict == PG_MASK_BLOCKED;
    return pg_filter_follow(filter, verdict, SLICE_NONE, false, reterr_error);
}

enum err pg_filter_mask_part(struct pg_filter *filter, struct slice part,
                             struct error *reterr_error)
{
    enum pg_mask_verdict verdict = PG_MASK_SAME;
    enum err err = pg_mask_large_part(filter->mask, part, &filter->masked, &verdict, reterr_error);
    if (err == ERR_NONE) {
        filter->directions[PUMP_TARGET].is_dropped = verdict == PG_MASK_BLOCKED;
        err = pg_filter_follow(filter, verdict, SLICE_NONE, false, reterr_error);
    }
    return err;
}

/* Waiting ---------------------------------------------------------------------------------------
 */

enum err pg_filter_mask_again(struct pg_filter *filter, struct error *reterr_error)
{
    struct buf message CLEANUP(buf_wipe) = filter->wait.message;
    buf_init(&filter->wait.message, message.size_max);
    if (filter->wait.is_large) {
        filter->wait.is_large = false;
        return pg_filter_mask_large(filter, SLICE_NONE, reterr_error);
    }
    if (message.len == 0) {
        return ERR_NONE;
    }
    filter->reading.count = filter->wait.count;
    filter->wait.count = 0;
    enum err err = pg_filter_pass_messages(filter, buf_view(&message), false, reterr_error);
    filter->reading.count = 0;
    return err;
}

bool pg_filter_waits(const struct pg_filter *filter)
{
    bool has_something = filter->wait.message.len > 0 || filter->wait.is_large;
    return pg_filter_known_holds(filter) ||
           (has_something && (pg_filter_asks(filter) || filter->wait.is_for_cancel));
}

bool pg_filter_asks(const struct pg_filter *filter)
{
    return filter->mask != NULL && pg_mask_is_asking(filter->mask);
}

void pg_filter_informed(struct pg_filter *filter)
{
    pg_filter_known_informed(filter);
    if (filter->mask != NULL) {
        pg_mask_informed(filter->mask);
    }
}

void pg_filter_cancelled(struct pg_filter *filter)
{
    filter->wait.is_for_cancel = false;
}
