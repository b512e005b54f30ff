/* SPDX-License-Identifier: MIT */
/* A command, from its arguments to its exit code; and which gateway it talks to. */
#include "client/command.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "client/files.h"
#include "client/show.h"
#include "codec/json.h"
#include "io/fetch.h"

#include <signal.h>
#include <unistd.h>

enum err client_contexts_read(struct client_run *run, struct client_contexts *ret_contexts,
                              struct error *reterr)
{
    const char *path = NULL;
    struct slice text = SLICE_NONE;
    enum err err = client_contexts_path_in(run->arena, &path, reterr);
    if (err == ERR_NONE) {
        err = client_file_read_in(run->arena, path, &text, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    err = client_contexts_parse_in(run->arena, text, ret_contexts, reterr);
    if (err != ERR_NONE) {
        error_prefix(reterr, arena_format(run->arena, "'%s': ", path).at);
    }
    return err;
}

enum err client_contexts_save(struct client_run *run, const struct client_contexts *contexts,
                              struct error *reterr)
{
    const char *path = NULL;
    enum err err = client_contexts_path_in(run->arena, &path, reterr);
    return err == ERR_NONE
               ? client_file_write(
                     run->arena, path,
                     arena_format(run->arena, "%.*s\n",
                                  SLICE_ARG(client_contexts_write_in(run->arena, contexts))),
                     reterr)
               : err;
}

char **client_child_environment(const struct client_run *run, const struct slice *added,
                                size_t count)
{
    size_t all = 0;
    size_t kept = 0;
    while (run->environment[all] != NULL) {
        all++;
    }
    char **made = arena_alloc_array(run->arena, all + count + 1, sizeof(*made));
    for (size_t i = 0; i < all; i++) {
        struct slice rest = SLICE_NONE;
        struct slice name = slice_cut(slice_of_text(run->environment[i]), '=', &rest);
        bool is_left_out = slice_equals(name, SLICE("GATEHOUSE_TOKEN"));
        for (size_t j = 0; j < count; j++) {
            struct slice value = SLICE_NONE;
            is_left_out = is_left_out || slice_equals(name, slice_cut(added[j], '=', &value));
        }
        if (!is_left_out) {
            made[kept++] = run->environment[i];
        }
    }
    for (size_t j = 0; j < count; j++) {
        if (slice_find_byte(added[j], '=') < added[j].len) {
            made[kept++] = arena_text(run->arena, added[j]);
        }
    }
    return made;
}

static enum err run_choose(struct client_run *run, struct error *reterr)
{
    struct client_contexts contexts = {0};
    const char *given = client_given(run, CLIENT_CONTEXT);
    const char *url = getenv("GATEHOUSE_URL");
    if (given == NULL && url != NULL && url[0] != '\0') {
        run->client.context = (struct client_context){
            .name = SLICE(""), .url = slice_trim(slice_of_text(url), "/"), .ca_file = SLICE("")};
        return client_context_check_url(run->client.context.url, reterr);
    }
    enum err err = client_contexts_read(run, &contexts, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct slice name = given == NULL ? contexts.current : slice_of_text(given);
    const struct client_context *context = client_contexts_find(&contexts, name);
    if (context == NULL) {
        return given == NULL
                   ? fail(reterr, ERR_UNAUTHENTICATED,
                          "no gateway is known here: gatehouse login https://YOUR-GATEWAY")
                   : fail(reterr, ERR_INPUT,
                          "there is no context '%s': 'gatehouse context' lists them", given);
    }
    run->client.context = *context;
    return ERR_NONE;
}

enum err client_token_read(struct client_run *run, struct error *reterr)
{
    const char *given = getenv("GATEHOUSE_TOKEN");
    const char *path = NULL;
    struct slice text = SLICE("");
    if (given != NULL && given[0] != '\0') {
        run->client.has_token_of_env = true;
        run->client.token = arena_copy(run->arena, slice_of_text(given));
        return ERR_NONE;
    }
    enum err err = ERR_NONE;
    if (run->client.context.name.len > 0) { /* a token goes to the gateway that it came from */
        err = client_token_path_in(run->arena, run->client.context.name, &path, reterr);
        err = err == ERR_NONE ? client_file_read_in(run->arena, path, &text, reterr) : err;
    }
    run->client.token = slice_trim(text, " \r\n");
    return err == ERR_NONE && run->client.token.len == 0
               ? fail(reterr, ERR_UNAUTHENTICATED, "you are not signed in: gatehouse login %.*s",
                      SLICE_ARG(run->client.context.url))
               : err;
}

enum err client_open(struct client_run *run, struct error *reterr)
{
    const char *ca_file = client_given(run, CLIENT_CA_FILE);
    enum err err = run_choose(run, reterr);
    if (err == ERR_NONE && ca_file != NULL) {
        run->client.context.ca_file = slice_of_text(ca_file);
    }
    if (err == ERR_NONE) {
        err = client_token_read(run, reterr);
    }
    for (size_t i = 0; i < run->client.token.len && err == ERR_NONE; i++) {
        if (run->client.token.at[i] <= ' ' || run->client.token.at[i] > '~') {
            err = fail(reterr, ERR_INPUT, "the token is none: it has a character that none has");
        }
    }
    return err;
}

/* The end -------------------------------------------------------------------------------------- */

static int run_exit_code(enum err err)
{
    switch (err) {
    case ERR_NONE:
        return 0;
    case ERR_INPUT:
        return CLIENT_EXIT_USAGE;
    case ERR_UNAUTHENTICATED:
    case ERR_DENIED:
    case ERR_NOT_FOUND:
        return CLIENT_EXIT_NO_ACCESS;
    case ERR_UNAVAILABLE:
        return CLIENT_EXIT_UNREACHABLE;
    case ERR_MORE:
    case ERR_AGAIN:
    case ERR_CLOSED:
    case ERR_LIMIT:
    case ERR_CONFLICT:
    case ERR_STALE:
    case ERR_BUSY:
    case ERR_UNSUPPORTED:
    case ERR_TIMEOUT:
    case ERR_IO:
    case ERR_INTERNAL:
        break;
    }
    return CLIENT_EXIT_FAILED;
}

int client_command_run(const struct client_command *command, char **arguments, char **environment)
{
    struct arena arena;
    struct client_run run = {.arena = &arena, .environment = environment, .command = command};
    struct error error = {0};
    arena_init(&arena);
    arena_hold_secrets(&arena);
    run.client = (struct client){.arena = &arena, .signal_fd = -1};
    (void)signal(SIGPIPE, SIG_IGN);
    enum err err = client_arguments_read(&arena, command, arguments, &run.given, &error);
    if (err == ERR_NONE) {
        fetch_start();
        err = command->run(&run, &error);
    }
    bool is_out = fflush(stdout) == 0 && !ferror(stdout);
    if (err == ERR_NONE && !is_out) {
        err = fail(&error, ERR_IO, "standard output takes no more");
    }
    if (err != ERR_NONE) {
        show_problem("%s", error.message);
    }
    if (run.client.signal_fd >= 0) {
        (void)close(run.client.signal_fd);
    }
    int code = run.exit_code != 0 ? run.exit_code : run_exit_code(err);
    arena_release(&arena);
    return code;
}
