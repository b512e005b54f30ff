/* SPDX-License-Identifier: MIT */
#include "app/native_clients.h"

#include "app/protocols.h"
#include "codec/url.h"
#include "io/listener.h"
#include "io/log.h"

/* Listening ------------------------------------------------------------------------------------ */

static enum err native_entrance_open(struct native_clients *clients,
                                     const struct protocol *protocol, struct slice address,
                                     struct kept_sockets *kept, struct error *reterr)
{
    struct native_entrance *entrance = &clients->entrances[clients->entrance_count];
    enum err err = kept_sockets_open(kept, address, clients->worker_count, entrance->fds, reterr);
    if (err == ERR_NONE) {
        entrance->protocol = protocol;
        entrance->address.subtype = protocol->subtype;
        entrance->address.port = listener_port(entrance->fds[0]);
        clients->entrance_count++;
    }
    return err;
}

enum err native_clients_open_sockets(struct native_clients *clients, struct arena *arena,
                                     const struct settings *settings, struct kept_sockets *kept,
                                     struct error *reterr)
{
    for (size_t i = 0; i < gatehouse_protocols.count; i++) {
        const struct protocol *protocol = gatehouse_protocols.items[i];
        enum setting setting = protocol_listen_setting(protocol);
        if (protocol->is_inside) {
            continue;
        }
        struct slice address = slice_of_text(settings_text(settings, setting));
        if (slice_equals(address, SLICE("off"))) {
            continue;
        }
        if (protocol->needs_tls && settings_is(settings, SETTING_TLS_CERT, "")) {
            return fail(reterr, ERR_INPUT, "--%s: clients come with TLS: --tls-cert is missing",
                        setting_flag(setting));
        }
        enum err err = native_entrance_open(clients, protocol, address, kept, reterr);
        if (err != ERR_NONE) {
            error_prefix(
                reterr,
                arena_format(arena, "--%s: %.*s: ", setting_flag(setting), SLICE_ARG(address)).at);
            return err;
        }
    }
    return ERR_NONE;
}

/* Where the gateway listens on every address, people's name for it. */
static struct slice native_entrance_host(struct slice listen, struct slice public_url)
{
    struct url url = {.host = SLICE("")};
    const char *colon = strrchr(listen.at, ':');
    struct slice host = slice_trim(slice_sub(listen, 0, (size_t)(colon - listen.at)), "[]");
    bool is_any =
        host.len == 0 || slice_equals(host, SLICE("0.0.0.0")) || slice_equals(host, SLICE("::"));
    return is_any && url_parse(public_url, &url, NULL) == ERR_NONE ? url.host : host;
}

void native_clients_name(struct native_clients *clients, const struct settings *settings,
                         struct slice public_url)
{
    for (size_t i = 0; i < clients->entrance_count; i++) {
        struct native_entrance *entrance = &clients->entrances[i];
        enum setting setting = protocol_listen_setting(entrance->protocol);
        entrance->address.host =
            native_entrance_host(slice_of_text(settings_text(settings, setting)), public_url);
        entrance->address.needs_tls = protocol_needs_tls(settings, entrance->protocol);
    }
}

void native_clients_log(const struct native_clients *clients)
{
    for (size_t i = 0; i < clients->entrance_count; i++) {
        const struct native_entrance *entrance = &clients->entrances[i];
        char port[64]; /* "postgres_port" */
        (void)snprintf(port, sizeof(port), "%.*s_port", SLICE_ARG(entrance->protocol->subtype));
        log_line(LOG_APP, LOG_INFO, "listening for native clients",
                 log_number(port, entrance->address.port),
                 log_text("host", entrance->address.host));
    }
}

struct native_addresses native_clients_addresses_in(struct arena *arena,
                                                    const struct native_clients *clients)
{
    struct native_addresses all = {.count = clients->entrance_count};
    struct native_address *items = arena_alloc_array(arena, all.count + 1, sizeof(*items));
    for (size_t i = 0; i < all.count; i++) {
        items[i] = clients->entrances[i].address;
    }
    all.items = items;
    return all;
}

const char *native_clients_recordings_in(struct arena *arena, const struct settings *settings)
{
    return arena_format(arena, "%s/recordings", settings_text(settings, SETTING_DATA_DIR)).at;
}

/* TLS ------------------------------------------------------------------------------------------ */

enum err native_clients_load_tls(const struct settings *settings, struct slice protocols,
                                 struct tls_server **ret_tls, struct error *reterr)
{
    *ret_tls = NULL;
    if (settings_is(settings, SETTING_TLS_CERT, "")) {
        return ERR_NONE;
    }
    enum err err =
        tls_server_new(settings_text(settings, SETTING_TLS_CERT),
                       settings_text(settings, SETTING_TLS_KEY), protocols, ret_tls, reterr);
    if (err == ERR_NONE && tls_server_warning(*ret_tls).len > 0) {
        log_line(LOG_APP, LOG_WARN, "the certificate is not good",
                 log_text("cause", tls_server_warning(*ret_tls)), log_text("protocols", protocols));
    }
    return err;
}

/* A client that begins with TLS at once must name its protocol, where that has a name. */
static struct slice native_entrance_alpn(const struct native_entrance *entrance)
{
    return slice_of_text(entrance->protocol->alpn == NULL ? "" : entrance->protocol->alpn);
}

enum err native_clients_reload_tls(struct native_clients *clients, const struct settings *settings,
                                   struct error *reterr)
{
    for (size_t i = 0; i < clients->entrance_count; i++) {
        struct native_entrance *entrance = &clients->entrances[i];
        struct tls_server *tls = NULL;
        enum err err =
            native_clients_load_tls(settings, native_entrance_alpn(entrance), &tls, reterr);
        if (err != ERR_NONE || tls == NULL) {
            return err;
        }
        for (size_t j = 0; j < clients->worker_count; j++) {
            gate_worker_set_tls(clients->workers[j], entrance->protocol, tls);
        }
        tls_server_unref(entrance->tls);
        entrance->tls = tls;
    }
    return ERR_NONE;
}

/* Life ----------------------------------------------------------------------------------------- */

static enum err native_clients_open_files(struct native_clients *clients, struct arena *arena,
                                          const struct settings *settings, struct error *reterr)
{
    const char *folder = settings_text(settings, SETTING_DATA_DIR);
    enum err err = session_files_new(arena_format(arena, "%s/session-files", folder).at,
                                     &clients->files, reterr);
    if (err != ERR_NONE) {
        error_prefix(reterr, "--data-dir: ");
    }
    return err;
}

enum err native_clients_make(struct native_clients *clients, struct arena *arena,
                             const struct settings *settings, struct gate_settings *gate,
                             struct error *reterr)
{
    enum err err = native_clients_open_files(clients, arena, settings, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    clients->resolver = resolver_new(NULL);
    clients->calls =
        target_calls_new(gate->pool, clients->resolver, clients->files, gate->registry);
    if (clients->entrance_count == 0) {
        return ERR_NONE;
    }
    for (size_t i = 0; i < clients->entrance_count && err == ERR_NONE; i++) {
        struct native_entrance *entrance = &clients->entrances[i];
        entrance->needs_tls = protocol_needs_tls(settings, entrance->protocol);
        entrance->greeting = protocol_greeting(settings, entrance->protocol);
        err = native_clients_load_tls(settings, native_entrance_alpn(entrance), &entrance->tls,
                                      reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    clients->sync = pool_new(LIMIT_RECORDING_SYNC_THREADS, SIZE_MAX);
    gate->sync = clients->sync;
    gate->files = clients->files;
    gate->resolver = clients->resolver;
    gate->recordings = native_clients_recordings_in(arena, settings);
    gate->recording_days = (int64_t)settings_number(settings, SETTING_RECORDING_DAYS);
    gate->newcomer_limit = settings_number(settings, SETTING_NEWCOMERS);
    gate->is_strict = settings_is(settings, SETTING_RECORDING, "strict");
    clients->gate = gate_new(gate);
    return gate_recover(clients->gate, reterr);
}

void native_clients_start(struct native_clients *clients, size_t index, struct worker *worker)
{
    target_calls_enter(clients->calls, worker);
    if (clients->gate == NULL) {
        return;
    }
    clients->workers[index] = gate_worker_new(clients->gate, worker);
    for (size_t i = 0; i < clients->entrance_count; i++) {
        const struct native_entrance *entrance = &clients->entrances[i];
        const struct gate_entrance gate = {.protocol = entrance->protocol,
                                           .tls = entrance->tls,
                                           .needs_tls = entrance->needs_tls,
                                           .greeting = entrance->greeting};
        gate_worker_listen(clients->workers[index], &gate, entrance->fds[index]);
    }
}

void native_clients_drain(struct native_clients *clients, uint64_t tell_ms, uint64_t cut_ms)
{
    target_calls_drain(clients->calls, tell_ms);
    for (size_t i = 0; i < clients->worker_count && clients->gate != NULL; i++) {
        gate_worker_drain(clients->workers[i], tell_ms, cut_ms);
    }
}

void native_clients_stop(struct native_clients *clients)
{
    resolver_free(clients->resolver);
    pool_free(clients->sync);
}

void native_clients_free(struct native_clients *clients)
{
    for (size_t i = 0; i < clients->worker_count; i++) {
        gate_worker_free(clients->workers[i]);
    }
    gate_free(clients->gate);
    for (size_t i = 0; i < clients->entrance_count; i++) {
        tls_server_unref(clients->entrances[i].tls);
    }
    target_calls_free(clients->calls);
    session_files_free(clients->files);
}
