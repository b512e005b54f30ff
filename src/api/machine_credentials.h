/* SPDX-License-Identifier: MIT */
/* The native credentials of machine identities. Their secrets are computed between two
 * transactions: one that reads what is lacking, and one that stores. */
#ifndef GH_API_MACHINE_CREDENTIALS_H
#define GH_API_MACHINE_CREDENTIALS_H

#include "api/api.h"
#include "identity/native_credential.h"
#include "model/connection.h"
#include "model/machine.h"

struct machine_plan {
    struct connection connection;
    struct native_credential made;
};

struct machine_plans {
    struct machine_plan *items;
    size_t count;
};

/* For what 'wanted' names or reaches by an attribute, and has no good credential for. ERR_INPUT
 * when it names what native clients cannot reach; what only carries an attribute is left out then.
 */
enum err machine_credentials_plan(struct api_call *call, struct store_tx *tx,
                                  const struct machine_identity *wanted,
                                  struct machine_plans *ret_plans, struct error *reterr) MUST_USE;
/* Outside of a transaction: computes for some milliseconds each. */
void machine_credentials_make(struct api_call *call, struct machine_plans *plans);
/* Stores those that the identity, which is written already, lacks still; ends those for what is not
 * granted to it any more. */
enum err machine_credentials_store(struct api_call *call, struct store_tx *tx,
                                   const struct machine_identity *identity,
                                   const struct machine_plans *plans,
                                   struct shape_objects *ret_credentials,
                                   struct error *reterr) MUST_USE;

#endif
