/* SPDX-License-Identifier: MIT */
#include "identity/recovery_code.h"

#include "base/must.h"
#include "codec/base32.h"

#include <sodium.h>

#define RECOVERY_CODE_SIZE  10 /* of the random bytes: 16 digits and no bit beyond them */
#define RECOVERY_CODE_GROUP 4

_Static_assert(RECOVERY_CODE_HASH_SIZE == crypto_hash_sha256_BYTES, "hash is a SHA-256");

static struct slice recovery_code_write_in(struct arena *arena, struct slice bytes)
{
    struct slice digits = base32_encode_in(arena, bytes);
    char *text = arena_alloc(arena, RECOVERY_CODE_LEN);
    size_t len = 0;
    for (size_t i = 0; i < digits.len; i++) {
        if (i > 0 && i % RECOVERY_CODE_GROUP == 0) {
            text[len++] = '-';
        }
        text[len++] = digits.at[i];
    }
    must(len == RECOVERY_CODE_LEN);
    return slice_of(text, len);
}

void recovery_codes_make_in(struct arena *arena, struct slice *ret_codes)
{
    must(sodium_init() >= 0);
    unsigned char bytes[RECOVERY_CODE_SIZE];
    for (size_t i = 0; i < RECOVERY_CODE_COUNT; i++) {
        randombytes_buf(bytes, sizeof(bytes));
        ret_codes[i] = recovery_code_write_in(arena, slice_of(bytes, sizeof(bytes)));
    }
    explicit_bzero(bytes, sizeof(bytes));
}

/* The digit of base32 that was meant. */
static char recovery_code_digit(char typed)
{
    switch (typed) {
    case '0':
        return 'O';
    case '1':
        return 'I';
    case '8':
        return 'B';
    case '\t':
    case '\r':
    case '\n':
        return ' ';
    default:
        return typed;
    }
}

enum err recovery_code_normalize_in(struct arena *arena, struct slice typed, struct slice *ret_code)
{
    char *digits = arena_text(arena, typed);
    for (size_t i = 0; i < typed.len; i++) {
        /* Base32 knows padding, these codes do not. */
        if (digits[i] == '=') {
            return ERR_INPUT;
        }
        digits[i] = recovery_code_digit(digits[i]);
    }
    struct slice bytes;
    enum err err = base32_decode_in(arena, slice_of(digits, typed.len), &bytes);
    if (err != ERR_NONE) {
        return err;
    }
    if (bytes.len != RECOVERY_CODE_SIZE) {
        return ERR_INPUT;
    }
    *ret_code = recovery_code_write_in(arena, bytes);
    return ERR_NONE;
}

void recovery_code_hash(struct slice code, unsigned char *ret_hash)
{
    must(code.len == RECOVERY_CODE_LEN);
    must(crypto_hash_sha256(ret_hash, (const unsigned char *)code.at, code.len) == 0);
}
