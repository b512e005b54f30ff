/* SPDX-License-Identifier: MIT */
/* The first byte is the lowest score; what is before the first line's end is the name beside the
 * text. In it the bytes 1 to 8 stand for what secrets begin with, so that none of the seeds looks
 * like one. Findings lie within the text, in order, apart from each other, and the same ones come
 * when they are asked for one by one. */
#include "fuzz.h"

#include "base/memory.h"
#include "base/must.h"
#include "detect/detect.h"
#include "detect/detect_block.h"

#include <string.h>

enum {
    FINDINGS_MAX = 16384,
    TEXT_SIZE_MAX = 2048,
};

static size_t scan_by(const struct detect_set *set, uint64_t context, struct slice text,
                      size_t capacity, struct detect_finding *findings)
{
    size_t count = 0;
    for (size_t from = 0; from < text.len;) {
        size_t rest = 0;
        size_t found = detect_scan(set, context, text, from, findings + count, capacity, &rest);
        must(found <= capacity && rest <= text.len && rest > from);
        must(rest == text.len || found == capacity);
        from = rest;
        count += found;
        must(count + capacity <= FINDINGS_MAX);
    }
    return count;
}

static void check_blocks(struct slice text)
{
    for (size_t at = 0; at + DETECT_BLOCK_SIZE <= text.len; at += DETECT_BLOCK_SIZE) {
        struct detect_block one = {0}, other = {0};
        detect_block_read(text.at + at, &one);
        detect_block_read_any(text.at + at, &other);
        must(memcmp(&one, &other, sizeof(one)) == 0);
    }
}

/* Into exactly as many bytes as it has. */
static struct slice expand(struct slice text, char **ret_written)
{
    static const struct slice prefixes[] = {
        SLICE_INIT("sk_"),  SLICE_INIT("live_"), SLICE_INIT("xox"), SLICE_INIT("gh"),
        SLICE_INIT("AKIA"), SLICE_INIT("AIza"),  SLICE_INIT("eyJ"), SLICE_INIT("PRIVATE KEY-----")};
    size_t len = 0;
    char *copy = memory_new(text.len * 16 + 1);
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.at[i];
        struct slice part = byte >= 1 && byte <= 8 ? prefixes[byte - 1] : slice_sub(text, i, 1);
        memcpy(copy + len, part.at, part.len);
        len += part.len;
    }
    *ret_written = memory_resize(copy, len > 0 ? len : 1);
    return slice_of(*ret_written, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct detect_finding all[FINDINGS_MAX], single[FINDINGS_MAX];
    if (size == 0 || size > TEXT_SIZE_MAX) {
        return 0;
    }
    struct detect_set set = {0};
    for (size_t i = 0; i < DETECT_TYPE_COUNT; i++) {
        set.is_wanted[i] = (bytes[0] & 0x80) == 0 || i % 3 == bytes[0] % 3;
        set.score_min[i] = bytes[0] & 0x7f;
    }
    detect_set_prepare(&set);
    struct slice rest, name = slice_cut(slice_of(bytes + 1, size - 1), '\n', &rest);
    uint64_t context = detect_context_of(name);
    char *written = NULL;
    struct slice text = expand(rest, &written);
    size_t count = scan_by(&set, context, text, FINDINGS_MAX / 2, all), end = 0;
    for (size_t i = 0; i < count; i++) {
        must(all[i].offset >= end && all[i].len > 0 && all[i].len <= text.len - all[i].offset);
        must(set.is_wanted[all[i].type] && all[i].score >= set.score_min[all[i].type]);
        end = all[i].offset + all[i].len;
    }
    must(scan_by(&set, context, text, 1, single) == count);
    for (size_t i = 0; i < count; i++) {
        must(all[i].offset == single[i].offset && all[i].len == single[i].len &&
             all[i].type == single[i].type && all[i].score == single[i].score);
    }
    check_blocks(text);
    memory_free(written);
    return 0;
}
