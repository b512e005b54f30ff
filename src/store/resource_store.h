/* SPDX-License-Identifier: MIT */
/* Resources in the store; their connections are the matter of connection_store.h. */
#ifndef GH_STORE_RESOURCE_STORE_H
#define GH_STORE_RESOURCE_STORE_H

#include "model/caller.h"
#include "model/resource.h"
#include "store/store.h"

/* ERR_NOT_FOUND also for what must not be seen: without any connection that the member may use, a
 * resource is not there for him. env_vars stay
 * sealed. */
enum err resource_store_find(struct store_tx *tx, struct arena *arena,
                             const struct visibility *visibility, struct slice name,
                             struct resource *ret_resource, struct error *reterr) MUST_USE;
enum err resource_store_open_env_vars(struct store_tx *tx, struct arena *arena,
                                      const struct resource *resource,
                                      struct shape_pairs *ret_env_vars,
                                      struct error *reterr) MUST_USE;

struct resource_filter {
    struct slice search; /* in name, type and subtype, without case */
    struct slice name;
    struct slice type;
    struct slice subtype;
    struct slice agent_id;
    int64_t limit;
    int64_t offset;
};

struct resource_list {
    struct arena *arena;
    struct resource *resources;
    size_t count;
    int64_t total;
};

/* By name. */
enum err resource_store_list(struct store_tx *tx, const struct visibility *visibility,
                             const struct resource_filter *filter, struct resource_list *list,
                             struct error *reterr) MUST_USE;

/* ERR_CONFLICT: the name is taken. ERR_INPUT: there is no such agent. */
enum err resource_store_insert(struct store_tx *tx, struct arena *arena,
                               struct slice organization_id, const struct resource *resource,
                               struct error *reterr) MUST_USE;
enum err resource_store_update(struct store_tx *tx, struct arena *arena,
                               struct slice organization_id, const struct resource *resource,
                               struct error *reterr) MUST_USE;
/* Something that belongs to it changed. */
enum err resource_store_touch(struct store_tx *tx, struct slice id, struct error *reterr) MUST_USE;
/* It must not have connections any more. */
enum err resource_store_delete(struct store_tx *tx, struct slice organization_id, struct slice id,
                               struct error *reterr) MUST_USE;

#endif
