/* SPDX-License-Identifier: MIT */
/* An error that a person will read: a code to branch on and one line of text. The text starts in
 * lower case, has no full stop, says what failed first, and never holds a secret or a data row. */
#ifndef GH_BASE_ERROR_H
#define GH_BASE_ERROR_H

#include "base/err.h"

#define ERROR_MESSAGE_SIZE 320

struct error {
    enum err code;
    char message[ERROR_MESSAGE_SIZE];
};

/* Fills 'error' (which may be NULL) and returns 'code': return fail(error, ERR_LIMIT, "…"). */
enum err fail(struct error *error, enum err code, const char *format, ...)
    __attribute__((format(printf, 3, 4))) MUST_USE;

/* Puts words before the message, on the way up: "store: " before "disk is full". Keeps the code. */
void error_prefix(struct error *error, const char *prefix);

#endif
