/* SPDX-License-Identifier: MIT */
/* Whose a certificate is that somebody came with: one of the gateway's own names the person and the
 * connections, one of an authority that an organization trusts names the person's e-mail address.
 */
#ifndef GH_GATE_CERTIFICATE_CANDIDATE_H
#define GH_GATE_CERTIFICATE_CANDIDATE_H

#include "gate/session_jobs.h"

/* One whose it may be; whether he is active and sees the connection is not known here. */
struct certificate_owner {
    struct slice organization_id;
    struct slice user_id;
    struct slice authority_id; /* of those that are trusted; empty: the gateway's own */
};

struct certificate_owners {
    struct certificate_owner *items;
    size_t count;
};

/* In a body. None: it is no good, for which the log has the cause. */
enum err certificate_candidate_find(const struct candidates_job *job, struct store_tx *tx,
                                    struct arena *arena, struct certificate_owners *ret_owners,
                                    struct error *reterr) MUST_USE;

#endif
