/* SPDX-License-Identifier: MIT */
/* Who is told of what happens: a sink is where messages go to, a delivery is one event for one
 * sink. The types of events are those that are really written (store/notification_tell.h). */
#ifndef GH_MODEL_NOTIFICATION_H
#define GH_MODEL_NOTIFICATION_H

#include "codec/shape.h"

#define SINK_WEBHOOK "webhook"
#define SINK_SLACK   "slack"
#define SINK_TEAMS   "teams"
#define SINK_EMAIL   "email"

#define EVENT_REVIEW_REQUESTED "review.requested"
#define EVENT_REVIEW_DECIDED   "review.decided"
#define EVENT_REVIEW_EXPIRED   "review.expired"
#define EVENT_SESSION_OPENED   "session.opened"
#define EVENT_SESSION_CLOSED   "session.closed"
#define EVENT_GUARDRAIL_HIT    "guardrail.hit"
#define EVENT_MASKING_FAILED   "masking.failed"
#define EVENT_AGENT_GONE       "agent.gone"
#define EVENT_NEW_ADDRESS      "sign_in.new_address"
#define EVENT_EMERGENCY        "emergency_access.used" /* every sink is told, whatever it names */
#define EVENT_TEST             "test" /* of the call that tries a sink; never in the store */

#define DELIVERY_PENDING   "pending"
#define DELIVERY_DELIVERED "delivered"
#define DELIVERY_DEAD      "dead"

#define SINK_KEY_PREFIX "whsec_"
#define SINK_KEY_SIZE   32

#define SINK_STATEMENT_MAX 2000 /* bytes of a statement in a message */

struct sink {
    struct slice id;
    struct slice organization_id;
    struct slice name;
    struct slice type;
    struct slice url;     /* of a request, and where it is sent to: a secret; of no e-mail */
    struct slice address; /* what may be shown of it */
    struct shape_texts addresses; /* of e-mail */
    struct slice key;             /* of a webhook's signatures: SINK_KEY_SIZE bytes */
    struct slice secret;          /* the key as its owner is shown it, once */
    struct shape_texts events;
    struct shape_bool enabled;
    struct shape_int statement_size;
    int64_t failing_since; /* 0: the last message was taken */
    struct slice last_error;
    int64_t created_at;
    int64_t updated_at;
};

extern const struct shape sink_shape;

/* What its shape cannot say; 'enabled' and 'statement_size' get their defaults. */
enum err sink_check(struct sink *sink, struct error *reterr) MUST_USE;
/* As it stands in a header and in the envelope, without what either would have to quote. */
enum err sink_recipient_check(struct slice text, struct error *reterr) MUST_USE;
bool sink_is_email(const struct sink *sink);
/* "https://host:port" of a URL that was checked; of e-mail all addresses. */
struct slice sink_address_in(struct arena *arena, const struct sink *sink);
/* The addresses of that text. */
struct shape_texts sink_addresses_in(struct arena *arena, struct slice address);

struct delivery {
    struct slice id;
    struct slice event_type;
    struct slice sink_name;
    struct slice summary;
    struct slice state;
    struct shape_int tries;
    struct shape_int last_status;
    struct slice last_error;
    int64_t next_try_at; /* 0: there is none */
    int64_t created_at;
    int64_t updated_at;
};

extern const struct shape delivery_shape;
extern const char *const delivery_states[];

#endif
