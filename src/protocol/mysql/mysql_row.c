/* SPDX-License-Identifier: MIT */
#include "protocol/mysql/mysql_row.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/text.h"

#define TEXT_NULL    0xfb
#define SCRATCH_SIZE LIMIT_KIB(1)
#define NULLS_OFFSET 2 /* of the bits of a binary row */
#define SIEVE_SIZE   LIMIT_KIB(4)
#define SIEVE_TEXTS  64

/* Columns -------------------------------------------------------------------------------------- */

/* Whether a text of that character set reads as ASCII where it is ASCII, and only there. Others
 * (ucs2, utf16, utf32, gbk, sjis …) cannot be looked into. */
static bool charset_is_readable(uint16_t charset)
{
    static const uint16_t single[] = {
        2,  3,  4,  5,  6,  7,  8,  9,  11, 14, 15, 16, 18, 20, 21, 22, 23, 25, 26, 27, 29, 30,
        31, 32, 34, 36, 37, 38, 39, 40, 41, 42, 43, 44, 47, 48, 49, 50, 51, 52, 53, 57, 58, 59,
        63, 64, 65, 66, 67, 68, 70, 71, 72, 74, 75, 78, 79, 80, 81, 89, 92, 93, 94, 99};
    uint16_t id = charset >= 1024 && charset < 2048 ? (uint16_t)(charset - 1024) : charset;
    bool is_utf8 = id == 33 || id == 83 || id == 45 || id == 46 || (id >= 192 && id <= 215) ||
                   id == 223 || (id >= 224 && id <= 247) || (id >= 255 && id <= 323) ||
                   (id >= 576 && id <= 578) || (id >= 608 && id <= 610) ||
                   (charset >= 2048 && charset < 2560);
    for (size_t i = 0; i < COUNT_OF(single) && !is_utf8; i++) {
        is_utf8 = single[i] == id;
    }
    return is_utf8;
}

static enum mask_form form_of(const struct mysqlwire_column *column)
{
    switch (column->type) {
    case MYSQLWIRE_TYPE_VARCHAR:
    case MYSQLWIRE_TYPE_ENUM:
    case MYSQLWIRE_TYPE_SET:
    case MYSQLWIRE_TYPE_TINY_BLOB:
    case MYSQLWIRE_TYPE_TINY_BLOB + 1:
    case MYSQLWIRE_TYPE_TINY_BLOB + 2:
    case MYSQLWIRE_TYPE_BLOB:
    case MYSQLWIRE_TYPE_VAR_STRING:
    case MYSQLWIRE_TYPE_STRING:
        return MASK_FORM_TEXT;
    case MYSQLWIRE_TYPE_JSON:
        return MASK_FORM_JSON;
    default:
        return MASK_FORM_OTHER;
    }
}

/* What values of the type look like. */
static unsigned shape_of(uint8_t type)
{
    switch (type) {
    case MYSQLWIRE_TYPE_DECIMAL:
    case MYSQLWIRE_TYPE_NEWDECIMAL:
    case MYSQLWIRE_TYPE_TINY:
    case MYSQLWIRE_TYPE_SHORT:
    case MYSQLWIRE_TYPE_INT24:
    case MYSQLWIRE_TYPE_LONG:
    case MYSQLWIRE_TYPE_LONGLONG:
    case MYSQLWIRE_TYPE_FLOAT:
    case MYSQLWIRE_TYPE_DOUBLE:
    case MYSQLWIRE_TYPE_YEAR:
        return DETECT_SHAPE_NUMBER;
    case MYSQLWIRE_TYPE_DATE:
    case MYSQLWIRE_TYPE_TIME:
    case MYSQLWIRE_TYPE_DATETIME:
    case MYSQLWIRE_TYPE_TIMESTAMP:
        return DETECT_SHAPE_TIME;
    default:
        return 0;
    }
}

void mysql_row_columns_begin(struct mysql_row_columns *columns, uint64_t count)
{
    mysql_row_columns_release(columns);
    columns->size = count < LIMIT_MYSQL_REPLAY_COLUMNS ? (size_t)count : LIMIT_MYSQL_REPLAY_COLUMNS;
    columns->items = memory_new((columns->size + 1) * sizeof(*columns->items));
}

void mysql_row_columns_release(struct mysql_row_columns *columns)
{
    memory_free(columns->items);
    *columns = (struct mysql_row_columns){.items = NULL, .is_sieved = true};
}

static struct mask_plan plan_of(const struct mysql_row_rules *rules,
                                const struct mysql_reach *reach,
                                const struct mysqlwire_column *column,
                                const struct sql_mysql_place *place)
{
    const struct mask_origin said = {
        .schema = column->schema, .table = column->original_table, .column = column->original_name};
    bool is_open = !reach->reaches || mysql_reach_proves(reach, rules->masking, &said, place);
    struct mask_plan plan = mask_plan_of(rules->masking, &said, column->name);
    if (!is_open) { /* whatever it says */
        plan.whole = mask_rules_strictest(rules->masking);
    }
    return plan;
}

/* Level and number are the server's; the words may have values in them. */
static bool is_open_of_errors(const struct mysql_row_columns *columns,
                              const struct mysql_reach *reach)
{
    return reach->is_about_errors && columns->count != 2;
}

/* Text, and numbers that are written as they are meant: bytes may be no text, and a number with an
 * exponent is another one. */
static bool is_sieved(const struct mysql_row_column *item, const struct mysql_row_rules *rules)
{
    uint8_t type = item->type.type;
    bool is_whole_number = type == MYSQLWIRE_TYPE_TINY || type == MYSQLWIRE_TYPE_SHORT ||
                           type == MYSQLWIRE_TYPE_INT24 || type == MYSQLWIRE_TYPE_LONG ||
                           type == MYSQLWIRE_TYPE_LONGLONG;
    bool is_text = item->plan.form == MASK_FORM_TEXT && !item->is_bytes;
    return (is_text || is_whole_number) && item->is_readable && rules->may_pass == NULL &&
           mask_rules_can_sieve(rules->masking) && mask_plan_can_sieve(&item->plan);
}

bool mysql_row_columns_add(struct mysql_row_columns *columns, const struct mysql_row_rules *rules,
                           const struct mysql_reach *reach, const struct mysqlwire_column *column)
{
    if (columns->count == columns->size) {
        return false;
    }
    struct mysql_row_column *item = &columns->items[columns->count];
    *item = (struct mysql_row_column){
        .type = {.type = column->type,
                 .is_unsigned = (column->flags & MYSQLWIRE_COLUMN_UNSIGNED) != 0},
        .is_bytes = column->charset == MYSQLWIRE_BINARY_CHARSET,
        .is_readable = charset_is_readable(column->charset),
    };
    if (rules->masking != NULL) {
        const struct sql_mysql_place place = {columns->count, columns->size, column->name};
        item->plan = plan_of(rules, reach, column, &place);
        if (is_open_of_errors(columns, reach)) {
            item->plan.whole = NULL;
        }
        item->plan.form = form_of(column);
        item->plan.shape = shape_of(column->type);
        item->is_masked =
            item->plan.whole != NULL || mask_plan_may_find(rules->masking, &item->plan);
        item->is_readable = item->is_readable || item->plan.shape != 0;
        item->is_sieved = item->is_masked && is_sieved(item, rules);
    }
    columns->is_sieved =
        columns->is_sieved && rules->may_pass == NULL && (item->is_sieved || !item->is_masked);
    columns->is_masked = columns->is_masked || item->is_masked || rules->may_pass != NULL;
    columns->count++;
    return true;
}

/* Values --------------------------------------------------------------------------------------- */

/* Text of which a client can tell that it is text. */
static bool is_plain(struct slice bytes)
{
    for (size_t i = 0; i < bytes.len; i++) {
        unsigned char byte = (unsigned char)bytes.at[i];
        bool is_space = byte == '\t' || byte == '\n' || byte == '\r';
        if ((byte < ' ' && !is_space) || byte == 0x7f) {
            return false;
        }
    }
    return text_is_utf8(bytes);
}

/* Bytes that are no text hold none; what is found in them all the same makes them NULL. */
static enum mask_outcome mask_value(const struct mysql_row_column *column,
                                    const struct mysql_row_rules *rules, struct slice value,
                                    struct buf *out)
{
    struct mask_plan plan = column->plan;
    if (plan.form == MASK_FORM_TEXT && column->is_bytes && !is_plain(value)) {
        plan.form = MASK_FORM_OTHER;
    }
    if (plan.whole == NULL && (!column->is_readable || value.len > LIMIT_MASK_VALUE_SIZE)) {
        return value.len == 0
                   ? MASK_SAME
                   : mask_unexaminable(rules->masking, plan.form, value, out, rules->counts);
    }
    return mask_text(rules->masking, &plan, rules->scratch, value, out, rules->counts);
}

/* What becomes of a value that is not NULL; *ret_value: what goes on, a view of 'value' or of
 * 'out'. */
static enum mask_outcome treat_value(const struct mysql_row_column *column,
                                     const struct mysql_row_rules *rules, struct slice value,
                                     struct buf *out, struct slice *ret_value)
{
    buf_truncate(out, 0);
    enum mask_outcome outcome =
        column->is_masked ? mask_value(column, rules, value, out) : MASK_SAME;
    *ret_value = outcome == MASK_CHANGED ? buf_view(out) : value;
    if (outcome == MASK_CHANGED && column->plan.form == MASK_FORM_OTHER) {
        outcome = MASK_NULL; /* no type but a text holds one */
    }
    bool goes_on = outcome == MASK_SAME || outcome == MASK_CHANGED;
    return goes_on && rules->may_pass != NULL && !rules->may_pass(rules->owner, *ret_value)
               ? MASK_REFUSED
               : outcome;
}

struct row_work {
    struct reader reader;
    struct writer writer;
    struct buf value;   /* in the place of one */
    struct buf scratch; /* one that is no text, as text */
    bool is_changed;
};

static bool is_length_told(uint8_t type)
{
    switch (type) {
    case MYSQLWIRE_TYPE_TINY:
    case MYSQLWIRE_TYPE_SHORT:
    case MYSQLWIRE_TYPE_LONG:
    case MYSQLWIRE_TYPE_FLOAT:
    case MYSQLWIRE_TYPE_DOUBLE:
    case MYSQLWIRE_TYPE_NULL:
    case MYSQLWIRE_TYPE_TIMESTAMP:
    case MYSQLWIRE_TYPE_LONGLONG:
    case MYSQLWIRE_TYPE_INT24:
    case MYSQLWIRE_TYPE_DATE:
    case MYSQLWIRE_TYPE_TIME:
    case MYSQLWIRE_TYPE_DATETIME:
    case MYSQLWIRE_TYPE_YEAR:
        return false;
    default:
        return true;
    }
}

static enum mysql_row_outcome row_outcome(const struct row_work *work)
{
    if (work->reader.failed || reader_left(&work->reader) > 0) {
        return MYSQL_ROW_BROKEN;
    }
    return work->writer.failed ? MYSQL_ROW_REFUSED
           : work->is_changed  ? MYSQL_ROW_CHANGED
                               : MYSQL_ROW_SAME;
}

static enum mysql_row_outcome mask_text_row(const struct mysql_row_columns *columns,
                                            const struct mysql_row_rules *rules,
                                            struct row_work *work)
{
    for (size_t i = 0; i < columns->count && !work->reader.failed; i++) {
        struct slice value = mysqlwire_text_value_read(&work->reader);
        enum mask_outcome outcome = MASK_NULL;
        struct slice goes_on = SLICE("");
        if (value.at != NULL && !work->reader.failed) {
            outcome = treat_value(&columns->items[i], rules, value, &work->value, &goes_on);
            work->is_changed = work->is_changed || outcome != MASK_SAME;
        }
        if (outcome == MASK_REFUSED) {
            return MYSQL_ROW_REFUSED;
        }
        if (outcome == MASK_NULL) {
            writer_u8(&work->writer, TEXT_NULL);
        } else {
            mysqlwire_write_lenenc_text(&work->writer, goes_on);
        }
    }
    return row_outcome(work);
}

/* A value of a binary row that is not NULL. */
static enum mask_outcome mask_binary_value(const struct mysql_row_column *column,
                                           const struct mysql_row_rules *rules,
                                           struct row_work *work)
{
    size_t start = work->reader.index;
    struct slice goes_on = SLICE("");
    struct slice value = mysqlwire_binary_value_read(&work->reader, column->type, &work->scratch);
    if (work->reader.failed || value.at == NULL) {
        return MASK_SAME;
    }
    enum mask_outcome outcome = treat_value(column, rules, value, &work->value, &goes_on);
    bool is_told = is_length_told(column->type.type);
    if (outcome == MASK_CHANGED && !is_told) {
        outcome = MASK_NULL;
    }
    if (outcome == MASK_CHANGED) {
        mysqlwire_write_lenenc_text(&work->writer, goes_on);
    } else if (outcome == MASK_SAME) {
        writer_bytes(&work->writer,
                     slice_sub(work->reader.input, start, work->reader.index - start));
    }
    return outcome;
}

/* Rows that pass as they are --------------------------------------------------------------------
 */

/* A text of a row, where it lies among the others. */
struct sieve_text {
    const struct mysql_row_column *column;
    uint32_t start;
    uint32_t len;
};

/* The texts of a row, with a NUL behind each: so no byte of another one, nor of a length, is beside
 * any of them. */
struct row_sieve {
    char bytes[SIEVE_SIZE];
    uint64_t begins[DETECT_SIEVE_WORDS(SIEVE_SIZE)];
    uint64_t suspects[DETECT_SIEVE_WORDS(SIEVE_SIZE)];
    size_t len;
    struct sieve_text texts[SIEVE_TEXTS];
    size_t count;
};

/* False: it is no row, or one of too many texts. */
static bool sieve_fill(struct row_sieve *sieve, const struct mysql_row_columns *columns,
                       struct slice row)
{
    struct reader reader = reader_of(row);
    size_t words = DETECT_SIEVE_WORDS(row.len + columns->count);
    sieve->len = 0;
    sieve->count = 0;
    memset(sieve->begins, 0, words * sizeof(sieve->begins[0]));
    memset(sieve->suspects, 0, words * sizeof(sieve->suspects[0]));
    for (size_t i = 0; i < columns->count; i++) {
        struct slice value = mysqlwire_text_value_read(&reader);
        if (reader.failed) {
            return false;
        }
        if (value.len == 0 || !columns->items[i].is_sieved) {
            continue;
        }
        if (sieve->count == SIEVE_TEXTS) {
            return false;
        }
        sieve->texts[sieve->count++] = (struct sieve_text){
            .column = &columns->items[i],
            .start = (uint32_t)sieve->len,
            .len = (uint32_t)value.len,
        };
        sieve->begins[sieve->len / 64] |= UINT64_C(1) << sieve->len % 64;
        memcpy(sieve->bytes + sieve->len, value.at, value.len);
        sieve->len += value.len;
        sieve->bytes[sieve->len++] = '\0';
    }
    return reader_left(&reader) == 0;
}

static bool sieve_has(const struct row_sieve *sieve, const struct sieve_text *text)
{
    size_t end = text->start + text->len;
    for (size_t at = text->start; at < end; at = (at / 64 + 1) * 64) {
        uint64_t bits = sieve->suspects[at / 64] >> at % 64;
        size_t left = end - at;
        bits = left < 64 ? bits & ((UINT64_C(1) << left) - 1) : bits;
        if (bits != 0) {
            return true;
        }
    }
    return false;
}

/* A row of text in which nothing is found, as most are; false: it has to be looked at. */
static bool row_passes(const struct mysql_row_columns *columns, const struct mysql_row_rules *rules,
                       struct slice row)
{
    struct row_sieve sieve;
    if (!columns->is_sieved || row.len + columns->count > SIEVE_SIZE ||
        !sieve_fill(&sieve, columns, row)) {
        return false;
    }
    const struct detect_sieve part = {.bytes = slice_of(sieve.bytes, sieve.len),
                                      .begins = sieve.begins};
    bool passes = true;
    mask_sieve(rules->masking, &part, sieve.suspects);
    for (size_t i = 0; i < sieve.count && passes; i++) {
        const struct sieve_text *text = &sieve.texts[i];
        passes = !sieve_has(&sieve, text) || !mask_probe(rules->masking, &text->column->plan, &part,
                                                         sieve.suspects, text->start, text->len);
    }
    explicit_bzero(sieve.bytes, sieve.len);
    return passes;
}

/* The bits of those that are NULL stand before the values: those that become it are set behind. */
static enum mysql_row_outcome mask_binary_row(const struct mysql_row_columns *columns,
                                              const struct mysql_row_rules *rules,
                                              struct row_work *work)
{
    char nulls[(LIMIT_MYSQL_REPLAY_COLUMNS + NULLS_OFFSET) / 8 + 1];
    struct buf *out = work->writer.buf;
    struct buf values;
    size_t size = (columns->count + 7 + NULLS_OFFSET) / 8;
    reader_skip(&work->reader, 1);
    struct slice bits = reader_view(&work->reader, size);
    if (work->reader.failed) {
        return MYSQL_ROW_BROKEN;
    }
    memcpy(nulls, bits.at, size);
    buf_init(&values, LIMIT_PASSAGE_OUT_SIZE);
    work->writer = writer_to(&values);
    enum mask_outcome outcome = MASK_SAME;
    for (size_t i = 0; i < columns->count && !work->reader.failed && outcome != MASK_REFUSED; i++) {
        size_t bit = i + NULLS_OFFSET;
        if (mysqlwire_bit(bits, bit)) {
            continue;
        }
        outcome = mask_binary_value(&columns->items[i], rules, work);
        work->is_changed = work->is_changed || outcome != MASK_SAME;
        if (outcome == MASK_NULL) {
            nulls[bit / 8] = (char)(nulls[bit / 8] | 1 << (bit % 8));
        }
    }
    const struct slice parts[] = {SLICE("\0"), slice_of(nulls, size), buf_view(&values)};
    bool has_room = buf_append_parts(out, parts, COUNT_OF(parts)) == ERR_NONE;
    buf_wipe(&values);
    return outcome == MASK_REFUSED || !has_room ? MYSQL_ROW_REFUSED : row_outcome(work);
}

enum mysql_row_outcome mysql_row_mask(const struct mysql_row_columns *columns,
                                      const struct mysql_row_rules *rules, bool is_binary,
                                      struct slice row, struct buf *out)
{
    struct row_work work = {.reader = reader_of(row), .writer = writer_to(out)};
    if (!is_binary && row_passes(columns, rules, row)) {
        return MYSQL_ROW_SAME;
    }
    buf_init(&work.value, LIMIT_PASSAGE_OUT_SIZE);
    buf_init(&work.scratch, SCRATCH_SIZE);
    enum mysql_row_outcome outcome =
        is_binary ? mask_binary_row(columns, rules, &work) : mask_text_row(columns, rules, &work);
    buf_wipe(&work.value);
    buf_release(&work.scratch);
    return outcome;
}
