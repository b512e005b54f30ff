/* SPDX-License-Identifier: MIT */
/* A session between a client and a server of MySQL that say anything, through a passage: what is
 * recorded of it is replayed. The first byte says which capabilities there are, the second how many
 * bytes of rows are recorded; then come parts, each with a byte for its side and one for its size.
 * Held: pieces make no difference to what passes, what is said back or what is on record; nothing
 * passes behind a side that broke the rules. With a bit of the first byte there are guard rails,
 * which block texts with a certain byte: then no command with it reaches the target. With another
 * one answers are masked and counted, too: what goes on is whole packets. */
#include "fuzz.h"

#include "base/must.h"
#include "codec/json.h"
#include "protocol/mysql/mysql_passage.h"
#include "protocol/mysql/mysql_replay.h"
#include "wire/mysqlwire_answer.h"
#include "wire/mysqlwire_frame.h"

#define OF_TARGET 0x80U
#define SIZE_BITS 0x7fU
#define RUN_SIZE  LIMIT_MIB(4)
#define GUARDED   0x08U
#define MASKED    0x10U
#define FORBIDDEN '%'
#define RULE                                                                                       \
    "{\"name\":\"fuzz\",\"columns\":[{\"name\":\"pay.card\"}],"                                    \
    "\"supported_entity_types\":[{\"name\":\"A\",\"entity_types\":[\"EMAIL_ADDRESS\"]}],"          \
    "\"custom_entity_types\":[{\"name\":\"MARK\",\"deny_list\":[\"geheim\"],\"score\":0.9}]}"

struct run {
    struct buf passed[2];
    struct buf back;
    struct buf to_target; /* from both */
    struct buf told;      /* messages whole, by side, without how they were cut */
    enum err err;
};

/* The recorder's place ------------------------------------------------------------------------- */

static struct run *current;
static void *replay;

static enum err visit(void *context, const struct replay_event *event, struct error *reterr)
{
    struct replay_values values = event->values;
    struct replay_value value;
    struct buf scratch;
    (void)context;
    (void)reterr;
    buf_init(&scratch, LIMIT_KIB(64));
    while (replay_value_next(&values, &scratch, &value)) {
        must(value.text.at != NULL || value.text.len == 0);
    }
    buf_release(&scratch);
    return ERR_NONE;
}

void recorder_add(struct recorder *recorder, enum record_kind kind, enum record_side side,
                  const struct slice *parts, size_t count)
{
    struct buf payload;
    struct error error;
    (void)recorder;
    buf_init(&payload, RUN_SIZE);
    must(buf_append_parts(&payload, parts, count) == ERR_NONE);
    const struct record record = {.kind = kind, .side = side, .payload = buf_view(&payload)};
    must(mysql_replay_ops.add(replay, &record, &error) == ERR_NONE);
    if (kind != RECORD_COUNT) {
        must(buf_append(&current->told, buf_view(&payload)) == ERR_NONE);
    }
    buf_release(&payload);
}

void recorder_add_messages(struct recorder *recorder, enum record_side side,
                           const struct slice *parts, size_t count)
{
    recorder_add(recorder, RECORD_MESSAGE, side, parts, count);
}

/* The session ---------------------------------------------------------------------------------- */

static bool on_kill(void *owner, uint32_t number, bool is_end)
{
    (void)owner;
    return !is_end && (number & 1U) != 0;
}

static void on_finding(void *owner, const struct guard_event *event)
{
    (void)owner;
    must(event->finding != NULL || event->words.len > 0);
}

static struct passage *playing;

static void on_block(void *owner)
{
    (void)owner;
    playing->ops->stopped(playing);
}

static struct catalog_stamp on_stamp(void *owner)
{
    (void)owner;
    return (struct catalog_stamp){.at_us = 5};
}

static bool on_read(void *owner, const struct read_amount *more, const struct read_amount *most,
                    struct read_hour *ret_hour)
{
    (void)owner;
    *ret_hour = (struct read_hour){.read = *more};
    return more->rows <= most->rows && more->bytes <= most->bytes;
}

static const struct passage_events events = {.on_kill = on_kill,
                                             .on_finding = on_finding,
                                             .on_block = on_block,
                                             .on_stamp = on_stamp,
                                             .on_read = on_read};

/* Rules ---------------------------------------------------------------------------------------- */

static struct guard_verdict verdict_of(struct slice text)
{
    struct guard_verdict verdict = {.max_rows = -1};
    if (slice_find_byte(text, FORBIDDEN) < text.len) {
        verdict.action = GUARD_BLOCK;
        verdict.count = 1;
        verdict.findings[0] = (struct guard_finding){.action = GUARD_BLOCK,
                                                     .guardrail_name = SLICE("rail"),
                                                     .rule_name = SLICE("rule"),
                                                     .rule_type = SLICE("sql"),
                                                     .message = SLICE(""),
                                                     .why = SLICE("")};
    }
    return verdict;
}

static void judge(void *context, const struct sql_settings *settings, struct slice text,
                  struct guard_verdict *ret_verdict, struct guard_facts *ret_facts)
{
    static struct arena arena; /* for all inputs */
    struct sql_script script = sql_analyze(&arena, settings, text);
    (void)context;
    *ret_verdict = verdict_of(text);
    *ret_facts = (struct guard_facts){.statement_count = script.count, .prepared = SLICE("")};
    for (size_t i = 0; i < script.count; i++) {
        ret_facts->operations |= script.statements[i].operations;
        ret_facts->is_unknown = ret_facts->is_unknown || script.statements[i].is_unknown;
    }
    arena_reset(&arena);
}

static void judge_script(void *context, const struct sql_settings *settings, struct slice text,
                         const struct sql_script *script, struct guard_verdict *ret_verdict)
{
    (void)context;
    (void)settings;
    (void)script;
    *ret_verdict = verdict_of(text);
}

static const struct passage_policy policy = {
    .generation = 1, .looks_at_values = true, .judge = judge, .judge_script = judge_script};

/* Made once. */
static const struct passage_policy *masking_policy(void)
{
    static struct passage_policy made;
    static struct guard_budget budgets[2];
    if (made.generation == 0) {
        struct arena arena CLEANUP(arena_release);
        struct json document;
        struct masking_rule rule = {0};
        arena_init(&arena);
        must(json_parse_in(&arena, SLICE("[" RULE "]"), &document, NULL) == ERR_NONE);
        struct json item = json_item(&document, 0);
        must(shape_read(&masking_rule_shape, SHAPE_WHOLE, &item, &rule, NULL) == ERR_NONE);
        made = policy;
        made.analyze = sql_analyze;
        made.scratch = mask_scratch_new();
        must(mask_rules_new(&rule, 1, SLICE("0123456789abcdef0123456789abcdef"), &made.masking,
                            NULL) == ERR_NONE);
        budgets[0] = (struct guard_budget){
            .finding = verdict_of(SLICE("%")).findings[0], .rows = 20, .bytes = UINT64_MAX};
        budgets[1] = budgets[0];
        budgets[1].is_hourly = true;
        made.budgets = budgets;
        made.budget_count = 2;
    }
    return &made;
}

/* Commands that run a text, and are whole. */
static void check_commands(struct slice bytes)
{
    struct mysqlwire_framer framer;
    bool is_text = false;
    mysqlwire_framer_init(&framer);
    while (bytes.len > 0) {
        struct mysqlwire_event event;
        size_t taken = 0;
        enum err err = mysqlwire_framer_next(&framer, bytes, &taken, &event);
        bytes = slice_from(bytes, taken);
        if (err != ERR_NONE || event.kind != MYSQLWIRE_EVENT_PART) {
            continue;
        }
        uint8_t command = (uint8_t)event.bytes.at[0];
        is_text = command == MYSQLWIRE_QUERY || command == MYSQLWIRE_STMT_PREPARE;
        must(!is_text || slice_find_byte(event.bytes, FORBIDDEN) == event.bytes.len);
    }
}

/* Whole packets, whatever the target cut. */
static void check_answers(const struct run *run)
{
    struct slice bytes = buf_view(&run->passed[PUMP_TARGET]);
    struct mysqlwire_framer framer;
    mysqlwire_framer_init(&framer);
    while (bytes.len > 0) {
        struct mysqlwire_event event;
        size_t taken = 0;
        enum err err = mysqlwire_framer_next(&framer, bytes, &taken, &event);
        bytes = slice_from(bytes, taken);
        must(err == ERR_NONE || bytes.len == 0);
    }
    must(run->err != ERR_NONE || mysqlwire_framer_is_between(&framer));
}

static struct passage *start(const uint8_t *bytes)
{
    struct buf ok;
    const struct mysqlwire_ok told = {.info = SLICE(""), .state_changes = SLICE("")};
    uint32_t capabilities = (bytes[0] & 1U) != 0 ? MYSQLWIRE_DEPRECATE_EOF : 0;
    capabilities |= (bytes[0] & 2U) != 0 ? MYSQLWIRE_SESSION_TRACK : 0;
    bool is_guarded = (bytes[0] & GUARDED) != 0;
    capabilities |= (bytes[0] & 4U) != 0 && !is_guarded ? MYSQLWIRE_LOCAL_FILES : 0;
    buf_init(&ok, 256);
    must(mysqlwire_ok_write(&ok, 0, capabilities, &told) == ERR_NONE);
    const struct arrival arrival = {.version = capabilities,
                                    .greeting = slice_from(buf_view(&ok), MYSQLWIRE_HEADER_SIZE)};
    struct passage_settings settings = {.row_limit = bytes[1], .arrival = &arrival, .policy = NULL};
    if (is_guarded) {
        settings.policy = (bytes[0] & MASKED) != 0 ? masking_policy() : &policy;
    }
    struct passage *passage = mysql_passage_ops.start(&settings, &events, NULL);
    playing = passage;
    buf_release(&ok);
    return passage;
}

static void pass(struct passage *passage, enum pump_side side, struct slice bytes, struct run *run)
{
    struct error error;
    struct slice back = SLICE("");
    struct slice passing = bytes;
    run->err = passage->ops->pass(passage, side, &passing, &back, &error);
    must(run->err == ERR_NONE || run->err == ERR_INPUT || run->err == ERR_LIMIT);
    if (run->err == ERR_NONE) {
        must(buf_append(&run->passed[side], passing) == ERR_NONE);
        must(buf_append(&run->back, back) == ERR_NONE);
        must(buf_append(&run->to_target, side == PUMP_CLIENT ? passing : back) == ERR_NONE);
    }
    (void)passage->ops->state(passage);
}

static void play(const uint8_t *bytes, size_t size, size_t piece, struct run *run)
{
    struct passage *passage = start(bytes);
    struct error error;
    struct buf words;
    const struct ending_words why = {.why = ENDING_KILLED, .message = SLICE("over")};
    for (size_t i = 2; i + 1 < size && run->err == ERR_NONE;) {
        enum pump_side side = (bytes[i] & OF_TARGET) != 0 ? PUMP_TARGET : PUMP_CLIENT;
        struct slice part =
            slice_sub(slice_of(bytes, size), i + 1, (size_t)(bytes[i] & SIZE_BITS) + 1);
        i += 1 + part.len;
        while (part.len > 0 && run->err == ERR_NONE) {
            pass(passage, side, slice_sub(part, 0, piece), run);
            part = slice_from(part, piece);
        }
    }
    buf_init(&words, LIMIT_KIB(4));
    (void)passage->ops->last_words(passage, &why, false, &words);
    (void)passage->ops->last_words(passage, &why, true, &words);
    buf_release(&words);
    passage->ops->end(passage);
    passage->ops->free(passage);
    must(mysql_replay_ops.end(replay, &error) == ERR_NONE);
}

static void run_with(const uint8_t *bytes, size_t size, size_t piece, struct run *run)
{
    *run = (struct run){.err = ERR_NONE};
    buf_init(&run->passed[PUMP_CLIENT], RUN_SIZE);
    buf_init(&run->passed[PUMP_TARGET], RUN_SIZE);
    buf_init(&run->back, RUN_SIZE);
    buf_init(&run->to_target, RUN_SIZE);
    buf_init(&run->told, RUN_SIZE);
    current = run;
    replay = mysql_replay_ops.start(visit, NULL);
    play(bytes, size, piece, run);
    mysql_replay_ops.free(replay);
}

static void release(struct run *run)
{
    buf_release(&run->passed[PUMP_CLIENT]);
    buf_release(&run->passed[PUMP_TARGET]);
    buf_release(&run->back);
    buf_release(&run->to_target);
    buf_release(&run->told);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct run whole;
    struct run pieces;
    if (size < 4) {
        return 0;
    }
    run_with(bytes, size, SIZE_MAX, &whole);
    run_with(bytes, size, 1, &pieces);
    if ((bytes[0] & GUARDED) != 0 && (bytes[0] & MASKED) != 0) {
        check_answers(&whole);
        check_answers(&pieces);
    }
    if ((bytes[0] & GUARDED) != 0) {
        check_commands(buf_view(&whole.to_target));
        check_commands(buf_view(&pieces.to_target));
        release(&whole);
        release(&pieces);
        return 0;
    }
    must(whole.err == pieces.err);
    if (whole.err == ERR_NONE) {
        must(slice_equals(buf_view(&whole.passed[0]), buf_view(&pieces.passed[0])));
        must(slice_equals(buf_view(&whole.passed[1]), buf_view(&pieces.passed[1])));
        must(slice_equals(buf_view(&whole.back), buf_view(&pieces.back)));
        must(slice_equals(buf_view(&whole.told), buf_view(&pieces.told)));
    }
    release(&whole);
    release(&pieces);
    return 0;
}
