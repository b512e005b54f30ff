/* SPDX-License-Identifier: MIT */
/* What the handlers of resources share: how one is answered, and what a write of one holds. */
#ifndef GH_API_RESOURCES_H
#define GH_API_RESOURCES_H

#include "api/api.h"
#include "store/connection_store.h"
#include "store/resource_store.h"

/* A resource as it is answered, with the roles that the caller may see. */
struct resource_answer {
    struct resource resource;
    struct connection_list roles;
    bool discloses; /* inline values of env_vars are shown */
};

/* Loads it whole, in a transaction; env_vars for admins, the effective features when the answer's
 * roles want them. */
enum err resource_answer_load(struct api_call *call, struct store_tx *tx,
                              const struct visibility *visibility, struct slice name,
                              struct resource_answer *answer, struct error *reterr) MUST_USE;
/* Fills env_vars of one that was found, as the caller may see them. */
enum err resource_answer_load_env_vars(struct api_call *call, struct store_tx *tx,
                                       const struct visibility *visibility,
                                       struct resource_answer *answer,
                                       struct error *reterr) MUST_USE;
/* The payload of the entry of a disclosure: their names. */
struct slice resource_names_in(struct api_call *call, const struct resource *resources,
                               size_t count);
/* Runs a body that reads what is answered, resolving the effective features with it; when that
 * fails but reading alone does not, they are null: unknown. */
struct resource_reading {
    struct api_call *call;
    struct resource_answer answer; /* for connections: the roles alone */
};

enum err resource_read_resolved(struct resource_reading *reading, store_body_fn body,
                                struct error *reterr) MUST_USE;
/* After a write: the same for what was written, in a transaction of its own. */
void resource_answer_resolve(struct api_call *call, struct connection_list *roles);

void resource_answer_write(struct api_call *call, const struct resource_answer *answer,
                           struct json_writer *json);
void connection_answer_write(const struct api_call *call, const struct connection_row *row,
                             struct json_writer *json);

/* After a write: warns of members of its roles that say something else than the answer shows. */
void resource_warn_of_roles(struct api_call *call, const struct resource_answer *answer);

/* The ETag of what is stored. */
struct slice resource_etag_in(struct arena *arena, struct slice id, int64_t version);
/* ERR_STALE when the request has an If-Match that does not fit. */
enum err resource_check_match(const struct api_call *call, struct slice etag,
                              struct error *reterr) MUST_USE;

#endif
