/* SPDX-License-Identifier: MIT */
#include "tunnel/agent_side.h"

#include "base/limits.h"
#include "base/must.h"
#include "io/log.h"
#include "tunnel/agent_internal.h"
#include "wire/address.h"

enum err agent_side_check_url(struct slice url, bool allows_plain, struct error *reterr)
{
    struct url parsed;
    enum err err = url_parse(url, &parsed, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    bool is_plain = slice_equals_nocase(parsed.scheme, SLICE("http"));
    if (!is_plain && !slice_equals_nocase(parsed.scheme, SLICE("https"))) {
        return fail(reterr, ERR_INPUT, "a gateway's URL begins with http:// or https://");
    }
    if (is_plain && !allows_plain && !address_is_loopback_host(parsed.host)) {
        return fail(reterr, ERR_DENIED,
                    "http:// would send the token and all data over the network in clear text");
    }
    return ERR_NONE;
}

/* Channels --------------------------------------------------------------------------------------
 */

void agent_side_serve(struct agent_side *side, struct channel *channel, struct slice kind,
                      struct slice message)
{
    for (size_t i = 0; i < side->settings.kind_count; i++) {
        const struct agent_kind *known = &side->settings.kinds[i];
        if (slice_equals(known->name, kind)) {
            known->serve(known, &side->place, channel, message);
            return;
        }
    }
    channel_refuse_kind(channel);
}

struct stream *agent_side_answer_hello(struct agent_side *side, struct channel *channel)
{
    struct slice kinds[LIMIT_TUNNEL_KINDS];
    const struct agent_side_settings *settings = &side->settings;
    for (size_t i = 0; i < settings->kind_count; i++) {
        kinds[i] = settings->kinds[i].name;
    }
    const struct hello_agent hello = {
        .protocol = HELLO_VERSION,
        .version = slice_of_text(settings->version),
        .kinds = kinds,
        .kind_count = settings->kind_count,
        .machine = settings->machine,
    };
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, LIMIT_TUNNEL_MESSAGE_SIZE);
    must(hello_agent_write(&hello, &buf) == ERR_NONE);
    return channel_accept(channel, buf_view(&buf));
}

/* The nodes -------------------------------------------------------------------------------------
 */

static struct agent_node *agent_node_at(struct list *at)
{
    return LIST_ITEM(at, struct agent_node, at);
}

static bool agent_node_is(const struct agent_node *node, const struct hello_node *told)
{
    return (told->id.len > 0 && slice_equals(slice_of_text(node->id), told->id)) ||
           slice_equals(node->text, told->url);
}

static void agent_side_learn_one(struct agent_side *side, const struct hello_node *told)
{
    struct error error = {0};
    LIST_EACH(at, &side->nodes) {
        struct agent_node *node = agent_node_at(at);
        if (agent_node_is(node, told)) {
            node->is_listed = true;
            return;
        }
    }
    if (side->node_count >= LIMIT_TUNNEL_NODES) {
        return;
    }
    if (agent_side_check_url(told->url, side->settings.allows_plain, &error) != ERR_NONE) {
        log_line(LOG_TUNNEL, LOG_WARN, "a node of the gateway is not dialled",
                 log_text("node", told->id), log_error_field(&error));
        return;
    }
    (void)agent_node_new(side, told->url, false);
}

/* Two ways that lead to the same node are one too many: a balancer may stand before the nodes. */
static bool agent_side_has_other(const struct agent_node *node)
{
    LIST_EACH(at, &node->side->nodes) {
        const struct agent_node *other = agent_node_at(at);
        if (other != node && agent_node_is_linked(other) && node->id[0] != '\0' &&
            strcmp(other->id, node->id) == 0) {
            return true;
        }
    }
    return false;
}

void agent_side_learn(struct agent_node *node, const struct hello_gateway *hello)
{
    struct agent_side *side = node->side;
    LIST_EACH(at, &side->nodes) {
        agent_node_at(at)->is_listed = false;
    }
    node->is_listed = true;
    for (size_t i = 0; i < hello->node_count; i++) {
        agent_side_learn_one(side, &hello->nodes[i]);
    }
    bool is_double = agent_side_has_other(node);
    LIST_EACH(at, &side->nodes) {
        struct agent_node *other = agent_node_at(at);
        if (!other->is_listed && !other->is_first && !agent_node_is_linked(other)) {
            agent_node_free(other);
        }
    }
    if (is_double && node->is_first) {
        agent_node_rest(node);
    } else if (is_double) {
        agent_node_free(node);
    }
}

/* Life ------------------------------------------------------------------------------------------
 */

static void agent_side_on_drained(void *owner)
{
    struct agent_side *side = owner;
    timer_stop(&side->deadline);
    side->on_drained(side->owner);
}

void agent_side_ended(struct agent_side *side)
{
    if (side->is_draining && side->node_count == 0) {
        loop_defer(side->loop, &side->task);
    }
}

struct agent_side *agent_side_new(const struct agent_side_settings *settings)
{
    struct agent_side *side = memory_new(sizeof(*side));
    must(settings->kind_count <= LIMIT_TUNNEL_KINDS);
    side->settings = *settings;
    side->place = settings->place;
    side->place.scratch = memory_new(LIMIT_READ_SIZE);
    side->loop = worker_loop(settings->place.worker);
    list_init(&side->nodes);
    loop_task_init(&side->task, agent_side_on_drained, side);
    (void)agent_node_new(side, settings->gateway_url, true);
    return side;
}

void agent_side_free(struct agent_side *side)
{
    memory_free(side->place.scratch);
    memory_free(side);
}

static void agent_side_on_deadline(void *owner)
{
    struct agent_side *side = owner;
    LIST_EACH(at, &side->nodes) {
        agent_node_free(agent_node_at(at));
    }
}

void agent_side_drain(struct agent_side *side, uint64_t deadline_ms,
                      void (*on_drained)(void *owner), void *owner)
{
    side->is_draining = true;
    side->on_drained = on_drained;
    side->owner = owner;
    timer_init(&side->deadline, agent_side_on_deadline, side);
    timer_start(side->loop, &side->deadline, deadline_ms);
    LIST_EACH(at, &side->nodes) {
        agent_node_drain(agent_node_at(at));
    }
}
