/* SPDX-License-Identifier: MIT */
/* A node of the gateway, and as many links to it as it wants. */
#include "base/must.h"
#include "tunnel/agent_internal.h"

struct agent_node *agent_node_new(struct agent_side *side, struct slice url, bool is_first)
{
    struct agent_node *node = memory_new(sizeof(*node));
    node->side = side;
    node->is_first = is_first;
    node->is_listed = true;
    arena_init(&node->arena);
    node->text = arena_copy(&node->arena, url);
    must(url_parse(node->text, &node->url, NULL) == ERR_NONE);
    node->authority =
        arena_format(&node->arena, "%s%.*s%s:%u", node->url.is_ipv6 ? "[" : "",
                     SLICE_ARG(node->url.host), node->url.is_ipv6 ? "]" : "", node->url.port);
    list_append(&side->nodes, &node->at);
    side->node_count++;
    (void)agent_way_new(node, 0);
    return node;
}

bool agent_node_is_linked(const struct agent_node *node)
{
    for (size_t i = 0; i < COUNT_OF(node->ways); i++) {
        if (node->ways[i] != NULL && node->ways[i]->is_greeted) {
            return true;
        }
    }
    return false;
}

bool agent_node_is_other(const struct agent_way *way, struct slice id)
{
    const struct agent_node *node = way->node;
    struct slice known = slice_of_text(node->id);
    return agent_node_is_linked(node) &&
           !slice_equals(known, slice_sub(id, 0, sizeof(node->id) - 1));
}

void agent_node_learn(struct agent_node *node, const struct hello_gateway *hello)
{
    size_t wanted = hello->links > 1 ? (size_t)hello->links : 1;
    (void)snprintf(node->id, sizeof(node->id), "%.*s", SLICE_ARG(hello->node_id));
    for (size_t i = 1; i < COUNT_OF(node->ways) && !node->side->is_draining; i++) {
        if (i < wanted && node->ways[i] == NULL) {
            (void)agent_way_new(node, i);
        } else if (i >= wanted && node->ways[i] != NULL) {
            agent_way_free(node->ways[i]);
        }
    }
    agent_side_learn(node, hello);
}

void agent_node_rest(struct agent_node *node)
{
    for (size_t i = 1; i < COUNT_OF(node->ways); i++) {
        if (node->ways[i] != NULL) {
            agent_way_free(node->ways[i]);
        }
    }
    if (node->ways[0] != NULL) {
        agent_way_rest(node->ways[0]);
    }
}

void agent_node_drain(struct agent_node *node)
{
    for (size_t i = 0; i < COUNT_OF(node->ways); i++) {
        if (node->ways[i] != NULL) {
            agent_way_drain(node->ways[i]);
        }
    }
}

void agent_node_free(struct agent_node *node)
{
    list_remove(&node->at);
    for (size_t i = 0; i < COUNT_OF(node->ways); i++) {
        if (node->ways[i] != NULL) {
            agent_way_free(node->ways[i]);
        }
    }
}

/* Without its first way, which is there for as long as it is, it goes with the last one. */
void agent_node_way_ended(struct agent_node *node)
{
    struct agent_side *side = node->side;
    node->way_count--;
    if (node->way_count > 0 || node->ways[0] != NULL) {
        return;
    }
    list_remove(&node->at);
    side->node_count--;
    arena_release(&node->arena);
    memory_free(node);
    agent_side_ended(side);
}
