/* SPDX-License-Identifier: MIT */
/* Credentials for native clients in the store: the hash of the secret and its sealed verifier. All
 * times are microseconds; "good" is neither revoked nor expired. */
#ifndef GH_STORE_CREDENTIAL_STORE_H
#define GH_STORE_CREDENTIAL_STORE_H

#include "model/caller.h"
#include "model/credential.h"
#include "store/connection_store.h"

#define CREDENTIAL_HASH_SIZE     32
#define CREDENTIAL_VERIFIER_SIZE 64 /* StoredKey and ServerKey of SCRAM-SHA-256 */

struct credential_list {
    struct credential *credentials;
    size_t count;
};

struct credential_proof {
    struct slice hash;
    struct slice verifier;
};

/* The names of the connection are not written: they are joined when it is read. Clears away what
 * the member's credentials for this connection left behind long ago. ERR_CONFLICT: the connection
 * has LIMIT_CONNECTION_CREDENTIALS good ones. */
enum err credential_store_insert(struct store_tx *tx, struct arena *arena,
                                 const struct credential *credential,
                                 const struct credential_proof *proof,
                                 struct error *reterr) MUST_USE;

/* The newest good one of the member for the connection. */
enum err credential_store_current(struct store_tx *tx, struct arena *arena,
                                  const struct credential *of, int64_t now,
                                  struct credential *ret_credential, struct error *reterr) MUST_USE;
/* How many good ones the member has for the connection. */
enum err credential_store_count(struct store_tx *tx, const struct credential *of, int64_t now,
                                int64_t *ret_count, struct error *reterr) MUST_USE;
/* By id, of one organization, good or not. */
enum err credential_store_find(struct store_tx *tx, struct arena *arena,
                               struct slice organization_id, struct slice id,
                               struct credential *ret_credential, struct error *reterr) MUST_USE;
/* The good ones of an organization, of one member or, when that is empty, of all; newest first. */
enum err credential_store_list(struct store_tx *tx, struct arena *arena,
                               const struct credential *of, int64_t now,
                               struct credential_list *ret_list, struct error *reterr) MUST_USE;

/* Each ends those that are not revoked yet, and tells (store_note_callers) when there were any. */
enum err credential_store_revoke(struct store_tx *tx, struct slice id, int64_t now,
                                 struct error *reterr) MUST_USE;
/* Of an execution, whose session is over: nothing when it is another. */
enum err credential_store_end_execution(struct store_tx *tx, struct slice id,
                                        struct error *reterr) MUST_USE;
/* All that a review has let in. */
enum err credential_store_revoke_of_review(struct store_tx *tx, struct slice review_id, int64_t now,
                                           struct error *reterr) MUST_USE;
enum err credential_store_revoke_of_connection(struct store_tx *tx, struct slice connection_id,
                                               int64_t now, struct error *reterr) MUST_USE;
/* All that a person's key has let in. */
enum err credential_store_revoke_of_ssh_key(struct store_tx *tx, struct slice key_id, int64_t now,
                                            struct error *reterr) MUST_USE;
enum err credential_store_revoke_of_member(struct store_tx *tx, struct slice member_id, int64_t now,
                                           struct error *reterr) MUST_USE;
/* Of the member for the connection. */
enum err credential_store_revoke_older(struct store_tx *tx, const struct credential *of,
                                       int64_t now, struct error *reterr) MUST_USE;

/* Of the machine identity, those for what is no longer granted to it. */
enum err credential_store_revoke_ungranted(struct store_tx *tx, struct slice identity_id,
                                           int64_t now, struct error *reterr) MUST_USE;

/* For a client that names a connection, and has not shown yet which secret it knows. */
struct credential_candidate {
    struct slice credential_id;
    struct slice organization_id;
    struct slice verifier; /* open */
    struct slice hash;     /* of the secret */
};

struct credential_candidates {
    struct credential_candidate *candidates;
    size_t count;
};

struct credential_search {
    struct slice connection_name;
    int64_t now;
    int64_t limit;
};

/* The good ones for connections of that name, in any organization: newest first, the connections in
 * turn, so that none takes the places of another's. */
enum err credential_store_candidates(struct store_tx *tx, struct arena *arena,
                                     const struct credential_search *search,
                                     struct credential_candidates *ret_candidates,
                                     struct error *reterr) MUST_USE;

struct credential_question {
    struct slice credential_id;
    const struct credential *unwritten; /* that one, where the store does not have it yet */
    int64_t now;
    struct slice admin_group; /* see identity_admin_group */
    struct slice auditor_group;
    struct slice issuer;  /* see identity_issuer_in: that a service account must be bound to */
    struct slice subtype; /* that the connection must have; empty: any */
    bool wants_secret;    /* to open a session; not to see whether one may go on */
};

/* What a good credential opens. */
struct credential_grant {
    struct credential credential;
    struct caller caller; /* with its roles */
    struct connection_row connection;
    struct shape_pairs secret; /* when it is wanted */
};

/* The caller and the connection of the credential in '*grant', as they are now: its member,
 * connection, organization and is_execution are looked at. ERR_UNAUTHENTICATED and ERR_DENIED as
 * below. */
enum err credential_store_see(struct store_tx *tx, struct arena *arena,
                              const struct credential_question *question,
                              struct credential_grant *grant, struct error *reterr) MUST_USE;

/* May it be used now. ERR_UNAUTHENTICATED: it is not good any more, or its member is gone or not
 * active. ERR_DENIED: the member may not use the connection any more, or nobody may with a native
 * client, or others had to approve and do not any more. */
enum err credential_store_check(struct store_tx *tx, struct arena *arena,
                                const struct credential_question *question,
                                struct credential_grant *ret_grant, struct error *reterr) MUST_USE;

#endif
