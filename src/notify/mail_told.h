/* SPDX-License-Identifier: MIT */
/* Which addresses of a delivery have a mail, which were refused for good, and which are left: a
 * server that puts off one of them does not make the others get it twice. */
#ifndef GH_NOTIFY_MAIL_TOLD_H
#define GH_NOTIFY_MAIL_TOLD_H

#include "io/fetch.h"
#include "store/notification_outbox.h"

struct mail_told {
    struct slice told; /* as in the outbox */
    struct slice refused;
    struct slice remark; /* "1 of 2 addresses were refused: ..."; empty: none was */
    bool is_put_off;     /* the server refused some for now */
    size_t left_count;   /* that are to be tried again */
};

/* Addresses of the sink, as it is now, that are neither told nor refused. */
struct shape_texts mail_told_left_in(struct arena *arena, const struct outbox_item *item);

/* With what one attempt came to. */
void mail_told_add_in(struct arena *arena, const struct outbox_item *item,
                      const struct fetch_answer *answer, const struct fetch_mail *mail,
                      bool is_taken, struct mail_told *ret_told);

#endif
