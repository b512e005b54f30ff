/* SPDX-License-Identifier: MIT */
#include "protocol/postgres/pg_mask_rest.h"

#include "base/hash.h"
#include "base/memory.h"
#include "protocol/postgres/pg_mask_reach.h"
#include "protocol/postgres/pg_mask_request.h"

#define WRITES (SQL_BIT(SQL_INSERT) | SQL_BIT(SQL_UPDATE))
/* What does nothing that a mask would have to know later. */
#define QUIET                                                                                      \
    (SQL_BIT(SQL_SELECT) | WRITES | SQL_BIT(SQL_DELETE) | SQL_BIT(SQL_BEGIN) |                     \
     SQL_BIT(SQL_COMMIT) | SQL_BIT(SQL_ROLLBACK))

#define SHAPES   32   /* that are kept of a session */
#define TEXT_MAX 2048 /* bytes of a text that is remembered */

/* How a statement is written, without its numbers and strings. */
struct mask_shape {
    uint64_t facts_id;
    bool is_write; /* what the catalog says has to be true before it runs */
    size_t len;
    char bytes[];
};

enum byte_kind {
    BYTE_PLAIN,
    BYTE_WORD,
    BYTE_DIGIT,
    BYTE_QUOTE,
    BYTE_OTHERWISE, /* a comment may begin, a quoted name, a string between dollars */
    BYTE_UNKNOWN,   /* letters beyond ASCII are of some encoding, and so is what a backslash does */
};

struct mask_shapes {
    uint8_t kinds[UINT8_MAX + 1]; /* enum byte_kind */
    struct mask_shape *of[SHAPES];
};

/* Shapes ----------------------------------------------------------------------------------------
 */

static uint8_t kind_of(unsigned byte)
{
    unsigned letter = byte | 0x20;
    if ((letter >= 'a' && letter <= 'z') || byte == '_') {
        return BYTE_WORD;
    }
    if (byte >= '0' && byte <= '9') {
        return BYTE_DIGIT;
    }
    switch (byte) {
    case '\'':
        return BYTE_QUOTE;
    case '"':
    case '$':
    case '-':
    case '/':
        return BYTE_OTHERWISE;
    case '\0':
    case '\\':
        return BYTE_UNKNOWN;
    default:
        return byte < 0x80 ? BYTE_PLAIN : BYTE_UNKNOWN;
    }
}

static struct mask_shapes *shapes_of(struct pg_mask *mask)
{
    if (mask->shapes == NULL) {
        mask->shapes = memory_new(sizeof(*mask->shapes));
        for (unsigned byte = 0; byte <= UINT8_MAX; byte++) {
            mask->shapes->kinds[byte] = kind_of(byte);
        }
    }
    return mask->shapes;
}

static uint8_t kind_at(const uint8_t *kinds, struct slice text, size_t at)
{
    return at < text.len ? kinds[(unsigned char)text.at[at]] : BYTE_PLAIN;
}

/* Whether what begins there has quotes and digits that are others: it is taken as it is. */
static bool begins_otherwise(struct slice text, size_t at)
{
    char byte = text.at[at];
    char next = at + 1 < text.len ? text.at[at + 1] : '\0';
    return byte == '"' || byte == '$' || (byte == '-' && next == '-') ||
           (byte == '/' && next == '*');
}

/* Copies the rest as it is; false: some of it is not known. */
static bool copy_rest(const uint8_t *kinds, struct slice rest, char *at)
{
    bool is_known = true;
    for (size_t i = 0; i < rest.len; i++) {
        at[i] = rest.at[i];
        is_known = is_known && kinds[(unsigned char)rest.at[i]] != BYTE_UNKNOWN;
    }
    return is_known;
}

/* Behind the number; 'at': it is part of something else. */
static size_t number_end(const uint8_t *kinds, struct slice text, size_t at)
{
    size_t end = at + 1;
    while (kind_at(kinds, text, end) == BYTE_DIGIT) {
        end++;
    }
    bool is_part =
        kind_at(kinds, text, end) == BYTE_WORD || (end < text.len && text.at[end] == '$');
    return is_part ? at : end;
}

/* Behind the string: its end quote stands at 'end' - 1. 0: it does not end, or may be read in more
 * than one way. */
static size_t string_end(const uint8_t *kinds, struct slice text, size_t at)
{
    for (size_t i = at + 1; i < text.len; i++) {
        uint8_t kind = kinds[(unsigned char)text.at[i]];
        if (kind == BYTE_QUOTE) {
            return i + 1;
        }
        if (kind == BYTE_UNKNOWN) {
            return 0;
        }
    }
    return 0;
}

/* Words, and what stands between them, up to what is neither; of 'before', which is the kind of
 * what came last, digits are a part if it is a word. */
static size_t words_end(const uint8_t *kinds, struct slice text, size_t at, uint8_t *before)
{
    uint8_t kind = *before;
    size_t end = at;
    for (; end < text.len; end++) {
        uint8_t next = kinds[(unsigned char)text.at[end]];
        if (next > BYTE_DIGIT || (next == BYTE_DIGIT && kind == BYTE_PLAIN)) {
            break;
        }
        kind = next == BYTE_DIGIT ? BYTE_WORD : next;
    }
    *before = kind;
    return end;
}

/* Into 'ret_at', which has room for the text; its length, or 0: it has no shape. */
static size_t write_shape(const uint8_t *kinds, struct slice text, char *ret_at)
{
    uint8_t before = BYTE_PLAIN;
    size_t len = 0;
    for (size_t at = 0; at < text.len;) {
        size_t end = words_end(kinds, text, at, &before);
        memcpy(ret_at + len, text.at + at, end - at);
        len += end - at;
        at = end;
        uint8_t kind = kind_at(kinds, text, at);
        if (at == text.len) {
            break;
        }
        if (kind == BYTE_UNKNOWN || (kind == BYTE_QUOTE && string_end(kinds, text, at) == 0)) {
            return 0;
        }
        if (kind == BYTE_OTHERWISE && begins_otherwise(text, at)) {
            struct slice rest = slice_from(text, at);
            return copy_rest(kinds, rest, ret_at + len) ? len + rest.len : 0;
        }
        size_t number = kind == BYTE_DIGIT ? number_end(kinds, text, at) : at;
        ret_at[len++] = number > at ? '0' : text.at[at];
        if (kind == BYTE_QUOTE) {
            ret_at[len++] = '\'';
        }
        at = kind == BYTE_QUOTE ? string_end(kinds, text, at) : number > at ? number : at + 1;
        before = kind == BYTE_DIGIT ? BYTE_WORD : BYTE_PLAIN;
    }
    return len;
}

static struct mask_shape **shape_place(struct mask_shapes *shapes, struct slice shape)
{
    static const uint64_t key[2] = {0}; /* who chooses texts harms nobody else */
    return &shapes->of[hash_of(key, shape) % SHAPES];
}

/* What is remembered --------------------------------------------------------------------------- */

/* Whether it is open whatever the session has done before, and does nothing itself that matters
 * later: what can be neither is left to be decided each time. */
static bool is_quiet(const struct pg_mask *mask, const struct statement *statement)
{
    if (!statement->is_script_known || statement->script.count != 1 || statement->text.len == 0 ||
        statement->changes_tables || statement->changes_names || statement->runs_others) {
        return false;
    }
    const struct sql_statement *one = &statement->script.statements[0];
    struct pg_mask_reaching reaching =
        pg_mask_script_reaches(mask, mask->facts, &statement->script);
    return !one->is_unknown && (one->operations & ~QUIET) == 0 && !reaching.is_reached &&
           !reaching.runs_code && !reaching.has_view && !reaching.is_unproven &&
           !reaching.is_of_session && !pg_mask_keeps(one);
}

static void remember(struct pg_mask *mask, const struct statement *statement)
{
    char bytes[TEXT_MAX];
    struct mask_shapes *shapes = shapes_of(mask);
    bool is_short = statement->text.len <= TEXT_MAX;
    size_t len = is_short ? write_shape(shapes->kinds, statement->text, bytes) : 0;
    if (len == 0) {
        return;
    }
    struct mask_shape **place = shape_place(shapes, slice_of(bytes, len));
    *place = memory_resize(*place, sizeof(**place) + len);
    (*place)->facts_id = mask->facts_id;
    (*place)->is_write = (statement->script.statements[0].operations & WRITES) != 0;
    (*place)->len = len;
    memcpy((*place)->bytes, bytes, len);
}

void pg_mask_rest_note(struct pg_mask *mask, const struct pending_request *pending)
{
    struct statement *statement = pg_mask_statement_of(mask, pending);
    mask->is_restful = false;
    if (!mask->settings.may_rest || mask->facts == NULL || statement == NULL ||
        pending->reach != MASK_OPEN || !pending->is_trusted || pending->is_provisional ||
        statement->is_backslash_quoted) {
        return;
    }
    if (statement->rest_id != mask->facts_id) {
        if (!is_quiet(mask, statement)) {
            return;
        }
        statement->rest_id = mask->facts_id;
        remember(mask, statement);
    }
    mask->is_restful = true;
}

void pg_mask_rest_release(struct pg_mask *mask)
{
    for (size_t i = 0; mask->shapes != NULL && i < SHAPES; i++) {
        memory_free(mask->shapes->of[i]);
    }
    memory_free(mask->shapes);
}

/* From outside --------------------------------------------------------------------------------- */

static bool is_same(uint64_t begun, uint64_t ended, uint64_t begun_now, uint64_t ended_now)
{
    return begun == ended && begun == begun_now && ended == ended_now;
}

bool pg_mask_rest_holds(const struct pg_mask *mask)
{
    const struct catalog_stamp *then = &mask->facts_stamp;
    const struct catalog_stamp now = mask->settings.on_stamp(mask->settings.owner);
    return now.at_us - then->at_us <= INT64_C(1000) * LIMIT_GATE_FACTS_MS &&
           is_same(then->begun, then->ended, now.begun, now.ended) &&
           is_same(then->defined_begun, then->defined_ended, now.defined_begun,
                   now.defined_ended) &&
           is_same(then->checked_begun, then->checked_ended, now.checked_begun, now.checked_ended);
}

bool pg_mask_may_rest(const struct pg_mask *mask)
{
    bool is_changing = false;
    for (size_t i = 0; i < CATALOG_CHANGES; i++) {
        is_changing = is_changing || mask->is_changing[i];
    }
    return mask->settings.may_rest && mask->settings.on_stamp != NULL && mask->strictest != NULL &&
           !mask->looks_into_text && !mask->judges && mask->facts != NULL && mask->shapes != NULL &&
           list_is_empty(&mask->pending) && !mask->is_asking && !mask->is_blocked &&
           !mask->has_reached && !mask->has_run_code && !mask->has_ddl && !mask->has_dirty_ddl &&
           !mask->may_mask && !mask->may_listen && !is_changing && !mask->copying.is_on &&
           !mask->large.is_on && mask->is_restful && pg_mask_rest_holds(mask);
}

enum pg_mask_rest pg_mask_rest_of_text(const struct pg_mask *mask, struct slice text)
{
    char bytes[TEXT_MAX];
    size_t len = text.len <= TEXT_MAX ? write_shape(mask->shapes->kinds, text, bytes) : 0;
    if (len == 0) {
        return PG_MASK_AWAKE;
    }
    const struct mask_shape *shape = *shape_place(mask->shapes, slice_of(bytes, len));
    if (shape == NULL || shape->facts_id != mask->facts_id || shape->len != len ||
        memcmp(shape->bytes, bytes, len) != 0) {
        return PG_MASK_AWAKE;
    }
    return shape->is_write ? PG_MASK_RESTS_CHECKED : PG_MASK_RESTS;
}

enum pg_mask_rest pg_mask_rest_of_name(const struct pg_mask *mask, struct slice name)
{
    const struct statement *statement = map_get(&mask->statements, name);
    if (statement == NULL || statement->rest_id != mask->facts_id) {
        return PG_MASK_AWAKE;
    }
    bool is_write = (statement->script.statements[0].operations & WRITES) != 0;
    return is_write ? PG_MASK_RESTS_CHECKED : PG_MASK_RESTS;
}

void pg_mask_wake(struct pg_mask *mask, bool is_in_block, bool is_encoding_unsafe)
{
    mask->is_in_block = is_in_block;
    mask->may_leave_block = false;
    mask->is_encoding_unsafe = is_encoding_unsafe;
    portal_free(map_remove(&mask->portals, SLICE("")));
    if (!is_in_block) {
        pg_mask_forget_portals(mask);
    }
}

void pg_mask_wake_sent(struct pg_mask *mask)
{
    LIST_EACH(link, &mask->pending) {
        struct pending_request *pending = LIST_ITEM(link, struct pending_request, link);
        pending->sent = mask->facts_stamp;
        pending->was_unseen = true;
    }
}
