/* SPDX-License-Identifier: MIT */
/* What a caller may see, from the rules of access and the switches of his organization. */
#ifndef GH_STORE_VISIBILITY_STORE_H
#define GH_STORE_VISIBILITY_STORE_H

#include "model/caller.h"
#include "store/store.h"

enum err visibility_store_load(struct store_tx *tx, const struct caller *caller,
                               struct visibility *ret_visibility, struct error *reterr) MUST_USE;

#endif
