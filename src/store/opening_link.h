/* SPDX-License-Identifier: MIT */
/* Links in messages, which lead somebody who has signed in to a review: what stands in one is
 * sealed with the keys of the store, for one organization, review and delivery, ends, and is good
 * once. It lets nobody in, and decides nothing: it says that somebody came by this very message. */
#ifndef GH_STORE_OPENING_LINK_H
#define GH_STORE_OPENING_LINK_H

#include "base/arena.h"
#include "store/store.h"

#define OPENING_LINK_HOURS 24 /* from the event on, as long as a request waits by itself */

struct opening_link {
    struct slice organization_id;
    struct slice review_id;
    struct slice delivery_id;
    int64_t ends_at;
};

/* For an address: letters, digits, '-' and '_'. Another one each time. */
struct slice opening_link_in(struct arena *arena, const struct store_tx *tx,
                             const struct opening_link *link);

struct opening_link_use {
    struct slice organization_id; /* of who opens it */
    struct slice review_id;       /* that is opened */
    struct slice text;
    struct slice member_email;
    int64_t now;
};

/* Words for people. ERR_INPUT: nobody here made it, or for something else. ERR_CONFLICT: it is too
 * old, or was opened before. */
enum err opening_link_open(struct store_tx *tx, struct arena *arena,
                           const struct opening_link_use *use, struct error *reterr) MUST_USE;

#endif
