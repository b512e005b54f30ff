/* SPDX-License-Identifier: MIT */
/* Whose certificates of people an organization trusts for SSH, in the store. */
#ifndef GH_STORE_SSH_AUTHORITY_STORE_H
#define GH_STORE_SSH_AUTHORITY_STORE_H

#include "model/ssh_certificate.h"
#include "store/store.h"

struct ssh_authority_list {
    struct ssh_authority_row *rows;
    size_t count;
};

/* ERR_CONFLICT: it is trusted already, or there are LIMIT_SSH_AUTHORITIES. */
enum err ssh_authority_store_insert(struct store_tx *tx, const struct ssh_authority_row *row,
                                    struct error *reterr) MUST_USE;
/* Oldest first. */
enum err ssh_authority_store_list(struct store_tx *tx, struct arena *arena,
                                  struct slice organization_id, struct ssh_authority_list *ret_list,
                                  struct error *reterr) MUST_USE;
/* In whatever organization: each that trusts the key. */
enum err ssh_authority_store_trusting(struct store_tx *tx, struct arena *arena,
                                      struct slice fingerprint, struct ssh_authority_list *ret_list,
                                      struct error *reterr) MUST_USE;
enum err ssh_authority_store_find(struct store_tx *tx, struct arena *arena,
                                  struct slice organization_id, struct slice id,
                                  struct ssh_authority_row *ret_row, struct error *reterr) MUST_USE;
/* What it let in is let out. */
enum err ssh_authority_store_delete(struct store_tx *tx, struct slice id, int64_t now,
                                    struct error *reterr) MUST_USE;

#endif
