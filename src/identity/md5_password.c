/* SPDX-License-Identifier: MIT */
#include "identity/md5_password.h"

#include "base/must.h"

#include <openssl/evp.h>
#include <sodium.h>

#define MD5_SIZE        16
#define MD5_DIGITS_SIZE (2 * MD5_SIZE + 1)

/* The digits of the hash of one text behind the other; false without MD5. */
static bool md5_digits(struct slice first, struct slice second, char *digits)
{
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool is_made = context != NULL && EVP_DigestInit_ex(context, EVP_md5(), NULL) == 1 &&
                   EVP_DigestUpdate(context, first.at, first.len) == 1 &&
                   EVP_DigestUpdate(context, second.at, second.len) == 1 &&
                   EVP_DigestFinal_ex(context, hash, &size) == 1;
    EVP_MD_CTX_free(context);
    if (is_made) {
        must(size == MD5_SIZE);
        (void)sodium_bin2hex(digits, MD5_DIGITS_SIZE, hash, size);
    }
    explicit_bzero(hash, sizeof(hash));
    return is_made;
}

enum err md5_password_answer(const struct secret *password, struct slice user, struct slice salt,
                             char *text, struct error *reterr)
{
    if (salt.len != MD5_PASSWORD_SALT_SIZE) {
        return fail(reterr, ERR_INPUT, "salt for an md5 password of %zu bytes", salt.len);
    }
    char digits[MD5_DIGITS_SIZE];
    text[0] = 'm';
    text[1] = 'd';
    text[2] = '5';
    bool is_made = md5_digits(secret_view(password), user, digits) &&
                   md5_digits(slice_of(digits, MD5_DIGITS_SIZE - 1), salt, text + 3);
    explicit_bzero(digits, sizeof(digits));
    if (!is_made) {
        return fail(reterr, ERR_UNSUPPORTED, "md5 passwords are not supported: no MD5 here");
    }
    return ERR_NONE;
}
