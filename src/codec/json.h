/* SPDX-License-Identifier: MIT */
/* JSON from a client, read strictly (by jansson): one value and nothing behind it, no duplicate
 * members, no NUL, UTF-8 only, bounded depth. Getters name the member when it is not as it must be;
 * unknown members are ignored. */
#ifndef GH_CODEC_JSON_H
#define GH_CODEC_JSON_H

#include "base/arena.h"
#include "base/error.h"

struct json; /* dies with the arena it was parsed into */

enum err json_parse(struct arena *arena, struct slice text, struct json **ret_json,
                    struct error *reterr) MUST_USE;

/* A member that must be there and be text. Lives as long as the document. */
enum err json_get_text(const struct json *json, const char *member, struct slice *ret_text,
                       struct error *reterr) MUST_USE;

#endif
