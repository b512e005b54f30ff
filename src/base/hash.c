/* SPDX-License-Identifier: MIT */
#include "base/hash.h"

struct hash_state {
    uint64_t a;
    uint64_t b;
    uint64_t c;
    uint64_t d;
};

static uint64_t hash_rotate(uint64_t word, unsigned int bits)
{
    return word << bits | word >> (64 - bits);
}

static inline void hash_round(struct hash_state *state)
{
    state->a += state->b;
    state->b = hash_rotate(state->b, 13) ^ state->a;
    state->a = hash_rotate(state->a, 32);
    state->c += state->d;
    state->d = hash_rotate(state->d, 16) ^ state->c;
    state->a += state->d;
    state->d = hash_rotate(state->d, 21) ^ state->a;
    state->c += state->b;
    state->b = hash_rotate(state->b, 17) ^ state->c;
    state->c = hash_rotate(state->c, 32);
}

/* The first byte is the lowest. Written out, so that it becomes one load. */
static inline uint64_t hash_word(const void *at)
{
    const uint8_t *bytes = at;
    return (uint64_t)bytes[0] | (uint64_t)bytes[1] << 8 | (uint64_t)bytes[2] << 16 |
           (uint64_t)bytes[3] << 24 | (uint64_t)bytes[4] << 32 | (uint64_t)bytes[5] << 40 |
           (uint64_t)bytes[6] << 48 | (uint64_t)bytes[7] << 56;
}

/* What is left, and the length in the highest byte. */
static uint64_t hash_last_word(struct slice rest, size_t len)
{
    uint64_t word = (uint64_t)len << 56;
    for (size_t i = 0; i < rest.len; i++) {
        word |= (uint64_t)(uint8_t)rest.at[i] << (8 * i);
    }
    return word;
}

void hash_key_of(const uint8_t seed[HASH_SEED_SIZE], uint64_t ret_key[2])
{
    ret_key[0] = hash_word(seed);
    ret_key[1] = hash_word(seed + 8);
}

/* Aumasson and Bernstein, "SipHash: a fast short-input PRF", with one round a word and three at
 * the end: enough for a table whose hashes are never shown. */
uint64_t hash_of(const uint64_t key[2], struct slice bytes)
{
    struct hash_state state = {
        .a = key[0] ^ 0x736f6d6570736575U,
        .b = key[1] ^ 0x646f72616e646f6dU,
        .c = key[0] ^ 0x6c7967656e657261U,
        .d = key[1] ^ 0x7465646279746573U,
    };
    size_t whole_len = bytes.len - bytes.len % 8;
    for (size_t i = 0; i < whole_len; i += 8) {
        uint64_t word = hash_word(bytes.at + i);
        state.d ^= word;
        hash_round(&state);
        state.a ^= word;
    }
    uint64_t last = hash_last_word(slice_from(bytes, whole_len), bytes.len);
    state.d ^= last;
    hash_round(&state);
    state.a ^= last;
    state.c ^= 0xff;
    hash_round(&state);
    hash_round(&state);
    hash_round(&state);
    return state.a ^ state.b ^ state.c ^ state.d;
}
