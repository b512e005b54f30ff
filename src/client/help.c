/* SPDX-License-Identifier: MIT */
/* The pages of --help and the man page: one table, two ways to write it. */
#include "client/command.h"

#include "base/memory.h"

#define HELP_WIDTH 90
#define HELP_LEFT  26 /* of options */

static const struct {
    int code;
    const char *meaning;
} help_codes[] = {
    {0, "good"},
    {CLIENT_EXIT_FAILED, "the statement failed, or something else did"},
    {CLIENT_EXIT_USAGE, "the command line is wrong, or what was asked for makes no sense"},
    {CLIENT_EXIT_BLOCKED, "blocked by a rule"},
    {CLIENT_EXIT_REVIEW, "waits for a review"},
    {CLIENT_EXIT_NO_ACCESS, "not signed in, or no access"},
    {CLIENT_EXIT_UNREACHABLE, "the gateway cannot be reached"},
};

static const struct {
    const char *name;
    const char *meaning;
} help_variables[] = {
    {"GATEHOUSE_TOKEN", "a token or an API key, in the place of the one that login keeps"},
    {"GATEHOUSE_URL", "the gateway's address, in the place of a context; needs GATEHOUSE_TOKEN"},
    {"HTTPS_PROXY, NO_PROXY", "the proxy to the gateway, and for whom it is not used"},
    {"BROWSER", "the program that opens a page at login"},
    {"XDG_CONFIG_HOME, XDG_STATE_HOME", "where contexts and tokens are kept"},
};

/* Words with line ends where the next one would not fit. */
static void help_wrap(FILE *out, const char *text, int indent)
{
    int column = 0;
    struct slice rest = slice_of_text(text);
    while (rest.at != NULL) {
        struct slice word = slice_cut(rest, ' ', &rest);
        bool is_first = column == 0;
        if (!is_first && column + 1 + (int)word.len > HELP_WIDTH - indent) {
            (void)fprintf(out, "\n%*s", indent, "");
            column = 0;
        } else if (!is_first) {
            (void)fputc(' ', out);
            column++;
        }
        (void)fprintf(out, "%.*s", SLICE_ARG(word));
        column += (int)word.len;
    }
    (void)fputc('\n', out);
}

static void help_paragraphs(FILE *out, const char *text)
{
    struct slice rest = slice_of_text(text);
    while (rest.len > 0) {
        char paragraph[2048];
        size_t end = slice_find(rest, SLICE("\n\n"));
        (void)snprintf(paragraph, sizeof(paragraph), "%.*s", (int)end, rest.at);
        (void)fputc('\n', out);
        help_wrap(out, paragraph, 0);
        rest = slice_from(rest, end + 2);
    }
}

/* "--file FILE, -f FILE" */
static void help_flag(const struct client_option_row *row, char *text, size_t size)
{
    const char *value = row->value == NULL ? "" : row->value;
    const char *gap = row->value == NULL ? "" : " ";
    if (row->letter != '\0') {
        (void)snprintf(text, size, "-%c, --%s%s%s", row->letter, row->name, gap, value);
    } else {
        (void)snprintf(text, size, "--%s%s%s", row->name, gap, value);
    }
}

static void help_form(const struct client_command *command, char *text, size_t size)
{
    (void)snprintf(text, size, "%s%s%s%s%s", command->words[0],
                   command->words[1] == NULL ? "" : " ",
                   command->words[1] == NULL ? "" : command->words[1],
                   command->form[0] == '\0' ? "" : " ", command->form);
}

void client_command_print_help(const struct client_command *command, FILE *out)
{
    char text[160];
    help_form(command, text, sizeof(text));
    (void)fprintf(out, "gatehouse %s\n\n", text);
    help_wrap(out, command->summary, 0);
    help_paragraphs(out, command->about);
    (void)fprintf(out, "\n");
    for (size_t i = 0; i < CLIENT_OPTION_COUNT; i++) {
        if ((command->options & CLIENT_TAKES(i)) != 0) {
            help_flag(&client_options[i], text, sizeof(text));
            (void)fprintf(out, "  %-*s ", HELP_LEFT, text);
            help_wrap(out, client_options[i].help, HELP_LEFT + 3);
        }
    }
    (void)fprintf(out, "  %-*s this page\n\nExit codes:\n", HELP_LEFT, "-h, --help");
    for (size_t i = 0; i < COUNT_OF(help_codes); i++) {
        (void)fprintf(out, "  %d  %s\n", help_codes[i].code, help_codes[i].meaning);
    }
}

void client_command_print_list(FILE *out, int width)
{
    for (size_t i = 0; i < client_command_count; i++) {
        char text[160];
        help_form(&client_commands[i], text, sizeof(text));
        (void)fprintf(out, "  gatehouse %-*s %s\n", width, text, client_commands[i].summary);
    }
}

/* man ------------------------------------------------------------------------------------------ */

/* A line that begins with '.' or ''' would be a request, and '-' a hyphen. */
static void manual_text(FILE *out, const char *text)
{
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '-' || *at == '\\') {
            (void)fprintf(out, "\\%s", *at == '-' ? "-" : "e");
        } else if (*at == '\n' && at[1] == '\n') {
            (void)fprintf(out, "\n.PP\n");
            at++;
        } else if ((*at == '.' || *at == '\'') && (at == text || at[-1] == '\n')) {
            (void)fprintf(out, "\\&%c", *at);
        } else {
            (void)fputc(*at, out);
        }
    }
    (void)fputc('\n', out);
}

static void manual_command(FILE *out, const struct client_command *command)
{
    char text[160];
    help_form(command, text, sizeof(text));
    (void)fprintf(out, ".SS ");
    manual_text(out, text);
    manual_text(out, command->summary);
    if (command->about[0] != '\0') {
        (void)fprintf(out, ".PP\n");
        manual_text(out, command->about);
    }
    for (size_t i = 0; i < CLIENT_OPTION_COUNT; i++) {
        if ((command->options & CLIENT_TAKES(i)) != 0) {
            help_flag(&client_options[i], text, sizeof(text));
            (void)fprintf(out, ".TP\n.B ");
            manual_text(out, text);
            manual_text(out, client_options[i].help);
        }
    }
}

void client_command_print_manual(const char *version, FILE *out)
{
    (void)fprintf(out,
                  ".TH GATEHOUSE 1 \"\" \"gatehouse %s\" \"User Commands\"\n.SH NAME\n"
                  "gatehouse \\- databases and servers through an access gateway\n.SH SYNOPSIS\n"
                  ".B gatehouse\n.I COMMAND\n[OPTIONS]\n.SH COMMANDS\n"
                  "The commands that people use. Those that run a gateway are listed by\n"
                  ".BR \"gatehouse help\" .\n",
                  version);
    for (size_t i = 0; i < client_command_count; i++) {
        manual_command(out, &client_commands[i]);
    }
    (void)fprintf(out, ".SH EXIT STATUS\n");
    for (size_t i = 0; i < COUNT_OF(help_codes); i++) {
        (void)fprintf(out, ".TP\n.B %d\n", help_codes[i].code);
        manual_text(out, help_codes[i].meaning);
    }
    (void)fprintf(out, ".SH ENVIRONMENT\n");
    for (size_t i = 0; i < COUNT_OF(help_variables); i++) {
        (void)fprintf(out, ".TP\n.B %s\n", help_variables[i].name);
        manual_text(out, help_variables[i].meaning);
    }
}
