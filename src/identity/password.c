/* SPDX-License-Identifier: MIT */
#include "identity/password.h"

#include "base/must.h"
#include "base/text.h"
#include "identity/common_passwords.h"

#include <sodium.h>

/* OWASP Password Storage Cheat Sheet: 19 MiB, two passes; libsodium's parallelism is always one. */
#define PASSWORD_MEMORY_KIB 19456
#define PASSWORD_PASSES     2

/* The same parameters, and a hash of zeros that no password has. */
#define PASSWORD_NOBODY                                                                            \
    "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$"                                       \
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

/* Shorter names are in many good passwords by chance. */
#define PASSWORD_EMAIL_PART_MIN 4

static bool password_is_letter(char byte)
{
    /* Beyond ASCII everything counts as a letter. */
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (unsigned char)byte >= 0x80;
}

static bool password_is_listed(struct slice text)
{
    for (size_t i = 0; i < common_password_count; i++) {
        if (slice_equals_nocase(text, common_passwords[i])) {
            return true;
        }
    }
    return false;
}

/* Also without what people add to a word: digits and punctuation at its end, all of them or as many
 * as leave a password of its own. */
static bool password_is_common(struct slice password)
{
    while (password.len > 0) {
        bool is_word = password_is_letter(password.at[password.len - 1]);
        if ((is_word || password.len >= PASSWORD_SIZE_MIN) && password_is_listed(password)) {
            return true;
        }
        if (is_word) {
            return false;
        }
        password.len--;
    }
    return false;
}

static uint32_t password_lower(uint32_t code)
{
    return code >= 'A' && code <= 'Z' ? code - 'A' + 'a' : code;
}

/* From each character to the next it is the same step: 'aaaa' has 0, 'abcd' 1, 'dcba' -1. After 9
 * comes 0, as on a keyboard. */
static bool password_has_step(struct slice password, int64_t step)
{
    uint32_t code = 0;
    size_t size = text_character(password, &code);
    while (size > 0) {
        uint32_t last = password_lower(code);
        password = slice_from(password, size);
        size = text_character(password, &code);
        int64_t difference = (int64_t)password_lower(code) - (int64_t)last;
        bool is_turn =
            (last == '9' && code == '0' && step == 1) || (last == '0' && code == '9' && step == -1);
        if (size > 0 && difference != step && !is_turn) {
            return false;
        }
    }
    return true;
}

/* What stands before the '@', and before the '+' of an address of one's own making. */
static bool password_contains_name(struct slice password, struct slice email)
{
    struct slice rest;
    struct slice name = slice_cut(slice_cut(email, '@', &rest), '+', &rest);
    if (name.len < PASSWORD_EMAIL_PART_MIN) {
        return false;
    }
    for (size_t i = 0; i + name.len <= password.len; i++) {
        if (slice_equals_nocase(slice_sub(password, i, name.len), name)) {
            return true;
        }
    }
    return false;
}

enum err password_check(struct slice password, struct slice email, struct error *reterr)
{
    if (password.len < PASSWORD_SIZE_MIN) {
        return fail(reterr, ERR_INPUT, "'password' is too short: use %d characters or more",
                    PASSWORD_SIZE_MIN);
    }
    if (password.len > PASSWORD_SIZE_MAX) {
        return fail(reterr, ERR_INPUT,
                    "'password' is too long: use %d characters or fewer (letters beyond a-z count "
                    "as two or more)",
                    PASSWORD_SIZE_MAX);
    }
    if (!text_is_utf8(password) || slice_find_byte(password, '\0') < password.len) {
        return fail(reterr, ERR_INPUT,
                    "'password' is not text: use letters, digits, spaces and punctuation");
    }
    if (password_contains_name(password, email)) {
        return fail(reterr, ERR_INPUT,
                    "'password' contains the name in your e-mail address: leave it out");
    }
    if (password_has_step(password, 0)) {
        return fail(
            reterr, ERR_INPUT,
            "'password' repeats one character: use several words that do not belong together");
    }
    if (password_has_step(password, 1) || password_has_step(password, -1)) {
        return fail(
            reterr, ERR_INPUT,
            "'password' is a plain sequence: use several words that do not belong together");
    }
    if (password_is_common(password)) {
        return fail(
            reterr, ERR_INPUT,
            "'password' is among the first that others would try: use several words that do "
            "not belong together");
    }
    return ERR_NONE;
}

/* libsodium does not want NULL, even for nothing. */
static const char *password_bytes(struct slice password)
{
    return password.len == 0 ? "" : password.at;
}

enum err password_hash_in(struct arena *arena, struct slice password, struct slice *ret_text,
                          struct error *reterr)
{
    must(sodium_init() >= 0);
    char text[crypto_pwhash_STRBYTES];
    if (crypto_pwhash_str_alg(text, password_bytes(password), password.len, PASSWORD_PASSES,
                              (size_t)PASSWORD_MEMORY_KIB * 1024,
                              crypto_pwhash_ALG_ARGON2ID13) != 0) {
        return fail(reterr, ERR_UNAVAILABLE, "no memory for the hash of a password");
    }
    *ret_text = arena_copy(arena, slice_of_text(text));
    return ERR_NONE;
}

bool password_verify(struct slice hash_text, struct slice password)
{
    must(sodium_init() >= 0);
    char text[crypto_pwhash_STRBYTES] = {0};
    if (hash_text.len == 0 || hash_text.len >= sizeof(text)) {
        return false;
    }
    memcpy(text, hash_text.at, hash_text.len);
    return crypto_pwhash_str_verify(text, password_bytes(password), password.len) == 0;
}

void password_verify_nobody(struct slice password)
{
    bool is_nobodys = password_verify(SLICE(PASSWORD_NOBODY), password);
    (void)is_nobodys;
}
