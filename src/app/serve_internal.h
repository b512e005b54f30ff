/* SPDX-License-Identifier: MIT */
/* 'serve' between its files: serve_open.c takes what the process needs, from the data folder to the
 * sandbox; serve.c makes the gateway of it, and runs and stops it. */
#ifndef GH_APP_SERVE_INTERNAL_H
#define GH_APP_SERVE_INTERNAL_H

#include "api/api.h"
#include "app/native_clients.h"
#include "app/pools.h"
#include "app/serve.h"
#include "io/commands.h"
#include "io/fault.h"
#include "io/sandbox.h"
#include "model/organization_list.h"
#include "model/secret_trust.h"
#include "notify/courier.h"
#include "store/seal.h"
#include "tunnel/gateway_side.h"
#include "tunnel/nodes.h"
#include "tunnel/presence.h"

#define HTTP_PROTOCOLS SLICE("h2,http/1.1")

struct serve {
    const struct settings *settings;
    struct arena arena;
    int lock_fd;
    int store_lock_fd;
    struct seal_keys *keys;
    struct store *store;
    struct identity *identity;
    bool has_users;
    bool is_trial; /* a store on a server is not changed, and not read either */
    struct tls_server *tls;
    struct fault fault;
    bool has_fault;
    size_t worker_count;
    uint64_t busy_wait_us; /* none where the processor is rationed */
    int listen_fds[LIMIT_WORKER_COUNT];
    int control_fd;
    unsigned port;
    struct sandbox_state sandbox;
    struct slice local_url;
    struct slice public_url;
    bool knows_public_url;
    struct pools pools;
    struct registry *registry;
    struct nodes *nodes;
    struct gateway_side *gateway_side;
    struct presence *presence;
    struct courier *courier;
    struct mail_server mail;
    struct router *router;
    struct http_server server;
    atomic_size_t large_size; /* of bodies under way */
    struct api api;
    struct secret_trust secret_trust;
    struct organization_list local_commands;
    struct worker *workers[LIMIT_WORKER_COUNT];
    struct http_worker *https[LIMIT_WORKER_COUNT];
    struct native_clients clients;
    struct commands *commands; /* NULL: none are run */
};

/* The path of the embedded store, or NULL when it is a server. */
const char *serve_store_file(const struct serve *serve);

void serve_init(struct serve *serve, const struct settings *settings);
/* Whatever came of it, serve_close() follows. */
enum err serve_open(struct serve *serve, struct error *reterr) MUST_USE;
void serve_close(struct serve *serve);

#endif
