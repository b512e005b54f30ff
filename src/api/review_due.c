/* SPDX-License-Identifier: MIT */
#include "api/review_due.h"

#include "api/review_run.h"
#include "io/clock.h"
#include "io/log.h"

struct due_look {
    struct api *api;
    struct arena arena;
    struct review_due due;
    struct review_list list;
};

static enum err due_read_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct due_look *self = context;
    return review_store_list_due(tx, &self->arena, &self->due, &self->list, reterr);
}

/* What is approved for other hours waits for them, without a write. */
static bool due_is_open(struct due_look *self, const struct review *review)
{
    struct error error;
    struct review_hours hours;
    return review_store_hours(&self->arena, review, self->due.now, &hours, &error) == ERR_NONE &&
           !hours.are_over_now;
}

static void due_run(struct due_look *self, const struct review *review)
{
    struct error error = {0};
    struct review_run run = {
        .api = self->api,
        .arena = &self->arena,
        .organization_id = review->organization_id,
        .review_id = review->id,
        .member_id = review->member_id,
    };
    enum err err = review_issuer(self->api, &self->arena, &run.issuer, &error);
    if (err == ERR_NONE) {
        err = review_run_unasked(&run, &error);
    }
    if (err != ERR_NONE) {
        log_line(LOG_API, LOG_WARN, "an approved script is not run by itself",
                 log_text("review", review->id), log_error_field(&error));
    }
}

void review_due_look(void *context)
{
    struct error error = {0};
    struct due_look self = {.api = context, .due = {.now = clock_now()}};
    self.due.process_id = store_is_shared(self.api->store) ? SLICE("") : self.api->process_id;
    arena_init(&self.arena);
    enum err err = store_read(self.api->store, due_read_body, &self, &error);
    for (size_t i = 0; err == ERR_NONE && i < self.list.count; i++) {
        if (due_is_open(&self, &self.list.reviews[i])) {
            due_run(&self, &self.list.reviews[i]);
        }
    }
    if (err != ERR_NONE && err != ERR_UNAVAILABLE) { /* who uses the store says that it is gone */
        log_line(LOG_API, LOG_ERROR, "approved scripts are not looked at", log_error_field(&error));
    }
    arena_release(&self.arena);
}
