/* SPDX-License-Identifier: MIT */
/* Rules of every kind, and where they act. */
#ifndef GH_STORE_RULE_STORE_H
#define GH_STORE_RULE_STORE_H

#include "base/arena.h"
#include "store/store.h"

struct rule_search {
    struct slice organization_id;
    struct slice subtype; /* of connections */
    struct slice kind;    /* of rules */
};

struct rule_place {
    struct slice rule_name;
    struct slice connection_name;
};

/* A rule of the kind that acts on a connection of the subtype, by itself or by an attribute; the
 * first by name. ERR_NOT_FOUND. */
enum err rule_store_find_place(struct store_tx *tx, struct arena *arena,
                               const struct rule_search *search, struct rule_place *ret_place,
                               struct error *reterr) MUST_USE;

/* One of them whose document has this text, a member that is no text itself: "\"max_rows\":". */
enum err rule_store_find_having(struct store_tx *tx, struct arena *arena,
                                const struct rule_search *search, struct slice text,
                                struct rule_place *ret_place, struct error *reterr) MUST_USE;

/* A guard rail with a rule about what statements would do, or how much is read, or that has
 * statements reviewed, that acts on a connection of none of the subtypes, which stand between
 * commas: ",postgres,mysql,". Likewise. */
enum err rule_store_find_structural(struct store_tx *tx, struct arena *arena,
                                    struct slice organization_id, struct slice subtypes,
                                    struct rule_place *ret_place, struct error *reterr) MUST_USE;

#endif
