/* SPDX-License-Identifier: MIT */
#include "identity/password.h"

#include <sodium.h>

#define OPS 2
#define MEM 19922944

enum err password_check(struct slice password, struct slice email, struct error *reterr)
{
    (void)email;
    return password.len >= 10
               ? ERR_NONE
               : fail(reterr, ERR_INPUT, "'password' must have 10 characters or more");
}

enum err password_hash_in(struct arena *arena, struct slice password, struct slice *ret_text,
                          struct error *reterr)
{
    char *text = arena_alloc(arena, crypto_pwhash_STRBYTES);
    if (crypto_pwhash_str_alg(text, password.at, password.len, OPS, MEM,
                              crypto_pwhash_ALG_ARGON2ID13) != 0) {
        return fail(reterr, ERR_INTERNAL, "no memory for a password hash");
    }
    *ret_text = slice_of_text(text);
    return ERR_NONE;
}

bool password_verify(struct slice hash_text, struct slice password)
{
    char text[crypto_pwhash_STRBYTES] = {0};
    if (hash_text.len >= sizeof(text)) {
        return false;
    }
    memcpy(text, hash_text.at, hash_text.len);
    return crypto_pwhash_str_verify(text, password.at, password.len) == 0;
}

void password_verify_nobody(struct slice password)
{
    unsigned char out[32];
    const unsigned char salt[crypto_pwhash_SALTBYTES] = {0};
    int ignored = crypto_pwhash(out, sizeof(out), password.at, password.len, salt, OPS, MEM,
                        crypto_pwhash_ALG_ARGON2ID13);
    (void)ignored;
}
