/* SPDX-License-Identifier: MIT */
#include "model/organization.h"

#include "base/text.h"

enum err organization_check_name(struct slice name, struct error *reterr)
{
    if (!text_is_utf8(name) || text_has_control(name)) {
        return fail(reterr, ERR_INPUT, "'name' must be UTF-8 without control characters");
    }
    size_t count = text_utf8_count(name);
    if (count < 1 || count > ORGANIZATION_NAME_MAX) {
        return fail(reterr, ERR_INPUT, "'name' must have 1 to %d characters",
                    ORGANIZATION_NAME_MAX);
    }
    if (slice_trim(name, " ").len != name.len) {
        return fail(reterr, ERR_INPUT, "'name' must not start or end with a space");
    }
    return ERR_NONE;
}
