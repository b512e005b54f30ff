/* SPDX-License-Identifier: MIT */
/* The addresses from which somebody has signed in, the last LIMIT_SIGN_IN_PLACES of each person: so
 * that one which is new can be told of. */
#ifndef GH_STORE_SIGN_IN_PLACE_STORE_H
#define GH_STORE_SIGN_IN_PLACE_STORE_H

#include "model/caller.h"
#include "store/store.h"

struct sign_in_place {
    const struct caller *caller; /* who he is now */
    struct slice address;        /* IPv6: the first of its /64 */
    int64_t now;
};

/* Notes it; a new one is told of, when there were others. */
enum err sign_in_place_note(struct store_tx *tx, const struct sign_in_place *place,
                            struct error *reterr) MUST_USE;

#endif
