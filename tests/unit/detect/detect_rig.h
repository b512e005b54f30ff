/* SPDX-License-Identifier: MIT */
/* For the tests of the scan: what is found in a text, in words. */
#ifndef GH_TEST_DETECT_RIG_H
#define GH_TEST_DETECT_RIG_H

#include "base/memory.h"
#include "detect/detect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

enum {
    FINDINGS_MAX = 64,
    TEXT_SIZE = 2048,
};

static inline struct detect_set all_types(unsigned score_min)
{
    struct detect_set set = {0};
    for (size_t i = 0; i < DETECT_TYPE_COUNT; i++) {
        set.is_wanted[i] = true;
        set.score_min[i] = (uint8_t)score_min;
    }
    detect_set_prepare(&set);
    return set;
}

/* In a copy with nothing behind it, so that a sanitizer sees who reads on. */
static inline size_t scan(const struct detect_set *set, const char *name, struct slice text,
                          struct detect_finding *findings)
{
    char *copy = memory_new(text.len > 0 ? text.len : 1);
    size_t rest = 0;
    memcpy(copy, text.at, text.len);
    size_t count = detect_scan(set, detect_context_of(slice_of_text(name)),
                               slice_of(copy, text.len), 0, findings, FINDINGS_MAX, &rest);
    assert_int_equal(rest, text.len);
    memory_free(copy);
    return count;
}

/* What is found at the usual threshold: "TYPE:text TYPE:text", in memory of this function's own. */
static inline const char *found_beside(const char *name, const char *text)
{
    static char shown[TEXT_SIZE];
    struct detect_finding findings[FINDINGS_MAX];
    struct detect_set set = all_types(60);
    size_t count = scan(&set, name, slice_of_text(text), findings), len = 0;
    shown[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        int size = snprintf(shown + len, sizeof(shown) - len, "%s%s:%.*s", i > 0 ? " " : "",
                            detect_type_word(findings[i].type), (int)findings[i].len,
                            text + findings[i].offset);
        assert_true(size > 0 && (size_t)size < sizeof(shown) - len);
        len += (size_t)size;
    }
    return shown;
}

static inline const char *found(const char *text)
{
    return found_beside("", text);
}

#endif
