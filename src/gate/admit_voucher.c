/* SPDX-License-Identifier: MIT */
#include "gate/admit_voucher.h"

enum err admit_vouch(struct admit_job *self, struct error *reterr)
{
    const struct gate_settings *settings = &self->job.worker->gate->settings;
    const struct credential *credential = &self->grant.credential;
    const struct target_voucher voucher = {
        .key = identity_scram_key(settings->identity),
        .organization_id = self->grant.caller.organization_id,
        .id = arena_format(&self->job.arena, "gatehouse %.*s %.*s %.*s",
                           SLICE_ARG(credential->member_email),
                           SLICE_ARG(credential->connection_name), SLICE_ARG(self->session_id)),
    };
    return self->protocol->target.vouch == NULL
               ? ERR_NONE
               : self->protocol->target.vouch(&self->job.arena, &voucher, &self->grant.secret,
                                              reterr);
}
