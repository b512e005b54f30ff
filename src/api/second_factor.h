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

struct second_factor_use {
    struct slice user_id;
    struct second_factor factor;
    struct slice code; /* as it was typed; may be empty */
    enum second_factor_result result;
};

/* Fills in the result; a good code is used up in this transaction. */
enum err second_factor_use(struct store_tx *tx, struct arena *arena, struct second_factor_use *use,
                           struct error *reterr) MUST_USE;

#endif
