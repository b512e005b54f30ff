/* SPDX-License-Identifier: MIT */
/* The audit log: for each organization one chain, whose every entry carries the hash of the one
 * before, so that nothing can be changed, left out or put in without its showing. What is hashed is
 * the entry as JSON, without its own hash. */
#ifndef GH_STORE_AUDIT_STORE_H
#define GH_STORE_AUDIT_STORE_H

#include "base/arena.h"
#include "model/audit_entry.h"
#include "store/store.h"

/* Sets number, previous_hash and hash, and appends. */
enum err audit_store_append(struct store_tx *tx, struct arena *arena, struct audit_entry *entry,
                            struct error *reterr) MUST_USE;

/* Whether an entry with this id is there, of any organization. */
enum err audit_store_has(struct store_tx *tx, struct slice id, bool *ret_has,
                         struct error *reterr) MUST_USE;

struct audit_filter {
    struct slice actor;         /* exact: the subject or the address */
    struct slice actor_subject; /* substrings, without case */
    struct slice actor_email;
    struct slice http_path;
    struct slice client_ip;
    struct slice resource_type; /* exact */
    struct slice action;
    struct slice http_method;
    struct shape_int http_status;
    struct shape_bool outcome;
    int64_t created_after; /* 0: any; both inclusive */
    int64_t created_before;
    int64_t limit;
    int64_t offset;
    bool is_by_place; /* no more than LIMIT_LIST_LOOKED are looked at */
    int64_t place;    /* with is_by_place: before this number; 0: from the newest on */
};

struct audit_list {
    struct audit_entry *entries;
    size_t count;
    /* Of audit_store_list alone: */
    int64_t total; /* exact without filters, and up to LIMIT_LIST_COUNTED */
    bool total_is_capped;
    bool has_more;
    bool is_partial;   /* it was not looked at all of them: 'next' is how far, */
    int64_t looked_to; /* and of when that entry is */
    int64_t next;      /* with has_more */
};

/* The newest first. */
enum err audit_store_list(struct store_tx *tx, struct arena *arena, struct slice organization_id,
                          const struct audit_filter *filter, struct audit_list *ret_list,
                          struct error *reterr) MUST_USE;

/* A bounded number of entries from 'number' on, in their order: for walking the chain. */
enum err audit_store_portion(struct store_tx *tx, struct arena *arena, struct slice organization_id,
                             int64_t number, struct audit_list *ret_list,
                             struct error *reterr) MUST_USE;

/* The hash that the entry should carry. */
struct slice audit_entry_hash_in(struct arena *arena, const struct audit_entry *entry);

#endif
