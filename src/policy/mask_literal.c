/* SPDX-License-Identifier: MIT */
/* What PostgreSQL writes for arrays ({a,"b c",{d}}, perhaps with bounds before it) and for
 * composites ((a,"b ""c""",)), element by element. */
#include "policy/mask_internal.h"

#define ARRAY_DEPTH 64 /* servers have 6 */

struct literal_walk {
    struct mask_work *work;
    struct slice text;
    size_t at;
    bool is_composite;
};

static char literal_peek(const struct literal_walk *walk)
{
    return walk->at < walk->text.len ? walk->text.at[walk->at] : '\0';
}

/* From behind the first quote to behind the last. In composites two quotes are one. */
static bool literal_quoted(struct literal_walk *walk)
{
    struct slice text = walk->text;
    size_t start = walk->at;
    size_t at = start;
    bool has_escape = false;
    while (at < text.len) {
        bool is_twice =
            walk->is_composite && at + 1 < text.len && text.at[at] == '"' && text.at[at + 1] == '"';
        if (text.at[at] == '"' && !is_twice) {
            break;
        }
        has_escape = has_escape || is_twice || text.at[at] == '\\';
        at += is_twice || text.at[at] == '\\' ? 2 : 1;
    }
    if (at >= text.len) {
        return false;
    }
    walk->at = at + 1;
    enum mask_leaf leaf = walk->is_composite ? MASK_LEAF_COMPOSITE : MASK_LEAF_ARRAY;
    mask_leaf(walk->work, has_escape ? leaf : MASK_LEAF_PLAIN, start, at, walk->work->context);
    return true;
}

/* Up to what ends it, with nothing in it that should have been quoted. */
static bool literal_bare(struct literal_walk *walk, const char *ends, const char *wrong)
{
    struct slice text = walk->text;
    size_t start = walk->at;
    size_t at = start;
    bool has_escape = false;
    while (at < text.len && (text.at[at] == '\0' || strchr(ends, text.at[at]) == NULL)) {
        if (text.at[at] == '\0' || strchr(wrong, text.at[at]) != NULL) {
            return false;
        }
        has_escape = has_escape || text.at[at] == '\\';
        at += text.at[at] == '\\' ? 2 : 1;
    }
    if (at >= text.len) {
        return false;
    }
    walk->at = at;
    enum mask_leaf leaf = walk->is_composite ? MASK_LEAF_COMPOSITE_BARE : MASK_LEAF_ARRAY_BARE;
    mask_leaf(walk->work, has_escape ? leaf : MASK_LEAF_PLAIN, start, at, walk->work->context);
    return true;
}

/* "[0:2][1:3]=" */
static bool array_bounds(struct literal_walk *walk)
{
    if (literal_peek(walk) != '[') {
        return true;
    }
    while (walk->at < walk->text.len && literal_peek(walk) != '=') {
        if (literal_peek(walk) == '\0' || strchr("0123456789:[]+-", literal_peek(walk)) == NULL) {
            return false;
        }
        walk->at++;
    }
    walk->at++;
    return true;
}

/* An element, or the brace that opens or closes an array of them. */
static bool array_element(struct literal_walk *walk, size_t *depth, bool *ret_is_after)
{
    char byte = literal_peek(walk);
    *ret_is_after = byte != '{';
    if (byte == '{' || byte == '}') {
        walk->at++;
        *depth += byte == '{' ? 1 : (size_t)-1;
        return *depth <= ARRAY_DEPTH;
    }
    if (byte == '"') {
        walk->at++;
        return literal_quoted(walk);
    }
    return literal_bare(walk, ",}", "{\"");
}

enum mask_parse mask_walk_array(struct mask_work *work)
{
    struct literal_walk walk = {.work = work, .text = work->text};
    size_t depth = 0;
    bool is_after = false;
    if (!array_bounds(&walk) || literal_peek(&walk) != '{') {
        return MASK_NOT_PARSED;
    }
    do {
        if (!is_after) {
            if (!array_element(&walk, &depth, &is_after)) {
                return MASK_NOT_PARSED;
            }
            continue;
        }
        char byte = literal_peek(&walk);
        if (byte != ',' && byte != '}') {
            return MASK_NOT_PARSED;
        }
        walk.at++;
        is_after = byte == '}';
        depth -= byte == '}' ? 1 : 0;
    } while (depth > 0);
    return walk.at == walk.text.len ? MASK_PARSED : MASK_NOT_PARSED;
}

enum mask_parse mask_walk_composite(struct mask_work *work)
{
    struct literal_walk walk = {.work = work, .text = work->text, .is_composite = true};
    char byte = '\0';
    do {
        walk.at++; /* the bracket, or a comma */
        bool is_quoted = literal_peek(&walk) == '"';
        walk.at += is_quoted ? 1 : 0;
        if (is_quoted ? !literal_quoted(&walk) : !literal_bare(&walk, ",)", "(\"")) {
            return MASK_NOT_PARSED;
        }
        byte = literal_peek(&walk);
    } while (byte == ',');
    return byte == ')' && walk.at + 1 == walk.text.len ? MASK_PARSED : MASK_NOT_PARSED;
}

/* Escapes -------------------------------------------------------------------------------------- */

enum err mask_literal_decode(struct slice text, bool is_composite, struct buf *buf)
{
    for (size_t at = 0; at < text.len; at++) {
        bool is_twice = is_composite && text.at[at] == '"' && at + 1 < text.len;
        at += text.at[at] == '\\' || is_twice ? 1 : 0;
        enum err err = buf_append(buf, slice_sub(text, at, 1));
        if (err != ERR_NONE) {
            return err;
        }
    }
    return ERR_NONE;
}

enum err mask_literal_encode(struct slice text, bool is_composite, struct buf *buf)
{
    for (size_t at = 0; at < text.len; at++) {
        const struct slice quote = is_composite ? SLICE("\"") : SLICE("\\");
        struct slice before = SLICE("");
        if (text.at[at] == '"') {
            before = quote;
        } else if (text.at[at] == '\\') {
            before = SLICE("\\");
        }
        const struct slice parts[] = {before, slice_sub(text, at, 1)};
        enum err err = buf_append_parts(buf, parts, 2);
        if (err != ERR_NONE) {
            return err;
        }
    }
    return ERR_NONE;
}
