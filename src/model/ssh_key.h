/* SPDX-License-Identifier: MIT */
/* A public key by which a person signs in over SSH. */
#ifndef GH_MODEL_SSH_KEY_H
#define GH_MODEL_SSH_KEY_H

#include "codec/shape.h"

struct ssh_key {
    struct slice id;
    struct slice organization_id;
    struct slice user_id;
    struct slice name;
    struct slice type;
    struct shape_int bits;
    struct slice comment;
    struct slice public_key; /* without the comment */
    struct slice fingerprint;
    int64_t created_at;
    int64_t last_used_at; /* 0: never */
};

extern const struct shape ssh_key_shape;

struct ssh_key_request {
    struct slice public_key;
    struct slice name;
};

extern const struct shape ssh_key_request_shape;

#endif
