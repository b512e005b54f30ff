/* SPDX-License-Identifier: MIT */
/* For the files of this folder only: groups of digits with signs between them. */
#ifndef GH_DETECT_DETECT_NUMBER_H
#define GH_DETECT_DETECT_NUMBER_H

#include "detect/detect_internal.h"

enum {
    DIGITS_MAX = 19,
    GROUPS_MAX = 8,
};

/* The groups from one start on. */
struct number {
    size_t start; /* with '+' or '(' before it */
    bool has_plus;
    uint8_t digits[DIGITS_MAX + 1];
    uint8_t counts[GROUPS_MAX]; /* of digits up to the end of a group */
    size_t ends[GROUPS_MAX];
    size_t groups;
    size_t spaced;              /* the first group that stands behind a space */
    char shape[GROUPS_MAX * 2]; /* "3-2-4": the size of each group and what is between; 'a' is 10 */
};

/* False when the first group is too long to be anything; 'start' and 'has_plus' are the caller's.
 */
bool detect_read_number(const struct detect_scan *scan, size_t at, struct number *number);

/* Whether the groups up to that one have it. */
static inline bool detect_has_shape(const struct number *number, size_t group, const char *shape)
{
    size_t len = group * 2 + 1, same = 0;
    while (same < len && shape[same] == number->shape[same]) {
        same++;
    }
    return same == len && shape[len] == '\0';
}

/* The shape of the groups up to that one with '-' for whatever one sign stands between all of them;
 * false: there are several. */
static inline bool detect_shape_with_dashes(const struct number *number, size_t group,
                                            char shape[GROUPS_MAX * 2])
{
    size_t len = group * 2 + 1;
    bool is_alike = true;
    for (size_t i = 0; i < len; i++) {
        is_alike = is_alike && (i % 2 == 0 || number->shape[i] == number->shape[1]);
        shape[i] = i % 2 == 0 ? number->shape[i] : '-';
    }
    shape[len] = '\0';
    return is_alike;
}

/* The cards that begin at 'at', where the number does. */
void detect_find_card_in(struct detect_scan *scan, size_t at, const struct number *number);
/* "4.111111111111111e+15": a point behind the first digit, and an exponent behind the second group.
 */
void detect_find_scientific_card(struct detect_scan *scan, const struct number *number);

#endif
