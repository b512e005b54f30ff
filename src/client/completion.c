/* SPDX-License-Identifier: MIT */
/* Scripts for shells, made of the table of commands. Connections are asked for where a name stands:
 * of the gateway, by this program, which answers nothing when it is not reached. */
#include "base/memory.h"
#include "client/command.h"

static bool completion_wants_connection(const struct client_command *command)
{
    return (command->word_max > 0 && strncmp(command->form, "NAME", 4) == 0) ||
           command->run == client_up;
}

/* The first words of commands, each once. */
static void completion_words(FILE *out)
{
    for (size_t i = 0; i < client_command_count; i++) {
        bool is_new =
            i == 0 || strcmp(client_commands[i].words[0], client_commands[i - 1].words[0]) != 0;
        if (is_new) {
            (void)fprintf(out, "%s ", client_commands[i].words[0]);
        }
    }
    (void)fprintf(out, "help");
}

static void completion_options(FILE *out, const struct client_command *command)
{
    for (size_t i = 0; i < CLIENT_OPTION_COUNT; i++) {
        if ((command->options & CLIENT_TAKES(i)) != 0) {
            (void)fprintf(out, "--%s ", client_options[i].name);
        }
    }
    (void)fprintf(out, "--help");
}

/* bash ----------------------------------------------------------------------------------------- */

static void completion_bash_case(FILE *out, const struct client_command *command)
{
    (void)fprintf(out, "    '%s%s%s') options='", command->words[0],
                  command->words[1] == NULL ? "" : " ",
                  command->words[1] == NULL ? "" : command->words[1]);
    completion_options(out, command);
    (void)fprintf(out, "'");
    if (completion_wants_connection(command)) {
        (void)fprintf(out, "; names=connections");
    } else if (command->run == client_completion) {
        (void)fprintf(out, "; names='bash zsh fish'");
    }
    (void)fprintf(out, " ;;\n");
}

static void completion_bash(FILE *out)
{
    (void)fprintf(out,
                  "# bash: source <(gatehouse completion bash)\n"
                  "_gatehouse() {\n"
                  "  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
                  "  local command=${COMP_WORDS[1]} options='' names='' first=2\n"
                  "  COMPREPLY=()\n"
                  "  if [ \"$COMP_CWORD\" = 1 ]; then\n"
                  "    COMPREPLY=($(compgen -W '");
    completion_words(out);
    (void)fprintf(
        out,
        "' -- \"$current\")); return\n  fi\n"
        "  if [ \"$command\" = sessions ]; then\n"
        "    if [ \"$COMP_CWORD\" = 2 ]; then\n"
        "      COMPREPLY=($(compgen -W 'list show follow kill download verify' -- "
        "\"$current\")); return\n    fi\n"
        "    command=\"sessions ${COMP_WORDS[2]}\" first=3\n  fi\n"
        "  case $before in\n"
        "    --output|-o) COMPREPLY=($(compgen -W 'table json csv markdown' -- "
        "\"$current\")); return ;;\n"
        "    --format) COMPREPLY=($(compgen -W 'txt csv json jsonl cast' -- "
        "\"$current\")); return ;;\n"
        "    --file|--from|-f|--ca-file) COMPREPLY=($(compgen -f -- \"$current\")); return ;;\n"
        "    --connection) names=connections options='' first=$COMP_CWORD ;;\n"
        "  esac\n  case $command in\n");
    for (size_t i = 0; i < client_command_count; i++) {
        completion_bash_case(out, &client_commands[i]);
    }
    (void)fprintf(out,
                  "  esac\n"
                  "  if [ \"$COMP_CWORD\" -ge \"$first\" ] && [ \"${current:0:1}\" != - ]; then\n"
                  "    if [ \"$names\" = connections ]; then\n"
                  /* compgen would run what stands in "$(...)" */
                  "      names=$(\"${COMP_WORDS[0]}\" list --output csv 2>/dev/null | "
                  "sed -n -e 1d -e 's/^\\([A-Za-z0-9_.-]*\\),.*/\\1/p')\n    fi\n"
                  "    COMPREPLY=($(compgen -W \"$names\" -- \"$current\"))\n"
                  "  else\n"
                  "    COMPREPLY=($(compgen -W \"$options\" -- \"$current\"))\n  fi\n}\n"
                  "complete -F _gatehouse gatehouse\n");
}

/* zsh takes bash's by itself ------------------------------------------------------------------- */

static void completion_zsh(FILE *out)
{
    (void)fprintf(out, "# zsh: source <(gatehouse completion zsh)\n"
                       "autoload -Uz compinit bashcompinit\n"
                       "(( $+functions[compdef] )) || compinit -u\nbashcompinit\n");
    completion_bash(out);
}

#define FISH_CONNECTIONS                                                                           \
    "-f -a '(gatehouse list --output csv 2>/dev/null | string replace -r \",.*\" \"\" | "          \
    "tail -n +2)'"

/* fish ----------------------------------------------------------------------------------------- */

static void completion_fish_condition(FILE *out, const struct client_command *command)
{
    (void)fprintf(out, "complete -c gatehouse -n '__fish_seen_subcommand_from %s%s%s' ",
                  command->words[0],
                  command->words[1] == NULL ? "" : "; and __fish_seen_subcommand_from ",
                  command->words[1] == NULL ? "" : command->words[1]);
}

static void completion_fish_command(FILE *out, const struct client_command *command)
{
    for (size_t i = 0; i < CLIENT_OPTION_COUNT; i++) {
        const struct client_option_row *row = &client_options[i];
        if ((command->options & CLIENT_TAKES(i)) == 0) {
            continue;
        }
        completion_fish_condition(out, command);
        (void)fprintf(out, "-l %s", row->name);
        if (row->letter != '\0') {
            (void)fprintf(out, " -s %c", row->letter);
        }
        (void)fprintf(out, "%s", row->value == NULL ? "" : " -r");
        for (size_t j = 0; row->choices != NULL && row->choices[j] != NULL; j++) {
            (void)fprintf(out, "%s%s%s", j == 0 ? " -f -a '" : " ", row->choices[j],
                          row->choices[j + 1] == NULL ? "'" : "");
        }
        (void)fprintf(out, "%s\n", i == CLIENT_CONNECTION ? " " FISH_CONNECTIONS : "");
    }
    if (completion_wants_connection(command)) {
        completion_fish_condition(out, command);
        (void)fprintf(out, FISH_CONNECTIONS "\n");
    } else if (command->run == client_completion) {
        completion_fish_condition(out, command);
        (void)fprintf(out, "-f -a 'bash zsh fish'\n");
    }
}

static void completion_fish(FILE *out)
{
    (void)fprintf(out, "# fish: gatehouse completion fish | source\n"
                       "complete -c gatehouse -e\n"
                       "complete -c gatehouse -n __fish_use_subcommand -f -a '");
    completion_words(out);
    (void)fprintf(out, "'\ncomplete -c gatehouse -n '__fish_seen_subcommand_from sessions' -f -a "
                       "'list show follow kill download verify'\n");
    for (size_t i = 0; i < client_command_count; i++) {
        completion_fish_command(out, &client_commands[i]);
    }
}

enum err client_completion(struct client_run *run, struct error *reterr)
{
    static const struct {
        const char *shell;
        void (*print)(FILE *out);
    } shells[] = {{"bash", completion_bash}, {"zsh", completion_zsh}, {"fish", completion_fish}};
    for (size_t i = 0; i < COUNT_OF(shells); i++) {
        if (strcmp(run->given.words[0], shells[i].shell) == 0) {
            shells[i].print(stdout);
            return ERR_NONE;
        }
    }
    return fail(reterr, ERR_INPUT, "completion: bash, zsh or fish is expected");
}
