/* SPDX-License-Identifier: MIT */
/* What the handlers of guard rails and of rulepacks share. */
#ifndef GH_API_GUARDRAILS_H
#define GH_API_GUARDRAILS_H

#include "codec/json.h"
#include "store/guardrail_store.h"

/* A guard rail as it is sent, whole and good: everything in it is checked and compiles. */
enum err guardrail_read(const struct json *body, struct guardrail *ret_guardrail,
                        struct error *reterr) MUST_USE;

/* What its shape cannot say of one that was read by it. */
enum err guardrail_validate(const struct guardrail *guardrail, struct error *reterr) MUST_USE;

/* For the audit log: what it was and what it is; NULL: it was not, or is no more. */
struct slice guardrail_payload_in(struct arena *arena, const struct guardrail *before,
                                  const struct guardrail *after);

#endif
