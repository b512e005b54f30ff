/* SPDX-License-Identifier: MIT */
/* The names of the types. */
#include "detect/detect.h"

#include "base/must.h"

static const struct {
    struct slice word;
    bool has_checksum;
} types[] = {
#define DETECT_TYPE(name, word, has_checksum) {SLICE_INIT(word), has_checksum},
    DETECT_TYPES(DETECT_TYPE)
#undef DETECT_TYPE
};

_Static_assert(DETECT_TYPE_COUNT <= 64, "contexts are bits of one word");

const char *detect_type_word(enum detect_type type)
{
    must((size_t)type < DETECT_TYPE_COUNT);
    return types[type].word.at;
}

bool detect_type_parse(struct slice word, enum detect_type *ret_type)
{
    for (size_t i = 0; i < DETECT_TYPE_COUNT; i++) {
        if (slice_equals(types[i].word, word)) {
            *ret_type = (enum detect_type)i;
            return true;
        }
    }
    return false;
}

bool detect_type_has_checksum(enum detect_type type)
{
    must((size_t)type < DETECT_TYPE_COUNT);
    return types[type].has_checksum;
}
