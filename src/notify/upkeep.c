/* SPDX-License-Identifier: MIT */
#include "notify/upkeep.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/timestamp.h"
#include "io/clock.h"
#include "io/log.h"
#include "store/notification_outbox.h"
#include "store/review_sweep.h"

#define CLOCK_MOVED_S 30 /* by less than that it is only set right */

struct upkeep_turn {
    struct review_sweep sweep;
    bool is_due;
    uint64_t expired;
    uint64_t removed;
    uint64_t swept;
};

static enum err upkeep_read_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct upkeep_turn *turn = context;
    bool has_old = false;
    enum err err = review_sweep_is_due(tx, &turn->sweep, &turn->is_due, reterr);
    if (err == ERR_NONE) {
        err = outbox_has_old(tx, turn->sweep.now, &has_old, reterr);
    }
    turn->is_due = turn->is_due || has_old;
    return err;
}

static enum err upkeep_write_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct upkeep_turn *turn = context;
    enum err err = review_sweep_expire(tx, turn->sweep.now, &turn->expired, reterr);
    if (err == ERR_NONE) {
        err = review_sweep_remove(tx, turn->sweep.old_before, &turn->removed, reterr);
    }
    if (err == ERR_NONE) {
        err = review_sweep_cut(tx, turn->sweep.whole_before, reterr);
    }
    if (err == ERR_NONE) {
        err = outbox_sweep(tx, turn->sweep.now, &turn->swept, reterr);
    }
    return err;
}

/* Both clocks count alike, unless one is set; a machine that slept looks like that, too. */
static bool upkeep_believes(struct upkeep *upkeep, int64_t now)
{
    int64_t monotonic = clock_monotonic();
    int64_t ahead = now - monotonic;
    int64_t moved =
        ahead > upkeep->clock_ahead ? ahead - upkeep->clock_ahead : upkeep->clock_ahead - ahead;
    if (upkeep->clock_ahead != 0 && moved > CLOCK_MOVED_S * TIMESTAMP_SECOND) {
        upkeep->settled_at = monotonic + LIMIT_NOTIFY_CLOCK_MS * (TIMESTAMP_SECOND / 1000);
    }
    upkeep->clock_ahead = ahead;
    return monotonic >= upkeep->settled_at;
}

void upkeep_look(struct upkeep *upkeep)
{
    struct error error = {0};
    int64_t now = clock_now();
    if (!upkeep_believes(upkeep, now)) {
        return;
    }
    struct upkeep_turn turn = {
        .sweep = {.now = now,
                  .old_before =
                      upkeep->review_days > 0 ? now - upkeep->review_days * TIMESTAMP_DAY : 0,
                  .whole_before = now - LIMIT_REVIEW_WHOLE_DAYS * TIMESTAMP_DAY},
    };
    enum err err = store_read(upkeep->store, upkeep_read_body, &turn, &error);
    if (err == ERR_NONE && turn.is_due) {
        err = store_write(upkeep->store, upkeep_write_body, &turn, &error);
    }
    if (err != ERR_NONE && err != ERR_UNAVAILABLE) { /* who uses the store says that it is gone */
        log_line(LOG_APP, LOG_ERROR, "what is over is not written down", log_error_field(&error));
    }
    if (err == ERR_NONE && turn.removed > 0) {
        log_line(LOG_APP, LOG_INFO, "old reviews were removed",
                 log_number("count", (int64_t)turn.removed));
    }
}
