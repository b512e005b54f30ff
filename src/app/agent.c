/* SPDX-License-Identifier: MIT */
#include "app/agent.h"

#include "app/agent_files.h"
#include "app/version.h"
#include "base/limits.h"
#include "base/must.h"
#include "codec/url.h"
#include "io/commands.h"
#include "io/fault.h"
#include "io/fetch.h"
#include "io/log.h"
#include "io/sandbox.h"
#include "protocol/secret_cache.h"
#include "target/secret_source.h"
#include "tunnel/agent_side.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/utsname.h>
#include <unistd.h>

struct agent_program {
    const struct settings *settings;
    struct arena arena;
    struct agent_side_settings side_settings;
    struct tls_client *tls;
    struct fault fault;
    bool has_fault;
    uint64_t busy_wait_us;
    struct agent_files files;
    struct sandbox_state sandbox;
    struct resolver *resolver;
    struct pool *pool;
    struct pool *slow_pool;
    struct worker *worker;
    struct secret_cache *sign_ins;
    struct commands *commands; /* NULL: none are run */
    struct agent_side *side;
    struct mail stop_mail;
};

/* What it is told ------------------------------------------------------------------------------ */

/* A token is the URL of the gateway with the agent's name and secret in it, or the secret alone.
 */
static enum err agent_read_token(struct agent_program *program, struct error *reterr)
{
    struct agent_side_settings *side = &program->side_settings;
    struct slice token = slice_of_text(settings_text(program->settings, SETTING_TOKEN));
    struct slice gateway = slice_of_text(settings_text(program->settings, SETTING_GATEWAY));
    struct url url = {0};
    side->secret = token;
    side->gateway_url = gateway;
    if (slice_find(token, SLICE("://")) < token.len) {
        if (url_parse(token, &url, NULL) != ERR_NONE || url.password.len == 0) {
            return fail(reterr, ERR_INPUT, "--token (GATEHOUSE_TOKEN): it is not whole");
        }
        side->secret = url.password;
        side->name = url.user;
        if (gateway.len == 0) {
            side->gateway_url = arena_format(&program->arena, "%.*s://%s%.*s%s:%u",
                                             SLICE_ARG(url.scheme), url.is_ipv6 ? "[" : "",
                                             SLICE_ARG(url.host), url.is_ipv6 ? "]" : "", url.port);
        }
    }
    if (side->gateway_url.len == 0) {
        return fail(reterr, ERR_INPUT,
                    "--gateway (GATEHOUSE_GATEWAY): where the gateway is, as the token does not "
                    "say so");
    }
    side->allows_plain = settings_is(program->settings, SETTING_ALLOW_PLAIN, "on");
    enum err err = agent_side_check_url(side->gateway_url, side->allows_plain, reterr);
    if (err == ERR_DENIED) {
        error_prefix(reterr, "--allow-plain (GATEHOUSE_ALLOW_PLAIN): ");
    } else if (err != ERR_NONE) {
        error_prefix(reterr, "--gateway (GATEHOUSE_GATEWAY): ");
    }
    return err;
}

static enum err agent_open_tls(struct agent_program *program, struct error *reterr)
{
    const char *file = settings_text(program->settings, SETTING_CA_FILE);
    const struct tls_client_settings settings = {
        .verify = TLS_VERIFY_FULL,
        .trusted = {.path = file[0] == '\0' ? NULL : file},
        .protocols = SLICE_INIT("http/1.1"),
    };
    enum err err = tls_client_new(&settings, &program->tls, reterr);
    if (err != ERR_NONE) {
        error_prefix(reterr, "--ca-file (GATEHOUSE_CA_FILE): ");
    }
    program->side_settings.tls = program->tls;
    return err;
}

/* What it says of the machine ------------------------------------------------------------------ */

static struct slice agent_machine_id(struct arena *arena)
{
    char text[64];
    int fd = open("/etc/machine-id", O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? 0 : read(fd, text, sizeof(text));
    if (fd >= 0) {
        (void)close(fd);
    }
    return len > 0 ? arena_copy(arena, slice_trim(slice_of(text, (size_t)len), "\n")) : SLICE_NONE;
}

static struct agent_metadata agent_machine(struct arena *arena)
{
    struct utsname name = {0};
    (void)uname(&name);
    return (struct agent_metadata){
        .hostname = arena_format(arena, "%s", name.nodename),
        .platform = arena_format(arena, "linux/%s", name.machine),
        .machine_id = agent_machine_id(arena),
        .kernel_version = arena_format(arena, "%s", name.release),
        .compiler = slice_of_text(__VERSION__),
    };
}

/* Opening -------------------------------------------------------------------------------------- */

static enum err agent_confine(struct agent_program *program, struct error *reterr)
{
    program->busy_wait_us =
        settings_busy_wait_us(program->settings); /* what it reads is shut off */
    fetch_start();
    if (settings_is(program->settings, SETTING_SANDBOX, "off")) {
        log_line(LOG_APP, LOG_WARN, "the sandbox is off",
                 log_text("setting", SLICE("--sandbox off")));
        return ERR_NONE;
    }
    struct sandbox_settings paths = {.writable = {program->files.folder},
                                     .emptied = {program->files.parent}};
    (void)secret_source_files_in(&program->arena, paths.replaced);
    enum err err = sandbox_start(&paths, &program->sandbox, reterr);
    if (err != ERR_NONE) {
        error_prefix(reterr, "--sandbox: ");
    }
    return err;
}

static enum err agent_open(struct agent_program *program, struct error *reterr)
{
    const struct settings *settings = program->settings;
    bool is_json = settings_is(settings, SETTING_LOG_FORMAT, "json");
    log_start(STDERR_FILENO, is_json ? LOG_FORMAT_JSON : LOG_FORMAT_TEXT);
    struct slice levels = slice_of_text(settings_text(settings, SETTING_LOG_LEVEL));
    enum err err = log_set_levels(levels, reterr);
    for (size_t i = 0; i < settings->warning_count; i++) {
        log_line(LOG_APP, LOG_WARN, "no setting has the name of this variable",
                 log_text("variable", slice_of_text(settings->warnings[i])));
    }
    program->has_fault = !settings_is(settings, SETTING_FAULT_SWITCH, "");
    if (err == ERR_NONE && program->has_fault) {
        err = fault_parse(slice_of_text(settings_text(settings, SETTING_FAULT_SWITCH)),
                          &program->fault, reterr);
    }
    if (err == ERR_NONE) {
        err = agent_read_token(program, reterr);
    }
    if (err == ERR_NONE) {
        err = agent_open_tls(program, reterr);
    }
    if (err == ERR_NONE) {
        const char *folder = settings_text(settings, SETTING_FILES_DIR);
        err = agent_files_open(&program->files, &program->arena, folder, reterr);
    }
    program->side_settings.machine = agent_machine(&program->arena);
    return err == ERR_NONE ? agent_confine(program, reterr) : err;
}

/* Running -------------------------------------------------------------------------------------- */

static void agent_on_drained(void *owner)
{
    struct agent_program *program = owner;
    worker_leave(program->worker);
}

static void agent_on_stop(struct mail *mail)
{
    struct agent_program *program = CONTAINER_OF(mail, struct agent_program, stop_mail);
    uint64_t seconds = settings_number(program->settings, SETTING_SHUTDOWN_SECONDS);
    agent_side_drain(program->side, seconds * 1000, agent_on_drained, program);
}

static enum err agent_start(struct agent_program *program, struct error *reterr)
{
    program->resolver = resolver_new(NULL);
    program->pool =
        pool_new(settings_number(program->settings, SETTING_POOL_THREADS), LIMIT_POOL_QUEUE_COUNT);
    program->slow_pool = pool_new(LIMIT_SLOW_POOL_THREADS, LIMIT_SLOW_POOL_QUEUE_COUNT);
    program->worker = worker_new(0, program->has_fault ? &program->fault : NULL);
    loop_set_patience(worker_loop(program->worker), program->busy_wait_us);
    program->sign_ins = secret_cache_new(worker_loop(program->worker), LIMIT_SIGN_IN_KEYS_IDLE_MS);
    program->side_settings.place = (struct agent_place){.worker = program->worker,
                                                        .resolver = program->resolver,
                                                        .pool = program->pool,
                                                        .slow_pool = program->slow_pool,
                                                        .files = program->files.files,
                                                        .sign_ins = program->sign_ins,
                                                        .commands = program->commands};
    worker_enter(program->worker);
    program->side = agent_side_new(&program->side_settings);
    return worker_start(program->worker) == ERR_NONE
               ? ERR_NONE
               : fail(reterr, ERR_IO, "cannot start a thread: %s", strerror(errno));
}

static void agent_wait(struct agent_program *program, const sigset_t *signals)
{
    int number = 0;
    log_line(LOG_APP, LOG_INFO, "the agent runs",
             log_text("gateway", program->side_settings.gateway_url),
             log_text("agent", program->side_settings.name),
             log_number("landlock", program->sandbox.landlock_version),
             log_number("seccomp", program->sandbox.has_filter ? 1 : 0));
    while (sigwait(signals, &number) == 0 && number == SIGHUP) {
        /* nothing is read again */
    }
    log_line(LOG_APP, LOG_INFO, "stopping");
    fetch_stop_after(settings_number(program->settings, SETTING_SHUTDOWN_SECONDS) * 1000);
    program->stop_mail.deliver = agent_on_stop;
    mailbox_send(worker_mailbox(program->worker), &program->stop_mail);
    worker_join(program->worker);
    pool_free(program->pool);
    pool_free(program->slow_pool);
    resolver_free(program->resolver);
    agent_side_free(program->side);
    secret_cache_free(program->sign_ins);
    worker_free(program->worker);
}

/* Before anything is opened: the helper is not confined, and has nothing to be kept from. */
static enum err agent_start_commands(struct agent_program *program, struct error *reterr)
{
    const char *folder = settings_text(program->settings, SETTING_FILES_DIR);
    const struct commands_settings commands = {
        .hidden = {"/etc/gatehouse", folder[0] == '\0' ? NULL : folder}};
    return settings_is(program->settings, SETTING_COMMANDS, "off")
               ? ERR_NONE
               : commands_start(&commands, &program->commands, reterr);
}

enum err agent_run(const struct settings *settings, const struct agent_kind *kinds,
                   size_t kind_count, struct error *reterr)
{
    struct agent_program program = {
        .settings = settings,
        .side_settings = {.kinds = kinds,
                          .kind_count = kind_count,
                          .version = GATEHOUSE_VERSION,
                          .deadlines = LINK_DEADLINES,
                          .pauses = AGENT_PAUSES},
    };
    sigset_t signals;
    arena_init(&program.arena);
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGHUP);
    /* Before any thread starts, so that none of them is interrupted. */
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    enum err err = agent_start_commands(&program, reterr);
    err = err == ERR_NONE ? agent_open(&program, reterr) : err;
    if (err == ERR_NONE) {
        err = agent_start(&program, reterr);
    }
    if (err == ERR_NONE) {
        agent_wait(&program, &signals);
    }
    commands_free(program.commands);
    agent_files_close(&program.files);
    tls_client_unref(program.tls);
    arena_release(&program.arena);
    return err;
}
