/* SPDX-License-Identifier: MIT */
#include "protocol/postgres/pg_mask.h"

#include "base/must.h"
#include "protocol/postgres/pg_mask_change.h"
#include "protocol/postgres/pg_mask_copy.h"
#include "protocol/postgres/pg_mask_notice.h"
#include "protocol/postgres/pg_mask_reach.h"
#include "protocol/postgres/pg_mask_request.h"
#include "protocol/postgres/pg_mask_rest.h"
#include "protocol/postgres/pg_mask_row.h"
#include "protocol/postgres/pg_mask_value.h"

#include <sodium.h>
#include <stdio.h>

/* What may come whole of a masked session, and what masking makes of it at most. */
#define VALUE_SIZE_MAX (2 * LIMIT_MASK_MESSAGE_SIZE)

static void take_rules(struct pg_mask *mask, const struct pg_mask_settings *settings)
{
    struct mask_rules *rules = settings->rules != NULL ? mask_rules_ref(settings->rules) : NULL;
    mask_rules_unref(mask->settings.rules);
    mask->settings = *settings;
    mask->strictest = rules != NULL ? mask_rules_strictest(rules) : NULL;
    mask->looks_into_text = rules != NULL && mask_rules_look_into_text(rules);
    mask->judges = settings->scope != NULL && guard_scope_looks_at(settings->scope, GUARD_OUTPUT);
}

struct pg_mask *pg_mask_new(const struct pg_mask_settings *settings)
{
    struct pg_mask *mask = memory_new(sizeof(*mask));
    uint8_t seed[MAP_SEED_SIZE];
    randombytes_buf(seed, sizeof(seed));
    list_init(&mask->pending);
    list_init(&mask->spare);
    map_init(&mask->statements, seed);
    map_init(&mask->portals, seed);
    list_init(&mask->kept);
    buf_init(&mask->value, VALUE_SIZE_MAX);
    buf_init(&mask->piece, VALUE_SIZE_MAX);
    buf_init(&mask->bytes, VALUE_SIZE_MAX);
    buf_init(&mask->masked, VALUE_SIZE_MAX);
    buf_init(&mask->unescaped, VALUE_SIZE_MAX);
    buf_init(&mask->line, VALUE_SIZE_MAX);
    buf_init(&mask->copying.carry, LIMIT_MASK_MESSAGE_SIZE);
    pg_mask_large_init(&mask->large);
    mask->is_encoding_unsafe = settings->is_encoding_unsafe;
    take_rules(mask, settings);
    return mask;
}

static void release_current(struct pg_mask *mask)
{
    described_unref(mask->of_query);
    mask->of_query = NULL;
    mask->is_current = false;
}

void pg_mask_free(struct pg_mask *mask)
{
    if (mask == NULL) {
        return;
    }
    pg_mask_end_changes(mask);
    pg_mask_release_pending(mask);
    pg_mask_forget_names(mask, false);
    release_current(mask);
    described_unref(mask->recent);
    pg_mask_copy_end(mask);
    pg_mask_release_kept(mask);
    pg_mask_rest_release(mask);
    pg_facts_unref(mask->facts);
    pg_mask_large_release(&mask->large);
    map_release(&mask->statements);
    map_release(&mask->portals);
    memory_free(mask->fields);
    buf_release(&mask->value);
    buf_release(&mask->piece);
    buf_release(&mask->bytes);
    buf_release(&mask->masked);
    buf_release(&mask->unescaped);
    buf_release(&mask->line);
    mask_rules_unref(mask->settings.rules);
    memory_free(mask);
}

/* What ran before them may have left something. */
void pg_mask_set_rules(struct pg_mask *mask, const struct pg_mask_settings *settings)
{
    bool is_same = mask->settings.rules == settings->rules;
    take_rules(mask, settings);
    if (!is_same) { /* what is known is about the others */
        pg_facts_unref(mask->facts);
        mask->facts = NULL;
        mask->facts_id++;
        mask->has_reached = mask->strictest != NULL;
        mask->has_run_code = mask->strictest != NULL;
    }
    mask->generation++;
    mask->is_current = false;
    pg_mask_row_replan(mask);
    if (mask->copying.is_on) {
        pg_mask_copy_replan(mask);
    }
}

bool pg_mask_wants(const struct pg_mask *mask, char type)
{
    static const char wanted[] = "123ACDEHNSTVWZcdn";
    return (mask->settings.rules != NULL || mask->judges) && type != '\0' &&
           strchr(wanted, type) != NULL;
}

const struct mask_counts *pg_mask_counts(const struct pg_mask *mask)
{
    return &mask->counts;
}

/* Answers -------------------------------------------------------------------------------------- */

/* Only what a Describe of ours is answered with. */
static void swallow(const struct pending_request *pending, enum pg_mask_verdict *ret_verdict)
{
    if (pending != NULL && pending->is_own) {
        *ret_verdict = PG_MASK_CHANGED;
    }
}

static enum err take_description(struct pg_mask *mask, const struct pending_request *pending,
                                 struct slice body, enum pg_mask_verdict *ret_verdict,
                                 struct error *reterr_error)
{
    struct pgwire_fields fields;
    enum err err = pgwire_row_description_read(body, &fields, reterr_error);
    if (err != ERR_NONE) {
        return err;
    }
    pg_mask_apply_description(mask, pending, body);
    mask->is_current = false;
    swallow(pending, ret_verdict);
    return ERR_NONE;
}

/* What a large answer needed is not kept for the next. */
static void trim(struct buf *buf)
{
    if (buf->capacity > LIMIT_READ_SIZE) {
        buf_clear(buf);
    }
}

/* What holds until the transaction ends. */
static void take_ready(struct pg_mask *mask, struct slice body)
{
    release_current(mask);
    pg_mask_copy_end(mask);
    trim(&mask->value);
    trim(&mask->piece);
    trim(&mask->bytes);
    trim(&mask->masked);
    trim(&mask->unescaped);
    trim(&mask->line);
    if (mask->is_blocked) { /* what the server did since, nobody saw */
        mask->is_blocked = false;
        pg_mask_forget_names(mask, false);
    }
    bool is_idle = slice_equals(body, SLICE("I"));
    pg_mask_note_ready(mask, is_idle);
    if (is_idle) {
        pg_mask_forget_portals(mask);
    }
}

/* Says how many values are NULL that were not, once for each command, before it is said to be
 * complete. */
static enum err tell_nulls(struct pg_mask *mask, struct slice message, struct buf *out,
                           enum pg_mask_verdict *ret_verdict, struct error *reterr_error)
{
    char text[128];
    uint64_t count = mask->counts.nulls - mask->told_nulls;
    if (count == 0) {
        return ERR_NONE;
    }
    int len = snprintf(text, sizeof(text), "data masking: %llu value%s became NULL",
                       (unsigned long long)count, count == 1 ? "" : "s");
    const struct pgwire_notice notice = {
        .severity = SLICE("NOTICE"),
        .sqlstate = SLICE("01000"),
        .message = slice_of(text, (size_t)len),
        .detail =
            SLICE("A masking rule found something in a value whose type holds no text, or the "
                  "value could not be examined."),
        .hint = SLICE("A cast to text shows the rest of it."),
    };
    mask->told_nulls = mask->counts.nulls;
    if (pgwire_notice_write(out, &notice) != ERR_NONE || buf_append(out, message) != ERR_NONE) {
        return fail(reterr_error, ERR_LIMIT, "masked messages are too large");
    }
    *ret_verdict = PG_MASK_CHANGED;
    return ERR_NONE;
}

/* One message of those that change what is known. */
static enum err take_state(struct pg_mask *mask, struct pending_request *pending, char type,
                           struct slice body, enum pg_mask_verdict *ret_verdict,
                           struct error *reterr_error)
{
    switch (type) {
    case PGWIRE_SERVER_ROW_DESCRIPTION:
        return take_description(mask, pending, body, ret_verdict, reterr_error);
    case PGWIRE_SERVER_NO_DATA:
        return take_description(mask, pending, slice_of("\0\0", 2), ret_verdict, reterr_error);
    case PGWIRE_SERVER_PARSE_COMPLETE:
    case PGWIRE_SERVER_BIND_COMPLETE:
    case PGWIRE_SERVER_CLOSE_COMPLETE:
        pg_mask_apply(mask, pending);
        return ERR_NONE;
    case PGWIRE_SERVER_COPY_OUT:
        return pg_mask_copy_begin(mask, pending, body, reterr_error);
    case PGWIRE_SERVER_READY:
        take_ready(mask, body);
        return ERR_NONE;
    default:
        return ERR_NONE;
    }
}

static enum err take_one(struct pg_mask *mask, struct pending_request *pending,
                         struct slice message, struct buf *out, enum pg_mask_verdict *ret_verdict,
                         struct error *reterr_error)
{
    char type = message.at[0];
    *ret_verdict = PG_MASK_SAME;
    if (type == PGWIRE_SERVER_ERROR) {
        release_current(mask);
        pg_mask_copy_end(mask);
    }
    switch (type) {
    case PGWIRE_SERVER_ERROR:
    case PGWIRE_SERVER_NOTICE:
    case PGWIRE_SERVER_NOTIFICATION:
    case PGWIRE_SERVER_PARAMETER_STATUS:
    case PGWIRE_SERVER_FUNCTION_RESULT:
        return pg_mask_words(mask, pending, message, out, ret_verdict, reterr_error);
    case PGWIRE_SERVER_COMMAND_COMPLETE:
        release_current(mask);
        return tell_nulls(mask, message, out, ret_verdict, reterr_error);
    case PGWIRE_SERVER_COPY_DONE:
        return pg_mask_copy_done(mask, message, out, ret_verdict, reterr_error);
    case PGWIRE_SERVER_COPY_BOTH: /* a stream of changes, in forms that plug-ins choose */
        pg_mask_set_refused(mask, MASK_REFUSED_NAME, MASK_STREAM_WORDS);
        return pg_mask_block(mask, out, ret_verdict, reterr_error);
    default:
        return take_state(mask, pending, type, slice_from(message, PGWIRE_HEADER_SIZE), ret_verdict,
                          reterr_error);
    }
}

/* Several of one type that came together: 'out' has those that pass before the first that differs,
 * too. */
static enum err take_each(struct pg_mask *mask, struct pending_request *pending,
                          struct slice messages, struct buf *out, enum pg_mask_verdict *ret_verdict,
                          struct error *reterr_error)
{
    struct reader reader = reader_of(messages);
    size_t copied = 0;
    bool is_changed = false;
    *ret_verdict = PG_MASK_SAME;
    while (reader_left(&reader) > 0 && *ret_verdict != PG_MASK_BLOCKED) {
        size_t start = reader.index;
        size_t out_before = out->len;
        reader_skip(&reader, 1);
        uint32_t length = reader_u32(&reader);
        reader_skip(&reader, (size_t)length - sizeof(length));
        if (reader.failed) {
            return fail(reterr_error, ERR_INPUT, "malformed message");
        }
        /* What stands before it goes first, when it turns out that it is needed. */
        struct slice message = slice_sub(messages, start, reader.index - start);
        struct slice before = slice_sub(messages, copied, start - copied);
        enum pg_mask_verdict verdict;
        if (buf_append(out, before) != ERR_NONE) {
            return fail(reterr_error, ERR_LIMIT, "masked messages are too large");
        }
        enum err err = take_one(mask, pending, message, out, &verdict, reterr_error);
        if (err != ERR_NONE) {
            return err;
        }
        if (verdict == PG_MASK_SAME) {
            buf_truncate(out, out_before);
            continue;
        }
        copied = reader.index;
        is_changed = true;
        *ret_verdict = verdict;
    }
    if (*ret_verdict == PG_MASK_BLOCKED) {
        return ERR_NONE;
    }
    *ret_verdict = is_changed ? PG_MASK_CHANGED : PG_MASK_SAME;
    if (is_changed && buf_append(out, slice_from(messages, copied)) != ERR_NONE) {
        return fail(reterr_error, ERR_LIMIT, "masked messages are too large");
    }
    return ERR_NONE;
}

/* What cannot pass before it is known what the request reaches, or ends what could be known. */
static bool is_decided_by(char type)
{
    static const char types[] = {PGWIRE_SERVER_DATA_ROW,
                                 PGWIRE_SERVER_COPY_OUT,
                                 PGWIRE_SERVER_COPY_DATA,
                                 PGWIRE_SERVER_ERROR,
                                 PGWIRE_SERVER_NOTICE,
                                 PGWIRE_SERVER_COMMAND_COMPLETE,
                                 PGWIRE_SERVER_FUNCTION_RESULT,
                                 PGWIRE_SERVER_PARAMETER_STATUS,
                                 '\0'};
    return strchr(types, type) != NULL;
}

/* What a notice comes of, which answers nothing. */
static struct pending_request *under_way(const struct pg_mask *mask)
{
    LIST_EACH(link, &mask->pending) {
        struct pending_request *pending = LIST_ITEM(link, struct pending_request, link);
        if (!pending->is_complete) {
            return pending;
        }
    }
    return NULL;
}

/* A Query may have more statements behind one that is complete. */
static void note_complete(struct pending_request *pending, char type)
{
    static const char ends[] = {PGWIRE_SERVER_PARSE_COMPLETE,  PGWIRE_SERVER_BIND_COMPLETE,
                                PGWIRE_SERVER_CLOSE_COMPLETE,  PGWIRE_SERVER_COMMAND_COMPLETE,
                                PGWIRE_SERVER_ROW_DESCRIPTION, PGWIRE_SERVER_NO_DATA,
                                PGWIRE_SERVER_ERROR,           '\0'};
    if (pending != NULL && pending->type != PGWIRE_CLIENT_QUERY && strchr(ends, type) != NULL) {
        pending->is_complete = true;
    }
}

enum err pg_mask_answer(struct pg_mask *mask, uint64_t request, struct slice messages,
                        struct buf *out, enum pg_mask_verdict *ret_verdict,
                        struct error *reterr_error)
{
    size_t before = out->len;
    enum err err;
    *ret_verdict = PG_MASK_SAME;
    if (messages.len < PGWIRE_HEADER_SIZE || !pg_mask_wants(mask, messages.at[0])) {
        return ERR_NONE;
    }
    bool has_run = messages.at[0] == PGWIRE_SERVER_READY; /* nothing more comes to the request */
    struct pending_request *pending = pg_mask_find_pending(mask, has_run ? request + 1 : request);
    pending = has_run ? NULL : pending;
    struct pending_request *current = pending != NULL || has_run ? pending : under_way(mask);
    if (is_decided_by(messages.at[0]) && !pg_mask_decide(mask, current)) {
        *ret_verdict = PG_MASK_WAIT;
        return ERR_NONE;
    }
    note_complete(pending, messages.at[0]);
    if (messages.at[0] == PGWIRE_SERVER_DATA_ROW) {
        pg_mask_make_current(mask, pending, request);
        err = pg_mask_rows(mask, messages, out, ret_verdict, reterr_error);
    } else if (messages.at[0] == PGWIRE_SERVER_COPY_DATA) {
        err = pg_mask_copy_rows(mask, messages, out, ret_verdict, reterr_error);
    } else {
        err = take_each(mask, pending, messages, out, ret_verdict, reterr_error);
    }
    if (err != ERR_NONE) {
        buf_truncate(out, before);
    }
    return err;
}
