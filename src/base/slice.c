/* SPDX-License-Identifier: MIT */
#include "base/slice.h"

#include <strings.h>

struct slice slice_of(const void *at, size_t len)
{
    return (struct slice){.at = at, .len = len};
}

struct slice slice_of_text(const char *text)
{
    return text == NULL ? SLICE_NONE : slice_of(text, strlen(text));
}

bool slice_equals(struct slice a, struct slice b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}

bool slice_equals_nocase(struct slice a, struct slice b)
{
    return a.len == b.len && (a.len == 0 || strncasecmp(a.at, b.at, a.len) == 0);
}

bool slice_has_nocase(struct slice slice, struct slice part)
{
    for (size_t i = 0; part.len > 0 && i + part.len <= slice.len; i++) {
        if (slice_equals_nocase(slice_sub(slice, i, part.len), part)) {
            return true;
        }
    }
    return false;
}

bool slice_starts_with(struct slice slice, struct slice prefix)
{
    return slice.len >= prefix.len && slice_equals(slice_sub(slice, 0, prefix.len), prefix);
}

bool slice_ends_with(struct slice slice, struct slice suffix)
{
    return slice.len >= suffix.len &&
           slice_equals(slice_from(slice, slice.len - suffix.len), suffix);
}

int slice_compare(struct slice a, struct slice b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    int order = len == 0 ? 0 : memcmp(a.at, b.at, len);
    if (order != 0) {
        return order;
    }
    return (a.len > b.len) - (a.len < b.len);
}

struct slice slice_from(struct slice slice, size_t from)
{
    return slice_sub(slice, from, slice.len);
}

struct slice slice_sub(struct slice slice, size_t from, size_t len)
{
    if (from >= slice.len) {
        return slice_of(slice.at == NULL ? NULL : slice.at + slice.len, 0);
    }
    size_t left = slice.len - from;
    return slice_of(slice.at + from, len < left ? len : left);
}

struct slice slice_trim(struct slice slice, const char *bytes)
{
    while (slice.len > 0 && strchr(bytes, slice.at[0]) != NULL && slice.at[0] != '\0') {
        slice = slice_from(slice, 1);
    }
    while (slice.len > 0 && strchr(bytes, slice.at[slice.len - 1]) != NULL &&
           slice.at[slice.len - 1] != '\0') {
        slice.len--;
    }
    return slice;
}

size_t slice_find_byte(struct slice slice, char byte)
{
    const char *found = slice.len == 0 ? NULL : memchr(slice.at, byte, slice.len);
    return found == NULL ? slice.len : (size_t)(found - slice.at);
}

size_t slice_find(struct slice slice, struct slice wanted)
{
    if (wanted.len == 0) {
        return 0;
    }
    const char *found = slice.len == 0 ? NULL : memmem(slice.at, slice.len, wanted.at, wanted.len);
    return found == NULL ? slice.len : (size_t)(found - slice.at);
}

struct slice slice_cut(struct slice slice, char byte, struct slice *rest)
{
    size_t index = slice_find_byte(slice, byte);
    *rest = index == slice.len ? SLICE_NONE : slice_from(slice, index + 1);
    return slice_sub(slice, 0, index);
}
