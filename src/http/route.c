/* SPDX-License-Identifier: MIT */
#include "http/route.h"

#include "base/memory.h"
#include "base/must.h"
#include "codec/url.h"

/* A tree of path segments, one level a segment. */
struct route_node {
    struct slice segment;
    struct route_node *next;   /* sibling */
    struct route_node *child;  /* first literal child */
    struct route_node *any;    /* the {name} child */
    const struct route **here; /* the routes that end here */
    size_t here_count;
};

struct router {
    struct arena arena;
    const struct route *routes;
    size_t count;
    struct route_node root;
};

static bool route_is_value(struct slice segment)
{
    return segment.len > 2 && segment.at[0] == '{' && segment.at[segment.len - 1] == '}';
}

static struct route_node *route_node_find(const struct route_node *node, struct slice segment)
{
    for (struct route_node *child = node->child; child != NULL; child = child->next) {
        if (slice_equals(child->segment, segment)) {
            return child;
        }
    }
    return NULL;
}

static struct route_node *route_node_make(struct router *router, struct route_node *node,
                                          struct slice segment)
{
    bool is_value = route_is_value(segment);
    struct route_node *found = is_value ? node->any : route_node_find(node, segment);
    if (found != NULL) {
        return found;
    }
    found = arena_alloc(&router->arena, sizeof(*found));
    found->segment = segment;
    if (is_value) {
        node->any = found;
    } else {
        found->next = node->child;
        node->child = found;
    }
    return found;
}

static void router_add(struct router *router, const struct route *route)
{
    must(slice_starts_with(route->pattern, SLICE("/")));
    must((route->on_pool == NULL) != (route->on_worker == NULL));
    struct route_node *node = &router->root;
    struct slice rest = slice_from(route->pattern, 1);
    size_t values = 0;
    while (rest.at != NULL) {
        struct slice segment = slice_cut(rest, '/', &rest);
        values += route_is_value(segment) ? 1 : 0;
        node = route_node_make(router, node, segment);
    }
    must(values <= HTTP_PATH_VALUES_MAX);
    const struct route **here =
        arena_alloc_array(&router->arena, node->here_count + 1, sizeof(*here));
    for (size_t i = 0; i < node->here_count; i++) {
        must(!slice_equals(node->here[i]->method, route->method));
        here[i] = node->here[i];
    }
    here[node->here_count++] = route;
    node->here = here;
}

struct router *router_new(const struct route *routes, size_t count)
{
    struct router *router = memory_new(sizeof(*router));
    arena_init(&router->arena);
    router->routes = routes;
    router->count = count;
    for (size_t i = 0; i < count; i++) {
        router_add(router, &routes[i]);
    }
    return router;
}

void router_free(struct router *router)
{
    if (router == NULL) {
        return;
    }
    arena_release(&router->arena);
    memory_free(router);
}

/* The node a path leads to, with its values still encoded, or NULL. */
static const struct route_node *router_walk(const struct router *router, struct slice path,
                                            struct slice *ret_values, size_t *ret_count)
{
    const struct route_node *node = &router->root;
    struct slice rest = slice_from(path, 1);
    *ret_count = 0;
    while (rest.at != NULL && node != NULL) {
        struct slice segment = slice_cut(rest, '/', &rest);
        const struct route_node *literal = route_node_find(node, segment);
        if (literal == NULL && node->any != NULL && segment.len > 0) {
            ret_values[(*ret_count)++] = segment;
            node = node->any;
        } else {
            node = literal;
        }
    }
    return node == NULL || node->here_count == 0 ? NULL : node;
}

static const struct route *route_node_method(const struct route_node *node, struct slice method)
{
    struct slice wanted = slice_equals(method, SLICE("HEAD")) ? SLICE("GET") : method;
    for (size_t i = 0; i < node->here_count; i++) {
        if (slice_equals(node->here[i]->method, wanted)) {
            return node->here[i];
        }
    }
    return NULL;
}

enum route_result router_find(const struct router *router, struct arena *arena,
                              struct http_request *request, const struct route **ret_route)
{
    size_t count = 0;
    const struct route_node *node = router_walk(router, request->path, request->values, &count);
    if (node == NULL) {
        return ROUTE_NO_PATH;
    }
    const struct route *route = route_node_method(node, request->method);
    if (route == NULL) {
        return ROUTE_NO_METHOD;
    }
    for (size_t i = 0; i < count; i++) {
        if (url_decode(arena, request->values[i], &request->values[i]) != ERR_NONE) {
            return ROUTE_BAD_PATH;
        }
    }
    *ret_route = route;
    return ROUTE_FOUND;
}

struct slice router_allowed(const struct router *router, struct arena *arena, struct slice path)
{
    struct slice values[HTTP_PATH_VALUES_MAX];
    size_t count = 0;
    const struct route_node *node = router_walk(router, path, values, &count);
    struct slice allowed = SLICE("");
    for (size_t i = 0; node != NULL && i < node->here_count; i++) {
        struct slice method = node->here[i]->method;
        allowed =
            arena_format(arena, "%.*s%s%.*s%s", SLICE_ARG(allowed), i == 0 ? "" : ", ",
                         SLICE_ARG(method), slice_equals(method, SLICE("GET")) ? ", HEAD" : "");
    }
    return allowed;
}

size_t router_route_count(const struct router *router)
{
    return router->count;
}

size_t router_index_of(const struct router *router, const struct route *route)
{
    return route == NULL ? router->count : (size_t)(route - router->routes);
}

const struct route *router_route(const struct router *router, size_t index)
{
    return index < router->count ? &router->routes[index] : NULL;
}
