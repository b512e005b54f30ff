/* SPDX-License-Identifier: MIT */
/* How much of a store one caller's requests may take: those that wait, and those that are over and
 * kept. What ran was approved by others, and is not counted. */
#include "base/limits.h"
#include "base/memory.h"
#include "store/review_internal.h"
#include "store/rows.h"

struct room {
    int64_t pending;
    int64_t kept;
    int64_t size;
};

static enum err room_read(struct store_tx *tx, struct slice member_id, int64_t now,
                          struct room *room, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query_one(
        tx,
        "SELECT count(CASE WHEN state = 'PENDING' AND pending_until > $2 THEN 1 END), count(*), "
        "CAST(coalesce(sum(length(sealed)), 0) AS BIGINT) "
        "FROM review WHERE member_id = $1 AND state <> 'EXECUTED'",
        PARAMS(store_text(member_id), store_int(now)), &rows, reterr);
    if (err == ERR_NONE) {
        *room = (struct room){.pending = store_rows_int(&rows, 0),
                              .kept = store_rows_int(&rows, 1),
                              .size = store_rows_int(&rows, 2)};
    }
    return err;
}

enum err review_store_check_room(struct store_tx *tx, struct slice member_id, int64_t now,
                                 struct error *reterr)
{
    struct room room = {0};
    enum err err = room_read(tx, member_id, now, &room, reterr);
    if (err == ERR_NONE && room.pending >= LIMIT_REVIEW_PENDING) {
        return fail(reterr, ERR_BUSY,
                    "%d of your requests wait to be reviewed, the most that may: give up one that "
                    "is not needed",
                    LIMIT_REVIEW_PENDING);
    }
    if (err == ERR_NONE && room.kept >= LIMIT_REVIEW_KEPT) {
        return fail(reterr, ERR_BUSY,
                    "%d of your requests that did not run are kept, the most that may: the old "
                    "ones are removed by and by",
                    LIMIT_REVIEW_KEPT);
    }
    if (err == ERR_NONE && room.size >= (int64_t)LIMIT_REVIEW_KEPT_SIZE) {
        return fail(reterr, ERR_BUSY,
                    "your requests that did not run have scripts and values of %zu MiB in all, the "
                    "most that may: those that are over are cut after %d days",
                    LIMIT_REVIEW_KEPT_SIZE / LIMIT_MIB(1), LIMIT_REVIEW_WHOLE_DAYS);
    }
    return err;
}
