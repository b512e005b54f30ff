/* SPDX-License-Identifier: MIT */
/* A credential for native clients: with it one member reaches one connection, with the connection's
 * name as user name and a secret that is shown once and not kept. */
#ifndef GH_MODEL_CREDENTIAL_H
#define GH_MODEL_CREDENTIAL_H

#include "codec/shape.h"
#include "model/connection.h"

#define CREDENTIAL_DURATION_MAX 172800 /* seconds; of those that are asked for */

/* What a client is given. Empty members are left out. */
struct credential_access {
    struct slice hostname;
    struct slice port;
    struct slice username;
    struct slice password; /* of a new one, shown once */
    struct slice database_name;
    struct slice connection_string; /* likewise */
    struct slice known_hosts;       /* of SSH: a line by which its clients know the gateway */
    struct slice ssh_config;        /* of SSH: for the file of that name */
};

struct credential {
    struct slice id;
    struct slice organization_id;
    struct slice connection_id;
    struct slice connection_name;
    struct slice connection_type;
    struct slice connection_subtype;
    struct slice member_id; /* of the row in user_account, api_key, service_account or
                               machine_identity */
    struct slice member_email;
    struct slice member_name;
    struct credential_access *access;
    bool is_execution;       /* it opens one session, of a script that is executed, or: */
    bool is_terminal;        /* of somebody at a terminal, or who came with a key of SSH */
    struct slice ssh_key_id; /* of the person's key that it was made for; where it is made alone */
    struct slice review_id;  /* by whose leave; empty: nobody had to approve */
    struct slice session_id; /* of the review, as the API shows it */
    struct shape_bool has_review;
    int64_t created_at;
    int64_t expires_at; /* 0: never */
    int64_t revoked_at; /* 0: it was not */
};

extern const struct shape credential_shape;

struct credential_request {
    struct shape_int access_duration_seconds;
    struct shape_bool keep_others;
    struct shape_pairs metadata;
};

extern const struct shape credential_request_shape;

/* It opens the session of a script: what rules say of commands holds, not what they say of access.
 */
bool credential_is_command(const struct credential *credential);

/* Whether native clients, or scripts, may be let through to the connection at all, whose document
 * is open. ERR_INPUT says why not: for a client, or for who asks for a credential. Whether others
 * must approve is for store/review_need.h to say. */
enum err credential_check_connection(const struct connection *connection, bool is_execution,
                                     struct error *reterr) MUST_USE;

#endif
