/* SPDX-License-Identifier: MIT */
#include "codec/uuid.h"

#include "codec/hex.h"

/* Bytes in each group of the written form. */
static const size_t uuid_groups[] = {4, 2, 2, 2, 6};

struct slice uuid_format(const unsigned char *bytes, char *text)
{
    size_t len = 0;
    size_t index = 0;
    for (size_t group = 0; group < 5; group++) {
        if (group > 0) {
            text[len++] = '-';
        }
        for (size_t i = 0; i < uuid_groups[group]; i++) {
            (void)snprintf(text + len, 3, "%02x", bytes[index++]);
            len += 2;
        }
    }
    return slice_of(text, len);
}

enum err uuid_parse(struct slice text, unsigned char *ret_bytes)
{
    struct slice rest = text;
    size_t index = 0;
    for (size_t group = 0; group < 5; group++) {
        if (group > 0) {
            if (!slice_starts_with(rest, SLICE("-"))) {
                return ERR_INPUT;
            }
            rest = slice_from(rest, 1);
        }
        size_t size = uuid_groups[group];
        if (hex_decode(slice_sub(rest, 0, 2 * size), (char *)ret_bytes + index, size) != ERR_NONE) {
            return ERR_INPUT;
        }
        index += size;
        rest = slice_from(rest, 2 * size);
    }
    return rest.len == 0 ? ERR_NONE : ERR_INPUT;
}

/* RFC 9562 5.7: 48 bits of milliseconds, the version, 12 random bits, the variant, 62 random bits.
 */
struct slice uuid_make_v7(int64_t timestamp, const unsigned char *random, char *text)
{
    unsigned char bytes[UUID_SIZE];
    uint64_t milliseconds = (uint64_t)(timestamp / 1000);
    for (size_t i = 0; i < 6; i++) {
        bytes[i] = (unsigned char)(milliseconds >> (40 - 8 * i));
    }
    memcpy(bytes + 6, random, UUID_RANDOM_SIZE);
    bytes[6] = (unsigned char)((bytes[6] & 0x0f) | 0x70);
    bytes[8] = (unsigned char)((bytes[8] & 0x3f) | 0x80);
    return uuid_format(bytes, text);
}
