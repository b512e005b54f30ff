/* SPDX-License-Identifier: MIT */
/* Attributes in the store, with what is bound to them. */
#ifndef GH_STORE_ATTRIBUTE_STORE_H
#define GH_STORE_ATTRIBUTE_STORE_H

#include "model/attribute.h"
#include "model/caller.h"
#include "store/store.h"

struct attribute_filter {
    struct slice search; /* in the name, without case */
    int64_t limit;
    int64_t offset;
};

struct attribute_list {
    struct attribute *attributes;
    size_t count;
    int64_t total;
};

/* By name, with the connections that may be seen. */
enum err attribute_store_list(struct store_tx *tx, struct arena *arena,
                              const struct visibility *visibility,
                              const struct attribute_filter *filter,
                              struct attribute_list *ret_list, struct error *reterr) MUST_USE;
/* With all its connections. */
enum err attribute_store_find(struct store_tx *tx, struct arena *arena,
                              struct slice organization_id, struct slice name,
                              struct attribute *ret_attribute, struct error *reterr) MUST_USE;
/* ERR_CONFLICT: the name is taken. ERR_INPUT: it names something that is not there. */
enum err attribute_store_insert(struct store_tx *tx, struct slice organization_id,
                                const struct attribute *attribute, struct error *reterr) MUST_USE;
/* All of it: what it does not name is no longer bound. */
enum err attribute_store_update(struct store_tx *tx, struct slice organization_id,
                                const struct attribute *attribute, struct error *reterr) MUST_USE;
enum err attribute_store_delete(struct store_tx *tx, struct slice id,
                                struct error *reterr) MUST_USE;

#endif
