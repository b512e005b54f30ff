/* SPDX-License-Identifier: MIT */
/* Lists of patterns in a connection's variables: with blanks, commas or line ends between; '*' in
 * one is any text. Pure. */
#ifndef GH_SSH_PATTERN_H
#define GH_SSH_PATTERN_H

#include "base/slice.h"

#include <stdbool.h>

/* Takes the next one off; empty: there are no more. */
struct slice sshd_pattern_next(struct slice *rest);
/* Whole; in the product of both lengths. */
bool sshd_pattern_matches(struct slice pattern, struct slice text, bool is_exact_case);

#endif
