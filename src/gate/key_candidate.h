/* SPDX-License-Identifier: MIT */
/* Who comes with a person's public key, and may use the connection that he names, is given a
 * credential for that one session, as he would be given one that he asks for. */
#ifndef GH_GATE_KEY_CANDIDATE_H
#define GH_GATE_KEY_CANDIDATE_H

#include "gate/session_jobs.h"

/* On the pool: fills job->found, of one or none. None: nobody has the key, or whoever has it is not
 * active or does not see the connection. ERR_DENIED: he does, and is told in words why it is not
 * open to him so. */
enum err key_candidate_find(struct candidates_job *job, struct error *reterr) MUST_USE;
/* Likewise, where nobody waits for it any more: what was found goes. */
enum err key_candidate_forget(struct candidates_job *job, struct error *reterr) MUST_USE;

#endif
