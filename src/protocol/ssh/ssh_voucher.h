/* SPDX-License-Identifier: MIT */
/* Where a connection has neither a password nor a key for its server, the gateway signs a
 * certificate for the session: a key pair that is made for it alone, for the connection's user, for
 * minutes. The server has to trust the organization's authority of targets. */
#ifndef GH_SSH_SSH_VOUCHER_H
#define GH_SSH_SSH_VOUCHER_H

#include "protocol/protocol.h"

/* Adds PRIVATE_KEY and CERTIFICATE to the variables, unless they have something to sign in with, or
 * a user who is not known here. */
enum err sshd_vouch(struct arena *arena, const struct target_voucher *voucher,
                    struct shape_pairs *variables, struct error *reterr) MUST_USE;
/* Of variables as they are stored: what of FORWARD, ACCEPT_ENV and LOGINS is none. ERR_INPUT. */
enum err sshd_check_secret(struct arena *arena, const struct shape_pairs *variables,
                           struct error *reterr) MUST_USE;

#endif
