/* SPDX-License-Identifier: MIT */
#include "app/doors.h"

#include "codec/url.h"
#include "io/listener.h"
#include "io/log.h"

/* A client that begins with TLS at once must name it. */
#define POSTGRES_PROTOCOLS SLICE("postgresql")

enum err doors_open_sockets(struct doors *doors, struct arena *arena,
                            const struct settings *settings, size_t worker_count,
                            struct error *reterr)
{
    struct slice address = slice_of_text(settings_text(settings, SETTING_POSTGRES_LISTEN));
    doors->worker_count = worker_count;
    if (slice_equals(address, SLICE("off"))) {
        return ERR_NONE;
    }
    enum err err = listener_open_sockets(address, doors->worker_count, doors->postgres_fds, reterr);
    if (err != ERR_NONE) {
        error_prefix(reterr,
                     arena_format(arena, "--postgres-listen: %.*s: ", SLICE_ARG(address)).at);
        return err;
    }
    doors->postgres_port = listener_port(doors->postgres_fds[0]);
    return ERR_NONE;
}

void doors_name(struct doors *doors, const struct settings *settings, struct slice public_url)
{
    struct slice listen = slice_of_text(settings_text(settings, SETTING_POSTGRES_LISTEN));
    struct url url = {.host = SLICE("")};
    if (doors->postgres_port == 0) {
        return;
    }
    const char *colon = strrchr(listen.at, ':');
    struct slice host = slice_trim(slice_sub(listen, 0, (size_t)(colon - listen.at)), "[]");
    bool is_any =
        host.len == 0 || slice_equals(host, SLICE("0.0.0.0")) || slice_equals(host, SLICE("::"));
    if (is_any && url_parse(public_url, &url, NULL) == ERR_NONE) {
        host = url.host;
    }
    doors->postgres_host = host;
}

const char *doors_recordings_in(struct arena *arena, const struct settings *settings)
{
    return arena_format(arena, "%s/recordings", settings_text(settings, SETTING_DATA_DIR)).at;
}

enum err doors_load_tls(const struct settings *settings, struct slice protocols,
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

static enum err doors_open_files(struct doors *doors, struct arena *arena,
                                 const struct settings *settings, struct error *reterr)
{
    const char *folder = settings_text(settings, SETTING_DATA_DIR);
    enum err err = session_files_new(arena_format(arena, "%s/session-files", folder).at,
                                     &doors->files, reterr);
    if (err != ERR_NONE) {
        error_prefix(reterr, "--data-dir: ");
    }
    return err;
}

enum err doors_make(struct doors *doors, struct arena *arena, const struct settings *settings,
                    struct gate_settings *gate, struct error *reterr)
{
    enum err err = doors_open_files(doors, arena, settings, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    doors->resolver = resolver_new(NULL);
    doors->calls = target_calls_new(gate->pool, doors->resolver, doors->files);
    if (doors->postgres_port == 0) {
        return ERR_NONE;
    }
    err = doors_load_tls(settings, POSTGRES_PROTOCOLS, &doors->tls, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    doors->sync = pool_new(LIMIT_RECORDING_SYNC_THREADS, SIZE_MAX);
    gate->sync = doors->sync;
    gate->files = doors->files;
    gate->resolver = doors->resolver;
    gate->recordings = doors_recordings_in(arena, settings);
    gate->recording_days = (int64_t)settings_number(settings, SETTING_RECORDING_DAYS);
    gate->is_strict = settings_is(settings, SETTING_RECORDING, "strict");
    doors->gate = gate_new(gate);
    return gate_recover(doors->gate, reterr);
}

void doors_start(struct doors *doors, size_t index, struct worker *worker)
{
    target_calls_enter(doors->calls, worker);
    if (doors->gate != NULL) {
        doors->workers[index] =
            gate_worker_new(doors->gate, worker, doors->postgres_fds[index], doors->tls);
    }
}

enum err doors_reload_tls(struct doors *doors, const struct settings *settings,
                          struct error *reterr)
{
    struct tls_server *tls = NULL;
    enum err err =
        doors->gate == NULL ? ERR_NONE : doors_load_tls(settings, POSTGRES_PROTOCOLS, &tls, reterr);
    if (err != ERR_NONE || tls == NULL) {
        return err;
    }
    for (size_t i = 0; i < doors->worker_count && doors->gate != NULL; i++) {
        gate_worker_set_tls(doors->workers[i], tls);
    }
    tls_server_unref(doors->tls);
    doors->tls = tls;
    return ERR_NONE;
}

void doors_drain(struct doors *doors, uint64_t deadline_ms)
{
    target_calls_drain(doors->calls, deadline_ms);
    for (size_t i = 0; i < doors->worker_count && doors->gate != NULL; i++) {
        gate_worker_drain(doors->workers[i], deadline_ms);
    }
}

void doors_stop(struct doors *doors)
{
    resolver_free(doors->resolver);
    pool_free(doors->sync);
}

void doors_free(struct doors *doors)
{
    for (size_t i = 0; i < doors->worker_count; i++) {
        gate_worker_free(doors->workers[i]);
    }
    gate_free(doors->gate);
    tls_server_unref(doors->tls);
    target_calls_free(doors->calls);
    session_files_free(doors->files);
}
