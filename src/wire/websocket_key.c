/* SPDX-License-Identifier: MIT */
/* The handshake's key and its answer. SHA-1 only shows there that the server knows the protocol; it
 * protects nothing, and the rest of the program has no use for it. */
#include "base/must.h"
#include "base/reader.h"
#include "codec/base64.h"
#include "wire/websocket.h"

#include <string.h>

#define GUID        "258EAFA5-E914-47DA-95CA-C5AB0DC85B11" /* RFC 6455 1.3 */
#define BLOCK_SIZE  64
#define ROUNDS      80
#define DIGEST_SIZE 20

bool websocket_is_key(struct slice key)
{
    uint8_t raw[WEBSOCKET_KEY_RAW_SIZE];
    size_t size = 0;
    return key.len == WEBSOCKET_KEY_SIZE &&
           base64_decode(BASE64_STANDARD, key, raw, sizeof(raw), &size) == ERR_NONE &&
           size == sizeof(raw);
}

static uint32_t sha1_turn(uint32_t word, unsigned by)
{
    return (word << by) | (word >> (32 - by));
}

/* The function and the constant of a round (FIPS 180-4, 4.1.1 and 4.2.1). */
static uint32_t sha1_mix(unsigned round, const uint32_t state[5])
{
    uint32_t b = state[1];
    uint32_t c = state[2];
    uint32_t d = state[3];
    return round < 20   ? ((b & c) ^ (~b & d)) + 0x5a827999U
           : round < 40 ? (b ^ c ^ d) + 0x6ed9eba1U
           : round < 60 ? ((b & c) ^ (b & d) ^ (c & d)) + 0x8f1bbcdcU
                        : (b ^ c ^ d) + 0xca62c1d6U;
}

static void sha1_block(uint32_t hash[5], const uint8_t block[BLOCK_SIZE])
{
    uint32_t words[ROUNDS] = {0};
    uint32_t state[5];
    struct reader reader = reader_of(slice_of(block, BLOCK_SIZE));
    memcpy(state, hash, sizeof(state));
    for (unsigned i = 0; i < ROUNDS; i++) {
        if (i < BLOCK_SIZE / sizeof(words[0])) {
            words[i] = reader_u32(&reader);
        } else {
            words[i] = sha1_turn(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
        }
        uint32_t next = sha1_turn(state[0], 5) + sha1_mix(i, state) + state[4] + words[i];
        state[4] = state[3];
        state[3] = state[2];
        state[2] = sha1_turn(state[1], 30);
        state[1] = state[0];
        state[0] = next;
    }
    for (unsigned i = 0; i < 5; i++) {
        hash[i] += state[i];
    }
}

/* Key and constant are 60 bytes, so with the end mark and the length they are two blocks. */
struct slice websocket_accept_in(struct arena *arena, struct slice key)
{
    uint32_t hash[5] = {0x67452301U, 0xefcdab89U, 0x98badcfeU, 0x10325476U, 0xc3d2e1f0U};
    uint8_t text[2 * BLOCK_SIZE] = {0};
    uint8_t digest[DIGEST_SIZE];
    const size_t size = WEBSOCKET_KEY_SIZE + sizeof(GUID) - 1;
    must(key.len == WEBSOCKET_KEY_SIZE);
    memcpy(text, key.at, WEBSOCKET_KEY_SIZE);
    memcpy(text + WEBSOCKET_KEY_SIZE, GUID, sizeof(GUID) - 1);
    text[size] = 0x80;
    text[sizeof(text) - 2] = (uint8_t)(size * 8 >> 8);
    text[sizeof(text) - 1] = (uint8_t)(size * 8 & 0xff);
    sha1_block(hash, text);
    sha1_block(hash, text + BLOCK_SIZE);
    for (size_t i = 0; i < DIGEST_SIZE; i++) {
        digest[i] = (uint8_t)(hash[i / 4] >> (24 - 8 * (i % 4)));
    }
    return base64_encode_in(arena, BASE64_STANDARD, slice_of(digest, sizeof(digest)));
}

bool websocket_header_has(struct slice header, struct slice word)
{
    bool has = false;
    while (header.at != NULL && !has) {
        struct slice item = slice_trim(slice_cut(header, ',', &header), " \t");
        has = slice_equals_nocase(item, word);
    }
    return has;
}
