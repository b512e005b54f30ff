/* SPDX-License-Identifier: MIT */
/* Callers and users that are no people. A service account stands for a client of one identity
 * provider in one organization, and calls the API as a member of its groups. A machine identity
 * never calls the API, belongs to no group and is no admin: it may use the connections that it
 * names, and those that carry one of its attributes. */
#ifndef GH_MODEL_MACHINE_H
#define GH_MODEL_MACHINE_H

#include "codec/shape.h"

struct service_account {
    struct slice id;
    struct slice organization_id;
    struct slice subject; /* what the identity provider calls it; never changes */
    struct slice issuer;  /* that provider, without a slash at the end; empty: none yet */
    struct slice name;
    struct slice status;
    struct shape_texts groups;
    int64_t created_at;
    int64_t updated_at;
};

extern const struct shape service_account_shape;
/* What replaces one: the subject may be left out. */
extern const struct shape service_account_update_shape;

/* With what a native client reaches one connection as the identity. Empty members are left out. */
struct machine_credential {
    struct slice id;
    struct slice connection_name;
    struct slice connection_type;
    struct slice connection_subtype;
    struct slice secret_key; /* of a new one, shown once; for PostgreSQL it is the password */
    struct slice hostname;
    struct slice port;
    struct slice username;
    struct slice password;
    struct slice database_name;
    struct slice connection_string;
    int64_t created_at;
    int64_t expires_at; /* 0: never */
};

extern const struct shape machine_credential_shape;

/* New credentials stand in one array in the answer to the creation, in the other in that to a
 * replacement. */
struct machine_identity {
    struct slice id;
    struct slice organization_id;
    struct slice name;
    struct slice description;
    struct shape_texts connection_names;
    struct shape_texts connection_ids; /* of a request; stored as names */
    struct shape_texts attributes;
    int64_t created_at;
    int64_t updated_at;
    struct shape_objects credentials;
    struct shape_objects new_credentials;
};

extern const struct shape machine_identity_shape;

#endif
