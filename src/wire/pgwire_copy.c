/* SPDX-License-Identifier: MIT */
#include "wire/pgwire_copy.h"

#include "base/reader.h"
#include "base/writer.h"
#include "wire/pgwire_value.h"

#include <string.h>

#define SIGNATURE      "PGCOPY\n\377\r\n\0"
#define SIGNATURE_SIZE (sizeof(SIGNATURE) - 1)
#define COUNT_END      UINT16_MAX
#define COUNT_SIZE     2
#define OCTAL_MAX      3
#define HEX_MAX        2

void pgwire_copy_format_init(struct pgwire_copy_format *format, enum pgwire_copy_kind kind)
{
    *format = (struct pgwire_copy_format){
        .kind = kind,
        .delimiter = kind == PGWIRE_COPY_CSV ? ',' : '\t',
        .quote = '"',
        .escape = '"',
    };
    if (kind == PGWIRE_COPY_TEXT) {
        memcpy(format->null, "\\N", 2);
        format->null_len = 2;
    }
}

/* Rows ---------------------------------------------------------------------------------------- */

size_t pgwire_copy_row_len(const struct pgwire_copy_format *format, struct slice bytes)
{
    if (format->kind == PGWIRE_COPY_TEXT) {
        size_t end = slice_find_byte(bytes, '\n');
        return end < bytes.len ? end + 1 : 0;
    }
    bool is_quoted = false;
    for (size_t i = 0; i < bytes.len; i++) {
        char byte = bytes.at[i];
        if (is_quoted && byte == format->escape && format->escape != format->quote) {
            i++; /* what is behind it ends nothing */
        } else if (byte == format->quote) {
            is_quoted = !is_quoted; /* a doubled one is left and entered again */
        } else if (byte == '\n' && !is_quoted) {
            return i + 1;
        }
    }
    return 0;
}

/* Fields of text ------------------------------------------------------------------------------ */

static unsigned digit_of(char byte)
{
    if (byte >= '0' && byte <= '9') {
        return (unsigned)(byte - '0');
    }
    char lower = (char)(byte | 0x20);
    return lower >= 'a' && lower <= 'f' ? (unsigned)(lower - 'a') + 10 : 16;
}

/* The digits of a number behind a backslash, from *index on. */
static char take_number(struct slice raw, size_t *index, unsigned base, size_t digits_max)
{
    unsigned value = 0;
    for (size_t i = 0; i < digits_max && *index < raw.len && digit_of(raw.at[*index]) < base; i++) {
        value = value * base + digit_of(raw.at[*index]);
        (*index)++;
    }
    return (char)(value & 0xffu);
}

static char unescape_one(struct slice raw, size_t *index)
{
    static const char letters[] = "bfnrtv";
    static const char bytes[] = "\b\f\n\r\t\v";
    char byte = raw.at[*index];
    const char *found = byte != '\0' ? strchr(letters, byte) : NULL;
    if (digit_of(byte) < 8) {
        return take_number(raw, index, 8, OCTAL_MAX);
    }
    (*index)++;
    if (byte == 'x' && *index < raw.len && digit_of(raw.at[*index]) < 16) {
        return take_number(raw, index, 16, HEX_MAX);
    }
    return found != NULL ? bytes[found - letters] : byte;
}

static bool text_unescape(struct slice raw, struct buf *unescaped)
{
    char *at;
    size_t len = 0;
    if (buf_reserve(unescaped, raw.len, &at) != ERR_NONE) {
        return false;
    }
    for (size_t i = 0; i < raw.len;) {
        char byte = raw.at[i++];
        at[len++] = byte == '\\' && i < raw.len ? unescape_one(raw, &i) : byte;
    }
    buf_commit(unescaped, len);
    return true;
}

static bool is_null(const struct pgwire_copy_format *format, struct slice raw)
{
    return slice_equals(raw, slice_of(format->null, format->null_len));
}

static bool text_next(const struct pgwire_copy_format *format, struct slice *rest,
                      struct buf *unescaped, struct pgwire_copy_field *field)
{
    size_t end = 0;
    bool is_escaped = false;
    while (end < rest->len && rest->at[end] != format->delimiter) {
        bool is_escape = rest->at[end] == '\\';
        is_escaped = is_escaped || is_escape;
        end += is_escape && end + 1 < rest->len ? 2 : 1;
    }
    field->raw = slice_sub(*rest, 0, end);
    field->value = field->raw;
    *rest = end < rest->len ? slice_from(*rest, end + 1) : SLICE_NONE;
    if (is_null(format, field->raw)) {
        field->value = SLICE_NONE;
    } else if (is_escaped) {
        if (!text_unescape(field->raw, unescaped)) {
            return false;
        }
        field->value = buf_view(unescaped);
    }
    return true;
}

/* Fields of CSV ------------------------------------------------------------------------------- */

/* Where the field ends; a quoted part may stand anywhere in it. */
static size_t csv_field_len(const struct pgwire_copy_format *format, struct slice rest,
                            bool *ret_is_quoted)
{
    bool is_inside = false;
    size_t i = 0;
    *ret_is_quoted = false;
    while (i < rest.len && (is_inside || rest.at[i] != format->delimiter)) {
        char byte = rest.at[i];
        if (is_inside && byte == format->escape && format->escape != format->quote) {
            i++;
        } else if (byte == format->quote) {
            is_inside = !is_inside;
            *ret_is_quoted = true;
        }
        i++;
    }
    return i < rest.len ? i : rest.len;
}

static bool csv_unescape(const struct pgwire_copy_format *format, struct slice raw,
                         struct buf *unescaped)
{
    char *at;
    size_t len = 0;
    bool is_inside = false;
    if (buf_reserve(unescaped, raw.len, &at) != ERR_NONE) {
        return false;
    }
    for (size_t i = 0; i < raw.len; i++) {
        char byte = raw.at[i];
        char next = i + 1 < raw.len ? raw.at[i + 1] : '\0';
        bool has_next = i + 1 < raw.len;
        if (is_inside && has_next && byte == format->escape &&
            (next == format->quote || next == format->escape)) {
            at[len++] = next;
            i++;
        } else if (byte == format->quote) {
            is_inside = !is_inside;
        } else {
            at[len++] = byte;
        }
    }
    buf_commit(unescaped, len);
    return true;
}

static bool csv_next(const struct pgwire_copy_format *format, struct slice *rest,
                     struct buf *unescaped, struct pgwire_copy_field *field)
{
    bool is_quoted;
    size_t len = csv_field_len(format, *rest, &is_quoted);
    field->raw = slice_sub(*rest, 0, len);
    field->value = field->raw;
    *rest = len < rest->len ? slice_from(*rest, len + 1) : SLICE_NONE;
    if (!is_quoted) {
        field->value = is_null(format, field->raw) ? SLICE_NONE : field->raw;
        return true;
    }
    if (!csv_unescape(format, field->raw, unescaped)) {
        return false;
    }
    field->value = unescaped->len > 0 ? buf_view(unescaped) : SLICE("");
    return true;
}

bool pgwire_copy_next(const struct pgwire_copy_format *format, struct pgwire_copy_row *row,
                      struct buf *unescaped, struct pgwire_copy_field *ret_field)
{
    if (row->rest.at == NULL) {
        return false;
    }
    buf_truncate(unescaped, 0);
    bool is_read = format->kind == PGWIRE_COPY_CSV
                       ? csv_next(format, &row->rest, unescaped, ret_field)
                       : text_next(format, &row->rest, unescaped, ret_field);
    row->is_over = !is_read;
    return is_read;
}

/* Writing ------------------------------------------------------------------------------------- */

/* What stands between two bytes that are written otherwise goes in one piece. */
static void text_write(const struct pgwire_copy_format *format, struct slice value,
                       struct writer *writer)
{
    static const char bytes[] = "\b\f\n\r\t\v\\";
    static const char letters[] = "bfnrtv\\";
    size_t written = 0;
    for (size_t i = 0; i < value.len; i++) {
        bool may_be_odd = (unsigned char)value.at[i] < ' ' || value.at[i] == '\\';
        const char *found = may_be_odd && value.at[i] != '\0' ? strchr(bytes, value.at[i]) : NULL;
        if (found == NULL && value.at[i] != format->delimiter) {
            continue;
        }
        writer_bytes(writer, slice_sub(value, written, i - written));
        writer_u8(writer, '\\');
        writer_u8(writer, (uint8_t)(found != NULL ? letters[found - bytes] : value.at[i]));
        written = i + 1;
    }
    writer_bytes(writer, slice_from(value, written));
}

enum err pgwire_copy_field_write(const struct pgwire_copy_format *format, struct slice value,
                                 struct buf *buf)
{
    struct writer writer = writer_to(buf);
    size_t before = buf->len;
    if (value.at == NULL) {
        writer_bytes(&writer, slice_of(format->null, format->null_len));
    } else if (format->kind == PGWIRE_COPY_TEXT) {
        text_write(format, value, &writer);
    } else {
        writer_u8(&writer, (uint8_t)format->quote);
        for (size_t i = 0; i < value.len; i++) {
            if (value.at[i] == format->quote || value.at[i] == format->escape) {
                writer_u8(&writer, (uint8_t)format->escape);
            }
            writer_u8(&writer, (uint8_t)value.at[i]);
        }
        writer_u8(&writer, (uint8_t)format->quote);
    }
    if (writer_done(&writer) != ERR_NONE) {
        buf_truncate(buf, before);
        return ERR_LIMIT;
    }
    return ERR_NONE;
}

/* Binary -------------------------------------------------------------------------------------- */

static enum err binary_header(struct slice bytes, struct pgwire_copy_item *item)
{
    struct reader reader = reader_of(bytes);
    struct slice signature = slice_of(SIGNATURE, SIGNATURE_SIZE);
    size_t there = bytes.len < signature.len ? bytes.len : signature.len;
    if (!slice_equals(slice_sub(bytes, 0, there), slice_sub(signature, 0, there))) {
        return ERR_INPUT;
    }
    reader_skip(&reader, signature.len + sizeof(uint32_t));
    uint32_t extension = reader_u32(&reader);
    if (reader.failed || reader_left(&reader) < extension) {
        return ERR_MORE;
    }
    item->len = reader.index + extension;
    return ERR_NONE;
}

enum err pgwire_copy_binary_next(struct slice bytes, bool has_begun,
                                 struct pgwire_copy_item *ret_item)
{
    *ret_item = (struct pgwire_copy_item){.values_at = COUNT_SIZE};
    if (!has_begun) {
        return binary_header(bytes, ret_item);
    }
    struct reader reader = reader_of(bytes);
    ret_item->count = reader_u16(&reader);
    ret_item->is_end = ret_item->count == COUNT_END;
    ret_item->is_row = !ret_item->is_end;
    for (size_t i = 0; ret_item->is_row && i < ret_item->count && !reader.failed; i++) {
        struct reader before = reader;
        uint32_t len = reader_u32(&before);
        if (!before.failed && len > INT32_MAX && len != UINT32_MAX) {
            return ERR_INPUT;
        }
        (void)pgwire_value_read(&reader);
    }
    ret_item->len = reader.index;
    return reader.failed ? ERR_MORE : ERR_NONE;
}
