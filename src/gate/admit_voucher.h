/* SPDX-License-Identifier: MIT */
/* What a target is shown where its connection has nothing to sign in with. */
#ifndef GH_GATE_ADMIT_VOUCHER_H
#define GH_GATE_ADMIT_VOUCHER_H

#include "gate/session_jobs.h"

/* Adds it to the variables that were admitted; the target's log shows who it is for. */
enum err admit_vouch(struct admit_job *self, struct error *reterr) MUST_USE;

#endif
