/* SPDX-License-Identifier: MIT */
#include "wire/pgwire_text.h"

#include "base/reader.h"
#include "wire/pgwire_text_system.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_SIZE     400 /* of a double with all its digits */
#define DAYS_TO_2000  10957
#define DAY_SECONDS   86400
#define SECOND_MICROS 1000000
#define DEPTH_MAX     3 /* a multirange, a range, a bound */

enum {
    TYPE_INT8 = 20,
    TYPE_INT2 = 21,
    TYPE_INT4 = 23,
    TYPE_OID = 26,
    TYPE_XID = 28,
    TYPE_CID = 29,
    TYPE_POINT = 600,
    TYPE_LSEG = 601,
    TYPE_PATH = 602,
    TYPE_BOX = 603,
    TYPE_POLYGON = 604,
    TYPE_LINE = 628,
    TYPE_CIDR = 650,
    TYPE_FLOAT4 = 700,
    TYPE_FLOAT8 = 701,
    TYPE_CIRCLE = 718,
    TYPE_MACADDR8 = 774,
    TYPE_MONEY = 790,
    TYPE_MACADDR = 829,
    TYPE_INET = 869,
    TYPE_DATE = 1082,
    TYPE_TIME = 1083,
    TYPE_TIMESTAMP = 1114,
    TYPE_TIMESTAMPTZ = 1184,
    TYPE_INTERVAL = 1186,
    TYPE_TIMETZ = 1266,
    TYPE_BIT = 1560,
    TYPE_VARBIT = 1562,
    TYPE_NUMERIC = 1700,
    TYPE_UUID = 2950,
    TYPE_LSN = 3220,
    TYPE_TSVECTOR = 3614,
    TYPE_TSQUERY = 3615,
    TYPE_XID8 = 5069,
};

static enum err put(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
static enum err put(struct buf *buf, const char *format, ...)
{
    char line[LINE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    int len = vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    if (len < 0 || (size_t)len >= sizeof(line)) {
        return ERR_LIMIT;
    }
    return buf_append(buf, slice_of(line, (size_t)len));
}

static enum err put_or(bool is_it, enum err err)
{
    return is_it ? err : ERR_INPUT;
}

static int64_t read_i64(struct reader *reader)
{
    uint64_t high = reader_u32(reader);
    return (int64_t)(high << 32 | reader_u32(reader));
}

/* Numbers ---------------------------------------------------------------------------------------
 */

static enum err put_integer(struct slice value, bool is_signed, struct buf *buf)
{
    struct reader reader = reader_of(value);
    int64_t number = 0;
    if (value.len == 2) {
        number = (int16_t)reader_u16(&reader);
    } else if (value.len == 4) {
        uint32_t word = reader_u32(&reader);
        number = is_signed ? (int32_t)word : (int64_t)word;
    } else if (value.len == 8) {
        number = read_i64(&reader);
    } else {
        return ERR_INPUT;
    }
    return is_signed ? put(buf, "%lld", (long long)number)
                     : put(buf, "%llu", (unsigned long long)number);
}

static double read_double(struct reader *reader)
{
    int64_t bits = read_i64(reader);
    double number;
    memcpy(&number, &bits, sizeof(number));
    return number;
}

/* As short as it can be and still the same number, as the server writes it: a digit more may make
 * it look like what it is not. Whole numbers have all their digits. */
static enum err put_double(double number, bool is_float4, struct buf *buf)
{
    enum { FLOAT4_LEAST = 6, FLOAT4_MOST = 9, FLOAT8_LEAST = 15, FLOAT8_MOST = 17 };
    char text[LINE_SIZE];
    int most = is_float4 ? FLOAT4_MOST : FLOAT8_MOST;
    if (number > -1e18 && number < 1e18 && (double)(int64_t)number - number == 0) {
        return put(buf, "%.0f", number);
    }
    for (int digits = is_float4 ? FLOAT4_LEAST : FLOAT8_LEAST; digits <= most; digits++) {
        (void)snprintf(text, sizeof(text), "%.*g", digits, number);
        double same = is_float4 ? (double)strtof(text, NULL) : strtod(text, NULL);
        if (same - number == 0) {
            break;
        }
    }
    return put(buf, "%s", text);
}

static enum err put_float(struct slice value, struct buf *buf)
{
    struct reader reader = reader_of(value);
    if (value.len == 4) {
        uint32_t bits = reader_u32(&reader);
        float number;
        memcpy(&number, &bits, sizeof(number));
        return put_double((double)number, true, buf);
    }
    return put_or(value.len == 8, put_double(read_double(&reader), false, buf));
}

static enum err put_money(struct slice value, struct buf *buf)
{
    struct reader reader = reader_of(value);
    int64_t number = read_i64(&reader);
    return put_or(reader_done(&reader) == ERR_NONE,
                  put(buf, "%lld.%02lld", (long long)(number / 100), llabs(number % 100)));
}

/* numeric.c: digits of four decimal places each, the first of which stands for 10000^weight. */
static enum err put_numeric(struct slice value, struct buf *buf)
{
    enum { NEGATIVE = 0x4000, SPECIAL = 0xc000, ZEROS_MAX = 8, BASE = 10000 };
    struct reader reader = reader_of(value);
    size_t count = reader_u16(&reader);
    int weight = (int16_t)reader_u16(&reader);
    unsigned sign = reader_u16(&reader);
    unsigned scale = reader_u16(&reader);
    if (reader.failed || reader_left(&reader) != 2 * count || scale > 0x3fff ||
        (sign != 0 && sign != NEGATIVE && (sign & 0xcfff) != SPECIAL)) {
        return ERR_INPUT;
    }
    if (sign >= SPECIAL) {
        return put(buf, "NaN");
    }
    enum err err = put(buf, "%s%s", sign == NEGATIVE ? "-" : "", weight < 0 ? "0." : "");
    /* Zeros before and behind are no more than a few: what has more is nothing that has a form. */
    for (int i = weight; i < -1 && i > -ZEROS_MAX && err == ERR_NONE; i++) {
        err = put(buf, "0000");
    }
    for (size_t i = 0; i < count && err == ERR_NONE; i++) {
        unsigned digit = reader_u16(&reader);
        bool is_first = i == 0 && weight >= 0;
        err = digit >= BASE ? ERR_INPUT : put(buf, is_first ? "%u" : "%04u", digit);
        if (err == ERR_NONE && (int)i == weight && i + 1 < count) {
            err = put(buf, ".");
        }
    }
    for (int i = (int)count; i <= weight && i < (int)count + ZEROS_MAX && err == ERR_NONE; i++) {
        err = put(buf, i == 0 ? "0" : "0000");
    }
    return err == ERR_NONE && count == 0 && weight < 0 ? put(buf, "0") : err;
}

/* Times -----------------------------------------------------------------------------------------
 */

/* Days from 1970-01-01, in the calendar that has always been as it is. */
static enum err put_day(int64_t days, struct buf *buf)
{
    enum { ERA_DAYS = 146097, TO_ERA = 719468 };
    int64_t shifted = days + TO_ERA;
    int64_t era = (shifted >= 0 ? shifted : shifted - (ERA_DAYS - 1)) / ERA_DAYS;
    int64_t day = shifted - era * ERA_DAYS;
    int64_t year = (day - day / 1460 + day / 36524 - day / (ERA_DAYS - 1)) / 365;
    int64_t of_year = day - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * of_year + 2) / 153;
    int64_t of_month = of_year - (153 * month + 2) / 5 + 1;
    month = month < 10 ? month + 3 : month - 9;
    year += era * 400 + (month <= 2);
    return put(buf, "%04lld-%02lld-%02lld%s", (long long)(year > 0 ? year : 1 - year),
               (long long)month, (long long)of_month, year > 0 ? "" : " BC");
}

static enum err put_clock(int64_t micros, struct buf *buf)
{
    int64_t seconds = micros / SECOND_MICROS;
    int64_t rest = micros % SECOND_MICROS;
    enum err err = put(buf, "%02lld:%02lld:%02lld", (long long)(seconds / 3600),
                       (long long)(seconds / 60 % 60), (long long)(seconds % 60));
    return err == ERR_NONE && rest > 0 ? put(buf, ".%06lld", (long long)rest) : err;
}

static enum err put_date(struct slice value, struct buf *buf)
{
    struct reader reader = reader_of(value);
    int32_t days = (int32_t)reader_u32(&reader);
    if (reader_done(&reader) != ERR_NONE) {
        return ERR_INPUT;
    }
    bool is_infinite = days == INT32_MAX || days == INT32_MIN;
    return is_infinite ? put(buf, "infinity") : put_day((int64_t)days + DAYS_TO_2000, buf);
}

static enum err put_timestamp(struct slice value, bool has_zone, struct buf *buf)
{
    struct reader reader = reader_of(value);
    int64_t micros = read_i64(&reader);
    int64_t day_micros = (int64_t)DAY_SECONDS * SECOND_MICROS;
    if (reader_done(&reader) != ERR_NONE) {
        return ERR_INPUT;
    }
    if (micros == INT64_MAX || micros == INT64_MIN) {
        return put(buf, "infinity");
    }
    int64_t days = micros / day_micros - (micros % day_micros < 0);
    enum err err = put_day(days + DAYS_TO_2000, buf);
    err = err == ERR_NONE ? put(buf, " ") : err;
    err = err == ERR_NONE ? put_clock(micros - days * day_micros, buf) : err;
    return err == ERR_NONE && has_zone ? put(buf, "+00") : err;
}

static enum err put_time(struct slice value, bool has_zone, struct buf *buf)
{
    struct reader reader = reader_of(value);
    int64_t micros = read_i64(&reader);
    int32_t zone = has_zone ? -(int32_t)reader_u32(&reader) / 3600 : 0;
    if (reader_done(&reader) != ERR_NONE || micros < 0) {
        return ERR_INPUT;
    }
    enum err err = put_clock(micros, buf);
    return err == ERR_NONE && has_zone ? put(buf, "%+03d", (int)zone) : err;
}

static enum err put_interval(struct slice value, struct buf *buf)
{
    struct reader reader = reader_of(value);
    int64_t micros = read_i64(&reader);
    int32_t days = (int32_t)reader_u32(&reader);
    int32_t months = (int32_t)reader_u32(&reader);
    if (reader_done(&reader) != ERR_NONE || micros == INT64_MIN) {
        return ERR_INPUT;
    }
    enum err err = put(buf, "%d years %d mons %d days %s", months / 12, months % 12, days,
                       micros < 0 ? "-" : "");
    return err == ERR_NONE ? put_clock(micros < 0 ? -micros : micros, buf) : err;
}

/* Addresses -------------------------------------------------------------------------------------
 */

static enum err put_hex_pairs(struct slice value, const char *sign, struct buf *buf)
{
    struct reader reader = reader_of(value);
    enum err err = ERR_NONE;
    for (size_t i = 0; i < value.len && err == ERR_NONE; i++) {
        err = put(buf, "%s%02x", i == 0 ? "" : sign, (unsigned)reader_u8(&reader));
    }
    return err;
}

static enum err put_uuid(struct slice value, struct buf *buf)
{
    static const size_t sizes[] = {4, 2, 2, 2, 6};
    size_t at = 0;
    enum err err = value.len == 16 ? ERR_NONE : ERR_INPUT;
    for (size_t i = 0; i < 5 && err == ERR_NONE; at += sizes[i++]) {
        err = i == 0 ? ERR_NONE : put(buf, "-");
        err = err == ERR_NONE ? put_hex_pairs(slice_sub(value, at, sizes[i]), "", buf) : err;
    }
    return err;
}

/* network.c: a family, bits of the mask, whether it is a cidr, how many bytes follow. */
static enum err put_address(struct slice value, struct buf *buf)
{
    enum { HEAD = 4, IPV4 = 2, IPV6 = 3, IPV4_SIZE = 4, IPV6_SIZE = 16 };
    struct reader reader = reader_of(value);
    unsigned family = reader_u8(&reader);
    unsigned bits = reader_u8(&reader);
    bool is_cidr = reader_u8(&reader) == 1;
    size_t size = reader_u8(&reader);
    if (reader.failed || reader_left(&reader) != size || bits > size * 8 ||
        !((family == IPV4 && size == IPV4_SIZE) || (family == IPV6 && size == IPV6_SIZE))) {
        return ERR_INPUT;
    }
    enum err err = ERR_NONE;
    for (size_t i = 0; i < size && err == ERR_NONE; i += family == IPV4 ? 1 : 2) {
        const char *sign = i == 0 ? "" : family == IPV4 ? "." : ":";
        err = family == IPV4 ? put(buf, "%s%u", sign, (unsigned)reader_u8(&reader))
                             : put(buf, "%s%x", sign, (unsigned)reader_u16(&reader));
    }
    bool has_mask = is_cidr || bits < size * 8;
    return err == ERR_NONE && has_mask ? put(buf, "/%u", bits) : err;
}

/* Others ----------------------------------------------------------------------------------------
 */

static enum err put_bits(struct slice value, struct buf *buf)
{
    struct reader reader = reader_of(value);
    size_t count = reader_u32(&reader);
    if (reader.failed || count > INT32_MAX || reader_left(&reader) != (count + 7) / 8) {
        return ERR_INPUT;
    }
    enum err err = ERR_NONE;
    for (size_t i = 0; i < count && err == ERR_NONE;) {
        unsigned byte = reader_u8(&reader);
        char digits[8];
        size_t size = 0;
        for (; size < 8 && i < count; i++, size++) {
            digits[size] = (byte >> (7 - size) & 1) != 0 ? '1' : '0';
        }
        err = buf_append(buf, slice_of(digits, size));
    }
    return err;
}

/* Numbers with something between them: what stands before the doubles is not looked at. */
static enum err put_doubles(struct slice value, size_t head, struct buf *buf)
{
    struct reader reader = reader_of(value);
    enum err err = value.len >= head && (value.len - head) % 8 == 0 ? ERR_NONE : ERR_INPUT;
    reader_skip(&reader, head);
    for (size_t i = head; i < value.len && err == ERR_NONE; i += 8) {
        err = i == head ? ERR_NONE : put(buf, ",");
        err = err == ERR_NONE ? put_double(read_double(&reader), false, buf) : err;
    }
    return err;
}

/* Up to the zero byte. */
static struct slice read_word(struct reader *reader, struct slice value)
{
    struct slice rest = slice_from(value, reader->index);
    struct slice word = slice_sub(rest, 0, slice_find_byte(rest, '\0'));
    reader_skip(reader, word.len + 1);
    return word;
}

/* tsvector.c: words, each with its places. */
static enum err put_lexemes(struct slice value, struct buf *buf)
{
    struct reader reader = reader_of(value);
    size_t count = reader_u32(&reader);
    enum err err = ERR_NONE;
    for (size_t i = 0; i < count && err == ERR_NONE && !reader.failed; i++) {
        const struct slice parts[] = {i == 0 ? SLICE("'") : SLICE(" '"), read_word(&reader, value),
                                      SLICE("'")};
        reader_skip(&reader, 2 * (size_t)reader_u16(&reader));
        err = buf_append_parts(buf, parts, 3);
    }
    return err == ERR_NONE && reader_done(&reader) != ERR_NONE ? ERR_INPUT : err;
}

/* tsquery.c: operators before what they are about. */
static enum err put_query(struct slice value, struct buf *buf)
{
    enum { WORD = 1, OPERATOR = 2, PHRASE = 4 };
    struct reader reader = reader_of(value);
    size_t count = reader_u32(&reader);
    enum err err = ERR_NONE;
    for (size_t i = 0; i < count && err == ERR_NONE && !reader.failed; i++) {
        unsigned kind = reader_u8(&reader);
        if (kind == OPERATOR) {
            reader_skip(&reader, reader_u8(&reader) == PHRASE ? 2 : 0);
            continue;
        }
        reader_skip(&reader, 2); /* weight, prefix */
        const struct slice parts[] = {SLICE(" '"), read_word(&reader, value), SLICE("'")};
        err = kind == WORD ? buf_append_parts(buf, parts, 3) : ERR_INPUT;
    }
    return err == ERR_NONE && reader_done(&reader) != ERR_NONE ? ERR_INPUT : err;
}

/* Ranges ----------------------------------------------------------------------------------------
 */

static enum err put_value(uint32_t type, struct slice value, struct buf *buf, unsigned depth);

static enum err put_bound(uint32_t type, struct slice bound, struct buf *buf, unsigned depth)
{
    return bound.at == NULL ? ERR_NONE : put_value(type, bound, buf, depth + 1);
}

static enum err put_range(uint32_t type, struct slice value, struct buf *buf, unsigned depth)
{
    struct pgwire_range range;
    if (!pgwire_range_read(value, &range)) {
        return ERR_INPUT;
    }
    if (range.is_empty) {
        return put(buf, "empty");
    }
    enum err err = put(buf, range.is_lower_in ? "[" : "(");
    err = err == ERR_NONE ? put_bound(type, range.lower, buf, depth) : err;
    err = err == ERR_NONE ? put(buf, ",") : err;
    err = err == ERR_NONE ? put_bound(type, range.upper, buf, depth) : err;
    return err == ERR_NONE ? put(buf, range.is_upper_in ? "]" : ")") : err;
}

/* A count, and ranges with their lengths. */
static enum err put_ranges(uint32_t type, struct slice value, struct buf *buf, unsigned depth)
{
    struct reader reader = reader_of(value);
    size_t count = reader_u32(&reader);
    enum err err = reader.failed || count > value.len / 4 ? ERR_INPUT : put(buf, "{");
    for (size_t i = 0; i < count && err == ERR_NONE && !reader.failed; i++) {
        uint32_t size = reader_u32(&reader);
        struct slice range = reader_view(&reader, size);
        err = reader.failed ? ERR_INPUT : put_value(type, range, buf, depth + 1);
    }
    err = err == ERR_NONE ? put(buf, "}") : err;
    return err == ERR_NONE && reader_done(&reader) != ERR_NONE ? ERR_INPUT : err;
}

/* By type ---------------------------------------------------------------------------------------
 */

static enum err put_number(uint32_t type, struct slice value, struct buf *buf)
{
    switch (type) {
    case TYPE_INT2:
        return put_or(value.len == 2, put_integer(value, true, buf));
    case TYPE_INT4:
        return put_or(value.len == 4, put_integer(value, true, buf));
    case TYPE_INT8:
        return put_or(value.len == 8, put_integer(value, true, buf));
    case TYPE_FLOAT4:
    case TYPE_FLOAT8:
        return put_float(value, buf);
    case TYPE_MONEY:
        return put_money(value, buf);
    case TYPE_NUMERIC:
        return put_numeric(value, buf);
    default:
        return put_integer(value, false, buf);
    }
}

static enum err put_moment(uint32_t type, struct slice value, struct buf *buf)
{
    switch (type) {
    case TYPE_DATE:
        return put_date(value, buf);
    case TYPE_TIME:
    case TYPE_TIMETZ:
        return put_time(value, type == TYPE_TIMETZ, buf);
    case TYPE_INTERVAL:
        return put_interval(value, buf);
    default:
        return put_timestamp(value, type == TYPE_TIMESTAMPTZ, buf);
    }
}

static enum err put_other(uint32_t type, struct slice value, struct buf *buf)
{
    switch (type) {
    case TYPE_INET:
    case TYPE_CIDR:
        return put_address(value, buf);
    case TYPE_MACADDR:
    case TYPE_MACADDR8:
        return put_hex_pairs(value, ":", buf);
    case TYPE_UUID:
        return put_uuid(value, buf);
    case TYPE_LSN:
        return put_hex_pairs(value, "", buf);
    case TYPE_BIT:
    case TYPE_VARBIT:
        return put_bits(value, buf);
    case TYPE_TSVECTOR:
        return put_lexemes(value, buf);
    case TYPE_TSQUERY:
        return put_query(value, buf);
    case TYPE_POINT:
    case TYPE_LSEG:
    case TYPE_BOX:
    case TYPE_LINE:
    case TYPE_CIRCLE:
        return put_doubles(value, 0, buf);
    case TYPE_PATH:
        return put_doubles(value, 5, buf);
    case TYPE_POLYGON:
        return put_doubles(value, 4, buf);
    default: /* numbers of objects, which are names only in text */
        return value.len == 4 ? put_integer(value, false, buf)
                              : pgwire_text_system(type, value, buf);
    }
}

static enum err put_value(uint32_t type, struct slice value, struct buf *buf, unsigned depth)
{
    if (depth > DEPTH_MAX) {
        return ERR_INPUT;
    }
    switch (pgwire_type_kind_of(type)) {
    case PGWIRE_TYPE_NUMBER:
        return put_number(type, value, buf);
    case PGWIRE_TYPE_TIME:
        return put_moment(type, value, buf);
    case PGWIRE_TYPE_HEX:
    case PGWIRE_TYPE_OTHER:
        return put_other(type, value, buf);
    case PGWIRE_TYPE_RANGE:
        return put_range(pgwire_type_item_of(type), value, buf, depth);
    case PGWIRE_TYPE_MULTIRANGE:
        return put_ranges(pgwire_type_item_of(type), value, buf, depth);
    case PGWIRE_TYPE_TEXT:
        return buf_append(buf, value);
    case PGWIRE_TYPE_UNKNOWN:
    case PGWIRE_TYPE_JSON:
    case PGWIRE_TYPE_JSONB:
    case PGWIRE_TYPE_BYTES:
    case PGWIRE_TYPE_ARRAY:
    case PGWIRE_TYPE_RECORD:
    case PGWIRE_TYPE_NONE:
        break;
    }
    return ERR_INPUT;
}

enum err pgwire_text_write(uint32_t type, struct slice value, struct buf *buf)
{
    size_t before = buf->len;
    enum err err = put_value(type, value, buf, 0);
    if (err != ERR_NONE) {
        buf_truncate(buf, before);
    }
    return err;
}

/* Guesses ---------------------------------------------------------------------------------------
 */

/* Not macaddr8: any eight bytes, written so, look like an address of IPv6. */
bool pgwire_text_guess(struct slice value, size_t *index, uint32_t *ret_type)
{
    static const struct {
        uint32_t type;
        size_t size; /* 0: any */
        size_t size_min;
    } guesses[] = {{TYPE_INT2, 2, 0},      {TYPE_INT4, 4, 0},  {TYPE_DATE, 4, 0},
                   {TYPE_MACADDR, 6, 0},   {TYPE_INT8, 8, 0},  {TYPE_FLOAT8, 8, 0},
                   {TYPE_TIMESTAMP, 8, 0}, {TYPE_INET, 8, 0},  {TYPE_NUMERIC, 0, 8},
                   {TYPE_UUID, 16, 0},     {TYPE_INET, 20, 0}, {TYPE_TSVECTOR, 0, 9},
                   {TYPE_TSQUERY, 0, 9}};
    while (*index < sizeof(guesses) / sizeof(guesses[0])) {
        size_t i = (*index)++;
        bool fits =
            guesses[i].size != 0 ? value.len == guesses[i].size : value.len >= guesses[i].size_min;
        if (fits) {
            *ret_type = guesses[i].type;
            return true;
        }
    }
    return false;
}
