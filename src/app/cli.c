/* SPDX-License-Identifier: MIT */
#include "app/cli.h"

#include "app/agent.h"
#include "app/backup.h"
#include "app/check.h"
#include "app/control.h"
#include "app/guard_trial.h"
#include "app/maintenance.h"
#include "app/protocols.h"
#include "app/recordings.h"
#include "app/serve.h"
#include "app/settings.h"
#include "app/sql_command.h"
#include "app/tcp_command.h"
#include "app/version.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"
#include "client/command.h"
#include "codec/json.h"
#include "codec/json_writer.h"
#include "io/log.h"
#include "protocol/agent_session.h"

#include <unistd.h>

/* Of a command and its arguments; what is longer has a line of its own. */
#define CLI_HELP_WIDTH 42

struct cli {
    struct arena arena;
    char **arguments; /* behind the command's words */
    char **environment;
    const char *data_dir; /* of commands that talk to a running gateway */
};

struct cli_command {
    const char *words[2]; /* the second may be NULL */
    const char *form;
    const char *help;
    enum err (*run)(struct cli *cli, struct error *reterr);
    bool has_settings; /* takes the flags of the settings, or some of its own */
};

static enum err cli_serve(struct cli *cli, struct error *reterr)
{
    struct settings settings;
    enum err err = settings_read(&cli->arena, cli->arguments, cli->environment, &settings, reterr);
    return err == ERR_NONE ? serve_run(&settings, reterr) : err;
}

static enum err cli_check(struct cli *cli, struct error *reterr)
{
    struct settings settings;
    enum err err = settings_read(&cli->arena, cli->arguments, cli->environment, &settings, reterr);
    return err == ERR_NONE ? check_run(&cli->arena, &settings, reterr) : err;
}

static enum err cli_agent(struct cli *cli, struct error *reterr)
{
    struct settings settings;
    enum err err =
        settings_read_agent(&cli->arena, cli->arguments, cli->environment, &settings, reterr);
    struct agent_kinds kinds = agent_session_kinds_in(&cli->arena, &gatehouse_protocols);
    return err == ERR_NONE ? agent_run(&settings, kinds.items, kinds.count, reterr) : err;
}

static enum err cli_maintain(struct cli *cli,
                             enum err (*work)(const struct settings *, struct error *),
                             struct error *reterr)
{
    struct settings settings;
    enum err err = settings_read(&cli->arena, cli->arguments, cli->environment, &settings, reterr);
    return err == ERR_NONE ? work(&settings, reterr) : err;
}

static enum err cli_audit_verify(struct cli *cli, struct error *reterr)
{
    return cli_maintain(cli, maintenance_verify_audit, reterr);
}

static enum err cli_rekey(struct cli *cli, struct error *reterr)
{
    return cli_maintain(cli, maintenance_rekey, reterr);
}

static enum err cli_rekey_drop_old(struct cli *cli, struct error *reterr)
{
    return cli_maintain(cli, maintenance_drop_old_keys, reterr);
}

static enum err cli_backup(struct cli *cli, struct error *reterr)
{
    return backup_make(&cli->arena, cli->arguments, cli->environment, reterr);
}

static enum err cli_restore(struct cli *cli, struct error *reterr)
{
    return backup_restore(&cli->arena, cli->arguments, cli->environment, reterr);
}

static enum err cli_recording_verify(struct cli *cli, struct error *reterr)
{
    return recordings_verify(&cli->arena, cli->arguments, cli->environment, reterr);
}

static enum err cli_recording_show(struct cli *cli, struct error *reterr)
{
    return recordings_show(&cli->arena, cli->arguments, cli->environment, reterr);
}

static enum err cli_recording_export(struct cli *cli, struct error *reterr)
{
    return recordings_export(&cli->arena, cli->arguments, cli->environment, reterr);
}

static enum err cli_sql_analyze(struct cli *cli, struct error *reterr)
{
    return sql_command_analyze(&cli->arena, cli->arguments, stdin, stdout, reterr);
}

static enum err cli_tcp(struct cli *cli, struct error *reterr)
{
    return tcp_command_run(&cli->arena, cli->arguments, cli->environment, reterr);
}

static enum err cli_version(struct cli *cli, struct error *reterr)
{
    (void)cli;
    (void)reterr;
    (void)printf("gatehouse %s\n", GATEHOUSE_VERSION);
    return ERR_NONE;
}

static enum err cli_settings(struct cli *cli, struct error *reterr)
{
    (void)cli;
    (void)reterr;
    settings_print_markdown(stdout);
    return ERR_NONE;
}

static enum err cli_org_list(struct cli *cli, struct error *reterr)
{
    struct slice body = SLICE_NONE;
    struct json document;
    size_t count = 0;
    struct control_request request = {"GET", "/control/organizations", SLICE_NONE};
    enum err err = control_call(&cli->arena, cli->data_dir, &request, &body, reterr);
    if (err == ERR_NONE) {
        err = json_parse_in(&cli->arena, body, &document, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct json data = json_member(&document, "data");
    err = json_as_array(data, &count, reterr);
    for (size_t i = 0; i < count && err == ERR_NONE; i++) {
        struct json organization = json_item(&data, i);
        struct slice id = SLICE_NONE;
        struct slice name = SLICE_NONE;
        err = json_as_text(json_member(&organization, "id"), &id, reterr);
        if (err == ERR_NONE) {
            err = json_as_text(json_member(&organization, "name"), &name, reterr);
        }
        (void)printf("%.*s  %.*s\n", SLICE_ARG(id), SLICE_ARG(name));
    }
    return err;
}

/* {"first": argument, "second": argument}, as many of them as were given. */
static enum err cli_send(struct cli *cli, const struct control_request *request,
                         const char *const *members, struct slice *ret_answer, struct error *reterr)
{
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, 4096);
    struct json_writer json = json_writer_to(&buf);
    json_begin_object(&json);
    for (size_t i = 0; members[i] != NULL && cli->arguments[i] != NULL; i++) {
        json_member_text(&json, members[i], slice_of_text(cli->arguments[i]));
    }
    json_end_object(&json);
    if (json_writer_done(&json) != ERR_NONE) {
        return fail(reterr, ERR_LIMIT, "'%s' is too long", members[0]);
    }
    const struct control_request whole = {request->method, request->path, buf_view(&buf)};
    return control_call(&cli->arena, cli->data_dir, &whole, ret_answer, reterr);
}

static enum err cli_org_create(struct cli *cli, struct error *reterr)
{
    static const char *const members[] = {"name", "admin", NULL};
    const struct control_request request = {"POST", "/control/organizations", SLICE_NONE};
    struct slice body = SLICE_NONE;
    struct slice password = SLICE_NONE;
    struct json document;
    if (cli->arguments[0] == NULL) {
        return fail(reterr, ERR_INPUT, "org create: a NAME is expected");
    }
    enum err err = cli_send(cli, &request, members, &body, reterr);
    if (err == ERR_NONE) {
        err = json_parse_in(&cli->arena, body, &document, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    (void)printf("created organization '%s'\n", cli->arguments[0]);
    if (json_as_text(json_member(&document, "password"), &password, NULL) == ERR_NONE) {
        (void)printf("its admin %s has the password %.*s\n"
                     "which is shown this once: sign in, and change it\n",
                     cli->arguments[1], SLICE_ARG(password));
    } else {
        (void)printf("nobody can sign in to it yet: give the e-mail address of its first admin "
                     "behind the name to make one\n");
    }
    return ERR_NONE;
}

static enum err cli_log_levels(struct cli *cli, struct error *reterr)
{
    struct slice body = SLICE_NONE;
    struct slice levels = SLICE_NONE;
    struct json document;
    struct control_request request = {"GET", "/control/log-levels", SLICE_NONE};
    enum err err = ERR_NONE;
    if (cli->arguments[0] != NULL) {
        static const char *const members[] = {"levels", NULL};
        const struct control_request change = {"PUT", "/control/log-levels", SLICE_NONE};
        err = cli_send(cli, &change, members, &body, reterr);
    }
    if (err == ERR_NONE) {
        err = control_call(&cli->arena, cli->data_dir, &request, &body, reterr);
    }
    if (err == ERR_NONE) {
        err = json_parse_in(&cli->arena, body, &document, reterr);
    }
    if (err == ERR_NONE) {
        err = json_as_text(json_member(&document, "levels"), &levels, reterr);
    }
    if (err == ERR_NONE) {
        (void)printf("%.*s\n", SLICE_ARG(levels));
    }
    return err;
}

static enum err cli_setup_code(struct cli *cli, struct error *reterr)
{
    const struct control_request request = {"GET", "/control/setup-code", SLICE_NONE};
    struct slice body = SLICE_NONE;
    struct slice code = SLICE_NONE;
    struct json document;
    enum err err = control_call(&cli->arena, cli->data_dir, &request, &body, reterr);
    if (err == ERR_NONE) {
        err = json_parse_in(&cli->arena, body, &document, reterr);
    }
    if (err == ERR_NONE) {
        err = json_as_text(json_member(&document, "setup_code"), &code, reterr);
    }
    if (err == ERR_NONE) {
        (void)printf("%.*s\n", SLICE_ARG(code));
    }
    return err;
}

static enum err cli_guard_test(struct cli *cli, struct error *reterr)
{
    return guard_trial_run(&cli->arena, cli->arguments, reterr);
}

static const struct cli_command cli_commands[] = {
    {{"serve", NULL}, "[--SETTING VALUE ...]", "run the gateway", cli_serve, true},
    {{"agent", NULL},
     "--token TOKEN [--SETTING VALUE ...]",
     "run an agent, near the targets, linked to a gateway elsewhere",
     cli_agent,
     true},
    {{"check", NULL},
     "[--SETTING VALUE ...]",
     "say whether it would start, and with what",
     cli_check,
     true},
    {{"setup-code", NULL},
     "[--data-dir FOLDER]",
     "the code with which the first admin registers",
     cli_setup_code,
     false},
    {{"org", "list"},
     "[--data-dir FOLDER]",
     "the organizations of the running gateway",
     cli_org_list,
     false},
    {{"org", "create"},
     "NAME ADMIN-EMAIL [--data-dir FOLDER]",
     "a new organization, and its first admin's password",
     cli_org_create,
     false},
    {{"log-levels", NULL},
     "[LEVELS] [--data-dir FOLDER]",
     "what the running gateway logs; or change it: info,http=debug",
     cli_log_levels,
     false},
    {{"guard", "test"},
     "NAME [--days N] [--rule FILE]",
     "what a guard rail, or a changed one, would have stopped",
     cli_guard_test,
     true},
    {{"audit", "verify"},
     "[--SETTING VALUE ...]",
     "walk the chain of the audit log and name its first break",
     cli_audit_verify,
     true},
    {{"rekey", "drop-old"},
     "[--SETTING VALUE ...]",
     "forget the master keys that nothing needs any more",
     cli_rekey_drop_old,
     true},
    {{"rekey", NULL},
     "[--SETTING VALUE ...]",
     "make a new master key and close every secret with it",
     cli_rekey,
     true},
    {{"backup", NULL},
     "FOLDER [--SETTING VALUE ...]",
     "the store, the master key and the recordings, of a gateway that runs",
     cli_backup,
     true},
    {{"restore", NULL},
     "FOLDER [--SETTING VALUE ...]",
     "the same back into a new data folder, after checking all of it",
     cli_restore,
     true},
    {{"recording", "verify"},
     "FILE|SESSION-ID ... [--SETTING VALUE ...]",
     "check every byte of recordings",
     cli_recording_verify,
     true},
    {{"recording", "show"},
     "FILE|SESSION-ID [--SETTING VALUE ...]",
     "what happened in a session, for people",
     cli_recording_show,
     true},
    {{"recording", "export"},
     "FILE|SESSION-ID --format FORMAT",
     "the same as text, jsonl, csv or asciicast",
     cli_recording_export,
     true},
    {{"sql", "analyze"},
     "[--dialect postgres|mysql] < FILE",
     "what statements would do: a line of JSON for each",
     cli_sql_analyze,
     true},
    {{"tcp", NULL},
     "HOST:PORT CONNECTION [--ca-file FILE]",
     "carry standard input and output to a connection of subtype tcp; GATEHOUSE_SECRET has its "
     "secret",
     cli_tcp,
     true},
    {{"settings", NULL}, "", "all settings, as a page of documentation", cli_settings, false},
    {{"version", NULL}, "", "the version", cli_version, false},
};

static void cli_print_agent_help(FILE *out)
{
    (void)fprintf(out,
                  "gatehouse agent: reaches targets where the gateway cannot, over a link that it "
                  "opens itself\n\n"
                  "  POST /api/agents makes one and shows its token once. Near the targets:\n\n"
                  "    GATEHOUSE_TOKEN=... gatehouse agent\n\n"
                  "  It needs a way to the gateway's address and to its targets, and listens "
                  "nowhere.\n"
                  "  References to secrets are read where it runs: AWS_*, VAULT_ADDR, VAULT_TOKEN\n"
                  "  and the variables that _envjson: names, from its own environment.\n\n"
                  "Settings, also as GATEHOUSE_... in the environment:\n\n");
    settings_print_help(out, SETTINGS_AGENT);
}

static void cli_print_help(FILE *out)
{
    (void)fprintf(out,
                  "gatehouse: an access gateway for databases and servers\n\n"
                  "For people; 'gatehouse COMMAND --help' says more, 'gatehouse help --man' is "
                  "a man page:\n\n");
    client_command_print_list(out, CLI_HELP_WIDTH);
    (void)fprintf(out, "\nFor whoever runs it:\n\n");
    for (size_t i = 0; i < COUNT_OF(cli_commands); i++) {
        const struct cli_command *command = &cli_commands[i];
        char words[80];
        (void)snprintf(words, sizeof(words), "%s%s%s %s", command->words[0],
                       command->words[1] == NULL ? "" : " ",
                       command->words[1] == NULL ? "" : command->words[1], command->form);
        if (strlen(words) > CLI_HELP_WIDTH) {
            (void)fprintf(out, "  gatehouse %s\n            %-*s %s\n", words, CLI_HELP_WIDTH, "",
                          command->help);
        } else {
            (void)fprintf(out, "  gatehouse %-*s %s\n", CLI_HELP_WIDTH, words, command->help);
        }
    }
    (void)fprintf(out, "\nSettings of 'serve' and 'check', also as GATEHOUSE_... in the "
                       "environment:\n\n");
    settings_print_help(out, SETTINGS_SERVE);
    (void)fprintf(out, "\nSettings of 'agent', likewise:\n\n");
    settings_print_help(out, SETTINGS_AGENT);
}

static const struct cli_command *cli_find(char **arguments, size_t *ret_word_count)
{
    for (size_t i = 0; i < COUNT_OF(cli_commands); i++) {
        const struct cli_command *command = &cli_commands[i];
        bool has_two = command->words[1] != NULL;
        if (arguments[0] != NULL && strcmp(arguments[0], command->words[0]) == 0 &&
            (!has_two || (arguments[1] != NULL && strcmp(arguments[1], command->words[1]) == 0))) {
            *ret_word_count = has_two ? 2 : 1;
            return command;
        }
    }
    return NULL;
}

/* Takes --data-dir out of the arguments of a command that has no other flag. */
static enum err cli_take_data_dir(struct cli *cli, struct error *reterr)
{
    const char *from_environment = getenv("GATEHOUSE_DATA_DIR");
    cli->data_dir = from_environment != NULL ? from_environment : "./gatehouse-data";
    size_t kept = 0;
    for (size_t i = 0; cli->arguments[i] != NULL; i++) {
        if (strcmp(cli->arguments[i], "--data-dir") == 0 && cli->arguments[i + 1] != NULL) {
            cli->data_dir = cli->arguments[++i];
        } else if (strncmp(cli->arguments[i], "--data-dir=", strlen("--data-dir=")) == 0) {
            cli->data_dir = cli->arguments[i] + strlen("--data-dir=");
        } else if (strncmp(cli->arguments[i], "--", 2) == 0) {
            return fail(reterr, ERR_INPUT, "'%s': only --data-dir FOLDER is possible here",
                        cli->arguments[i]);
        } else {
            cli->arguments[kept++] = cli->arguments[i];
        }
    }
    cli->arguments[kept] = NULL;
    return ERR_NONE;
}

/* 'help' is a command; behind one it may be somebody's name. */
static bool cli_wants_help(char **arguments)
{
    if (arguments[0] != NULL && strcmp(arguments[0], "help") == 0) {
        return true;
    }
    for (; *arguments != NULL; arguments++) {
        if (strcmp(*arguments, "--help") == 0 || strcmp(*arguments, "-h") == 0) {
            return true;
        }
    }
    return false;
}

/* On one line, whatever was typed. */
static int cli_refuse_command(char **arguments)
{
    struct buf typed CLEANUP(buf_release);
    buf_init(&typed, 256);
    struct writer writer = writer_to(&typed);
    for (size_t i = 0; i < 2 && arguments[i] != NULL; i++) {
        writer_bytes(&writer, i == 0 ? SLICE("no such command: ") : SLICE(" "));
        text_show(&writer, slice_of_text(arguments[i]));
    }
    if (typed.len == 0) {
        writer_bytes(&writer, SLICE("a command is expected"));
    }
    (void)fprintf(stderr, "gatehouse: %.*s; 'gatehouse help' lists the commands\n",
                  SLICE_ARG(buf_view(&typed)));
    return 2;
}

/* What reads the log of a service that logs JSON gets nothing else: not even why it did not start.
 */
static bool cli_logs_json(const struct cli_command *command, const struct cli *cli)
{
    bool is_service = command->run == cli_serve || command->run == cli_agent;
    const char *value = getenv("GATEHOUSE_LOG_FORMAT");
    for (size_t i = 0; is_service && cli->arguments[i] != NULL; i++) {
        if (strncmp(cli->arguments[i], "--log-format=", strlen("--log-format=")) == 0) {
            value = cli->arguments[i] + strlen("--log-format=");
        } else if (strcmp(cli->arguments[i], "--log-format") == 0) {
            value = cli->arguments[i + 1];
        }
    }
    return is_service && value != NULL && strcmp(value, "json") == 0;
}

static void cli_tell(const struct cli_command *command, const struct cli *cli,
                     const struct error *error)
{
    if (cli_logs_json(command, cli)) {
        log_start(STDERR_FILENO, LOG_FORMAT_JSON);
        log_line(LOG_APP, LOG_ERROR, "it does not run", log_error_field(error));
    } else {
        (void)fprintf(stderr, "gatehouse: %s\n", error->message);
    }
}

static void cli_set_seed(void)
{
    uint32_t seed = 0;
    must(getentropy(&seed, sizeof(seed)) == 0);
    json_set_seed(seed);
}

/* Of people: help for the command in front of '--', which belongs to what it runs. */
static int cli_run_client(const struct client_command *client, char **arguments, char **environment)
{
    for (size_t i = 0; arguments[i] != NULL && strcmp(arguments[i], "--") != 0; i++) {
        if (strcmp(arguments[i], "--help") == 0 || strcmp(arguments[i], "-h") == 0) {
            client_command_print_help(client, stdout);
            return 0;
        }
    }
    cli_set_seed();
    return client_command_run(client, arguments, environment);
}

/* "help login", "help --man" */
static bool cli_help_on(char **arguments)
{
    size_t word_count = 0;
    if (arguments[0] == NULL || strcmp(arguments[0], "help") != 0 || arguments[1] == NULL) {
        return false;
    }
    const struct client_command *client = client_command_find(arguments + 1, &word_count);
    if (strcmp(arguments[1], "--man") == 0) {
        client_command_print_manual(GATEHOUSE_VERSION, stdout);
        return true;
    }
    if (client != NULL) {
        client_command_print_help(client, stdout);
    }
    return client != NULL;
}

int cli_run(char **arguments, char **environment)
{
    size_t word_count = 0;
    const struct client_command *client = client_command_find(arguments, &word_count);
    if (client != NULL) {
        return cli_run_client(client, arguments + word_count, environment);
    }
    if (cli_help_on(arguments)) {
        return 0;
    }
    const struct cli_command *command = cli_find(arguments, &word_count);
    if (command != NULL && command->run == cli_agent && cli_wants_help(arguments)) {
        cli_print_agent_help(stdout);
        return 0;
    }
    if (cli_wants_help(arguments)) {
        cli_print_help(stdout);
        return 0;
    }
    if (command == NULL) {
        return cli_refuse_command(arguments);
    }
    struct cli cli = {.arguments = arguments + word_count, .environment = environment};
    struct error error = {0};
    arena_init(&cli.arena);
    cli_set_seed();
    enum err err = command->has_settings ? ERR_NONE : cli_take_data_dir(&cli, &error);
    if (err == ERR_NONE) {
        err = command->run(&cli, &error);
    }
    if (err != ERR_NONE) {
        cli_tell(command, &cli, &error);
    }
    arena_release(&cli.arena);
    if (err != ERR_NONE) {
        return err == ERR_INPUT ? 2 : 1;
    }
    return 0;
}
