/* SPDX-License-Identifier: MIT */
/* A person of an organization, and an API key, which acts in its place. */
#ifndef GH_MODEL_USER_H
#define GH_MODEL_USER_H

#include "codec/shape.h"

#define GROUP_NAME_MAX 180

struct user {
    struct slice id;
    struct slice subject;
    struct slice issuer; /* the provider that 'subject' is of; empty: a local account */
    struct slice name;
    struct slice email;
    struct slice status;
    struct shape_bool verified;
    struct slice role; /* computed from the groups */
    struct slice slack_id;
    struct slice picture;
    struct shape_texts groups;
    struct slice password;       /* only ever comes in */
    struct slice invitation_url; /* in the answer that makes it alone */
    int64_t invitation_expires_at;
};

extern const struct shape user_shape;

bool user_has_group(const struct user *user, struct slice group);

struct api_key {
    struct slice maker_id; /* of whoever makes it, a key perhaps; where it is made alone */
    struct slice id;
    struct slice organization_id;
    struct slice name;
    struct slice masked_key;
    struct slice status;
    struct shape_texts groups;
    struct slice created_by;
    struct slice deactivated_by;
    int64_t created_at;
    int64_t deactivated_at;
    int64_t last_used_at;
    int64_t expires_at;
    struct slice expires; /* as it was sent: RFC 3339 */
    struct slice key;     /* in the answer to its creation alone */
};

extern const struct shape api_key_shape;

#endif
