/* SPDX-License-Identifier: MIT */
/* The secrets of a connection and the variables of a resource: "envvar:NAME" (a variable where the
 * connection runs) or "filesystem:NAME" (a file there, whose path is in the variable), each with a
 * value in base64 or a reference to where the value is kept. A reference may come wrapped in
 * base64.
 */
#ifndef GH_MODEL_SECRET_MAP_H
#define GH_MODEL_SECRET_MAP_H

#include "base/arena.h"
#include "base/error.h"
#include "codec/shape.h"

#define SECRET_COUNT_MAX 100
#define SECRET_VALUE_MAX 262144

#define SECRET_NAME_PATTERN "[A-Za-z_][A-Za-z0-9_]{0,126}"
#define SECRET_KEY_PATTERN  "^(envvar|filesystem):" SECRET_NAME_PATTERN "$"
#define SECRET_VALUE_PATTERN                                                                       \
    "^(([A-Za-z0-9+/]{4})*([A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?"            \
    "|_(aws|envjson|vaultkv1|vaultkv2):[^\\x00]+:[^:\\x00]+|_aws_iam_rds:[^\\x00]+)$"
/* The JSON schema of variables, whose values depend on their keys. */
#define VARIABLES_SCHEMA                                                                           \
    "\"patternProperties\":{\"" SECRET_KEY_PATTERN "\":{\"type\":[\"string\",\"null\"],"           \
    "\"pattern\":\"^(([A-Za-z0-9+/]{4})*([A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}"                   \
    "[AEIMQUYcgkosw048]=)?|_(aws|envjson|vaultkv1|vaultkv2):[^\\\\x00]+:[^:\\\\x00]+)$\"},"        \
    "\"^" SECRET_NAME_PATTERN                                                                      \
    "$\":{\"type\":[\"string\",\"null\"],\"pattern\":\"^[^\\\\x00]*$\"}},"                         \
    "\"additionalProperties\":false,\"maxProperties\":100"

/* A name that a loader or an interpreter obeys is refused: it would run code. */
enum err secret_check_key(struct slice key, struct error *reterr) MUST_USE;
/* Base64 or a reference; empty stands for "as it was". */
enum err secret_check_value(struct slice value, struct error *reterr) MUST_USE;
/* Variables of a resource may also be plain: NAME, with any text. */
enum err secret_check_variable_key(struct slice key, struct error *reterr) MUST_USE;
enum err secret_check_variables(const struct shape_pairs *variables, const char *member,
                                struct error *reterr) MUST_USE;

enum secret_source {
    SECRET_SOURCE_AWS = 1, /* bits, for sets of them */
    SECRET_SOURCE_ENVJSON = 2,
    SECRET_SOURCE_VAULT_KV1 = 4,
    SECRET_SOURCE_VAULT_KV2 = 8,
    SECRET_SOURCE_AWS_IAM_RDS = 16,
    SECRET_SOURCES_ALL = 31,
};

/* Views of the text: "_aws:prod/db:password" is source, name and key. */
struct secret_reference {
    enum secret_source source;
    struct slice text;
    struct slice name;
    struct slice key; /* empty for SECRET_SOURCE_AWS_IAM_RDS */
};

bool secret_is_reference(struct slice value);
/* The same, and what it says: views of 'value' or, where it came wrapped, of the arena. False
 * leaves no part of a value in the arena. */
bool secret_reference_in(struct arena *arena, struct slice value,
                         struct secret_reference *ret_reference);

enum secret_place {
    SECRET_PLACE_BARE, /* NAME: a variable with any text */
    SECRET_PLACE_VARIABLE,
    SECRET_PLACE_FILE,
};

/* What a key says; 'ret_name' is a view of it and is not checked. */
enum secret_place secret_key_place(struct slice key, struct slice *ret_name);

/* The value of a secret that was sent as a number, a boolean, an array or an object. */
struct slice secret_value_of_other(struct arena *arena, struct slice written);

/* What is to be kept when 'given' is written over 'stored': an empty value keeps the stored one.
 * A change keeps keys that are not given, and null takes one away; without, keys that are not given
 * go, and null keeps. */
struct shape_pairs secret_merge_in(struct arena *arena, const struct shape_pairs *stored,
                                   const struct shape_pairs *given, bool is_change);
/* Whether any inline value was replaced by another one. References do not count. */
bool secret_was_replaced(const struct shape_pairs *before, const struct shape_pairs *after);
/* The keys, references as they are, and null for inline values. */
struct shape_pairs secret_view_in(struct arena *arena, const struct shape_pairs *secrets);
/* The decoded inline value of envvar:'name'; empty when there is none. */
struct slice secret_value_in(struct arena *arena, const struct shape_pairs *secrets,
                             const char *name);

const struct shape_pair *secret_find(const struct shape_pairs *secrets, struct slice key);

#endif
