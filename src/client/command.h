/* SPDX-License-Identifier: MIT */
/* The commands for people in one table: what is typed, what --help and the man page say, and what
 * is run. Each takes its options from one list of options. */
#ifndef GH_CLIENT_COMMAND_H
#define GH_CLIENT_COMMAND_H

#include "base/arena.h"
#include "base/error.h"
#include "client/client.h"

#include <stdint.h>
#include <stdio.h>

/* Exit codes, beside 0 for good. */
#define CLIENT_EXIT_FAILED      1
#define CLIENT_EXIT_USAGE       2
#define CLIENT_EXIT_BLOCKED     3
#define CLIENT_EXIT_REVIEW      4
#define CLIENT_EXIT_NO_ACCESS   5
#define CLIENT_EXIT_UNREACHABLE 6

enum client_option {
    CLIENT_CONTEXT,
    CLIENT_CA_FILE,
    CLIENT_OUTPUT,
    CLIENT_TOKEN_STDIN,
    CLIENT_DEVICE,
    CLIENT_EVERYWHERE,
    CLIENT_TYPE,
    CLIENT_TAG,
    CLIENT_SHOW_URL,
    CLIENT_SHOW_JDBC,
    CLIENT_SHOW_DSN,
    CLIENT_SHOW_ENV,
    CLIENT_SHOW_PSQL,
    CLIENT_SHOW_MARIADB,
    CLIENT_SHOW_SSH,
    CLIENT_SHOW_SSH_CONFIG,
    CLIENT_DURATION,
    CLIENT_REPLACE,
    CLIENT_FILE,
    CLIENT_SCRIPT,
    CLIENT_METADATA,
    CLIENT_REASON,
    CLIENT_PARAM,
    CLIENT_TIMEOUT,
    CLIENT_PORT,
    CLIENT_FROM,
    CLIENT_PLAN,
    CLIENT_PRUNE,
    CLIENT_SECRETS,
    CLIENT_CONNECTION,
    CLIENT_LIMIT,
    CLIENT_FORMAT,
    CLIENT_OPTION_COUNT
};

#define CLIENT_TAKES(option) (UINT64_C(1) << (option))
/* Of each command that asks a gateway. */
#define CLIENT_TAKES_GATEWAY (CLIENT_TAKES(CLIENT_CONTEXT) | CLIENT_TAKES(CLIENT_CA_FILE))
#define CLIENT_WORDS_MAX     64 /* of a command that takes several */
#define CLIENT_VALUES_MAX    20 /* of an option that may come several times */

struct client_option_row {
    const char *name;           /* without its hyphens */
    char letter;                /* '\0': none */
    const char *value;          /* what it takes; NULL: nothing */
    const char *const *choices; /* of values, ends with NULL; NULL: any */
    bool is_list;               /* may come several times */
    const char *help;
};

extern const struct client_option_row client_options[CLIENT_OPTION_COUNT];

struct client_arguments {
    const char *values[CLIENT_OPTION_COUNT][CLIENT_VALUES_MAX];
    size_t counts[CLIENT_OPTION_COUNT];
    char **words; /* what is no option */
    size_t word_count;
    char **child; /* behind "--", ends with NULL; NULL: there is none */
};

struct client_run {
    struct arena *arena;
    char **environment;
    const struct client_command *command;
    struct client_arguments given;
    struct client client;
    int exit_code; /* of a command that succeeded, or of one that knows better than its error */
};

struct client_command {
    const char *words[2]; /* the second may be NULL */
    const char *form;     /* of its words */
    size_t word_min;
    size_t word_max;
    bool takes_child;
    uint64_t options;
    const char *summary; /* a line */
    const char *about;   /* paragraphs */
    enum err (*run)(struct client_run *run, struct error *reterr);
};

extern const struct client_command client_commands[];
extern const size_t client_command_count;

/* NULL: it is none of these. 'ret_word_count' words of the arguments are its name. */
const struct client_command *client_command_find(char **arguments, size_t *ret_word_count);
/* "sessions list" */
struct slice client_command_name_in(struct arena *arena, const struct client_command *command);

/* ERR_INPUT with what is wrong and the command's form. */
enum err client_arguments_read(struct arena *arena, const struct client_command *command,
                               char **arguments, struct client_arguments *ret_given,
                               struct error *reterr) MUST_USE;
/* NULL: it was not given; of a list the first. */
const char *client_given(const struct client_run *run, enum client_option option);
/* --output json */
bool client_wants_json(const struct client_run *run);
/* 's', 'm', 'h' and 'd' may stand behind the number; seconds without. 'fallback' when not given. */
enum err client_given_seconds(const struct client_run *run, enum client_option option,
                              int64_t fallback, int64_t *ret_seconds,
                              struct error *reterr) MUST_USE;

/* --port; leaves the port when it is not given. */
/* What --metadata and --reason say: an object of text. */
enum err client_given_metadata_in(const struct client_run *run, struct slice *ret_json,
                                  struct error *reterr) MUST_USE;
enum err client_given_port(const struct client_run *run, uint16_t *port, bool *ret_is_given,
                           struct error *reterr) MUST_USE;

/* The page of one command. */
void client_command_print_help(const struct client_command *command, FILE *out);
/* A line for each of them. */
void client_command_print_list(FILE *out, int width);
/* All of them as a man page, section 1. */
void client_command_print_manual(const char *version, FILE *out);

/* Runs it; errors go to standard error on one line. Returns the exit code. */
int client_command_run(const struct client_command *command, char **arguments, char **environment);

/* What the commands are made of ---------------------------------------------------------------- */

/* The context that --context, GATEHOUSE_URL or the file name, and its token. ERR_UNAUTHENTICATED:
 * nobody is signed in there. */
enum err client_open(struct client_run *run, struct error *reterr) MUST_USE;

/* The token of the gateway that was chosen, as it is now. */
enum err client_token_read(struct client_run *run, struct error *reterr) MUST_USE;

enum err client_contexts_read(struct client_run *run, struct client_contexts *ret_contexts,
                              struct error *reterr) MUST_USE;
enum err client_contexts_save(struct client_run *run, const struct client_contexts *contexts,
                              struct error *reterr) MUST_USE;

/* The environment of a program that is started: without our token, with these variables, and
 * without those of them that have no value. */
char **client_child_environment(const struct client_run *run, const struct slice *added,
                                size_t count);

/* The commands. */
#define CLIENT_COMMAND(name) enum err name(struct client_run *run, struct error *reterr)
CLIENT_COMMAND(client_login);
CLIENT_COMMAND(client_logout);
CLIENT_COMMAND(client_status);
CLIENT_COMMAND(client_context_command);
CLIENT_COMMAND(client_list);
CLIENT_COMMAND(client_show);
CLIENT_COMMAND(client_why);
CLIENT_COMMAND(client_exec);
CLIENT_COMMAND(client_connect);
CLIENT_COMMAND(client_up);
CLIENT_COMMAND(client_apply);
CLIENT_COMMAND(client_export);
CLIENT_COMMAND(client_sessions_list);
CLIENT_COMMAND(client_sessions_show);
CLIENT_COMMAND(client_sessions_follow);
CLIENT_COMMAND(client_sessions_kill);
CLIENT_COMMAND(client_sessions_download);
CLIENT_COMMAND(client_sessions_verify);
CLIENT_COMMAND(client_ssh_keys_list);
CLIENT_COMMAND(client_ssh_keys_add);
CLIENT_COMMAND(client_ssh_keys_remove);
CLIENT_COMMAND(client_ssh_keys_sign);
CLIENT_COMMAND(client_ssh_keys_gateway);
CLIENT_COMMAND(client_doctor);
CLIENT_COMMAND(client_completion);

#endif
