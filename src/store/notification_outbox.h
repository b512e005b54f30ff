/* SPDX-License-Identifier: MIT */
/* The outbox of notifications: events are put in by the transaction in which they happen, and each
 * is sent to each sink that wants it, by one gateway at a time. A delivery that is taken is leased:
 * a gateway that is killed loses it when the lease ends, and it is sent again, under the same id.
 */
#ifndef GH_STORE_NOTIFICATION_OUTBOX_H
#define GH_STORE_NOTIFICATION_OUTBOX_H

#include "model/notification.h"
#include "store/store.h"

struct outbox_event {
    struct slice organization_id;
    const char *type;
    struct slice subject_id;
    struct slice summary; /* one line, for people */
    struct slice path;    /* of the console's page; empty: none */
    struct slice data;    /* the members of a JSON object, without its braces */
    int64_t now;
};

/* Whether any sink wants it: else there is nothing to make, or to put in. */
enum err outbox_wants(struct store_tx *tx, struct slice organization_id, const char *type,
                      bool *ret_wants, struct error *reterr) MUST_USE;
/* A sink for which LIMIT_NOTIFY_PENDING wait gets it as dead: it is seen, and can be sent again. */
enum err outbox_put(struct store_tx *tx, struct arena *arena, const struct outbox_event *event,
                    struct error *reterr) MUST_USE;

/* One that was taken, with all that is needed to send it. */
struct outbox_item {
    struct slice delivery_id;
    struct slice event_id;
    struct slice lease_id;
    struct slice event_type;
    struct slice subject_id;
    struct slice summary;
    struct slice path;
    struct slice data;
    int64_t happened_at;
    int64_t tries;        /* this one, too */
    struct slice told;    /* of e-mail: addresses that have it, a line each */
    struct slice refused; /* "address: what the server said" likewise: for good */
    struct sink sink;
    struct slice statement; /* of a review, when the sink may have it */
};

struct outbox_items {
    struct outbox_item *items;
    size_t count;
};

/* What is due. Sinks that fail stand in a line of their own, lest they hold up the others. */
struct outbox_question {
    bool is_failing;
    int64_t now;
    int64_t lease_until;
    int64_t limit;
};

/* A read, so that a store in which nothing is due is not written to. */
enum err outbox_is_due(struct store_tx *tx, const struct outbox_question *question, bool *ret_is,
                       struct error *reterr) MUST_USE;
enum err outbox_take(struct store_tx *tx, struct arena *arena,
                     const struct outbox_question *question, struct outbox_items *ret_items,
                     struct error *reterr) MUST_USE;

/* What came of it. */
struct outbox_result {
    const struct outbox_item *item;
    struct slice state;
    int64_t status;      /* of the answer; 0: there was none */
    struct slice reason; /* why it was not taken, or not for all; empty: it was */
    struct slice told;   /* as of the item, with what was added */
    struct slice refused;
    int64_t next_at;
    int64_t now;
};

/* Nothing when the lease was lost meanwhile: then whoever took it writes. */
enum err outbox_finish(struct store_tx *tx, const struct outbox_result *result,
                       struct error *reterr) MUST_USE;

enum err outbox_has_old(struct store_tx *tx, int64_t now, bool *ret_has,
                        struct error *reterr) MUST_USE;
/* What was delivered long ago, and what has been dead for long; a portion. */
enum err outbox_sweep(struct store_tx *tx, int64_t now, uint64_t *ret_count,
                      struct error *reterr) MUST_USE;

#endif
