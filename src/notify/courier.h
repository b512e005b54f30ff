/* SPDX-License-Identifier: MIT */
/* Sends what is in the outbox: threads of its own, which block on receivers, each for
 * LIMIT_NOTIFY_MS at most. One sends to sinks that work, one to those that fail, one keeps in order
 * what ends by itself (upkeep.h). Several gateways of one store share the work. */
#ifndef GH_NOTIFY_COURIER_H
#define GH_NOTIFY_COURIER_H

#include "notify/mail.h"
#include "store/notification_outbox.h"
#include "store/store.h"
#include "wire/address.h"

struct courier;

struct courier_settings {
    struct store *store;
    struct slice public_url;       /* without a slash at its end */
    struct network_list reachable; /* beside what is public */
    struct mail_server mail;
    int64_t review_days; /* that reviews are kept; 0: for ever */
    /* What else is to be looked at every second, by a thread that may block; NULL: nothing. */
    void (*look)(void *context);
    void *look_context;
};

struct courier *courier_new(const struct courier_settings *settings);
enum err courier_start(struct courier *courier) MUST_USE;
/* Those under way end within a second; they are sent again by whoever comes next. */
void courier_end(struct courier *courier);
/* Waits for that. */
void courier_stop(struct courier *courier);
void courier_free(struct courier *courier); /* NULL, too */

/* Whether something at the URL may be asked at all, as far as it says itself. */
enum err courier_check_url(const struct courier *courier, struct slice url,
                           struct error *reterr) MUST_USE;

/* Whether there is a server through which e-mail is sent. */
enum err courier_check_mail(const struct courier *courier, struct error *reterr) MUST_USE;

/* What one attempt came to. */
struct courier_attempt {
    int64_t status;      /* 0: no answer */
    struct slice reason; /* why it was not taken; empty: it was */
    struct slice remark; /* it was taken, but not for all */
    struct slice told;   /* of e-mail, as of an item of the outbox */
    struct slice refused;
    bool is_final; /* the receiver says that it is gone */
};

/* Blocks. */
void courier_try(const struct courier *courier, struct arena *arena, const struct outbox_item *item,
                 struct courier_attempt *ret_attempt);

#endif
