/* SPDX-License-Identifier: MIT */
/* What the files of audit_store.h share: the columns of an entry, and where they go. */
#ifndef GH_STORE_AUDIT_INTERNAL_H
#define GH_STORE_AUDIT_INTERNAL_H

#include "store/audit_store.h"

#define AUDIT_COLUMNS                                                                              \
    "SELECT organization_id, number, id, created_at, actor_subject, actor_email, actor_name, "     \
    "resource_type, action, http_method, http_status, http_path, client_ip, payload, outcome, "    \
    "error_message, previous_hash, hash FROM audit_entry "

/* The rows of AUDIT_COLUMNS. */
enum err audit_store_take(struct arena *arena, struct store_rows *rows, struct audit_list *ret_list,
                          struct error *reterr) MUST_USE;

#endif
