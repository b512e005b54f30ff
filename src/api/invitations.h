/* SPDX-License-Identifier: MIT */
/* The link that an invited person gets. */
#ifndef GH_API_INVITATIONS_H
#define GH_API_INVITATIONS_H

#include "api/api.h"
#include "model/user.h"

/* Makes one for the user, whose older one ends, and writes it into 'user': it is shown once. The
 * audit entry is the caller's. */
enum err invitation_make(struct api_call *call, struct store_tx *tx, struct user *user,
                         struct error *reterr) MUST_USE;

#endif
