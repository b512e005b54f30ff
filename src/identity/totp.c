/* SPDX-License-Identifier: MIT */
#include "identity/totp.h"

#include "base/must.h"
#include "codec/base32.h"
#include "codec/url.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sodium.h>

#include <limits.h>

#define TOTP_HASH_SIZE 20
#define TOTP_MODULUS   1000000

void totp_make_secret(struct secret *secret)
{
    must(sodium_init() >= 0);
    unsigned char bytes[TOTP_SECRET_SIZE];
    randombytes_buf(bytes, sizeof(bytes));
    must(secret_set(secret, slice_of(bytes, sizeof(bytes))) == ERR_NONE);
    explicit_bzero(bytes, sizeof(bytes));
}

/* RFC 4226 section 5.3: the last four bits say where the 31 bits are. */
static uint32_t totp_truncate(const unsigned char *hash)
{
    const unsigned char *at = hash + (hash[TOTP_HASH_SIZE - 1] & 0x0f);
    return ((uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3]) &
           0x7fffffff;
}

struct slice totp_code(struct slice secret, int64_t counter, char *text)
{
    must(secret.len > 0 && secret.len <= INT_MAX && counter >= 0);
    unsigned char message[8];
    for (size_t i = 0; i < sizeof(message); i++) {
        message[i] = (unsigned char)((uint64_t)counter >> (56 - 8 * i));
    }
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned int hash_size = 0;
    must(HMAC(EVP_sha1(), secret.at, (int)secret.len, message, sizeof(message), hash, &hash_size) !=
         NULL);
    must(hash_size == TOTP_HASH_SIZE);
    uint32_t number = totp_truncate(hash) % TOTP_MODULUS;
    for (size_t i = TOTP_CODE_LEN; i > 0; i--) {
        text[i - 1] = (char)('0' + number % 10);
        number /= 10;
    }
    text[TOTP_CODE_LEN] = '\0';
    explicit_bzero(hash, sizeof(hash));
    return slice_of(text, TOTP_CODE_LEN);
}

/* The six digits of what was typed into 'digits'; false when it is anything else. */
static bool totp_read_digits(struct slice typed, char *digits)
{
    size_t count = 0;
    for (size_t i = 0; i < typed.len; i++) {
        if (typed.at[i] == ' ') {
            continue;
        }
        if (typed.at[i] < '0' || typed.at[i] > '9' || count == TOTP_CODE_LEN) {
            return false;
        }
        digits[count++] = typed.at[i];
    }
    return count == TOTP_CODE_LEN;
}

bool totp_verify(struct slice secret, struct slice code, int64_t now_us, int64_t last_used_counter,
                 int64_t *ret_counter)
{
    char given[TOTP_CODE_LEN] = {0};
    if (!totp_read_digits(code, given)) {
        return false;
    }
    /* All three are compared, whichever it is. When two steps have the same code by chance the
     * later one counts as used, else the code would be good again. */
    int64_t found = TOTP_NEVER_USED;
    char expected[TOTP_CODE_TEXT_SIZE];
    int64_t now = now_us / TOTP_STEP;
    for (int64_t counter = now - 1; counter <= now + 1; counter++) {
        if (counter < 0 || counter <= last_used_counter) {
            continue;
        }
        (void)totp_code(secret, counter, expected);
        if (CRYPTO_memcmp(expected, given, sizeof(given)) == 0) {
            found = counter;
        }
    }
    explicit_bzero(expected, sizeof(expected));
    if (found == TOTP_NEVER_USED) {
        return false;
    }
    *ret_counter = found;
    return true;
}

static struct slice totp_name_in(struct arena *arena, struct slice name)
{
    char *text = arena_text(arena, name);
    for (size_t i = 0; i < name.len; i++) {
        text[i] = text[i] == ':' ? ' ' : text[i];
    }
    return url_encode(arena, slice_of(text, name.len));
}

struct slice totp_uri_in(struct arena *arena, struct slice issuer, struct slice account,
                         struct slice secret)
{
    struct slice issuer_name = totp_name_in(arena, issuer);
    struct slice account_name = totp_name_in(arena, account);
    struct slice digits = base32_encode_in(arena, secret);
    return arena_format(arena,
                        "otpauth://totp/%.*s:%.*s?secret=%.*s&issuer=%.*s"
                        "&algorithm=SHA1&digits=6&period=30",
                        SLICE_ARG(issuer_name), SLICE_ARG(account_name), SLICE_ARG(digits),
                        SLICE_ARG(issuer_name));
}
