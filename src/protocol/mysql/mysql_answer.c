/* SPDX-License-Identifier: MIT */
#include "protocol/mysql/mysql_answer.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "protocol/mysql/mysql_budget.h"
#include "protocol/mysql/mysql_ending.h"
#include "protocol/mysql/mysql_row.h"
#include "wire/mysqlwire_start.h"
#include "wire/mysqlwire_state.h"

#define HIDDEN     "the words of this error are hidden: they may hold what is masked here"
#define NO_CURSOR  "this cursor was opened under other rules, or too many are open: execute anew"
#define WORDS_SIZE LIMIT_KIB(4)

/* What the rows of a cursor are, which come without a head. */
struct answer_cursor {
    uint32_t id;
    struct mysql_row_columns columns;
};

struct mysql_answer {
    struct mysql_answer_settings settings;
    struct buf packet; /* that comes in parts */
    uint8_t sequence;  /* of it */
    struct mask_rules *masking;
    const struct guard_scope *output; /* NULL: nothing is looked for */
    struct mysql_row_rules rules;
    struct mask_counts counts;
    bool has_masked; /* there were rules that do */
    struct mysql_budgets budgets;

    const struct mysql_reach *reach; /* of the command */
    uint64_t number;
    uint32_t statement_id;
    struct mysql_row_columns columns;  /* of the result that comes */
    struct mysql_row_columns *current; /* those, or a cursor's */
    struct answer_cursor *cursors;
    size_t cursor_count;

    struct buf words;   /* why it is blocked */
    bool is_swallowing; /* what is left of a blocked answer */
    struct mysqlwire_state rest;
    bool awaits_stop;
    size_t found[GUARD_FINDINGS_MAX]; /* rules, of this answer: told once */
    size_t found_count;
};

/* Findings ------------------------------------------------------------------------------------- */

static bool is_found(struct mysql_answer *self, size_t rule)
{
    for (size_t i = 0; i < self->found_count; i++) {
        if (self->found[i] == rule) {
            return true;
        }
    }
    if (self->found_count < GUARD_FINDINGS_MAX) {
        self->found[self->found_count++] = rule;
    }
    return false;
}

static void write_blocked(struct mysql_answer *self, const struct guard_finding *reason)
{
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    struct slice name = reason == NULL ? SLICE("guard rails") : reason->guardrail_name;
    struct slice message = reason == NULL ? SLICE("") : slice_sub(reason->message, 0, 300);
    struct slice text = arena_format(&arena, "the answer is blocked by '%.*s'%s%.*s",
                                     SLICE_ARG(slice_sub(name, 0, 100)),
                                     message.len > 0 ? ": " : "", SLICE_ARG(message));
    buf_clear(&self->words);
    (void)!buf_append(&self->words, text);
}

static bool answer_may_pass(void *owner, struct slice text)
{
    struct mysql_answer *self = owner;
    struct guard_verdict verdict;
    if (text.len == 0) {
        return true;
    }
    guard_judge_output(self->output, text, &verdict);
    for (size_t i = 0; i < verdict.count; i++) {
        const struct guard_event event = {
            .kind = GUARD_EVENT_FINDING, .request = self->number, .finding = &verdict.findings[i]};
        if (!is_found(self, verdict.findings[i].rule)) {
            self->settings.events->on_finding(self->settings.owner, &event);
        }
    }
    if (verdict.action >= GUARD_REHEARSE) {
        write_blocked(self, guard_verdict_reason(&verdict));
        return false;
    }
    return true;
}

/* Passing -------------------------------------------------------------------------------------- */

static enum err put(struct mysql_answer *self, struct slice body, struct buf *said,
                    struct error *reterr)
{
    size_t start = said->len;
    if (body.len >= MYSQLWIRE_PIECE_MAX ||
        mysqlwire_data_write(said, self->sequence, body, SLICE("")) != ERR_NONE) {
        return fail(reterr, ERR_LIMIT, "too much for the client at once");
    }
    const struct mysqlwire_packet packet = {
        .sequence = self->sequence,
        .body = slice_from(buf_view(said), start + MYSQLWIRE_HEADER_SIZE)};
    return mysql_tap_take_packet(self->settings.tap, PUMP_TARGET, &packet, reterr);
}

static void write_error(const struct mysql_answer *self, uint16_t number, struct slice message,
                        struct buf *packet)
{
    const struct ending_words words = {.message = message, .hint = SLICE("")};
    must(mysql_ending_write(number, self->sequence, &words, packet) == ERR_NONE);
}

static enum err put_error(struct mysql_answer *self, uint16_t number, struct slice message,
                          struct buf *said, struct error *reterr)
{
    struct buf packet CLEANUP(buf_release);
    buf_init(&packet, WORDS_SIZE);
    write_error(self, number, message, &packet);
    return put(self, slice_from(buf_view(&packet), MYSQLWIRE_HEADER_SIZE), said, reterr);
}

/* In the place of a row; self->words says why. */
static enum err block(struct mysql_answer *self, struct buf *said, struct error *reterr)
{
    self->rest = *mysql_tap_state(self->settings.tap);
    self->is_swallowing = true;
    self->awaits_stop = true;
    enum err err = put_error(self, MYSQL_ERROR_BLOCKED, buf_view(&self->words), said, reterr);
    if (err == ERR_NONE) {
        self->settings.events->on_block(self->settings.owner);
    }
    return err;
}

static enum err swallow(struct mysql_answer *self, struct slice body, struct error *reterr)
{
    enum mysqlwire_kind kind = MYSQLWIRE_KIND_OK;
    uint64_t number = 0;
    bool is_last = false;
    uint8_t first = body.len > 0 ? (uint8_t)body.at[0] : 0;
    enum err err =
        mysqlwire_state_begin(&self->rest, (uint32_t)body.len, first, &kind, &number, reterr);
    if (err == ERR_NONE) {
        err = mysqlwire_state_end(&self->rest, kind, body, &is_last, reterr);
    }
    self->is_swallowing = err == ERR_NONE && !is_last;
    return err;
}

/* Texts that are no rows ----------------------------------------------------------------------- */

/* Whether something is found in it; 'buf' has what takes its place, or nothing. */
static bool is_touched(struct mysql_answer *self, struct slice text, struct buf *buf)
{
    static const struct mask_origin nowhere = {.schema = {NULL, 0}};
    if (self->masking == NULL || text.len == 0 || !mask_rules_look_into_text(self->masking)) {
        return false;
    }
    struct mask_plan plan = mask_plan_of(self->masking, &nowhere, SLICE(""));
    plan.whole = NULL;
    plan.form = MASK_FORM_TEXT;
    enum mask_outcome outcome =
        mask_text(self->masking, &plan, self->rules.scratch, text, buf, &self->counts);
    if (outcome == MASK_NULL || outcome == MASK_REFUSED) {
        buf_truncate(buf, 0);
    }
    return outcome != MASK_SAME;
}

static enum err take_error(struct mysql_answer *self, struct slice body, struct buf *said,
                           struct error *reterr)
{
    struct mysqlwire_error error;
    struct buf text CLEANUP(buf_wipe);
    struct buf packet CLEANUP(buf_wipe);
    buf_init(&text, LIMIT_MYSQL_ANSWER_SIZE);
    buf_init(&packet, LIMIT_MYSQL_ANSWER_SIZE);
    enum err err = mysqlwire_error_read(body, &error, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    bool is_hidden =
        self->masking != NULL && self->reach->reaches && mysql_reach_hides_error(error.number);
    if (is_hidden) {
        error.message = SLICE(HIDDEN);
    } else if (is_touched(self, error.message, &text)) {
        error.message = text.len > 0 ? buf_view(&text) : SLICE(HIDDEN);
    } else if (self->output == NULL) {
        return put(self, body, said, reterr);
    }
    if (self->output != NULL && !answer_may_pass(self, error.message)) {
        return put_error(self, MYSQL_ERROR_BLOCKED, buf_view(&self->words), said, reterr);
    }
    err = mysqlwire_error_write(&packet, self->sequence, &error);
    return err == ERR_NONE
               ? put(self, slice_from(buf_view(&packet), MYSQLWIRE_HEADER_SIZE), said, reterr)
               : fail(reterr, err, "an error of the target is too long");
}

static void keep_cursor(struct mysql_answer *self)
{
    if (self->cursor_count == LIMIT_MYSQL_FILTER_STATEMENTS) {
        return; /* what is fetched of it is refused */
    }
    self->cursors = memory_resize(self->cursors, (self->cursor_count + 1) * sizeof(*self->cursors));
    self->cursors[self->cursor_count++] =
        (struct answer_cursor){.id = self->statement_id, .columns = self->columns};
    self->columns = (struct mysql_row_columns){.items = NULL};
    self->current = &self->columns;
}

/* A number that an insert was told, a text for people, what became of settings: any of it can be
 * made of a value. */
static enum err take_ok(struct mysql_answer *self, struct slice body, struct buf *said,
                        struct error *reterr)
{
    char digits[24];
    struct mysqlwire_ok ok;
    struct buf text CLEANUP(buf_wipe);
    struct buf packet CLEANUP(buf_wipe);
    buf_init(&text, LIMIT_MYSQL_ANSWER_SIZE);
    buf_init(&packet, LIMIT_MYSQL_ANSWER_SIZE);
    enum err err = mysqlwire_ok_read(body, self->settings.capabilities, &ok, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    if ((ok.status & MYSQLWIRE_STATUS_CURSOR_EXISTS) != 0 && self->statement_id != 0 &&
        self->current == &self->columns) {
        keep_cursor(self);
    }
    (void)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)ok.insert_id);
    bool is_number = is_touched(self, slice_of_text(digits), &text);
    buf_truncate(&text, 0);
    bool is_state = is_touched(self, ok.state_changes, &text);
    buf_truncate(&text, 0);
    bool is_info = is_touched(self, ok.info, &text);
    if (!is_number && !is_state && !is_info) {
        return put(self, body, said, reterr);
    }
    ok.insert_id = is_number ? 0 : ok.insert_id;
    ok.info = is_info ? buf_view(&text) : ok.info;
    ok.state_changes = is_state ? SLICE("") : ok.state_changes;
    ok.status &= is_state ? (uint16_t)~MYSQLWIRE_STATUS_STATE_CHANGED : UINT16_MAX;
    err = mysqlwire_ok_write(&packet, self->sequence, self->settings.capabilities, &ok);
    if (err != ERR_NONE) {
        return fail(reterr, err, "an answer of the target is too long");
    }
    const struct slice parts[] = {slice_sub(body, 0, 1),
                                  slice_from(buf_view(&packet), MYSQLWIRE_HEADER_SIZE + 1)};
    buf_truncate(&text, 0);
    must(buf_append_parts(&text, parts, COUNT_OF(parts)) == ERR_NONE);
    return put(self, buf_view(&text), said, reterr);
}

/* Results -------------------------------------------------------------------------------------- */

static enum err take_column(struct mysql_answer *self, struct slice body, struct error *reterr)
{
    struct mysqlwire_column column;
    const struct mysqlwire_request *request =
        mysqlwire_state_current(mysql_tap_state(self->settings.tap));
    if (request->command == MYSQLWIRE_FIELD_LIST) {
        return ERR_NONE; /* no rows come */
    }
    enum err err = mysqlwire_column_read(body, &column, reterr);
    if (err == ERR_NONE &&
        !mysql_row_columns_add(&self->columns, &self->rules, self->reach, &column)) {
        err = fail(reterr, ERR_LIMIT, "a result has more columns than rules can follow");
    }
    return err;
}

static enum err take_row(struct mysql_answer *self, struct slice body, bool is_binary,
                         struct buf *said, struct error *reterr)
{
    struct buf masked CLEANUP(buf_wipe);
    buf_init(&masked, LIMIT_PASSAGE_OUT_SIZE);
    enum mysql_row_outcome outcome = MYSQL_ROW_SAME;
    buf_clear(&self->words);
    if (self->current->is_masked) {
        outcome = mysql_row_mask(self->current, &self->rules, is_binary, body, &masked);
    }
    if (outcome == MYSQL_ROW_BROKEN) {
        return fail(reterr, ERR_INPUT, "a row of the target is malformed");
    }
    if (outcome == MYSQL_ROW_REFUSED) {
        if (self->words.len == 0) {
            (void)!buf_append(&self->words,
                              SLICE("the answer is blocked by a masking rule: it holds what cannot "
                                    "be looked through"));
        }
        return block(self, said, reterr);
    }
    if (!mysql_budgets_take(&self->budgets, self->number, body.len, &self->words)) {
        return block(self, said, reterr);
    }
    return put(self, outcome == MYSQL_ROW_CHANGED ? buf_view(&masked) : body, said, reterr);
}

static enum err take_packet(struct mysql_answer *self, struct slice body, struct buf *said,
                            struct error *reterr)
{
    enum mysqlwire_kind kind = MYSQLWIRE_KIND_OK;
    uint64_t number = 0;
    uint64_t count = 0;
    enum err err = ERR_NONE;
    if (self->is_swallowing) {
        return swallow(self, body, reterr);
    }
    err = mysqlwire_state_begin(mysql_tap_state(self->settings.tap), (uint32_t)body.len,
                                body.len > 0 ? (uint8_t)body.at[0] : 0, &kind, &number, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    if (kind == MYSQLWIRE_KIND_TEXT_ROW || kind == MYSQLWIRE_KIND_BINARY_ROW) {
        return take_row(self, body, kind == MYSQLWIRE_KIND_BINARY_ROW, said, reterr);
    }
    if (kind == MYSQLWIRE_KIND_ERROR) {
        return take_error(self, body, said, reterr);
    }
    if (kind == MYSQLWIRE_KIND_OK) {
        return take_ok(self, body, said, reterr);
    }
    if (kind == MYSQLWIRE_KIND_COLUMN_COUNT) {
        err = mysqlwire_column_count_read(body, &count, reterr);
        self->current = &self->columns;
        mysql_row_columns_begin(&self->columns, count);
    } else if (kind == MYSQLWIRE_KIND_COLUMN) {
        err = take_column(self, body, reterr);
    } else if (kind == MYSQLWIRE_KIND_EOF || kind == MYSQLWIRE_KIND_BETWEEN) {
        struct mysqlwire_ok ok;
        err = mysqlwire_ok_read(body, self->settings.capabilities, &ok, reterr);
        if (err == ERR_NONE && (ok.status & MYSQLWIRE_STATUS_CURSOR_EXISTS) != 0 &&
            self->statement_id != 0 && self->current == &self->columns) {
            keep_cursor(self);
        }
    }
    return err == ERR_NONE ? put(self, body, said, reterr) : err;
}

static enum err take_event(struct mysql_answer *self, const struct mysqlwire_event *event,
                           struct buf *said, struct error *reterr)
{
    if (event->kind == MYSQLWIRE_EVENT_HEADER) {
        self->sequence = event->sequence;
        buf_truncate(&self->packet, 0);
        if (event->size == MYSQLWIRE_PIECE_MAX) {
            return fail(reterr, ERR_LIMIT, "a row is longer than what rules can look through");
        }
    } else if (event->is_piece_last && self->packet.len == 0) {
        return take_packet(self, event->bytes, said, reterr);
    } else {
        enum err err = buf_append(&self->packet, event->bytes);
        must(err == ERR_NONE);
    }
    return event->is_packet_last ? take_packet(self, buf_view(&self->packet), said, reterr)
                                 : ERR_NONE;
}

enum err mysql_answer_pass(struct mysql_answer *self, struct slice bytes, struct buf *said,
                           struct error *reterr)
{
    enum err err = ERR_NONE;
    while (err == ERR_NONE) {
        struct mysqlwire_packet packet;
        struct mysqlwire_event event;
        if (mysql_tap_view_packet(self->settings.tap, PUMP_TARGET, bytes, &packet)) {
            bytes = slice_from(bytes, MYSQLWIRE_HEADER_SIZE + packet.body.len);
            self->sequence = packet.sequence;
            err = take_packet(self, packet.body, said, reterr);
            continue;
        }
        err = mysql_tap_next(self->settings.tap, PUMP_TARGET, &bytes, &event);
        err = err == ERR_NONE ? take_event(self, &event, said, reterr) : err;
    }
    if (mysql_tap_is_between(self->settings.tap, PUMP_TARGET)) {
        buf_clear(&self->packet);
    }
    return err == ERR_MORE ? ERR_NONE : err;
}

/* Commands ------------------------------------------------------------------------------------- */

static struct answer_cursor *find_cursor(struct mysql_answer *self, uint32_t id)
{
    for (size_t i = self->cursor_count; i > 0; i--) {
        if (self->cursors[i - 1].id == id) {
            return &self->cursors[i - 1];
        }
    }
    return NULL;
}

static void drop_cursor(struct mysql_answer *self, uint32_t id)
{
    struct answer_cursor *cursor = find_cursor(self, id);
    if (cursor != NULL) {
        mysql_row_columns_release(&cursor->columns);
        *cursor = self->cursors[--self->cursor_count];
    }
}

static void drop_cursors(struct mysql_answer *self)
{
    while (self->cursor_count > 0) {
        mysql_row_columns_release(&self->cursors[--self->cursor_count].columns);
    }
    self->current = &self->columns;
}

static uint32_t id_of(struct slice command)
{
    struct reader reader = reader_of(slice_from(command, 1));
    return mysqlwire_read_u32(&reader);
}

bool mysql_answer_may_begin(struct mysql_answer *self, struct slice command, bool reads,
                            struct buf *words)
{
    uint8_t kind = (uint8_t)command.at[0];
    if (kind == MYSQLWIRE_STMT_FETCH && find_cursor(self, id_of(command)) == NULL) {
        buf_clear(words);
        (void)!buf_append(words, SLICE(NO_CURSOR));
        return false;
    }
    return !reads || mysql_budgets_may_begin(&self->budgets, self->number, words);
}

void mysql_answer_begin(struct mysql_answer *self, struct slice command,
                        const struct mysql_reach *reach, uint64_t number, uint32_t statement_id)
{
    uint8_t kind = (uint8_t)command.at[0];
    self->reach = reach;
    self->number = number;
    self->statement_id = statement_id;
    self->found_count = 0;
    self->current = &self->columns;
    if (kind == MYSQLWIRE_STMT_FETCH) {
        self->current = &find_cursor(self, id_of(command))->columns;
    } else if (kind == MYSQLWIRE_STMT_EXECUTE) {
        drop_cursor(self, statement_id);
    } else if (kind == MYSQLWIRE_STMT_CLOSE || kind == MYSQLWIRE_STMT_RESET) {
        drop_cursor(self, id_of(command));
    } else if (kind == MYSQLWIRE_RESET_CONNECTION) {
        drop_cursors(self);
    }
}

bool mysql_answer_is_busy(const struct mysql_answer *self)
{
    return self->is_swallowing || self->awaits_stop;
}

void mysql_answer_stopped(struct mysql_answer *self)
{
    self->awaits_stop = false;
}

/* Its life ------------------------------------------------------------------------------------- */

bool mysql_answer_is_needed(const struct passage_policy *policy)
{
    return policy->masking != NULL || policy->budget_count > 0 ||
           (policy->output != NULL && guard_scope_looks_at(policy->output, GUARD_OUTPUT));
}

void mysql_answer_set_output(struct mysql_answer *self, const struct guard_scope *output)
{
    bool judges = output != NULL && guard_scope_looks_at(output, GUARD_OUTPUT);
    self->output = judges ? output : NULL;
    self->rules.may_pass = judges ? answer_may_pass : NULL;
}

void mysql_answer_set_policy(struct mysql_answer *self, const struct passage_policy *policy)
{
    struct mask_rules *before = self->masking;
    drop_cursors(self); /* their plans are of the rules before */
    mysql_row_columns_release(&self->columns);
    self->masking = policy->masking == NULL ? NULL : mask_rules_ref(policy->masking);
    mask_rules_unref(before);
    self->has_masked = self->has_masked || self->masking != NULL;
    self->rules = (struct mysql_row_rules){
        .masking = self->masking,
        .scratch = policy->scratch,
        .counts = &self->counts,
        .owner = self,
    };
    mysql_answer_set_output(self, policy->output);
    mysql_budgets_set(&self->budgets, policy);
}

struct mysql_answer *mysql_answer_new(const struct mysql_answer_settings *settings)
{
    static const struct mysql_reach nothing = {.why = ""};
    struct mysql_answer *self = memory_new(sizeof(*self));
    self->settings = *settings;
    self->reach = &nothing;
    self->current = &self->columns;
    buf_init(&self->packet, MYSQLWIRE_PIECE_MAX);
    buf_init(&self->words, WORDS_SIZE);
    mysql_budgets_init(&self->budgets, settings->events, settings->owner);
    return self;
}

void mysql_answer_free(struct mysql_answer *self)
{
    if (self == NULL) {
        return;
    }
    drop_cursors(self);
    memory_free(self->cursors);
    mysql_row_columns_release(&self->columns);
    mysql_budgets_release(&self->budgets);
    mask_rules_unref(self->masking);
    buf_wipe(&self->packet);
    buf_wipe(&self->words);
    memory_free(self);
}

const struct mask_counts *mysql_answer_counts(const struct mysql_answer *self)
{
    return self->has_masked ? &self->counts : NULL;
}
