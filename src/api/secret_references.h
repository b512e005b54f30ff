/* SPDX-License-Identifier: MIT */
/* Whether what was just written may refer to secrets as it does: the gateway's own agent looks them
 * up for the organizations of --local-secrets alone (model/secret_trust.h). It is asked again at
 * each use; here, so that whoever writes is told. */
#ifndef GH_API_SECRET_REFERENCES_H
#define GH_API_SECRET_REFERENCES_H

#include "api/api.h"
#include "model/resource.h"
#include "store/connection_store.h"

/* In the transaction that wrote them, before it ends. ERR_INPUT names the connection. */
enum err secret_references_check_connection(const struct api_call *call, struct store_tx *tx,
                                            const struct connection *connection,
                                            struct slice agent_id, struct error *reterr) MUST_USE;
/* 'resource' with its variables as they are stored now, and all of its connections. */
enum err secret_references_check_resource(const struct api_call *call, struct store_tx *tx,
                                          const struct resource *resource,
                                          const struct connection_list *connections,
                                          struct error *reterr) MUST_USE;

#endif
