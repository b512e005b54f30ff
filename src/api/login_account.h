/* SPDX-License-Identifier: MIT */
/* Who somebody becomes that an identity provider vouches for. */
#ifndef GH_API_LOGIN_ACCOUNT_H
#define GH_API_LOGIN_ACCOUNT_H

#include "api/api.h"
#include "identity/provider.h"
#include "store/login_store.h"
#include "store/user_store.h"

/* Finds, links or makes the person, and brings the profile and the groups up to date. ERR_DENIED,
 * with words for the person, when he may not come in. May run again. */
enum err login_account_settle(struct api_call *call, struct store_tx *tx,
                              const struct login_attempt *attempt,
                              const struct provider_profile *profile, struct user *ret_user,
                              struct error *reterr) MUST_USE;

#endif
