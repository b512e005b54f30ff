/* SPDX-License-Identifier: MIT */
/* Rules of access requests in the store: rules of the kinds 'access_jit', 'access_command' and
 * 'access_both', whose names are of one list. Each change is told to whoever has sessions open
 * (store_note_callers). */
#ifndef GH_STORE_ACCESS_RULE_STORE_H
#define GH_STORE_ACCESS_RULE_STORE_H

#include "model/access_rule.h"
#include "store/store.h"

struct access_rule_list {
    struct access_rule *rules;
    size_t count;
    int64_t total;
};

struct access_rule_page {
    struct slice organization_id;
    int64_t limit;
    int64_t offset;
};

/* By name. */
enum err access_rule_store_list(struct store_tx *tx, struct arena *arena,
                                const struct access_rule_page *page,
                                struct access_rule_list *ret_list, struct error *reterr) MUST_USE;
enum err access_rule_store_find(struct store_tx *tx, struct arena *arena,
                                struct slice organization_id, struct slice name,
                                struct access_rule *ret_rule, struct error *reterr) MUST_USE;
/* ERR_CONFLICT: the name is taken. ERR_INPUT: it names something that is not there. */
enum err access_rule_store_insert(struct store_tx *tx, struct arena *arena,
                                  const struct access_rule *rule, struct error *reterr) MUST_USE;
/* All of it, but for who manages it and when it was made. */
enum err access_rule_store_replace(struct store_tx *tx, struct arena *arena,
                                   const struct access_rule *rule, struct error *reterr) MUST_USE;
enum err access_rule_store_delete(struct store_tx *tx, struct slice id,
                                  struct error *reterr) MUST_USE;

/* Those that act on the connection, for scripts or for access, by themselves or by an attribute
 * that it carries, each once, by name; without what they are bound to. */
enum err access_rule_store_of_connection(struct store_tx *tx, struct arena *arena,
                                         struct slice connection_id, bool is_command,
                                         struct access_rule_list *ret_list,
                                         struct error *reterr) MUST_USE;

#endif
