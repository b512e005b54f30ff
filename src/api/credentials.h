/* SPDX-License-Identifier: MIT */
/* What credentials of members and of machine identities have in common. */
#ifndef GH_API_CREDENTIALS_H
#define GH_API_CREDENTIALS_H

#include "api/api.h"
#include "identity/native_credential.h"
#include "model/credential.h"

/* What to tell a client of the connection; without 'secret' only what is shown again. NULL: there
 * are no native clients. */
struct credential_access *credential_access_in(const struct api_call *call,
                                               const struct connection *connection,
                                               struct slice secret);
/* What is kept of a new one. */
enum native_proof credential_proof_of(const struct api_call *call,
                                      const struct connection *connection);
/* Never longer than the connection allows, which may be less than what was asked for. 0: never. */
int64_t credential_expiry(const struct connection *connection, const struct shape_int *asked,
                          int64_t now);
/* The connection as the caller sees it, with all that decides whether it may be reached. */
enum err credential_connection(struct api_call *call, struct store_tx *tx, struct slice name_or_id,
                               struct connection *ret_connection, struct error *reterr) MUST_USE;
/* Whether native clients of its protocol can come in at all. */
enum err credential_check_listener(const struct api_call *call, const struct connection *connection,
                                   struct error *reterr) MUST_USE;

#endif
