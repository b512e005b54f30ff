/* SPDX-License-Identifier: MIT */
/* Borrowed bytes: an address and a length, passed by value. A slice owns nothing and ends when what
 * it points into ends. It is not terminated by NUL; 'char *' is for literals and for libc only. */
#ifndef GH_BASE_SLICE_H
#define GH_BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>

struct slice {
    const char *at;
    size_t len;
};

#define SLICE(literal) ((struct slice){.at = "" literal, .len = sizeof(literal) - 1})
#define SLICE_INIT(literal)                                                                        \
    {                                                                                              \
        .at = "" literal, .len = sizeof(literal) - 1                                               \
    }
#define SLICE_NONE ((struct slice){.at = NULL, .len = 0})

/* printf("%.*s", SLICE_ARG(name)) */
#define SLICE_ARG(slice) (int)(slice).len, (slice).at

struct slice slice_of(const void *at, size_t len);
struct slice slice_of_text(const char *text);

bool slice_equals(struct slice a, struct slice b);
/* ASCII letters compare without case. */
bool slice_equals_nocase(struct slice a, struct slice b);
/* An empty 'part' is in none. */
bool slice_has_nocase(struct slice slice, struct slice part);
bool slice_starts_with(struct slice slice, struct slice prefix);
bool slice_ends_with(struct slice slice, struct slice suffix);
/* Bytewise order, as strcmp. */
int slice_compare(struct slice a, struct slice b);

/* The part from 'from' on, or of 'len' bytes from it; both are cut to what is there. */
struct slice slice_from(struct slice slice, size_t from);
struct slice slice_sub(struct slice slice, size_t from, size_t len);
struct slice slice_trim(struct slice slice, const char *bytes);

/* Index of the first such byte or sequence, or slice.len when there is none. */
size_t slice_find_byte(struct slice slice, char byte);
size_t slice_find(struct slice slice, struct slice wanted);

/* Splits at the first 'byte': returns what is before it and leaves what is after it in 'rest'.
 * Without such a byte all is returned and 'rest' is empty with at == NULL. */
struct slice slice_cut(struct slice slice, char byte, struct slice *rest);

#endif
