/* SPDX-License-Identifier: MIT */
#include "base/limits.h"
#include "base/text.h"
#include "policy/guard_internal.h"
#include "policy/guard_normal.h"

#define FAILED SLICE("there is not enough memory to examine it")

/* Bytes that are not UTF-8 become one that nothing is about; all others stay what and where they
 * are. */
static enum err match_clean(struct buf *buf, struct slice text)
{
    enum err err = ERR_NONE;
    size_t from = 0;
    size_t index = 0;
    while (index < text.len && err == ERR_NONE) {
        uint32_t code = 0;
        size_t len = text_character(slice_from(text, index), &code);
        if (len == 0) {
            struct slice parts[] = {slice_sub(text, from, index - from), SLICE("\x1a")};
            err = buf_append_parts(buf, parts, 2);
            from = index + 1;
        }
        index += len == 0 ? 1 : len;
    }
    return err == ERR_NONE ? buf_append(buf, slice_from(text, from)) : err;
}

static int match_found(unsigned int rule, unsigned long long from, unsigned long long to,
                       unsigned int flags, void *at)
{
    (void)from;
    (void)to;
    (void)flags;
    guard_note(at, rule, SLICE_NONE);
    return 0;
}

static void match_release(struct buf *buf)
{
    if (buf->capacity > LIMIT_GUARD_BUFFER_SIZE) {
        buf_clear(buf);
    }
    buf_consume(buf, buf_view(buf).len);
}

static void match_text(struct guard_judgement *judgement, enum guard_direction direction,
                       struct slice text)
{
    const struct guard_database *database = &judgement->scope->rules->databases[direction];
    struct guard_scratch *scratch = judgement->scope->scratch;
    enum err err = ERR_NONE;
    if (database->needs_utf8 && !text_is_ascii(text) && !text_is_utf8(text)) {
        err = match_clean(&scratch->clean, text);
        text = buf_view(&scratch->clean);
    }
    if (err == ERR_NONE && text.len > 0) {
        hs_error_t failed = hs_scan(database->database, text.at, (unsigned int)text.len, 0,
                                    scratch->scratch, match_found, judgement);
        err = failed == HS_SUCCESS ? ERR_NONE : ERR_INTERNAL;
    }
    if (err != ERR_NONE) {
        guard_note_failure(judgement, direction, FAILED);
    }
    match_release(&scratch->clean);
}

/* Matches the normal form, by whatever way it was made. */
static void match_normal(struct guard_judgement *judgement, enum err err)
{
    struct buf *normal = &judgement->scope->scratch->normal;
    if (err != ERR_NONE) {
        guard_note_failure(judgement, GUARD_INPUT, FAILED);
    } else {
        match_text(judgement, GUARD_INPUT, buf_view(normal));
    }
    match_release(normal);
}

/* A text that was cut into words. Each statement by itself first: a pattern may be bound to the
 * start, and the finding names it. Without gaps the text is its own normal form. */
static void match_cut(struct guard_judgement *judgement, struct slice text,
                      const struct sql_script *script)
{
    struct buf *normal = &judgement->scope->scratch->normal;
    size_t gap = 0;
    for (size_t i = 0; i < script->count && script->count > 1; i++) {
        const struct sql_statement *statement = &script->statements[i];
        struct slice own = slice_sub(text, statement->offset, statement->len);
        while (gap < script->gap_count && script->gaps[gap].offset < statement->offset) {
            gap++;
        }
        size_t first = gap;
        while (gap < script->gap_count &&
               script->gaps[gap].offset < statement->offset + statement->len) {
            gap++;
        }
        judgement->statement = i;
        if (gap == first) {
            match_text(judgement, GUARD_INPUT, own);
        } else {
            match_normal(judgement, guard_normal_cut(normal, own, statement->offset,
                                                     &script->gaps[first], gap - first));
        }
    }
    judgement->statement = 0;
    match_text(judgement, GUARD_INPUT, text);
    if (script->gap_count > 0) {
        match_normal(judgement, guard_normal_cut(normal, text, 0, script->gaps, script->gap_count));
    }
}

void guard_match_input(struct guard_judgement *judgement, struct slice text,
                       const struct sql_settings *settings, const struct sql_script *script)
{
    struct buf *normal = &judgement->scope->scratch->normal;
    if (judgement->scope->rules->databases[GUARD_INPUT].database == NULL) {
        return;
    }
    if (script != NULL && script->is_cut) {
        match_cut(judgement, text, script);
        return;
    }
    size_t count = script == NULL || script->count < 2 ? 0 : script->count;
    for (size_t i = 0; i < count; i++) {
        const struct sql_statement *statement = &script->statements[i];
        struct slice own = slice_sub(text, statement->offset, statement->len);
        judgement->statement = i;
        match_normal(judgement, guard_normal_form(normal, own, settings->is_backslash_quoted));
    }
    judgement->statement = 0;
    match_text(judgement, GUARD_INPUT, text);
    match_normal(judgement, guard_normal_form(normal, text, settings->is_backslash_quoted));
}

void guard_match_output(struct guard_judgement *judgement, struct slice text)
{
    if (judgement->scope->rules->databases[GUARD_OUTPUT].database != NULL) {
        match_text(judgement, GUARD_OUTPUT, text);
    }
}
