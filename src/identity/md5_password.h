/* SPDX-License-Identifier: MIT */
/* The answer to PostgreSQL's AuthenticationMD5Password, for targets that know a password only in
 * this form. The gateway itself never asks for it. */
#ifndef GH_IDENTITY_MD5_PASSWORD_H
#define GH_IDENTITY_MD5_PASSWORD_H

#include "base/error.h"
#include "base/secret.h"

#define MD5_PASSWORD_SALT_SIZE 4
#define MD5_PASSWORD_TEXT_SIZE 36 /* "md5", 32 digits, NUL */

/* 'text' holds MD5_PASSWORD_TEXT_SIZE; with it anybody answers the same salt again. ERR_INPUT when
 * the salt has another size, ERR_UNSUPPORTED when OpenSSL is set up without MD5. */
enum err md5_password_answer(const struct secret *password, struct slice user, struct slice salt,
                             char *text, struct error *reterr) MUST_USE;

#endif
