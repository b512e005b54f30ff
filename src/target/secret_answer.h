/* SPDX-License-Identifier: MIT */
/* What the keepers of secrets answer, as bytes: the JSON object that a secret is, one value of it,
 * or why there is none. Messages hold what the keeper says of the request, cut and made safe to
 * print, and never a part of a secret. Makes no system call. */
#ifndef GH_TARGET_SECRET_ANSWER_H
#define GH_TARGET_SECRET_ANSWER_H

#include "codec/json.h"

#include <stdbool.h>

enum vault_version {
    VAULT_KV1 = 1,
    VAULT_KV2 = 2,
};

/* All of them: the status and the body of an HTTP answer in, the object out. ERR_BUSY: the same
 * request may be answered in a moment. */

/* GetSecretValue of AWS Secrets Manager. */
enum err secret_answer_aws_in(struct arena *arena, long status, struct slice body,
                              struct json *ret_object, struct error *reterr) MUST_USE;
/* A read of a key/value engine of Vault. */
enum err secret_answer_vault_in(struct arena *arena, enum vault_version version, long status,
                                struct slice body, struct json *ret_object,
                                struct error *reterr) MUST_USE;
/* A sign-in to Vault: the token. */
enum err secret_answer_vault_login_in(struct arena *arena, long status, struct slice body,
                                      struct slice *ret_token, struct error *reterr) MUST_USE;
/* Text that is to be a JSON object by itself. 'what' names it: "the secret". */
enum err secret_answer_object_in(struct arena *arena, const char *what, struct slice text,
                                 struct json *ret_object, struct error *reterr) MUST_USE;

/* Text as it is, numbers and booleans as JSON writes them. A number with a fraction is the shortest
 * that reads back as the same. */
enum err secret_answer_value_in(struct arena *arena, const struct json *object, struct slice key,
                                struct slice *ret_value, struct error *reterr) MUST_USE;

#endif
