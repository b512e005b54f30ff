/* SPDX-License-Identifier: MIT */
#include "app/serve.h"

#include "api/api.h"
#include "api/openapi.h"
#include "api/rate_limit.h"
#include "api/routes.h"
#include "app/doors.h"
#include "app/greeting.h"
#include "app/version.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "codec/base64.h"
#include "console/console.h"
#include "io/fault.h"
#include "io/fetch.h"
#include "io/log.h"
#include "io/sandbox.h"
#include "store/organization_store.h"
#include "store/row_id.h"
#include "store/seal.h"
#include "tunnel/gateway_side.h"
#include "tunnel/presence.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define SETUP_CODE_RANDOM_SIZE 15

/* Sign-ins a second, and at once; an address may be that of a whole office. */
#define ADDRESS_RATE  60
#define ADDRESS_BURST 200
#define ACCOUNT_RATE  2
#define ACCOUNT_BURST 60

struct serve {
    const struct settings *settings;
    struct arena arena;
    int lock_fd;
    int store_lock_fd;
    struct seal_keys *keys;
    struct store *store;
    struct identity *identity;
    bool has_users;
    struct tls_server *tls;
    struct fault fault;
    bool has_fault;
    size_t worker_count;
    int listen_fds[LIMIT_WORKER_COUNT];
    int control_fd;
    unsigned port;
    struct sandbox_state sandbox;
    struct slice local_url;
    struct slice public_url;
    bool knows_public_url;
    struct pool *pool;
    struct pool *slow_pool;
    struct pool *hashing;
    struct rate_limit *address_rate;
    struct rate_limit *account_rate;
    struct registry *registry;
    struct gateway_side *gateway_side;
    struct presence *presence;
    struct router *router;
    struct http_server server;
    struct api api;
    struct worker *workers[LIMIT_WORKER_COUNT];
    struct http_worker *https[LIMIT_WORKER_COUNT];
    struct doors doors;
};

/* Opening -------------------------------------------------------------------------------------- */

static enum err serve_lock(const char *path, int *ret_fd, struct error *reterr)
{
    *ret_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (*ret_fd < 0) {
        return fail(reterr, ERR_IO, "cannot write '%s': %s", path, strerror(errno));
    }
    return flock(*ret_fd, LOCK_EX | LOCK_NB) == 0 ? ERR_NONE : ERR_BUSY;
}

/* The folder is ours alone; the lock in it tells two gateways apart that were given the same one.
 */
static enum err serve_open_folder(struct serve *serve, struct error *reterr)
{
    const char *folder = settings_text(serve->settings, SETTING_DATA_DIR);
    (void)umask(0077);
    if (mkdir(folder, 0700) != 0 && errno != EEXIST) {
        return fail(reterr, ERR_IO, "--data-dir: cannot make '%s': %s", folder, strerror(errno));
    }
    const char *path = arena_format(&serve->arena, "%s/lock", folder).at;
    enum err err = serve_lock(path, &serve->lock_fd, reterr);
    if (err == ERR_BUSY) {
        return fail(reterr, err, "--data-dir: another gateway uses '%s'", folder);
    }
    if (err != ERR_NONE) {
        error_prefix(reterr, "--data-dir: ");
    }
    return err;
}

/* The path of the embedded store, or NULL when it is a server. */
static const char *serve_store_file(const struct serve *serve)
{
    const char *url = serve->settings->store_url;
    return slice_starts_with(slice_of_text(url), SLICE("sqlite:")) ? url + strlen("sqlite:") : NULL;
}

/* A new key is worth a line: without its file the secrets in the store are lost. */
static enum err serve_open_keys(struct serve *serve, struct error *reterr)
{
    const char *path = serve->settings->key_file;
    bool is_new = false;
    enum err err = seal_keys_open(path, &serve->keys, &is_new, reterr);
    if (err != ERR_NONE) {
        error_prefix(reterr, "--master-key-file: ");
    } else if (is_new) {
        log_line(LOG_APP, LOG_INFO, "a new master key was made: keep a copy of this file apart",
                 log_text("file", slice_of_text(path)));
    }
    return err;
}

/* A gateway remembers what it read of its embedded store: no other may write to it. */
static enum err serve_lock_store(struct serve *serve, const char *file, struct error *reterr)
{
    const char *path = arena_format(&serve->arena, "%s.lock", file).at;
    enum err err = serve_lock(path, &serve->store_lock_fd, reterr);
    if (err == ERR_BUSY) {
        return fail(reterr, err, "--database-url: another gateway uses '%s'", file);
    }
    if (err != ERR_NONE) {
        error_prefix(reterr, "--database-url: ");
    }
    return err;
}

static enum err serve_open_store(struct serve *serve, struct error *reterr)
{
    struct store_settings settings = {
        .url = serve->settings->store_url,
        .connection_count_max = settings_number(serve->settings, SETTING_POOL_THREADS),
        .wait_ms_max = LIMIT_STORE_WAIT_MS,
    };
    const char *file = serve_store_file(serve);
    if (file != NULL && strrchr(file, '/') == file) {
        return fail(reterr, ERR_INPUT,
                    "--database-url: '%s': put the store into a folder, which becomes writable",
                    file);
    }
    enum err err = file == NULL ? ERR_NONE : serve_lock_store(serve, file, reterr);
    if (err == ERR_NONE) {
        err = serve_open_keys(serve, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    settings.keys = serve->keys;
    err = store_open(&settings, &serve->store, reterr);
    if (err != ERR_NONE) {
        error_prefix(reterr, "--database-url: ");
    }
    return err;
}

static enum err serve_ask_for_users(struct store_tx *tx, void *context, struct error *reterr)
{
    struct serve *serve = context;
    return organization_store_has_users(tx, SLICE("default"), &serve->has_users, reterr);
}

static struct provider_settings serve_provider(const struct settings *settings)
{
    return (struct provider_settings){
        .issuer_url = slice_of_text(settings_text(settings, SETTING_OIDC_ISSUER)),
        .client_id = slice_of_text(settings_text(settings, SETTING_OIDC_CLIENT_ID)),
        .client_secret = slice_of_text(settings_text(settings, SETTING_OIDC_CLIENT_SECRET)),
        .scopes = slice_of_text(settings_text(settings, SETTING_OIDC_SCOPES)),
        .audience = slice_of_text(settings_text(settings, SETTING_OIDC_AUDIENCE)),
        .groups_claim = slice_of_text(settings_text(settings, SETTING_OIDC_GROUPS_CLAIM)),
    };
}

static enum err serve_open_identity(struct serve *serve, struct error *reterr)
{
    const struct settings *settings = serve->settings;
    bool is_public = !settings_is(settings, SETTING_PUBLIC_URL, "");
    const struct identity_settings identity = {
        .store = serve->store,
        .issuer = is_public ? settings_text(settings, SETTING_PUBLIC_URL) : "gatehouse",
        .admin_group = settings_text(settings, SETTING_ADMIN_GROUP),
        .auditor_group = settings_text(settings, SETTING_AUDITOR_GROUP),
        .provider = serve_provider(settings),
    };
    enum err err = identity_new(&identity, &serve->identity, reterr);
    if (err == ERR_INTERNAL) {
        error_prefix(reterr, "--master-key-file: ");
    } else if (err == ERR_INPUT) {
        error_prefix(reterr, "--oidc-issuer: ");
    }
    return err == ERR_NONE ? store_read(serve->store, serve_ask_for_users, serve, reterr) : err;
}

static enum err serve_load_tls(const struct settings *settings, struct tls_server **ret_tls,
                               struct error *reterr)
{
    *ret_tls = NULL;
    if (settings_is(settings, SETTING_TLS_CERT, "")) {
        return ERR_NONE;
    }
    enum err err = tls_server_new(settings_text(settings, SETTING_TLS_CERT),
                                  settings_text(settings, SETTING_TLS_KEY), SLICE("h2,http/1.1"),
                                  ret_tls, reterr);
    if (err == ERR_NONE && tls_server_warning(*ret_tls).len > 0) {
        log_line(LOG_APP, LOG_WARN, "the certificate is not good",
                 log_text("cause", tls_server_warning(*ret_tls)));
    }
    return err;
}

static enum err serve_open_sockets(struct serve *serve, struct error *reterr)
{
    const char *folder = settings_text(serve->settings, SETTING_DATA_DIR);
    struct slice address = slice_of_text(settings_text(serve->settings, SETTING_LISTEN));
    serve->worker_count = settings_number(serve->settings, SETTING_WORKERS);
    if (serve->worker_count == 0) {
        long processors = sysconf(_SC_NPROCESSORS_ONLN);
        serve->worker_count = processors < 1 ? 1 : (size_t)processors;
    }
    if (serve->worker_count > LIMIT_WORKER_COUNT) {
        serve->worker_count = LIMIT_WORKER_COUNT;
    }
    enum err err = listener_open_sockets(address, serve->worker_count, serve->listen_fds, reterr);
    if (err != ERR_NONE) {
        error_prefix(reterr,
                     arena_format(&serve->arena, "--listen: %.*s: ", SLICE_ARG(address)).at);
        return err;
    }
    serve->port = listener_port(serve->listen_fds[0]);
    err = doors_open_sockets(&serve->doors, &serve->arena, serve->settings, serve->worker_count,
                             reterr);
    if (err != ERR_NONE) {
        return err;
    }
    return listener_open_unix(arena_format(&serve->arena, "%s/control.sock", folder).at,
                              &serve->control_fd, reterr);
}

/* How this machine reaches the gateway, and how people do, as far as it knows. */
static enum err serve_find_urls(struct serve *serve, struct error *reterr)
{
    const struct settings *settings = serve->settings;
    struct slice given = slice_of_text(settings_text(settings, SETTING_PUBLIC_URL));
    struct slice listen = slice_of_text(settings_text(settings, SETTING_LISTEN));
    struct slice host = slice_sub(listen, 0, (size_t)(strrchr(listen.at, ':') - listen.at));
    bool is_any =
        host.len == 0 || slice_equals(host, SLICE("0.0.0.0")) || slice_equals(host, SLICE("[::]"));
    bool is_loopback = slice_starts_with(host, SLICE("127.")) ||
                       slice_equals(host, SLICE("[::1]")) || slice_equals(host, SLICE("localhost"));
    serve->local_url =
        arena_format(&serve->arena, "%s://%.*s:%u", serve->tls != NULL ? "https" : "http",
                     SLICE_ARG(is_any ? SLICE("127.0.0.1") : host), serve->port);
    serve->public_url = serve->local_url;
    if (given.len > 0) {
        serve->public_url =
            slice_ends_with(given, SLICE("/")) ? slice_sub(given, 0, given.len - 1) : given;
    }
    serve->knows_public_url = given.len > 0 || is_loopback;
    return serve->knows_public_url || settings_is(settings, SETTING_OIDC_ISSUER, "")
               ? ERR_NONE
               : fail(reterr, ERR_INPUT,
                      "--public-url is needed with --oidc-issuer: the provider sends people back "
                      "to it");
}

/* As many connections as the machine allows, not as many as a shell starts with. */
static void serve_raise_limits(void)
{
    struct rlimit files = {0};
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
}

static enum err serve_confine(struct serve *serve, struct error *reterr)
{
    if (settings_is(serve->settings, SETTING_SANDBOX, "off")) {
        log_line(LOG_APP, LOG_WARN, "the sandbox is off",
                 log_text("setting", SLICE("--sandbox off")));
        return ERR_NONE;
    }
    struct sandbox_settings paths = {
        .writable = {settings_text(serve->settings, SETTING_DATA_DIR)},
    };
    const char *file = serve_store_file(serve);
    if (file != NULL) {
        const char *slash = strrchr(file, '/');
        paths.writable[1] =
            slash == NULL ? "." : arena_text(&serve->arena, slice_of(file, (size_t)(slash - file)));
    }
    paths.replaced[0] = serve->settings->key_file;
    if (serve->tls != NULL) {
        paths.replaced[1] = settings_text(serve->settings, SETTING_TLS_CERT);
        paths.replaced[2] = settings_text(serve->settings, SETTING_TLS_KEY);
    }
    enum err err = sandbox_start(&paths, &serve->sandbox, reterr);
    if (err != ERR_NONE) {
        error_prefix(reterr, "--sandbox: ");
    }
    return err;
}

static void serve_warn(const struct settings *settings)
{
    for (size_t i = 0; i < settings->warning_count; i++) {
        log_line(LOG_APP, LOG_WARN, "no setting has the name of this variable",
                 log_text("variable", slice_of_text(settings->warnings[i])));
    }
}

static enum err serve_open(struct serve *serve, struct error *reterr)
{
    const struct settings *settings = serve->settings;
    log_start(STDERR_FILENO, settings_is(settings, SETTING_LOG_FORMAT, "json") ? LOG_FORMAT_JSON
                                                                               : LOG_FORMAT_TEXT);
    struct slice levels = slice_of_text(settings_text(settings, SETTING_LOG_LEVEL));
    enum err err = log_set_levels(levels, reterr);
    serve_warn(settings);
    if (err == ERR_NONE && !settings_is(settings, SETTING_FAULT_SWITCH, "")) {
        serve->has_fault = true;
        err = fault_parse(slice_of_text(settings_text(settings, SETTING_FAULT_SWITCH)),
                          &serve->fault, reterr);
    }
    if (err == ERR_NONE) {
        err = serve_open_folder(serve, reterr);
    }
    if (err == ERR_NONE) {
        err = serve_load_tls(settings, &serve->tls, reterr);
    }
    if (err == ERR_NONE) {
        err = serve_open_store(serve, reterr);
    }
    if (err == ERR_NONE) {
        err = serve_open_identity(serve, reterr);
    }
    if (err == ERR_NONE) {
        err = serve_open_sockets(serve, reterr);
    }
    if (err == ERR_NONE) {
        err = serve_find_urls(serve, reterr);
    }
    fetch_start();
    serve_raise_limits();
    return err == ERR_NONE ? serve_confine(serve, reterr) : err;
}

static void serve_init(struct serve *serve, const struct settings *settings)
{
    *serve =
        (struct serve){.settings = settings, .lock_fd = -1, .store_lock_fd = -1, .control_fd = -1};
    arena_init(&serve->arena);
}

static void serve_close(struct serve *serve)
{
    identity_free(serve->identity);
    store_close(serve->store);
    seal_keys_close(serve->keys);
    tls_server_unref(serve->tls);
    if (serve->store_lock_fd >= 0) {
        (void)close(serve->store_lock_fd);
    }
    if (serve->lock_fd >= 0) {
        (void)close(serve->lock_fd);
    }
    arena_release(&serve->arena);
}

/* Running -------------------------------------------------------------------------------------- */

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

static void serve_make_tunnel(struct serve *serve)
{
    serve->registry = registry_new();
    serve->gateway_side = gateway_side_new(&(struct gateway_side_settings){
        .registry = serve->registry,
        .version = GATEHOUSE_VERSION,
        .node_id = row_id_new(&serve->arena),
        .node_url = serve->public_url,
        .deadlines = LINK_DEADLINES,
    });
}

static void serve_make_server(struct serve *serve)
{
    serve_make_tunnel(serve);
    serve->router = router_new(api_http_routes_in(&serve->arena), api_route_count);
    serve->pool =
        pool_new(settings_number(serve->settings, SETTING_POOL_THREADS), LIMIT_POOL_QUEUE_COUNT);
    serve->slow_pool = pool_new(LIMIT_SLOW_POOL_THREADS, LIMIT_SLOW_POOL_QUEUE_COUNT);
    serve->hashing = pool_new_background(serve->worker_count < 2 ? 1 : serve->worker_count / 2,
                                         LIMIT_SLOW_POOL_QUEUE_COUNT);
    serve->address_rate = rate_limit_new(ADDRESS_RATE, ADDRESS_BURST);
    serve->account_rate = rate_limit_new(ACCOUNT_RATE, ACCOUNT_BURST);
    serve->server = (struct http_server){
        .router = serve->router,
        .on_other_path = console_answer,
        .pool = serve->pool,
        .slow_pool = serve->slow_pool,
        .context = &serve->api,
        .metrics_for_anyone = settings_is(serve->settings, SETTING_METRICS_ACCESS, "anyone"),
        .connection_count_max = LIMIT_HTTP_CONNECTIONS,
        .deadlines = HTTP_DEADLINES,
    };
    serve_read_edge(serve->settings, &serve->server);
    serve->api = (struct api){
        .store = serve->store,
        .identity = serve->identity,
        .pool = serve->pool,
        .router = serve->router,
        .workers = serve->https,
        .worker_count = serve->worker_count,
        .version = GATEHOUSE_VERSION,
        .address_rate = serve->address_rate,
        .account_rate = serve->account_rate,
        .hashing = serve->hashing,
        .public_url = serve->public_url,
        .knows_public_url = serve->knows_public_url,
        .takes_passwords = settings_is(serve->settings, SETTING_LOCAL_AUTH, "on"),
        .setup_code = serve_make_setup_code(serve),
        .description = openapi_make_in(&serve->arena),
        .uses_tls = serve->tls != NULL,
        .registry = serve->registry,
        .gateway_side = serve->gateway_side,
    };
    doors_name(&serve->doors, serve->settings, serve->public_url);
    serve->api.postgres_host = serve->doors.postgres_host;
    serve->api.postgres_port = serve->doors.postgres_port;
}

static enum err serve_make_doors(struct serve *serve, struct error *reterr)
{
    struct gate_settings gate = {
        .store = serve->store,
        .identity = serve->identity,
        .pool = serve->pool,
        .slow_pool = serve->slow_pool,
        .registry = serve->registry,
        .keys = serve->keys,
    };
    enum err err = doors_make(&serve->doors, &serve->arena, serve->settings, &gate, reterr);
    serve->api.gate = serve->doors.gate;
    return err;
}

static enum err serve_start_workers(struct serve *serve, struct error *reterr)
{
    for (size_t i = 0; i < serve->worker_count; i++) {
        serve->workers[i] = worker_new(i, serve->has_fault ? &serve->fault : NULL);
        serve->https[i] = http_worker_new(&serve->server, serve->workers[i], serve->listen_fds[i],
                                          i == 0 ? serve->control_fd : -1, serve->tls);
        doors_start(&serve->doors, i, serve->workers[i], serve->tls);
    }
    if (presence_start(serve->store, serve->registry, &serve->presence) != ERR_NONE) {
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
    greeting_print(&(struct greeting){
        .local_url = serve->local_url,
        .public_url = serve->public_url,
        .data_dir = settings_text(serve->settings, SETTING_DATA_DIR),
        .setup_code = serve->api.setup_code,
    });
    log_line(LOG_APP, LOG_INFO, "listening",
             log_text("address", slice_of_text(settings_text(serve->settings, SETTING_LISTEN))),
             log_number("port", serve->port),
             log_number("postgres_port", serve->doors.postgres_port),
             log_number("workers", (int64_t)serve->worker_count),
             log_number("landlock", serve->sandbox.landlock_version),
             log_number("seccomp", serve->sandbox.has_filter ? 1 : 0));
}

static void serve_reload(struct serve *serve)
{
    struct tls_server *tls = NULL;
    struct error error = {0};
    if (serve_load_tls(serve->settings, &tls, &error) != ERR_NONE) {
        log_line(LOG_APP, LOG_ERROR, "the old certificate stays in use", log_error_field(&error));
        return;
    }
    if (tls == NULL) {
        return;
    }
    for (size_t i = 0; i < serve->worker_count; i++) {
        http_worker_set_tls(serve->https[i], tls);
    }
    doors_set_tls(&serve->doors, tls);
    tls_server_unref(serve->tls);
    serve->tls = tls;
    log_line(LOG_APP, LOG_INFO, "the certificate was read again",
             log_text("file", slice_of_text(settings_text(serve->settings, SETTING_TLS_CERT))));
}

static void serve_stop(struct serve *serve)
{
    uint64_t seconds = settings_number(serve->settings, SETTING_SHUTDOWN_SECONDS);
    log_line(LOG_APP, LOG_INFO, "stopping", log_number("seconds_at_most", (int64_t)seconds));
    fetch_stop_after(seconds * 1000);
    for (size_t i = 0; i < serve->worker_count; i++) {
        http_worker_drain(serve->https[i], seconds * 1000);
    }
    doors_drain(&serve->doors, seconds * 1000);
    for (size_t i = 0; i < serve->worker_count; i++) {
        worker_join(serve->workers[i]);
    }
    pool_free(serve->pool);
    pool_free(serve->slow_pool);
    pool_free(serve->hashing);
    doors_stop(&serve->doors);
    presence_stop(serve->presence);
    for (size_t i = 0; i < serve->worker_count; i++) {
        worker_free(serve->workers[i]);
        http_worker_free(serve->https[i]);
    }
    doors_free(&serve->doors);
    gateway_side_free(serve->gateway_side);
    registry_free(serve->registry);
    rate_limit_free(serve->address_rate);
    rate_limit_free(serve->account_rate);
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
    enum err err = serve_open(&serve, reterr);
    if (err == ERR_NONE) {
        serve_make_server(&serve);
        err = serve_make_doors(&serve, reterr);
    }
    if (err == ERR_NONE) {
        err = serve_start_workers(&serve, reterr);
        if (err == ERR_NONE) {
            serve_greet(&serve);
            serve_wait(&serve, &signals);
            serve_stop(&serve);
        }
    }
    serve_close(&serve);
    return err;
}

enum err serve_check(const struct settings *settings, struct error *reterr)
{
    struct serve serve;
    serve_init(&serve, settings);
    enum err err = serve_open(&serve, reterr);
    if (err == ERR_NONE) {
        (void)printf("data folder  %s\n", settings_text(settings, SETTING_DATA_DIR));
        (void)printf("store        answers, its tables are up to date\n");
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
