/* SPDX-License-Identifier: MIT */
/* Origins of pages (RFC 6454) as browsers write them into the header Origin: scheme://host[:port],
 * in lower case, without the scheme's own port and without a path. They are compared byte by byte:
 * whoever writes another form is no browser. */
#ifndef GH_WIRE_ORIGIN_H
#define GH_WIRE_ORIGIN_H

#include "base/error.h"
#include "base/limits.h"
#include "base/slice.h"

/* Views of the text that was parsed. */
struct origin_list {
    struct slice origins[LIMIT_ORIGINS];
    size_t count;
};

/* Origins with commas between; none in an empty text. https alone, but for this machine itself;
 * '*' and 'null' are no origins. */
enum err origin_list_parse(struct slice text, struct origin_list *ret_list,
                           struct error *reterr) MUST_USE;
bool origin_list_has(const struct origin_list *list, struct slice origin);

#endif
