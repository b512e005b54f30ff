/* SPDX-License-Identifier: MIT */
/* A credential for native clients that is made for a command. */
#ifndef GH_CLIENT_CREDENTIAL_H
#define GH_CLIENT_CREDENTIAL_H

#include "client/protocol.h"

struct client_credential {
    struct client_target target;
    struct slice id;
    struct slice host;
    unsigned port;
    struct slice user;
    struct slice password;
    struct slice database; /* may be empty */
    struct slice host_key; /* of SSH: its kind and the key, as lists of hosts have it; or empty */
    bool uses_tls;
    struct slice review_id; /* that it waits for; empty: it is there */
    int64_t seconds;        /* that it is good; 0: until it is ended */
};

/* By the command's --duration and --replace. Others of the same person stay good without the
 * latter. Where others must approve, and have not, that is told by the exit code. */
enum err client_credential_make(struct client_run *run, const struct client_target *target,
                                struct client_credential *ret_credential,
                                struct error *reterr) MUST_USE;
/* Waits for those, and says so; a signal ends it. */
enum err client_credential_await(struct client_run *run, const struct client_target *target,
                                 struct client_credential *ret_credential,
                                 struct error *reterr) MUST_USE;
/* Until it is approved; ERR_DENIED: it was not. */
enum err client_review_await(struct client_run *run, struct slice review_id,
                             struct error *reterr) MUST_USE;
/* What it opens ends, too. As far as that can be done. */
void client_credential_end(struct client_run *run, const struct client_credential *credential);

#endif
