/* SPDX-License-Identifier: MIT */
/* YAML from files that people write, as JSON: one document after the other, each value of which
 * knows the line where it stands. By libyaml's events; what JSON does not have is refused: tags,
 * anchors and aliases, keys that are no text, a key twice. Plain words are numbers, true, false and
 * null as YAML 1.2's core schema has them ('yes' is a text). Size, depth and the number of values
 * have limits. Everything lives in the arena. */
#ifndef GH_CODEC_YAMLTEXT_H
#define GH_CODEC_YAMLTEXT_H

#include "base/buf.h"
#include "codec/json.h"

struct yamltext_place {
    struct slice path; /* as struct json has it */
    size_t line;       /* from 1 */
};

struct yamltext_document {
    struct json json;
    size_t line; /* where it begins */
    struct yamltext_place *places;
    size_t place_count;
};

struct yamltext_documents {
    struct yamltext_document *items;
    size_t count;
};

/* Documents without a value are left out. 'ret_line' is set on failure, too: where that is. */
enum err yamltext_parse_in(struct arena *arena, struct slice text,
                           struct yamltext_documents *ret_documents, size_t *ret_line,
                           struct error *reterr) MUST_USE;

/* Of the value itself, or of the nearest one around it. */
size_t yamltext_line_of(const struct yamltext_document *document, struct slice path);

/* A JSON value as one document of YAML, to the end of 'buf'; texts that would be read as something
 * else are quoted. ERR_LIMIT: it does not fit. */
enum err yamltext_write(struct json json, struct buf *buf) MUST_USE;

#endif
