/* SPDX-License-Identifier: MIT */
#include "model/ssh_key.h"

#include "base/limits.h"
#include "model/name.h"
#include "model/shared_fields.h"

#define AT(member) .offset = offsetof(struct ssh_key, member)
#define TEXT(title, text)                                                                          \
    {                                                                                              \
        .name = #title, .kind = SHAPE_TEXT, .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED, AT(title),  \
        .about = text                                                                              \
    }

static const struct shape_field ssh_key_fields[] = {
    NOUN_ID(ssh_key),
    {.name = "user_id",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED,
     AT(user_id),
     .format = "uuid",
     .about = "whose it is"},
    TEXT(name, "what it is called; its comment, where nobody said"),
    TEXT(type, "as 'ssh-ed25519'"),
    {.name = "bits",
     .kind = SHAPE_INT,
     .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED,
     AT(bits),
     .min = 0,
     .max = LIMIT_SSH_RSA_BITS},
    TEXT(comment, "what stood behind the key in its line"),
    TEXT(fingerprint, "SHA256:…, as 'ssh-keygen -l' shows it"),
    TEXT(public_key, "the type and the key in base64"),
    NOUN_TIME(ssh_key, created_at, SHAPE_REQUIRED),
    {.name = "last_used_at",
     .kind = SHAPE_TIME,
     .flags = SHAPE_READ_ONLY | SHAPE_NULL_OUT,
     AT(last_used_at),
     .about = "when a session was last opened with it; null: never"},
};

const struct shape ssh_key_shape = {
    .name = "SshKey", .size = sizeof(struct ssh_key), SHAPE_FIELDS(ssh_key_fields)};

#undef AT
#define AT(member) .offset = offsetof(struct ssh_key_request, member)

static const struct shape_field ssh_key_request_fields[] = {
    {.name = "public_key",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     AT(public_key),
     .min = 1,
     .max = 4096,
     .about = "the line of a '.pub' file: a type, the key in base64, perhaps a comment"},
    {.name = "name",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_NULL_IN,
     AT(name),
     .max = LIMIT_SSH_KEY_COMMENT,
     .check = line_check,
     .pattern = LINE_PATTERN,
     .about = "what it is called; the comment of its line, when it is left out"},
};

const struct shape ssh_key_request_shape = {.name = "SshKeyRequest",
                                            .size = sizeof(struct ssh_key_request),
                                            SHAPE_FIELDS(ssh_key_request_fields)};
