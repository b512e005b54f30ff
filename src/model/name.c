/* SPDX-License-Identifier: MIT */
#include "model/name.h"

#include "base/text.h"

#include <string.h>

static bool name_is_word(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '_';
}

static bool name_is_one_of(char byte, const char *bytes)
{
    return byte != '\0' && strchr(bytes, byte) != NULL;
}

enum err name_check(struct slice name, struct error *reterr)
{
    bool may_separate = false;
    bool is_good = true;
    for (size_t i = 0; i < name.len && is_good; i++) {
        bool is_word = name_is_word(name.at[i]);
        is_good = is_word || (may_separate && name_is_one_of(name.at[i], "-."));
        may_separate = is_word;
    }
    if (is_good && may_separate) {
        return ERR_NONE;
    }
    return fail(reterr, ERR_INPUT,
                "must be letters, digits and '_', with single '-' or '.' in between");
}

enum err line_check(struct slice line, struct error *reterr)
{
    while (line.len > 0) {
        uint32_t code = 0;
        size_t size = text_character(line, &code);
        if (size == 0 || code < 0x20 || (code >= 0x7f && code < 0xa0)) {
            return fail(reterr, ERR_INPUT, "must not hold control characters");
        }
        line = slice_from(line, size);
    }
    return ERR_NONE;
}

enum err title_check(struct slice title, struct error *reterr)
{
    if (slice_find_byte(title, '/') < title.len) {
        return fail(reterr, ERR_INPUT, "must not hold a '/'");
    }
    if (slice_equals(title, SLICE(".")) || slice_equals(title, SLICE(".."))) {
        return fail(reterr, ERR_INPUT, "must not be '.' or '..'");
    }
    return line_check(title, reterr);
}

static bool name_is_of(struct slice text, const char *others)
{
    for (size_t i = 0; i < text.len; i++) {
        if (!name_is_word(text.at[i]) && !name_is_one_of(text.at[i], others)) {
            return false;
        }
    }
    return true;
}

enum err tag_check_key(struct slice key, struct error *reterr)
{
    if (!name_is_of(key, "-/.")) {
        return fail(reterr, ERR_INPUT, "must have a key of letters, digits, '-', '_', '/' and '.'");
    }
    if (key.len == 0 || name_is_one_of(key.at[key.len - 1], "-/.")) {
        return fail(reterr, ERR_INPUT, "must have a key that does not end in '-', '/' or '.'");
    }
    return ERR_NONE;
}

enum err tag_check_value(struct slice value, struct error *reterr)
{
    if (value.len == 0) {
        return fail(reterr, ERR_INPUT, "must not be empty");
    }
    if (!name_is_of(value, " -/+@:=.")) {
        return fail(reterr, ERR_INPUT,
                    "must be letters, digits, spaces, '-', '_', '/', '+', '@', ':', '=' and '.'");
    }
    return ERR_NONE;
}

enum err email_check(struct slice email, struct error *reterr)
{
    struct slice host = SLICE_NONE;
    struct slice local = slice_cut(email, '@', &host);
    bool is_good = local.len > 0 && host.len > 0 && slice_find_byte(host, '@') == host.len &&
                   line_check(email, NULL) == ERR_NONE &&
                   slice_find_byte(email, ' ') == email.len && name_is_word(host.at[0]) &&
                   name_is_word(host.at[host.len - 1]);
    return is_good ? ERR_NONE : fail(reterr, ERR_INPUT, "must be an e-mail address");
}
