/* SPDX-License-Identifier: MIT */
#include "model/notification.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"
#include "codec/url.h"
#include "model/name.h"
#include "model/shared_fields.h"

#define URL_MAX           2000
#define ADDRESS_MAX       254 /* RFC 5321 section 4.5.3.1.3, without its brackets */
#define ADDRESS_SEPARATOR ", "

static const char *const sink_types[] = {SINK_WEBHOOK, SINK_SLACK, SINK_TEAMS, SINK_EMAIL, NULL};
static const char *const sink_events[] = {EVENT_REVIEW_REQUESTED,
                                          EVENT_REVIEW_DECIDED,
                                          EVENT_REVIEW_EXPIRED,
                                          EVENT_SESSION_OPENED,
                                          EVENT_SESSION_CLOSED,
                                          EVENT_GUARDRAIL_HIT,
                                          EVENT_MASKING_FAILED,
                                          EVENT_AGENT_GONE,
                                          EVENT_NEW_ADDRESS,
                                          EVENT_EMERGENCY,
                                          NULL};
const char *const delivery_states[] = {DELIVERY_PENDING, DELIVERY_DELIVERED, DELIVERY_DEAD, NULL};

/* Without what could be read in two ways, by us and by who connects. */
static enum err sink_url_check(struct slice text, struct error *reterr)
{
    struct url url;
    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] <= ' ' || text.at[i] > '~' || text.at[i] == '\\') {
            return fail(reterr, ERR_INPUT, "must be a URL of plain ASCII");
        }
    }
    if (url_parse(text, &url, NULL) != ERR_NONE || url.host.len == 0 ||
        !(slice_equals(url.scheme, SLICE("https")) || slice_equals(url.scheme, SLICE("http")))) {
        return fail(reterr, ERR_INPUT, "must be a URL of https or http");
    }
    if (url.has_user || url.fragment.len > 0) {
        return fail(reterr, ERR_INPUT, "must be a URL without a user and without a '#'");
    }
    return ERR_NONE;
}

enum err sink_recipient_check(struct slice text, struct error *reterr)
{
    bool is_good = email_check(text, NULL) == ERR_NONE && text_is_ascii(text);
    for (size_t i = 0; i < text.len && is_good; i++) {
        is_good = strchr("<>()[]\\,;:\"", text.at[i]) == NULL;
    }
    return is_good ? ERR_NONE : fail(reterr, ERR_INPUT, "must be an e-mail address of plain ASCII");
}

#define AT(member) .offset = offsetof(struct sink, member)

static const struct shape_field sink_fields[] = {
    NOUN_ID(sink),
    NOUN_NAME(sink, NAME_LENGTH_MAX),
    {.name = "type",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     AT(type),
     .choices = sink_types,
     .about =
         "webhook: signed as Standard Webhooks says; slack, teams: incoming webhooks of these; "
         "email: through the operator's mail server"},
    {.name = "url",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_WRITE_ONLY,
     AT(url),
     .min = 1,
     .max = URL_MAX,
     .check = sink_url_check,
     .about = "where messages are sent to; kept sealed, and never shown; a replacement without it "
              "leaves it as it is; not of e-mail"},
    {.name = "addresses",
     .kind = SHAPE_TEXTS,
     .flags = SHAPE_OMITTED,
     AT(addresses),
     .max = LIMIT_NOTIFY_ADDRESSES,
     .item_max = ADDRESS_MAX,
     .check = sink_recipient_check,
     .format = "email",
     .about = "of e-mail, and of that alone: who gets it; a replacement without it leaves it as "
              "it is"},
    {.name = "address",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED,
     AT(address),
     .about = "the URL as far as its host; of e-mail all addresses"},
    {.name = "events",
     .kind = SHAPE_TEXTS,
     .flags = SHAPE_REQUIRED,
     AT(events),
     .max = COUNT_OF(sink_events) - 1,
     .choices = sink_events,
     .item_max = 64,
     .about = "what is told"},
    {.name = "enabled",
     .kind = SHAPE_BOOL,
     .flags = SHAPE_NULL_IN,
     AT(enabled),
     .about = "true when it is not given; one that is not enabled is told of nothing"},
    {.name = "statement_size",
     .kind = SHAPE_INT,
     .flags = SHAPE_NULL_IN,
     AT(statement_size),
     .min = 0,
     .max = SINK_STATEMENT_MAX,
     .about = "how many bytes of the script or statement of a review stand in a message; 0, none, "
              "when it is not given"},
    {.name = "secret",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_READ_ONLY | SHAPE_OMITTED,
     AT(secret),
     .about = "of a webhook's signatures; shown when it is made, and never again"},
    {.name = "failing_since",
     .kind = SHAPE_TIME,
     .flags = SHAPE_READ_ONLY | SHAPE_NULL_OUT,
     AT(failing_since),
     .about = "null: the last message was taken"},
    {.name = "last_error",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_READ_ONLY | SHAPE_NULL_OUT,
     AT(last_error)},
    NOUN_TIME(sink, created_at, SHAPE_REQUIRED),
    NOUN_TIME(sink, updated_at, SHAPE_REQUIRED),
};

const struct shape sink_shape = {
    .name = "NotificationSink",
    .size = sizeof(struct sink),
    SHAPE_FIELDS(sink_fields),
    .about = "where messages about what happens are sent to",
};

enum err sink_check(struct sink *sink, struct error *reterr)
{
    if (sink->events.count == 0) {
        return fail(reterr, ERR_INPUT, "'events' must name at least one event");
    }
    if (sink->url.at != NULL && sink->url.len == 0) {
        return fail(reterr, ERR_INPUT, "'url' must not be empty");
    }
    if (sink_is_email(sink) && sink->url.at != NULL) {
        return fail(reterr, ERR_INPUT, "'url' must be left out: e-mail goes to 'addresses'");
    }
    if (!sink_is_email(sink) && sink->addresses.is_given) {
        return fail(reterr, ERR_INPUT, "'addresses' must be left out: they are for e-mail");
    }
    if (sink->addresses.is_given && sink->addresses.count == 0) {
        return fail(reterr, ERR_INPUT, "'addresses' must have at least one address");
    }
    if (!sink->enabled.is_given) {
        sink->enabled = (struct shape_bool){.value = true, .is_given = true};
    }
    sink->statement_size.is_given = true;
    sink->statement_size.is_null = false;
    return ERR_NONE;
}

bool sink_is_email(const struct sink *sink)
{
    return slice_equals(sink->type, SLICE(SINK_EMAIL));
}

struct slice sink_address_in(struct arena *arena, const struct sink *sink)
{
    struct url url = {.scheme = SLICE(""), .host = SLICE("")};
    if (sink_is_email(sink)) {
        struct slice all = SLICE("");
        for (size_t i = 0; i < sink->addresses.count; i++) {
            all = arena_format(arena, "%.*s%s%.*s", SLICE_ARG(all), i == 0 ? "" : ADDRESS_SEPARATOR,
                               SLICE_ARG(sink->addresses.items[i]));
        }
        return all;
    }
    must(url_parse(sink->url, &url, NULL) == ERR_NONE);
    return arena_format(arena, url.is_ipv6 ? "%.*s://[%.*s]:%u" : "%.*s://%.*s:%u",
                        SLICE_ARG(url.scheme), SLICE_ARG(url.host), (unsigned)url.port);
}

struct shape_texts sink_addresses_in(struct arena *arena, struct slice address)
{
    struct shape_texts addresses = {
        .items = arena_alloc_array(arena, LIMIT_NOTIFY_ADDRESSES, sizeof(struct slice)),
        .is_given = true};
    while (address.len > 0 && addresses.count < LIMIT_NOTIFY_ADDRESSES) {
        struct slice one = slice_trim(slice_cut(address, ',', &address), " ");
        addresses.items[addresses.count++] = one;
    }
    return addresses;
}

#undef AT
#define AT(member) .offset = offsetof(struct delivery, member)

static const struct shape_field delivery_fields[] = {
    {.name = "id",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     AT(id),
     .format = "uuid",
     .about = "the same however often it is sent: 'webhook-id'"},
    {.name = "event", .kind = SHAPE_TEXT, .flags = SHAPE_REQUIRED, AT(event_type)},
    {.name = "sink", .kind = SHAPE_TEXT, .flags = SHAPE_REQUIRED, AT(sink_name)},
    {.name = "summary", .kind = SHAPE_TEXT, .flags = SHAPE_REQUIRED, AT(summary)},
    {.name = "state",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     AT(state),
     .choices = delivery_states},
    {.name = "tries", .kind = SHAPE_INT, .flags = SHAPE_REQUIRED, AT(tries)},
    {.name = "last_status",
     .kind = SHAPE_INT,
     .flags = SHAPE_NULL_OUT,
     AT(last_status),
     .about = "what the receiver answered last"},
    {.name = "last_error", .kind = SHAPE_TEXT, .flags = SHAPE_NULL_OUT, AT(last_error)},
    {.name = "next_try_at", .kind = SHAPE_TIME, .flags = SHAPE_NULL_OUT, AT(next_try_at)},
    {.name = "created_at", .kind = SHAPE_TIME, .flags = SHAPE_REQUIRED, AT(created_at)},
    {.name = "updated_at", .kind = SHAPE_TIME, .flags = SHAPE_REQUIRED, AT(updated_at)},
};

const struct shape delivery_shape = {
    .name = "NotificationDelivery",
    .size = sizeof(struct delivery),
    SHAPE_FIELDS(delivery_fields),
    .about = "one event for one sink",
};
