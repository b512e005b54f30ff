/* SPDX-License-Identifier: MIT */
#include "client/command.h"

#include "base/memory.h"
#include "base/text.h"
#include "codec/json_writer.h"

static const char *const option_outputs[] = {"table", "json", "csv", "markdown", NULL};
static const char *const option_formats[] = {"txt", "csv", "json", "jsonl", "cast", NULL};

const struct client_option_row client_options[CLIENT_OPTION_COUNT] = {
    [CLIENT_CONTEXT] = {.name = "context",
                        .value = "NAME",
                        .help = "which of your gateways; the one signed in to last when it is left "
                                "out"},
    [CLIENT_CA_FILE] = {.name = "ca-file",
                        .value = "FILE",
                        .help = "certificates (PEM) of who issued the gateway's, in the place of "
                                "the system's; login remembers it"},
    [CLIENT_OUTPUT] = {.name = "output",
                       .letter = 'o',
                       .value = "FORM",
                       .choices = option_outputs,
                       .help = "table, json, csv or markdown"},
    [CLIENT_TOKEN_STDIN] = {.name = "token-stdin",
                            .help = "read a token or an API key from standard input"},
    [CLIENT_DEVICE] = {.name = "device",
                       .help = "show a code that is confirmed in a browser elsewhere"},
    [CLIENT_EVERYWHERE] = {.name = "everywhere", .help = "end all tokens of yours, not this alone"},
    [CLIENT_TYPE] = {.name = "type", .value = "TYPE", .help = "only of this type or subtype"},
    [CLIENT_TAG] = {.name = "tag",
                    .value = "KEY[=VALUE]",
                    .is_list = true,
                    .help = "only with this tag; all of them, when there are several"},
    [CLIENT_SHOW_URL] = {.name = "url", .help = "a URL with a new credential"},
    [CLIENT_SHOW_JDBC] = {.name = "jdbc", .help = "a URL for JDBC, likewise"},
    [CLIENT_SHOW_DSN] = {.name = "dsn", .help = "keywords and values for libpq, likewise"},
    [CLIENT_SHOW_ENV] = {.name = "env", .help = "variables to be set by a shell, likewise"},
    [CLIENT_SHOW_PSQL] = {.name = "psql", .help = "a command line of psql, likewise"},
    [CLIENT_SHOW_MARIADB] = {.name = "mariadb",
                             .help = "a command line of mariadb, which fits mysql, too"},
    [CLIENT_SHOW_SSH] = {.name = "ssh", .help = "a command line of ssh, which asks for the secret"},
    [CLIENT_SHOW_SSH_CONFIG] = {.name = "ssh-config", .help = "lines for ssh's configuration"},
    [CLIENT_DURATION] = {.name = "duration",
                         .value = "TIME",
                         .help = "how long the credential is good, as 30m or 8h; 8h when it is "
                                 "left out, and never longer than the connection allows"},
    [CLIENT_REPLACE] = {.name = "replace",
                        .help = "end your other credentials for the connection, and their "
                                "sessions"},
    [CLIENT_FILE] = {.name = "file",
                     .letter = 'f',
                     .value = "FILE",
                     .help = "the script is in a file; - is standard input"},
    [CLIENT_SCRIPT] = {.name = "command",
                       .letter = 'c',
                       .value = "TEXT",
                       .help = "the script itself; others see it in the list of processes"},
    [CLIENT_METADATA] = {.name = "metadata",
                         .value = "NAME=VALUE",
                         .is_list = true,
                         .help = "what the session is for, where the connection asks for it"},
    [CLIENT_REASON] = {.name = "reason",
                       .value = "TEXT",
                       .help = "why, for whoever has to approve it and for the record: the same as "
                               "--metadata reason=TEXT"},
    [CLIENT_PARAM] = {.name = "param",
                      .value = "NAME=VALUE",
                      .is_list = true,
                      .help = "a value for the script: :'NAME' in it becomes a literal, :\"NAME\" "
                              "a name in quotes; for a command it is a variable, if the connection "
                              "accepts it"},
    [CLIENT_TIMEOUT] = {.name = "timeout",
                        .value = "TIME",
                        .help = "end it at the gateway after this time, as 90s or 5m"},
    [CLIENT_PORT] = {.name = "port",
                     .value = "PORT",
                     .help = "on 127.0.0.1; left out: of connect the protocol's own, else a free "
                             "one, and of up the one that was kept"},
    [CLIENT_FROM] = {.name = "from",
                     .letter = 'f',
                     .value = "PATH",
                     .help = "a folder, of which all files *.yaml and *.yml are read, or one file"},
    [CLIENT_PLAN] = {.name = "plan", .help = "show what would change, and change nothing"},
    [CLIENT_PRUNE] = {.name = "prune",
                      .help = "delete what no document names, of the kinds that the documents "
                              "have"},
    [CLIENT_SECRETS] = {.name = "secrets",
                        .help = "write again what cannot be compared: values of secrets that the "
                                "gateway has and does not show"},
    [CLIENT_CONNECTION] = {.name = "connection",
                           .value = "NAME",
                           .help = "only of this connection"},
    [CLIENT_LIMIT] = {.name = "limit", .value = "COUNT", .help = "how many, 20 when left out"},
    [CLIENT_FORMAT] = {.name = "format",
                       .value = "FORMAT",
                       .choices = option_formats,
                       .help = "txt, csv, json, jsonl or cast"},
};

static enum err options_fail(const struct client_command *command, const char *argument,
                             const char *problem, struct error *reterr)
{
    struct buf shown CLEANUP(buf_release);
    buf_init(&shown, 512);
    struct writer writer = writer_to(&shown);
    text_show(&writer, slice_sub(slice_of_text(argument), 0, 80));
    return fail(reterr, ERR_INPUT, "%s%s%s: '%.*s' %s; see 'gatehouse %s%s%s --help'",
                command->words[0], command->words[1] == NULL ? "" : " ",
                command->words[1] == NULL ? "" : command->words[1], SLICE_ARG(buf_view(&shown)),
                problem, command->words[0], command->words[1] == NULL ? "" : " ",
                command->words[1] == NULL ? "" : command->words[1]);
}

static bool options_is_this(const struct client_option_row *row, struct slice flag)
{
    bool is_long = slice_starts_with(flag, SLICE("--")) &&
                   slice_equals(slice_from(flag, 2), slice_of_text(row->name));
    return is_long ||
           (row->letter != '\0' && flag.len == 2 && flag.at[0] == '-' && flag.at[1] == row->letter);
}

static enum err options_take(const struct client_command *command, struct client_arguments *given,
                             enum client_option option, const char *value, struct error *reterr)
{
    const struct client_option_row *row = &client_options[option];
    size_t *count = &given->counts[option];
    bool is_choice = row->choices == NULL;
    for (size_t i = 0; row->choices != NULL && row->choices[i] != NULL; i++) {
        is_choice = is_choice || strcmp(row->choices[i], value) == 0;
    }
    if (!is_choice) {
        return options_fail(command, value, "is none of the values that are possible here", reterr);
    }
    if (*count == (row->is_list ? CLIENT_VALUES_MAX : 1)) {
        return options_fail(command, row->name, "is given too often", reterr);
    }
    given->values[option][(*count)++] = value;
    return ERR_NONE;
}

/* "--name value", "--name=value", "-n value"; tells how many arguments that were. */
static enum err options_flag(struct arena *arena, const struct client_command *command,
                             char **arguments, struct client_arguments *given, size_t *ret_count,
                             struct error *reterr)
{
    struct slice value = SLICE_NONE;
    struct slice flag = slice_cut(slice_of_text(arguments[0]), '=', &value);
    *ret_count = 1;
    for (size_t i = 0; i < CLIENT_OPTION_COUNT; i++) {
        const struct client_option_row *row = &client_options[i];
        if ((command->options & CLIENT_TAKES(i)) == 0 || !options_is_this(row, flag)) {
            continue;
        }
        if (row->value == NULL) {
            return value.at != NULL
                       ? options_fail(command, arguments[0], "takes no value", reterr)
                       : options_take(command, given, (enum client_option)i, "", reterr);
        }
        const char *text = value.at != NULL ? arena_text(arena, value) : arguments[1];
        *ret_count = value.at != NULL ? 1 : 2;
        return text == NULL ? options_fail(command, arguments[0], "needs a value", reterr)
                            : options_take(command, given, (enum client_option)i, text, reterr);
    }
    return options_fail(command, arguments[0], "is not possible here", reterr);
}

enum err client_arguments_read(struct arena *arena, const struct client_command *command,
                               char **arguments, struct client_arguments *ret_given,
                               struct error *reterr)
{
    size_t count = 0;
    size_t all = 0;
    while (arguments[all] != NULL) {
        all++;
    }
    *ret_given = (struct client_arguments){0};
    ret_given->words = arena_alloc_array(arena, all + 1, sizeof(*ret_given->words));
    for (size_t i = 0; i < all; i += count) {
        struct slice argument = slice_of_text(arguments[i]);
        count = 1;
        if (command->takes_child && slice_equals(argument, SLICE("--"))) {
            ret_given->child = &arguments[i + 1];
            break;
        }
        if (argument.len > 1 && argument.at[0] == '-') {
            enum err err = options_flag(arena, command, &arguments[i], ret_given, &count, reterr);
            if (err != ERR_NONE) {
                return err;
            }
        } else {
            ret_given->words[ret_given->word_count++] = arguments[i];
        }
    }
    if (ret_given->child != NULL && ret_given->child[0] == NULL) {
        return options_fail(command, "--", "is to be followed by a command", reterr);
    }
    if (ret_given->word_count < command->word_min) {
        return options_fail(command, command->form, "is expected", reterr);
    }
    return ret_given->word_count > command->word_max
               ? options_fail(command, ret_given->words[command->word_max], "is too much", reterr)
               : ERR_NONE;
}

const char *client_given(const struct client_run *run, enum client_option option)
{
    return run->given.counts[option] == 0 ? NULL : run->given.values[option][0];
}

bool client_wants_json(const struct client_run *run)
{
    const char *form = client_given(run, CLIENT_OUTPUT);
    return form != NULL && strcmp(form, "json") == 0;
}

enum err client_given_seconds(const struct client_run *run, enum client_option option,
                              int64_t fallback, int64_t *ret_seconds, struct error *reterr)
{
    static const struct {
        char letter;
        int64_t seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
    const char *given = client_given(run, option);
    struct slice text = slice_of_text(given == NULL ? "" : given);
    int64_t unit = 1;
    uint64_t number = 0;
    *ret_seconds = fallback;
    if (given == NULL) {
        return ERR_NONE;
    }
    for (size_t i = 0; i < COUNT_OF(units) && text.len > 0; i++) {
        unit = text.at[text.len - 1] == units[i].letter ? units[i].seconds : unit;
    }
    struct slice digits = slice_trim(text, "smhd");
    bool is_plain = text.len - digits.len <= 1 && digits.len > 0 && digits.at == text.at;
    if (!is_plain || text_parse_u64(digits, &number) != ERR_NONE || number == 0 ||
        number > 1000000) {
        return options_fail(run->command, given, "is no time: 90s, 5m, 8h or 1d are", reterr);
    }
    *ret_seconds = (int64_t)number * unit;
    return ERR_NONE;
}

enum err client_given_metadata_in(const struct client_run *run, struct slice *ret_json,
                                  struct error *reterr)
{
    struct buf buf CLEANUP(buf_release);
    const char *reason = client_given(run, CLIENT_REASON);
    buf_init(&buf, LIMIT_HTTP_TARGET_SIZE);
    struct json_writer json = json_writer_to(&buf);
    json_begin_object(&json);
    for (size_t i = 0; i < run->given.counts[CLIENT_METADATA]; i++) {
        const char *given = run->given.values[CLIENT_METADATA][i];
        struct slice value = SLICE_NONE;
        struct slice name = slice_cut(slice_of_text(given), '=', &value);
        if (value.at == NULL || name.len == 0) {
            return options_fail(run->command, given, "is no NAME=VALUE", reterr);
        }
        if (reason != NULL && slice_equals(name, SLICE("reason"))) {
            return options_fail(run->command, given, "is what --reason says, too", reterr);
        }
        json_key_text(&json, name);
        json_text(&json, value);
    }
    if (reason != NULL) {
        json_member_text(&json, "reason", slice_of_text(reason));
    }
    json_end_object(&json);
    if (json_writer_done(&json) != ERR_NONE) {
        return fail(reterr, ERR_INPUT, "--metadata and --reason: that is too much");
    }
    *ret_json = arena_copy(run->arena, buf_view(&buf));
    return ERR_NONE;
}

enum err client_given_port(const struct client_run *run, uint16_t *port, bool *ret_is_given,
                           struct error *reterr)
{
    const char *given = client_given(run, CLIENT_PORT);
    uint64_t number = *port;
    *ret_is_given = given != NULL;
    if (given != NULL && (text_parse_u64(slice_of_text(given), &number) != ERR_NONE || number < 1 ||
                          number > 65535)) {
        return fail(reterr, ERR_INPUT, "--port: a number from 1 to 65535 is expected");
    }
    *port = (uint16_t)number;
    return ERR_NONE;
}
