/* SPDX-License-Identifier: MIT */
#include "protocol/ssh/ssh_pattern.h"

static bool pattern_is_between(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n' || byte == ',';
}

struct slice sshd_pattern_next(struct slice *rest)
{
    struct slice text = slice_trim(*rest, " \t\r\n,");
    size_t end = 0;
    while (end < text.len && !pattern_is_between(text.at[end])) {
        end++;
    }
    *rest = slice_from(text, end);
    return slice_sub(text, 0, end);
}

static bool pattern_is_same(char one, char other, bool is_exact_case)
{
    return one == other ||
           (!is_exact_case && slice_equals_nocase(slice_of(&one, 1), slice_of(&other, 1)));
}

/* With the last '*' that was met, and where it has got to. */
bool sshd_pattern_matches(struct slice pattern, struct slice text, bool is_exact_case)
{
    size_t at = 0;
    size_t in = 0;
    size_t star = pattern.len;
    size_t from = 0;
    while (at < text.len) {
        if (in < pattern.len && pattern.at[in] == '*') {
            star = in++;
            from = at;
        } else if (in < pattern.len &&
                   pattern_is_same(pattern.at[in], text.at[at], is_exact_case)) {
            in++;
            at++;
        } else if (star < pattern.len) {
            in = star + 1;
            at = ++from;
        } else {
            return false;
        }
    }
    while (in < pattern.len && pattern.at[in] == '*') {
        in++;
    }
    return in == pattern.len;
}
