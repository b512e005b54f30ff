/* SPDX-License-Identifier: MIT */
/* Organizations in the store. */
#ifndef GH_STORE_ORGANIZATION_STORE_H
#define GH_STORE_ORGANIZATION_STORE_H

#include "base/arena.h"
#include "model/organization.h"
#include "store/store.h"

/* ERR_CONFLICT when the name is taken. */
enum err organization_store_create(struct store_tx *tx, const struct organization *organization,
                                   struct error *reterr) MUST_USE;

/* All of them, by name; the array and its texts die with the arena. */
enum err organization_store_list(struct store_tx *tx, struct arena *arena,
                                 struct organization **ret_organizations, size_t *ret_count,
                                 struct error *reterr) MUST_USE;

enum err organization_store_find(struct store_tx *tx, struct arena *arena, struct slice name,
                                 struct slice *ret_id, struct error *reterr) MUST_USE;
/* Whether the organization of that name has any people. */
enum err organization_store_has_users(struct store_tx *tx, struct slice name, bool *ret_has_users,
                                      struct error *reterr) MUST_USE;

/* Whether it lets the identity provider say who is an admin or an auditor. */
enum err organization_store_trusts_provider(struct store_tx *tx, struct slice id, bool *ret_trusts,
                                            struct error *reterr) MUST_USE;
enum err organization_store_set_trusts_provider(struct store_tx *tx, struct slice id, bool trusts,
                                                struct error *reterr) MUST_USE;
enum err organization_store_set_hide_role_info(struct store_tx *tx, struct slice id, bool hides,
                                               struct error *reterr) MUST_USE;
/* Whether members may use what no access rule names: "members" or "nobody". */
enum err organization_store_set_default_access(struct store_tx *tx, struct slice id,
                                               struct slice access, struct error *reterr) MUST_USE;

#endif
