/* SPDX-License-Identifier: MIT */
/* What names may look like. The patterns are what the checks check, for the description of the API.
 * Every check is a shape_check_fn: lengths are the field's business. */
#ifndef GH_MODEL_NAME_H
#define GH_MODEL_NAME_H

#include "base/error.h"
#include "base/slice.h"

#define NAME_LENGTH_MIN 3
#define NAME_LENGTH_MAX 254

/* Connections and agents: letters, digits and '_', with single '-' or '.' in between. */
#define NAME_PATTERN "^[A-Za-z0-9_]+([.-][A-Za-z0-9_]+)*$"
enum err name_check(struct slice name, struct error *reterr) MUST_USE;

/* Resources, groups, attributes: text that can be shown in a line and put into a path. */
#define TITLE_PATTERN "^[^/\\x00-\\x1f\\x7f-\\x9f]+$"
enum err title_check(struct slice title, struct error *reterr) MUST_USE;

/* Text of one line: no control characters. */
#define LINE_PATTERN "^[^\\x00-\\x1f\\x7f-\\x9f]*$"
enum err line_check(struct slice line, struct error *reterr) MUST_USE;

/* Tags of connections. */
#define TAG_KEY_PATTERN   "^[A-Za-z0-9_/.-]*[A-Za-z0-9_]$"
#define TAG_VALUE_PATTERN "^[A-Za-z0-9 _/+@:=.-]+$"
#define TAG_KEY_MAX       64
#define TAG_VALUE_MAX     256
#define TAG_COUNT_MAX     10
enum err tag_check_key(struct slice key, struct error *reterr) MUST_USE;
enum err tag_check_value(struct slice value, struct error *reterr) MUST_USE;

/* Something before one '@' and a host behind it; no white space. */
#define EMAIL_PATTERN                                                                              \
    "^[^@ \\x00-\\x1f\\x7f-\\x9f]+@[A-Za-z0-9_]([^@ \\x00-\\x1f\\x7f-\\x9f]*[A-Za-z0-9_])?$"
enum err email_check(struct slice email, struct error *reterr) MUST_USE;

#endif
