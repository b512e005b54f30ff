/* SPDX-License-Identifier: MIT */
/* Guard rails for tests, from the JSON that the API takes. */
#ifndef GH_TESTS_POLICY_GUARD_RULES_H
#define GH_TESTS_POLICY_GUARD_RULES_H

#include "base/must.h"
#include "policy/guard.h"

/* A guard rail with these entries for input and output. */
static inline struct guardrail guardrail_of(struct arena *arena, const char *input,
                                            const char *output)
{
    struct guardrail guardrail = {0};
    struct json document;
    struct slice text = arena_format(arena,
                                     "{\"name\": \"rail\", \"input\": {\"rules\": [%s]}, "
                                     "\"output\": {\"rules\": [%s]}}",
                                     input, output);
    struct error error = {0};
    enum err err = json_parse_in(arena, text, &document, &error);
    if (err == ERR_NONE) {
        err = shape_read(&guardrail_shape, SHAPE_WHOLE, &document, &guardrail, &error);
    }
    if (err == ERR_NONE) {
        err = guardrail_check(&guardrail, &error);
    }
    if (err != ERR_NONE) {
        fprintf(stderr, "%s\n", error.message);
    }
    must(err == ERR_NONE);
    return guardrail;
}

#endif
