/* SPDX-License-Identifier: MIT */
#include "app/serve.h"

#include "api/openapi.h"
#include "api/review_due.h"
#include "api/routes.h"
#include "app/greeting.h"
#include "app/protocols.h"
#include "app/serve_internal.h"
#include "app/stop_limit.h"
#include "app/version.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/timestamp.h"
#include "codec/base64.h"
#include "codec/url.h"
#include "console/console.h"
#include "io/descriptors.h"
#include "io/fetch.h"
#include "io/log.h"
#include "store/row_id.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#define SETUP_CODE_RANDOM_SIZE 15

/* While nobody is registered: what proves that one may read the gateway's output. */
static struct slice serve_make_setup_code(struct serve *serve)
{
    char random[SETUP_CODE_RANDOM_SIZE];
    if (serve->has_users) {
        return SLICE_NONE;
    }
    must(getentropy(random, sizeof(random)) == 0);
    return base64_encode_in(&serve->arena, BASE64_URL, slice_of(random, sizeof(random)));
}

/* Whom its own agent serves with what; checked when the settings were read. */
static void serve_read_trust(struct serve *serve)
{
    struct slice secrets = slice_of_text(settings_text(serve->settings, SETTING_LOCAL_SECRETS));
    struct slice commands = slice_of_text(settings_text(serve->settings, SETTING_LOCAL_COMMANDS));
    must(secret_trust_parse(secrets, &serve->secret_trust, NULL) == ERR_NONE);
    must(organization_list_parse(commands, &serve->local_commands, NULL) == ERR_NONE);
}

/* Who stands before the gateway, and whose pages may use it; checked when the settings were read.
 */
static void serve_read_edge(const struct settings *settings, struct http_server *server)
{
    struct slice networks = slice_of_text(settings_text(settings, SETTING_TRUSTED_PROXIES));
    struct slice origins = slice_of_text(settings_text(settings, SETTING_CORS_ORIGINS));
    must(network_list_parse(networks, &server->trusted_proxies, NULL) == ERR_NONE);
    must(origin_list_parse(origins, &server->cors.origins, NULL) == ERR_NONE);
    server->cors.prefix = SLICE("/api/");
}

/* The names by which it is asked for. */
static void serve_read_hosts(struct serve *serve)
{
    struct host_list *hosts = &serve->server.hosts;
    struct slice listen = slice_of_text(settings_text(serve->settings, SETTING_LISTEN));
    struct url url = {.host = SLICE("")};
    must(host_list_parse(slice_of_text(settings_text(serve->settings, SETTING_ALLOWED_HOSTS)),
                         hosts, NULL) == ERR_NONE);
    host_list_set_listen(hosts,
                         slice_sub(listen, 0, (size_t)(strrchr(listen.at, ':') - listen.at)));
    must(url_parse(serve->public_url, &url, NULL) == ERR_NONE);
    hosts->public_host = url.host;
    struct slice node_url = slice_of_text(settings_text(serve->settings, SETTING_NODE_URL));
    struct url node = {.host = SLICE("")};
    must(node_url.len == 0 || url_parse(node_url, &node, NULL) == ERR_NONE);
    hosts->node_host = node.host;
    serve->server.has_proxies = !settings_is(serve->settings, SETTING_PUBLIC_URL, "") &&
                                !address_is_loopback_host(url.host);
}

static void serve_make_tunnel(struct serve *serve)
{
    serve->registry = registry_new();
    struct slice url = slice_of_text(settings_text(serve->settings, SETTING_NODE_URL));
    const char *issuers = settings_text(serve->settings, SETTING_NODE_CA_FILE);
    url = slice_ends_with(url, SLICE("/")) ? slice_sub(url, 0, url.len - 1) : url;
    serve->nodes = nodes_new(&(struct nodes_settings){
        .store = serve->store,
        .keys = serve->keys,
        .self = {.id = row_id_new(&serve->arena), .url = url.len > 0 ? url : serve->public_url},
        .issuers = issuers[0] == '\0' ? NULL : issuers,
    });
    serve->gateway_side = gateway_side_new(&(struct gateway_side_settings){
        .registry = serve->registry,
        .version = GATEHOUSE_VERSION,
        .nodes = serve->nodes,
        .workers = serve->https,
        .worker_count = serve->worker_count,
        .deadlines = LINK_DEADLINES,
    });
}

/* Whom notifications may be sent to; checked when the settings were read. */
static void serve_make_courier(struct serve *serve)
{
    const struct settings *settings = serve->settings;
    struct courier_settings courier = {
        .store = serve->store,
        .public_url = serve->public_url,
        .mail = serve->mail,
        .review_days = (int64_t)settings_number(settings, SETTING_REVIEW_DAYS),
        .look = review_due_look,
        .look_context = &serve->api,
    };
    struct slice networks = slice_of_text(settings_text(settings, SETTING_NOTIFY_NETWORKS));
    must(network_list_parse(networks, &courier.reachable, NULL) == ERR_NONE);
    serve->courier = courier_new(&courier);
}

static void serve_make_server(struct serve *serve)
{
    serve_make_tunnel(serve);
    serve_make_courier(serve);
    serve_read_trust(serve);
    serve->router = router_new(api_http_routes_in(&serve->arena), api_route_count());
    pools_start(&serve->pools, serve->settings, serve->worker_count);
    serve->server = (struct http_server){
        .router = serve->router,
        .on_other_path = console_answer,
        .pool = serve->pools.most,
        .slow_pool = serve->pools.slow,
        .long_pool = serve->pools.lasting,
        .asking_pool = serve->pools.asking,
        .context = &serve->api,
        .metrics_for_anyone = settings_is(serve->settings, SETTING_METRICS_ACCESS, "anyone"),
        .connection_count_max = LIMIT_HTTP_CONNECTIONS,
        .large_size = &serve->large_size,
        .newcomers = newcomers_new((uint64_t)settings_number(serve->settings, SETTING_NEWCOMERS)),
        .deadlines = HTTP_DEADLINES,
    };
    serve_read_edge(serve->settings, &serve->server);
    serve_read_hosts(serve);
    serve->api = (struct api){
        .store = serve->store,
        .identity = serve->identity,
        .pool = serve->pools.most,
        .router = serve->router,
        .workers = serve->https,
        .worker_count = serve->worker_count,
        .version = GATEHOUSE_VERSION,
        .address_rate = serve->pools.address_rate,
        .account_rate = serve->pools.account_rate,
        .refusals = serve->pools.refusals,
        .askers = serve->pools.askers,
        .hashing = serve->pools.hashing,
        .public_url = serve->public_url,
        .knows_public_url = serve->knows_public_url,
        .takes_passwords = settings_is(serve->settings, SETTING_LOCAL_AUTH, "on"),
        .setup_code = serve_make_setup_code(serve),
        .description = openapi_make_in(&serve->arena),
        .uses_tls = serve->tls != NULL,
        .keys = serve->keys,
        .readers = serve->pools.readers,
        .recordings = native_clients_recordings_in(&serve->arena, serve->settings),
        .find_replay = protocol_find_replay,
        .registry = serve->registry,
        .gateway_side = serve->gateway_side,
        .nodes = serve->nodes,
        .secret_trust = &serve->secret_trust,
        .local_commands = &serve->local_commands,
        .review_us = (int64_t)settings_number(serve->settings, SETTING_REVIEW_HOURS) * 3600 *
                     TIMESTAMP_SECOND,
        .process_id = row_id_new(&serve->arena),
        .courier = serve->courier,
    };
    native_clients_name(&serve->clients, serve->settings, serve->public_url);
    serve->api.protocols = &gatehouse_protocols;
    serve->api.native = native_clients_addresses_in(&serve->arena, &serve->clients);
}

static enum err serve_make_clients(struct serve *serve, struct error *reterr)
{
    struct gate_settings gate = {
        .store = serve->store,
        .identity = serve->identity,
        .pool = serve->pools.most,
        .slow_pool = serve->pools.slow,
        .registry = serve->registry,
        .nodes = serve->nodes,
        .keys = serve->keys,
        .secret_trust = &serve->secret_trust,
        .local_commands = &serve->local_commands,
        .commands = serve->commands,
        .public_url = serve->public_url,
        .review_us = serve->api.review_us,
        .held_s = (int64_t)settings_number(serve->settings, SETTING_HELD),
        .held_locked_s = (int64_t)settings_number(serve->settings, SETTING_HELD_LOCKED),
    };
    enum err err =
        native_clients_make(&serve->clients, &serve->arena, serve->settings, &gate, reterr);
    serve->api.gate = serve->clients.gate;
    serve->api.target_calls = serve->clients.calls;
    return err;
}

static void serve_on_nodes(void *owner)
{
    const struct serve *serve = owner;
    gateway_side_tell_nodes(serve->gateway_side);
}

static enum err serve_start_workers(struct serve *serve, struct error *reterr)
{
    for (size_t i = 0; i < serve->worker_count; i++) {
        serve->workers[i] = worker_new(i, serve->has_fault ? &serve->fault : NULL);
        loop_set_patience(worker_loop(serve->workers[i]), serve->busy_wait_us);
        serve->https[i] = http_worker_new(&serve->server, serve->workers[i], serve->listen_fds[i],
                                          i == 0 ? serve->control_fd : -1, serve->tls);
        native_clients_start(&serve->clients, i, serve->workers[i]);
    }
    const struct presence_settings presence = {
        .store = serve->store,
        .registry = serve->registry,
        .nodes = serve->nodes,
        .on_nodes = serve_on_nodes,
        .owner = serve,
    };
    if (presence_start(&presence, &serve->presence) != ERR_NONE ||
        courier_start(serve->courier) != ERR_NONE) {
        return fail(reterr, ERR_IO, "cannot start a thread: %s", strerror(errno));
    }
    for (size_t i = 0; i < serve->worker_count; i++) {
        if (worker_start(serve->workers[i]) != ERR_NONE) {
            return fail(reterr, ERR_IO, "cannot start a thread: %s", strerror(errno));
        }
    }
    return ERR_NONE;
}

static void serve_greet(const struct serve *serve)
{
    const struct greeting greeting = {
        .local_url = serve->local_url,
        .public_url = serve->public_url,
        .data_dir = settings_text(serve->settings, SETTING_DATA_DIR),
        .setup_code = serve->api.setup_code,
    };
    if (settings_is(serve->settings, SETTING_LOG_FORMAT, "json")) {
        greeting_log(&greeting);
    } else {
        greeting_print(&greeting);
    }
    log_line(LOG_APP, LOG_INFO, "listening",
             log_text("address", slice_of_text(settings_text(serve->settings, SETTING_LISTEN))),
             log_number("port", serve->port), log_number("workers", (int64_t)serve->worker_count),
             log_number("landlock", serve->sandbox.landlock_version),
             log_number("seccomp", serve->sandbox.has_filter ? 1 : 0));
    native_clients_log(&serve->clients);
}

static void serve_reload(struct serve *serve)
{
    struct tls_server *tls = NULL;
    struct error error = {0};
    if (native_clients_load_tls(serve->settings, HTTP_PROTOCOLS, &tls, &error) != ERR_NONE ||
        native_clients_reload_tls(&serve->clients, serve->settings, &error) != ERR_NONE) {
        tls_server_unref(tls);
        log_line(LOG_APP, LOG_ERROR, "the old certificate stays in use", log_error_field(&error));
        return;
    }
    if (tls == NULL) {
        return;
    }
    for (size_t i = 0; i < serve->worker_count; i++) {
        http_worker_set_tls(serve->https[i], tls);
    }
    tls_server_unref(serve->tls);
    serve->tls = tls;
    log_line(LOG_APP, LOG_INFO, "the certificate was read again",
             log_text("file", slice_of_text(settings_text(serve->settings, SETTING_TLS_CERT))));
}

static void serve_stop(struct serve *serve)
{
    uint64_t seconds = settings_number(serve->settings, SETTING_SHUTDOWN_SECONDS);
    uint64_t ms = seconds * 1000;
    /* Within the limit, time is kept for clients to hear why, and for what is written at the end.
     */
    uint64_t cut_ms = seconds == 0 ? 0 : ms - LIMIT_STOP_WRITE_MS;
    uint64_t tell_ms = seconds == 0 ? 0 : cut_ms - LIMIT_STOP_WORDS_MS;
    log_line(LOG_APP, LOG_INFO, "stopping", log_number("seconds_at_most", (int64_t)seconds));
    stop_limit_start(ms < LIMIT_STOP_LEAST_MS ? LIMIT_STOP_LEAST_MS : ms);
    fetch_stop_after(tell_ms);
    courier_end(serve->courier);
    for (size_t i = 0; i < serve->worker_count; i++) {
        http_worker_drain(serve->https[i], tell_ms);
    }
    native_clients_drain(&serve->clients, tell_ms, cut_ms);
    for (size_t i = 0; i < serve->worker_count; i++) {
        worker_join(serve->workers[i]);
    }
    pools_stop(&serve->pools);
    native_clients_stop(&serve->clients);
    presence_stop(serve->presence);
    courier_stop(serve->courier);
    for (size_t i = 0; i < serve->worker_count; i++) {
        worker_free(serve->workers[i]);
        http_worker_free(serve->https[i]);
    }
    native_clients_free(&serve->clients);
    courier_free(serve->courier);
    gateway_side_free(serve->gateway_side);
    nodes_free(serve->nodes);
    registry_free(serve->registry);
    pools_free(&serve->pools);
    newcomers_free(serve->server.newcomers);
    router_free(serve->router);
    (void)unlink(arena_format(&serve->arena, "%s/control.sock",
                              settings_text(serve->settings, SETTING_DATA_DIR))
                     .at);
}

static void serve_wait(struct serve *serve, const sigset_t *signals)
{
    int number = 0;
    while (sigwait(signals, &number) == 0 && number == SIGHUP) {
        serve_reload(serve);
    }
}

/* Before anything is opened: the helper knows no secret, and is not confined. */
static enum err serve_start_commands(struct serve *serve, struct error *reterr)
{
    const struct settings *settings = serve->settings;
    struct commands_settings commands = {
        .hidden = {settings_text(settings, SETTING_DATA_DIR), settings->key_file,
                   settings_text(settings, SETTING_TLS_KEY), "/etc/gatehouse",
                   serve_store_file(serve)},
    };
    if (settings_is(settings, SETTING_COMMANDS, "off")) {
        return ERR_NONE;
    }
    return commands_start(&commands, &serve->commands, reterr);
}

enum err serve_run(const struct settings *settings, struct error *reterr)
{
    struct serve serve;
    serve_init(&serve, settings);
    sigset_t signals;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGHUP);
    /* Before any thread starts, so that none of them is interrupted. */
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* a recording over a limit of the process ends its session */
    enum err err = serve_start_commands(&serve, reterr);
    err = err == ERR_NONE ? serve_open(&serve, reterr) : err;
    if (err == ERR_NONE) {
        memory_start((int)serve.worker_count);
        serve_make_server(&serve);
        err = serve_make_clients(&serve, reterr);
    }
    if (err == ERR_NONE) {
        err = serve_start_workers(&serve, reterr);
        if (err == ERR_NONE) {
            descriptors_start();
            serve_greet(&serve);
            serve_wait(&serve, &signals);
            serve_stop(&serve);
        }
    }
    serve_close(&serve);
    return err;
}

enum err serve_check(const struct settings *settings, const char *folder, struct error *reterr)
{
    struct serve serve;
    serve_init(&serve, settings);
    serve.is_trial = true;
    enum err err = serve_open(&serve, reterr);
    if (err == ERR_NONE) {
        (void)printf("data folder  %s\n", folder);
        (void)printf("store        answers, its tables can be brought up to date\n");
        (void)printf("listen       %s, %zu workers\n", settings_text(settings, SETTING_LISTEN),
                     serve.worker_count);
        (void)printf("tls          %s\n", serve.tls != NULL ? "on" : "off");
        (void)printf("seccomp      %s\n", serve.sandbox.has_filter ? "on" : "off");
        (void)printf("landlock     %s (version %d)\n",
                     serve.sandbox.landlock_version > 0 ? "on" : "off",
                     serve.sandbox.landlock_version);
        (void)printf("it would start\n");
    }
    serve_close(&serve);
    return err;
}
