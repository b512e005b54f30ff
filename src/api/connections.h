/* SPDX-License-Identifier: MIT */
/* What the handlers of connections share. */
#ifndef GH_API_CONNECTIONS_H
#define GH_API_CONNECTIONS_H

#include "api/resources.h"

/* One connection that the caller may see, with what it is tied to, as a list of one. */
enum err connection_answer_load(struct api_call *call, struct store_tx *tx, struct slice name_or_id,
                                struct connection_list *list, struct error *reterr) MUST_USE;
enum err connection_answer(struct api_call *call, int status, const struct connection_list *list,
                           struct error *reterr) MUST_USE;
/* What somebody else manages is not to be changed. */
enum err connection_check_unmanaged(const struct connection *connection,
                                    struct error *reterr) MUST_USE;
/* {"name": …} for the audit log. */
struct slice connection_name_payload_in(struct arena *arena, struct slice name);

#endif
