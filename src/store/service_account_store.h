/* SPDX-License-Identifier: MIT */
/* Service accounts in the store, each within its organization. */
#ifndef GH_STORE_SERVICE_ACCOUNT_STORE_H
#define GH_STORE_SERVICE_ACCOUNT_STORE_H

#include "model/machine.h"
#include "store/store.h"

struct service_account_list {
    struct service_account *accounts;
    size_t count;
};

/* By subject. */
enum err service_account_store_list(struct store_tx *tx, struct arena *arena,
                                    struct slice organization_id,
                                    struct service_account_list *ret_list,
                                    struct error *reterr) MUST_USE;
/* By id, or by subject. */
enum err service_account_store_find(struct store_tx *tx, struct arena *arena,
                                    struct slice organization_id, struct slice subject_or_id,
                                    struct service_account *ret_account,
                                    struct error *reterr) MUST_USE;
/* ERR_CONFLICT: the subject is taken. Groups that do not exist are made. */
enum err service_account_store_insert(struct store_tx *tx, const struct service_account *account,
                                      struct error *reterr) MUST_USE;
/* Name, status, groups, issuer and updated_at. */
enum err service_account_store_update(struct store_tx *tx, const struct service_account *account,
                                      struct error *reterr) MUST_USE;
enum err service_account_store_delete(struct store_tx *tx, struct slice id,
                                      struct error *reterr) MUST_USE;
/* Accounts from before issuers were kept are of this one from now on; empty: of none. */
enum err service_account_store_bind(struct store *store, struct slice issuer,
                                    struct error *reterr) MUST_USE;

#endif
