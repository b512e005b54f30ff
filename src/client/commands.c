/* SPDX-License-Identifier: MIT */
#include "client/command.h"

#include "base/memory.h"

#define GATEWAY    CLIENT_TAKES_GATEWAY
#define OUTPUT     CLIENT_TAKES(CLIENT_OUTPUT)
#define PURPOSE    (CLIENT_TAKES(CLIENT_METADATA) | CLIENT_TAKES(CLIENT_REASON))
#define CREDENTIAL (CLIENT_TAKES(CLIENT_DURATION) | CLIENT_TAKES(CLIENT_REPLACE) | PURPOSE)

const struct client_command client_commands[] = {
    {.words = {"login", NULL},
     .form = "[URL]",
     .word_max = 1,
     .options = GATEWAY | CLIENT_TAKES(CLIENT_TOKEN_STDIN) | CLIENT_TAKES(CLIENT_DEVICE),
     .summary = "sign in to a gateway, in a browser, by a code or with a token",
     .about =
         "Where the gateway has an identity provider, a browser opens, and the sign-in ends at "
         "a port of 127.0.0.1. Without one, and with --device, a code is shown that you "
         "compare and confirm in any browser where you are signed in to the gateway; that "
         "works for every kind of account.\n\n"
         "The gateway is known from then on by the name of its host, or by --context, and is "
         "the one that other commands ask. The address may be left out for one that is known. "
         "It begins with https; http is for this machine alone.",
     .run = client_login},
    {.words = {"logout", NULL},
     .form = "",
     .options = GATEWAY | CLIENT_TAKES(CLIENT_EVERYWHERE),
     .summary = "end the token at the gateway, and forget it here",
     .about = "Credentials for native clients that you made stay good until they end; 'gatehouse "
              "status' lists them.",
     .run = client_logout},
    {.words = {"status", NULL},
     .form = "",
     .options = GATEWAY | OUTPUT,
     .summary = "who you are, until when, and which credentials and sessions are open",
     .about = "",
     .run = client_status},
    {.words = {"context", NULL},
     .form = "[NAME]",
     .word_max = 1,
     .options = OUTPUT,
     .summary = "list your gateways, or say which one commands ask from now on",
     .about = "They stand in $XDG_CONFIG_HOME/gatehouse/contexts.json, their tokens apart from it "
              "in $XDG_STATE_HOME/gatehouse.",
     .run = client_context_command},
    {.words = {"list", NULL},
     .form = "",
     .options = GATEWAY | OUTPUT | CLIENT_TAKES(CLIENT_TYPE) | CLIENT_TAKES(CLIENT_TAG),
     .summary = "the connections that you may use",
     .about = "",
     .run = client_list},
    {.words = {"show", NULL},
     .form = "NAME",
     .word_min = 1,
     .word_max = 1,
     .options = GATEWAY | OUTPUT | CREDENTIAL | CLIENT_TAKES(CLIENT_SHOW_URL) |
                CLIENT_TAKES(CLIENT_SHOW_JDBC) | CLIENT_TAKES(CLIENT_SHOW_DSN) |
                CLIENT_TAKES(CLIENT_SHOW_ENV) | CLIENT_TAKES(CLIENT_SHOW_PSQL) |
                CLIENT_TAKES(CLIENT_SHOW_MARIADB) | CLIENT_TAKES(CLIENT_SHOW_SSH) |
                CLIENT_TAKES(CLIENT_SHOW_SSH_CONFIG),
     .summary = "what a connection is; or how a client reaches it, as one string",
     .about = "With one of the options for clients a new credential is made and printed for "
              "the gateway's own port of that protocol. What is printed holds a password: pipe it, "
              "and do not put it into a command line. 'gatehouse connect' needs no such port.",
     .run = client_show},
    {.words = {"why", NULL},
     .form = "NAME",
     .word_min = 1,
     .word_max = 1,
     .options = GATEWAY | OUTPUT,
     .summary = "why you may use a connection or may not, and what acts on it",
     .about = "A connection that you may not use looks like one that is not there. What a plain "
              "member may not read, such as which groups may use it, is left out and said to be.",
     .run = client_why},
    {.words = {"exec", NULL},
     .form = "NAME [-]",
     .word_min = 1,
     .word_max = 2,
     .options = GATEWAY | OUTPUT | CLIENT_TAKES(CLIENT_FILE) | CLIENT_TAKES(CLIENT_SCRIPT) |
                PURPOSE | CLIENT_TAKES(CLIENT_PARAM) | CLIENT_TAKES(CLIENT_TIMEOUT),
     .summary = "run a script on a connection, through all its rules",
     .about =
         "The script is read from standard input, or given by -f or -c. Rows are printed as "
         "they come. Ctrl-C ends the session at the gateway and the statement at the target.\n\n"
         "Values that come from elsewhere are given by --param and named in the script, as in "
         "\"select * from orders where id = :'id'\": whatever is in a value, it stays one. "
         "What is executed, approved and recorded is the script with its values in it.",
     .run = client_exec},
    {.words = {"connect", NULL},
     .form = "NAME [-- COMMAND ...]",
     .word_min = 1,
     .word_max = 1,
     .takes_child = true,
     .options = GATEWAY | OUTPUT | CREDENTIAL | CLIENT_TAKES(CLIENT_PORT),
     .summary = "a port on this machine for a connection, a client run there, or a terminal",
     .about =
         "Clients connect to a port of 127.0.0.1; what they say is carried over the gateway's "
         "one HTTP(S) port, so that no port of a database has to be open. Lines to connect "
         "with are printed, with a password that ends with the command, or when --duration is "
         "over. Connections of TCP have no password that a client could give: their port is "
         "for your own programs alone, by the user id that they run with.\n\n"
         "With a command behind -- the command is run with what it needs in its environment, "
         "and its exit code is that of 'connect'. PostgreSQL: PGHOST, PGPORT, PGUSER, "
         "PGDATABASE, and PGPASSFILE. MySQL and MariaDB: MYSQL_HOME, whose my.cnf has address, "
         "user and password, which a command that begins with mysql or mariadb also gets as "
         "--defaults-file. SSH: ssh, scp and sftp get options by which any host is the "
         "connection, with its key and secret; git and rsync by GIT_SSH_COMMAND and RSYNC_RSH. "
         "TCP: GATEHOUSE_HOST and GATEHOUSE_PORT. The files are for your eyes alone "
         "and go when the command ends. When the gateway restarts, sessions end, and new "
         "connections go on as soon as it is back.\n\n"
         "Where the connection runs a command, its terminal opens here: what you type goes "
         "there, Ctrl-C too. At the start of a line ~. leaves, which ends the session, and "
         "~? says what else there is. Both sides are on record. The exit code is that of the "
         "command.",
     .run = client_connect},
    {.words = {"up", NULL},
     .form = "[NAME ...]",
     .word_max = CLIENT_WORDS_MAX,
     .options =
         GATEWAY | OUTPUT | CLIENT_TAKES(CLIENT_DURATION) | CLIENT_TAKES(CLIENT_PORT) | PURPOSE,
     .summary = "ports on this machine that stay: one address and one password for good",
     .about =
         "Like 'connect', for several connections at once, but a connection has the same port "
         "and the same password each time, so that what is saved in a client works for good. "
         "Behind that are credentials that end: the next one is made when less than half of "
         "--duration is left. The password counts at this port alone, while this command runs "
         "and you are signed in. Without names all are meant that were up before.\n\n"
         "--port chooses the port of one connection for good; else it is a free one from 25000 "
         "on.",
     .run = client_up},
    {.words = {"sessions", "list"},
     .form = "",
     .options = GATEWAY | OUTPUT | CLIENT_TAKES(CLIENT_CONNECTION) | CLIENT_TAKES(CLIENT_LIMIT),
     .summary = "the newest sessions: your own, or everybody's for admins and auditors",
     .about = "",
     .run = client_sessions_list},
    {.words = {"sessions", "show"},
     .form = "ID",
     .word_min = 1,
     .word_max = 1,
     .options = GATEWAY | OUTPUT,
     .summary = "what is known of a session",
     .about = "",
     .run = client_sessions_show},
    {.words = {"sessions", "follow"},
     .form = "ID",
     .word_min = 1,
     .word_max = 1,
     .options = GATEWAY,
     .summary = "what passes in a session, from its start until it ends",
     .about = "Ctrl-C ends the looking on, not the session.",
     .run = client_sessions_follow},
    {.words = {"sessions", "kill"},
     .form = "ID",
     .word_min = 1,
     .word_max = 1,
     .options = GATEWAY,
     .summary = "end a session, also at its target",
     .about = "",
     .run = client_sessions_kill},
    {.words = {"sessions", "download"},
     .form = "ID",
     .word_min = 1,
     .word_max = 1,
     .options = GATEWAY | CLIENT_TAKES(CLIENT_FORMAT),
     .summary = "the recording of a session, to standard output",
     .about = "csv has the rows, jsonl statements, rows and errors, json events, cast is for a "
              "player of terminal sessions, and txt is for people.",
     .run = client_sessions_download},
    {.words = {"sessions", "verify"},
     .form = "ID",
     .word_min = 1,
     .word_max = 1,
     .options = GATEWAY | OUTPUT,
     .summary = "whether the recording of a session is what was written",
     .about = "",
     .run = client_sessions_verify},
    {.words = {"ssh-keys", "list"},
     .form = "",
     .options = GATEWAY | OUTPUT,
     .summary = "the public keys by which you sign in over SSH",
     .about = "",
     .run = client_ssh_keys_list},
    {.words = {"ssh-keys", "add"},
     .form = "FILE [NAME]",
     .word_min = 1,
     .word_max = 2,
     .options = GATEWAY | OUTPUT,
     .summary = "a public key of yours: 'ssh NAME@GATEWAY' opens what you may use by it",
     .about = "FILE is the '.pub' file, or that of the private key beside it, which is not read.",
     .run = client_ssh_keys_add},
    {.words = {"ssh-keys", "remove"},
     .form = "ID",
     .word_min = 1,
     .word_max = 1,
     .options = GATEWAY,
     .summary = "remove one, and end the sessions that it opened",
     .about = "",
     .run = client_ssh_keys_remove},
    {.words = {"ssh-keys", "sign"},
     .form = "FILE NAME ...",
     .word_min = 2,
     .word_max = CLIENT_WORDS_MAX,
     .options = GATEWAY | OUTPUT | CLIENT_TAKES(CLIENT_DURATION),
     .summary = "a certificate for a key: it opens these connections for some minutes",
     .about = "It is written beside the key, as FILE-cert.pub, where ssh finds it by itself. The "
              "key need not be one that the gateway keeps. It is good for five minutes, or for "
              "--duration, a day at most; sessions that are open by then go on.",
     .run = client_ssh_keys_sign},
    {.words = {"ssh-keys", "gateway"},
     .form = "",
     .options = GATEWAY | OUTPUT,
     .summary = "the gateway's own: its host key, and the line for 'TrustedUserCAKeys' of servers",
     .about = "",
     .run = client_ssh_keys_gateway},
    {.words = {"apply", NULL},
     .form = "",
     .options = GATEWAY | OUTPUT | CLIENT_TAKES(CLIENT_FROM) | CLIENT_TAKES(CLIENT_PLAN) |
                CLIENT_TAKES(CLIENT_PRUNE) | CLIENT_TAKES(CLIENT_SECRETS),
     .summary = "make the gateway have what files say: resources, connections, rules, groups",
     .about =
         "Documents of YAML, each with a kind (group, resource, connection, access, attribute, "
         "guardrail, masking-rule, access-rule), a name, and members as the API has them. "
         "Agents and connections are named: 'agent' and 'connections'. What a document leaves "
         "out stays as it is, and what has no document stays, too, unless there is --prune: then "
         "it is deleted, of the kinds that the documents have; with all that hangs on it. What "
         "packs of rules and programs keep is theirs, and stays.\n\n"
         "Secrets do not stand in files: a value is a reference, or {env: VARIABLE}, of which "
         "the environment of this command has the value. What the gateway has of them cannot "
         "be compared: it stays, unless there is --secrets.\n\n"
         "What would change is shown first, then done in one pass, in the order in which "
         "things need each other, and deletions last, as one transaction: of what the gateway "
         "refuses it says file, line and member, and nothing is changed.",
     .run = client_apply},
    {.words = {"export", NULL},
     .form = "",
     .options = GATEWAY,
     .summary = "what the gateway has, as documents that 'apply' takes",
     .about = "Of values that are secrets there are the references, and variables to be set.",
     .run = client_export},
    {.words = {"doctor", NULL},
     .form = "",
     .options = GATEWAY | OUTPUT,
     .summary = "check the token's file, the address, its certificate, the proxy and the sign-in",
     .about = "",
     .run = client_doctor},
    {.words = {"completion", NULL},
     .form = "bash|zsh|fish",
     .word_min = 1,
     .word_max = 1,
     .summary = "what a shell needs to complete commands, options and connections",
     .about = "bash: source <(gatehouse completion bash)\n\nzsh: source <(gatehouse completion "
              "zsh)\n\nfish: gatehouse completion fish | source",
     .run = client_completion},
};

const size_t client_command_count = COUNT_OF(client_commands);

const struct client_command *client_command_find(char **arguments, size_t *ret_word_count)
{
    for (size_t i = 0; i < client_command_count && arguments[0] != NULL; i++) {
        const struct client_command *command = &client_commands[i];
        bool has_two = command->words[1] != NULL;
        if (strcmp(arguments[0], command->words[0]) == 0 &&
            (!has_two || (arguments[1] != NULL && strcmp(arguments[1], command->words[1]) == 0))) {
            *ret_word_count = has_two ? 2 : 1;
            return command;
        }
    }
    return NULL;
}

struct slice client_command_name_in(struct arena *arena, const struct client_command *command)
{
    return command->words[1] == NULL
               ? slice_of_text(command->words[0])
               : arena_format(arena, "%s %s", command->words[0], command->words[1]);
}
