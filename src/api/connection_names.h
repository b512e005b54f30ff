/* SPDX-License-Identifier: MIT */
/* Requests name connections by 'connection_ids' or by 'connection_names', whichever a noun keeps:
 * what came as the other is added to it. */
#ifndef GH_API_CONNECTION_NAMES_H
#define GH_API_CONNECTION_NAMES_H

#include "api/api.h"

/* The ids, and behind them those of the names, each once. Fails for a name that nothing has; ids
 * are looked at where they are written. */
enum err connection_ids_with_names(struct api_call *call, struct store_tx *tx,
                                   struct shape_texts *ids, const struct shape_texts *names,
                                   struct error *reterr) MUST_USE;
enum err connection_names_with_ids(struct api_call *call, struct store_tx *tx,
                                   struct shape_texts *names, const struct shape_texts *ids,
                                   struct error *reterr) MUST_USE;

#endif
