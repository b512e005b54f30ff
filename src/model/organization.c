/* SPDX-License-Identifier: MIT */
#include "model/organization.h"

#include "base/text.h"

/* How many characters; false for what is not text, or holds control characters. */
static bool organization_count(struct slice name, size_t *ret_count)
{
    *ret_count = 0;
    while (name.len > 0) {
        uint32_t code = 0;
        size_t size = text_character(name, &code);
        if (size == 0 || code < 0x20 || (code >= 0x7f && code < 0xa0)) {
            return false;
        }
        name = slice_from(name, size);
        (*ret_count)++;
    }
    return true;
}

enum err organization_check_name(struct slice name, struct error *reterr)
{
    size_t count = 0;
    if (!organization_count(name, &count)) {
        return fail(reterr, ERR_INPUT, "'name' must be UTF-8 without control characters");
    }
    if (count < 1 || count > ORGANIZATION_NAME_MAX) {
        return fail(reterr, ERR_INPUT, "'name' must have 1 to %d characters",
                    ORGANIZATION_NAME_MAX);
    }
    if (slice_trim(name, " ").len != name.len) {
        return fail(reterr, ERR_INPUT, "'name' must not start or end with a space");
    }
    return ERR_NONE;
}
