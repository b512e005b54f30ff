/* SPDX-License-Identifier: MIT */
/* XML, as far as it must be known to tell text from tags: text, values of attributes, comments,
 * sections and instructions are leaves; tags are left as they are but for what stands in them
 * alone. Text without any tag is one leaf. */
#include "policy/mask_internal.h"

#define ENTITY_SIZE_MAX 12 /* &#x10ffff; */

static void xml_leaf(struct mask_work *work, size_t start, size_t end)
{
    bool has_entity = slice_find_byte(slice_sub(work->text, start, end - start), '&') < end - start;
    mask_leaf(work, has_entity ? MASK_LEAF_XML : MASK_LEAF_PLAIN, start, end, work->context);
}

/* What stands between two fixed texts: <!-- … -->. Returns what is behind it, or 0. */
static size_t xml_between(struct mask_work *work, size_t at, struct slice first, struct slice last)
{
    struct slice rest = slice_from(work->text, at + first.len);
    size_t len = slice_find(rest, last);
    if (len == rest.len) {
        return 0;
    }
    size_t start = at + first.len;
    mask_leaf(work, MASK_LEAF_PLAIN, start, start + len, work->context);
    return start + len + last.len;
}

/* A tag, from its bracket; the values of its attributes are leaves. */
static size_t xml_tag(struct mask_work *work, size_t at)
{
    struct slice text = work->text;
    size_t markup = at + 1;
    at++;
    while (at < text.len && text.at[at] != '>') {
        char byte = text.at[at];
        if (byte == '<') {
            return 0;
        }
        if (byte == '"' || byte == '\'') {
            mask_leaf(work, MASK_LEAF_MARKUP, markup, at, work->context);
            size_t len = slice_find_byte(slice_from(text, at + 1), byte);
            if (at + 1 + len >= text.len) {
                return 0;
            }
            xml_leaf(work, at + 1, at + 1 + len);
            at += 1 + len;
            markup = at + 1;
        }
        at++;
    }
    if (at >= text.len) {
        return 0;
    }
    mask_leaf(work, MASK_LEAF_MARKUP, markup, at, work->context);
    return at + 1;
}

static size_t xml_markup(struct mask_work *work, size_t at)
{
    struct slice rest = slice_from(work->text, at);
    if (slice_starts_with(rest, SLICE("<!--"))) {
        return xml_between(work, at, SLICE("<!--"), SLICE("-->"));
    }
    if (slice_starts_with(rest, SLICE("<![CDATA["))) {
        return xml_between(work, at, SLICE("<![CDATA["), SLICE("]]>"));
    }
    if (slice_starts_with(rest, SLICE("<?"))) {
        return xml_between(work, at, SLICE("<?"), SLICE("?>"));
    }
    return xml_tag(work, at);
}

enum mask_parse mask_walk_xml(struct mask_work *work)
{
    size_t at = 0;
    while (at < work->text.len) {
        size_t len = slice_find_byte(slice_from(work->text, at), '<');
        xml_leaf(work, at, at + len);
        at += len;
        if (at < work->text.len) {
            at = xml_markup(work, at);
            if (at == 0) {
                return MASK_NOT_PARSED;
            }
        }
    }
    return MASK_PARSED;
}

/* Entities ------------------------------------------------------------------------------------- */

static uint32_t xml_number(struct slice digits, unsigned base)
{
    uint32_t code = 0;
    for (size_t i = 0; i < digits.len; i++) {
        char lower = (char)(digits.at[i] | 0x20);
        unsigned digit = base;
        if (digits.at[i] >= '0' && digits.at[i] <= '9') {
            digit = (unsigned)(digits.at[i] - '0');
        } else if (lower >= 'a' && lower <= 'f') {
            digit = (unsigned)(lower - 'a' + 10);
        }
        if (digit >= base || code > 0x10ffff) {
            return 0;
        }
        code = code * base + digit;
    }
    return code > 0x10ffff ? 0 : code;
}

/* The character of the entity whose inside this is; 0: it has none. */
static uint32_t xml_character(struct slice name)
{
    static const struct {
        struct slice name;
        char byte;
    } named[] = {{SLICE_INIT("lt"), '<'},
                 {SLICE_INIT("gt"), '>'},
                 {SLICE_INIT("amp"), '&'},
                 {SLICE_INIT("quot"), '"'},
                 {SLICE_INIT("apos"), '\''}};
    for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
        if (slice_equals(name, named[i].name)) {
            return (uint32_t)named[i].byte;
        }
    }
    if (slice_starts_with(name, SLICE("#x")) || slice_starts_with(name, SLICE("#X"))) {
        return xml_number(slice_from(name, 2), 16);
    }
    return slice_starts_with(name, SLICE("#")) ? xml_number(slice_from(name, 1), 10) : 0;
}

enum err mask_xml_decode(struct slice text, struct buf *buf)
{
    size_t at = 0;
    while (at < text.len) {
        struct slice rest = slice_from(text, at);
        size_t plain = slice_find_byte(rest, '&');
        enum err err = buf_append(buf, slice_sub(rest, 0, plain));
        at += plain;
        if (err == ERR_NONE && at < text.len) {
            struct slice entity = slice_sub(text, at, ENTITY_SIZE_MAX);
            size_t len = slice_find_byte(entity, ';');
            uint32_t code = xml_character(slice_sub(entity, 1, len - 1));
            bool is_one = len < entity.len && code != 0;
            err = is_one ? mask_append_character(code, buf) : buf_append(buf, SLICE("&"));
            at += is_one ? len + 1 : 1;
        }
        if (err != ERR_NONE) {
            return err;
        }
    }
    return ERR_NONE;
}

enum err mask_xml_encode(struct slice text, struct buf *buf)
{
    static const char special[] = "<>&\"'";
    static const char *const entities[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&apos;"};
    size_t copied = 0;
    enum err err = ERR_NONE;
    for (size_t i = 0; i < text.len && err == ERR_NONE; i++) {
        size_t index = slice_find_byte(slice_of_text(special), text.at[i]);
        if (index == sizeof(special) - 1) {
            continue;
        }
        const struct slice parts[] = {slice_sub(text, copied, i - copied),
                                      slice_of_text(entities[index])};
        err = buf_append_parts(buf, parts, 2);
        copied = i + 1;
    }
    return err == ERR_NONE ? buf_append(buf, slice_from(text, copied)) : err;
}
