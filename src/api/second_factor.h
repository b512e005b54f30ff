/* SPDX-License-Identifier: MIT */
/* A second factor being given: a code of the authenticator app, or a recovery code. */
#ifndef GH_API_SECOND_FACTOR_H
#define GH_API_SECOND_FACTOR_H

#include "api/api.h"
#include "store/second_factor_store.h"

enum second_factor_result {
    SECOND_FACTOR_MISSING,
    SECOND_FACTOR_WRONG,
    SECOND_FACTOR_GOOD,
};

/* A good one is used up in this transaction. */
enum err second_factor_use(struct store_tx *tx, struct api_call *call, struct slice user_id,
                           const struct second_factor *factor, struct slice code,
                           enum second_factor_result *ret_result, struct error *reterr) MUST_USE;

#endif
