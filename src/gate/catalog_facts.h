/* SPDX-License-Identifier: MIT */
/* What the sessions of a worker know of the catalogs of their targets: each asked once for all that
 * wait for it, and kept. Which changes sessions of all workers make is counted, by the name of the
 * database, as the same one may be reached by several ways; so what was known before one is known
 * to be old. Changes that nothing tells the gateway of are found by age alone. */
#ifndef GH_GATE_CATALOG_FACTS_H
#define GH_GATE_CATALOG_FACTS_H

#include "base/list.h"
#include "gate/gate_internal.h"
#include "protocol/passage.h"

struct catalog_facts;

struct catalog_facts *catalog_facts_new(struct gate_worker *worker);
void catalog_facts_free(struct catalog_facts *facts);

/* Whose catalog, and which rules what is known of it is about. Copied. */
struct catalog_facts_request {
    struct slice connection_id;
    struct slice credential_id;
    struct slice database;    /* as the session's client has it */
    struct mask_rules *rules; /* may be NULL */
    const struct protocol *protocol;
};

/* What is known; false: nothing is. Valid until the next turn of the loop. */
bool catalog_facts_known(const struct catalog_facts *facts,
                         const struct catalog_facts_request *request,
                         struct catalog_known *ret_known);

/* One who waits. */
struct catalog_waiter {
    struct list link;
    bool is_waiting;
    void (*on_informed)(void *owner);
    void *owner;
};

/* Calls back once, never inside this, with what is asked from now on; unless it is cancelled. */
void catalog_facts_ask(struct catalog_facts *facts, const struct catalog_facts_request *request,
                       struct catalog_waiter *waiter);
void catalog_facts_cancel(struct catalog_facts *facts, struct catalog_waiter *waiter);

#endif
