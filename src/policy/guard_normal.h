/* SPDX-License-Identifier: MIT */
/* A text of SQL without what changes nothing: outside of quotes, a run of white space and comments
 * is one blank, or nothing at the start and at the end. Linear; what is not SQL comes out in some
 * form. */
#ifndef GH_POLICY_GUARD_NORMAL_H
#define GH_POLICY_GUARD_NORMAL_H

#include "base/buf.h"
#include "sql/sql.h"

/* Appends to 'buf'. 'is_backslash_quoted': as sql_settings has it. */
enum err guard_normal_form(struct buf *buf, struct slice text, bool is_backslash_quoted) MUST_USE;

/* The same of a text that was cut into words, or of a part of it that begins and ends with one:
 * 'gaps' are all that lie in it, 'offset' is where it begins. */
enum err guard_normal_cut(struct buf *buf, struct slice part, size_t offset,
                          const struct sql_gap *gaps, size_t count) MUST_USE;

#endif
