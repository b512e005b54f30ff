/* SPDX-License-Identifier: MIT */
/* What is sent: an event as JSON for one kind of sink. A webhook gets what programs read, Slack and
 * Teams get a line for people and a link. Names in it are of others: they are shown as text, and
 * can neither call people together nor make links. */
#ifndef GH_NOTIFY_MESSAGE_H
#define GH_NOTIFY_MESSAGE_H

#include "base/arena.h"
#include "store/notification_outbox.h"

/* The console's page of the event, which has one. */
struct slice message_link_in(struct arena *arena, const struct outbox_item *item,
                             struct slice public_url);

/* The body. 'public_url' has no slash at its end. */
struct slice message_body_in(struct arena *arena, const struct outbox_item *item,
                             struct slice public_url);

/* As Standard Webhooks says: v1, and the HMAC-SHA256 of "id.seconds.body" in base64. */
struct slice message_signature_in(struct arena *arena, struct slice key, struct slice id,
                                  int64_t seconds, struct slice body);

#endif
