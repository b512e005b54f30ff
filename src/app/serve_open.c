/* SPDX-License-Identifier: MIT */
#include "app/mail_settings.h"
#include "app/serve_internal.h"
#include "base/limits.h"
#include "base/memory.h"
#include "io/fetch.h"
#include "io/kept_sockets.h"
#include "io/log.h"
#include "store/organization_store.h"
#include "store/service_account_store.h"
#include "target/secret_source.h"
#include "wire/address.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_KEPT_FD 3 /* SD_LISTEN_FDS_START */

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

const char *serve_store_file(const struct serve *serve)
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
    } else if (is_new && !serve->is_trial) {
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
    settings.is_trial = serve->is_trial && file == NULL;
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
        .trusts_email = settings_is(settings, SETTING_OIDC_TRUST_EMAIL, "on"),
    };
}

/* Once: see the migration that began to keep issuers. */
static enum err serve_bind_service_accounts(struct serve *serve, struct error *reterr)
{
    struct slice issuer = SLICE_NONE;
    enum err err = identity_issuer_in(&serve->arena, serve->identity, &issuer, reterr);
    return err == ERR_NONE ? service_account_store_bind(serve->store, issuer, reterr) : err;
}

static enum err serve_open_identity(struct serve *serve, struct error *reterr)
{
    const struct settings *settings = serve->settings;
    if (serve->is_trial && serve_store_file(serve) == NULL) {
        return ERR_NONE; /* its tables may not be there */
    }
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
    if (err == ERR_NONE) {
        err = serve_bind_service_accounts(serve, reterr);
    }
    return err == ERR_NONE ? store_read(serve->store, serve_ask_for_users, serve, reterr) : err;
}

static enum err serve_open_sockets(struct serve *serve, struct error *reterr)
{
    const char *folder = settings_text(serve->settings, SETTING_DATA_DIR);
    struct slice address = slice_of_text(settings_text(serve->settings, SETTING_LISTEN));
    serve->worker_count = settings_number(serve->settings, SETTING_WORKERS);
    serve->busy_wait_us = settings_busy_wait_us(serve->settings);
    if (serve->worker_count == 0) {
        long processors = sysconf(_SC_NPROCESSORS_ONLN);
        serve->worker_count = processors < 1 ? 1 : (size_t)processors;
    }
    if (serve->worker_count > LIMIT_WORKER_COUNT) {
        serve->worker_count = LIMIT_WORKER_COUNT;
    }
    struct kept_sockets kept;
    enum err err =
        kept_sockets_read(getenv("LISTEN_PID"), getenv("LISTEN_FDS"), FIRST_KEPT_FD, &kept, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    err = kept_sockets_open(&kept, address, serve->worker_count, serve->listen_fds, reterr);
    if (err != ERR_NONE) {
        error_prefix(reterr,
                     arena_format(&serve->arena, "--listen: %.*s: ", SLICE_ARG(address)).at);
        return err;
    }
    serve->port = listener_port(serve->listen_fds[0]);
    serve->clients.worker_count = serve->worker_count;
    err =
        native_clients_open_sockets(&serve->clients, &serve->arena, serve->settings, &kept, reterr);
    if (err == ERR_NONE) {
        err = kept_sockets_check(&kept, reterr);
    }
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
    bool is_loopback = address_is_loopback_host(
        slice_starts_with(host, SLICE("[")) ? slice_sub(host, 1, host.len - 2) : host);
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
    size_t count = secret_source_files_in(&serve->arena, paths.replaced);
    paths.replaced[count++] = serve->settings->key_file;
    if (serve->tls != NULL) {
        paths.replaced[count++] = settings_text(serve->settings, SETTING_TLS_CERT);
        paths.replaced[count++] = settings_text(serve->settings, SETTING_TLS_KEY);
    }
    if (serve->mail.issuers != NULL) {
        paths.replaced[count++] = serve->mail.issuers;
    }
    if (!settings_is(serve->settings, SETTING_NODE_CA_FILE, "")) {
        paths.replaced[count++] = settings_text(serve->settings, SETTING_NODE_CA_FILE);
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

enum err serve_open(struct serve *serve, struct error *reterr)
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
        err = mail_settings_read_in(&serve->arena, settings, &serve->mail, reterr);
    }
    if (err == ERR_NONE) {
        err = serve_open_folder(serve, reterr);
    }
    if (err == ERR_NONE) {
        err = native_clients_load_tls(settings, HTTP_PROTOCOLS, &serve->tls, reterr);
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

void serve_init(struct serve *serve, const struct settings *settings)
{
    *serve =
        (struct serve){.settings = settings, .lock_fd = -1, .store_lock_fd = -1, .control_fd = -1};
    arena_init(&serve->arena);
}

void serve_close(struct serve *serve)
{
    commands_free(serve->commands);
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
