/* SPDX-License-Identifier: MIT */
/* Masking rules in the store, and what ties them to connections. Whatever changes them lets open
 * sessions look again (store_note_callers). */
#ifndef GH_STORE_MASKING_RULE_STORE_H
#define GH_STORE_MASKING_RULE_STORE_H

#include "base/arena.h"
#include "model/masking_link.h"
#include "model/masking_rule.h"
#include "store/store.h"

#define MASKING_KEY_SIZE 32

struct masking_rule_list {
    struct masking_rule *rules;
    size_t count;
};

/* Of an organization, by name. */
enum err masking_rule_store_list(struct store_tx *tx, struct arena *arena,
                                 struct slice organization_id, struct masking_rule_list *ret_list,
                                 struct error *reterr) MUST_USE;
/* With warnings of the connections that it reaches but that are not masked. */
enum err masking_rule_store_get(struct store_tx *tx, struct arena *arena,
                                struct slice organization_id, struct slice id,
                                struct masking_rule *ret_rule, struct error *reterr) MUST_USE;

struct masking_rule_write {
    struct slice organization_id;
    const struct masking_rule *rule; /* its id says which */
    int64_t now;
};

/* ERR_CONFLICT: the name is taken. ERR_INPUT: it names a connection or an attribute that is not
 * there, or one twice. */
enum err masking_rule_store_insert(struct store_tx *tx, struct arena *arena,
                                   const struct masking_rule_write *write,
                                   struct error *reterr) MUST_USE;
/* All of it but its name. What ties it to a connection that it still names stays, active or not. */
enum err masking_rule_store_replace(struct store_tx *tx, struct arena *arena,
                                    const struct masking_rule_write *write,
                                    struct error *reterr) MUST_USE;
enum err masking_rule_store_remove(struct store_tx *tx, struct slice id,
                                   struct error *reterr) MUST_USE;

/* Those that apply to a connection: tied to it by an active link, or to an attribute that it
 * carries; each once, by name, without connection_ids and attributes. ERR_INTERNAL when one cannot
 * be read: nothing may then pass unmasked. */
enum err masking_rule_store_of_connection(struct store_tx *tx, struct arena *arena,
                                          struct slice connection_id,
                                          struct masking_rule_list *ret_list,
                                          struct error *reterr) MUST_USE;

/* The organization's key for values that are hashed, MASKING_KEY_SIZE bytes. It is made with the
 * first rule: ERR_NOT_FOUND where there was none yet. */
enum err masking_key_in(struct store_tx *tx, struct arena *arena, struct slice organization_id,
                        struct slice *ret_key, struct error *reterr) MUST_USE;

struct masking_link_list {
    struct masking_link *links;
    size_t count;
};

/* Of a connection, in the order of the rules' names. */
enum err masking_link_store_list(struct store_tx *tx, struct arena *arena,
                                 struct slice connection_id, struct masking_link_list *ret_list,
                                 struct error *reterr) MUST_USE;

struct masking_link_write {
    struct slice organization_id;
    struct slice connection_id;
    const struct masking_link *links; /* rule_id and status */
    size_t count;
};

/* In the place of those that were there. ERR_INPUT: there is no such rule, or it comes twice. */
enum err masking_link_store_replace(struct store_tx *tx, struct arena *arena,
                                    const struct masking_link_write *write,
                                    struct error *reterr) MUST_USE;

#endif
