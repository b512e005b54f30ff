/* SPDX-License-Identifier: MIT */
#include "client/protocol.h"

#include "base/memory.h"
#include "base/text.h"
#include "client/connect.h"
#include "client/credential.h"
#include "client/files.h"
#include "client/show.h"
#include "codec/url.h"

/* What several of them need -------------------------------------------------------------------- */

/* Each of these characters with a '\' before it. */
static struct slice protocol_escape_in(struct arena *arena, struct slice text, const char *special)
{
    struct slice escaped = SLICE("");
    for (size_t i = 0; i < text.len; i++) {
        bool is_special = strchr(special, text.at[i]) != NULL && text.at[i] != '\0';
        escaped =
            arena_format(arena, "%.*s%s%c", SLICE_ARG(escaped), is_special ? "\\" : "", text.at[i]);
    }
    return escaped;
}

/* 'It'\''s', for a shell. */
static struct slice protocol_shell_in(struct arena *arena, struct slice text)
{
    struct slice made = SLICE("'");
    while (text.at != NULL) {
        struct slice rest = SLICE_NONE;
        struct slice part = slice_cut(text, '\'', &rest);
        made = arena_format(arena, "%.*s%.*s%s", SLICE_ARG(made), SLICE_ARG(part),
                            rest.at == NULL ? "'" : "'\\''");
        text = rest;
    }
    return made;
}

static struct slice protocol_host_in(struct arena *arena, struct slice host)
{
    return slice_find_byte(host, ':') < host.len ? arena_format(arena, "[%.*s]", SLICE_ARG(host))
                                                 : host;
}

/* PostgreSQL ----------------------------------------------------------------------------------- */

static const char *postgres_tls(const struct client_credential *it)
{
    return it->uses_tls ? "require" : "disable";
}

static struct slice postgres_env_in(struct arena *arena, const struct client_credential *it,
                                    const char *before, const char *between)
{
    return arena_format(
        arena,
        "%sPGHOST=%.*s%s%sPGPORT=%u%s%sPGUSER=%.*s%s%sPGPASSWORD=%.*s%s%sPGDATABASE=%.*s%s%s"
        "PGSSLMODE=%s",
        before, SLICE_ARG(protocol_shell_in(arena, it->host)), between, before, it->port, between,
        before, SLICE_ARG(protocol_shell_in(arena, it->user)), between, before,
        SLICE_ARG(protocol_shell_in(arena, it->password)), between, before,
        SLICE_ARG(protocol_shell_in(arena, it->database)), between, before, postgres_tls(it));
}

static struct slice postgres_dsn_in(struct arena *arena, const struct client_credential *it)
{
    return arena_format(
        arena, "host='%.*s' port=%u user='%.*s' password='%.*s' dbname='%.*s' sslmode=%s",
        SLICE_ARG(protocol_escape_in(arena, it->host, "\\'")), it->port,
        SLICE_ARG(protocol_escape_in(arena, it->user, "\\'")),
        SLICE_ARG(protocol_escape_in(arena, it->password, "\\'")),
        SLICE_ARG(protocol_escape_in(arena, it->database, "\\'")), postgres_tls(it));
}

static struct slice postgres_form_in(struct arena *arena, const struct client_credential *it,
                                     enum client_form form)
{
    struct slice host = protocol_host_in(arena, it->host);
    struct slice user = url_encode(arena, it->user);
    struct slice password = url_encode(arena, it->password);
    struct slice database = url_encode(arena, it->database);
    switch (form) {
    case CLIENT_FORM_URL:
        return arena_format(arena, "postgres://%.*s:%.*s@%.*s:%u/%.*s?sslmode=%s", SLICE_ARG(user),
                            SLICE_ARG(password), SLICE_ARG(host), it->port, SLICE_ARG(database),
                            postgres_tls(it));
    case CLIENT_FORM_JDBC:
        return arena_format(arena,
                            "jdbc:postgresql://%.*s:%u/%.*s?user=%.*s&password=%.*s&sslmode=%s",
                            SLICE_ARG(host), it->port, SLICE_ARG(database), SLICE_ARG(user),
                            SLICE_ARG(password), postgres_tls(it));
    case CLIENT_FORM_DSN:
        return postgres_dsn_in(arena, it);
    case CLIENT_FORM_ENV:
        return postgres_env_in(arena, it, "export ", "\n");
    case CLIENT_FORM_PSQL:
        return arena_format(arena, "%.*s psql", SLICE_ARG(postgres_env_in(arena, it, "", " ")));
    case CLIENT_FORM_MARIADB:
    case CLIENT_FORM_SSH:
    case CLIENT_FORM_SSH_CONFIG:
    case CLIENT_FORM_COUNT:
        break;
    }
    return SLICE_NONE;
}

/* A line of a .pgpass. */
static struct slice postgres_file_in(struct arena *arena, const struct client_credential *it)
{
    return arena_format(arena, "127.0.0.1:%u:*:%.*s:%.*s\n", it->port,
                        SLICE_ARG(protocol_escape_in(arena, it->user, ":\\")),
                        SLICE_ARG(protocol_escape_in(arena, it->password, ":\\")));
}

/* What else the environment says of a server gives way. */
static size_t postgres_variables_in(struct arena *arena, const struct client_credential *it,
                                    const char *file, struct slice *ret_variables)
{
    const struct slice variables[] = {
        SLICE_INIT("PGHOST=127.0.0.1"),
        arena_format(arena, "PGPORT=%u", it->port),
        arena_format(arena, "PGUSER=%.*s", SLICE_ARG(it->user)),
        arena_format(arena, "PGDATABASE=%.*s", SLICE_ARG(it->database)),
        arena_format(arena, "PGPASSFILE=%s", file),
        SLICE_INIT("PGSSLMODE=disable"),
        SLICE_INIT("PGPASSWORD"),
        SLICE_INIT("PGHOSTADDR"),
        SLICE_INIT("PGSERVICE"),
        SLICE_INIT("PGSERVICEFILE"),
        SLICE_INIT("PGREQUIREAUTH"),
        SLICE_INIT("PGCHANNELBINDING"),
    };
    for (size_t i = 0; i < COUNT_OF(variables); i++) {
        ret_variables[i] = variables[i];
    }
    return COUNT_OF(variables);
}

/* MySQL and MariaDB ---------------------------------------------------------------------------- */

/* For scripts: the clients themselves know the first three, and take the user as an option. */
static struct slice mysql_env_in(struct arena *arena, const struct client_credential *it)
{
    return arena_format(arena,
                        "export MYSQL_HOST=%.*s\nexport MYSQL_TCP_PORT=%u\nexport MYSQL_PWD=%.*s\n"
                        "export MYSQL_USER=%.*s\nexport MYSQL_DATABASE=%.*s",
                        SLICE_ARG(protocol_shell_in(arena, it->host)), it->port,
                        SLICE_ARG(protocol_shell_in(arena, it->password)),
                        SLICE_ARG(protocol_shell_in(arena, it->user)),
                        SLICE_ARG(protocol_shell_in(arena, it->database)));
}

static struct slice mysql_command_in(struct arena *arena, const struct client_credential *it)
{
    return arena_format(
        arena, "MYSQL_PWD=%.*s mariadb --protocol=tcp -h %.*s -P %u -u %.*s%s%.*s",
        SLICE_ARG(protocol_shell_in(arena, it->password)),
        SLICE_ARG(protocol_shell_in(arena, it->host)), it->port,
        SLICE_ARG(protocol_shell_in(arena, it->user)), it->database.len > 0 ? " " : "",
        SLICE_ARG(it->database.len > 0 ? protocol_shell_in(arena, it->database) : SLICE("")));
}

static struct slice mysql_form_in(struct arena *arena, const struct client_credential *it,
                                  enum client_form form)
{
    struct slice host = protocol_host_in(arena, it->host);
    struct slice user = url_encode(arena, it->user);
    struct slice password = url_encode(arena, it->password);
    struct slice database = url_encode(arena, it->database);
    switch (form) {
    case CLIENT_FORM_URL:
        return arena_format(arena, "mysql://%.*s:%.*s@%.*s:%u/%.*s", SLICE_ARG(user),
                            SLICE_ARG(password), SLICE_ARG(host), it->port, SLICE_ARG(database));
    case CLIENT_FORM_JDBC:
        return arena_format(arena, "jdbc:mysql://%.*s:%u/%.*s?user=%.*s&password=%.*s&sslMode=%s",
                            SLICE_ARG(host), it->port, SLICE_ARG(database), SLICE_ARG(user),
                            SLICE_ARG(password), it->uses_tls ? "REQUIRED" : "DISABLED");
    case CLIENT_FORM_ENV:
        return mysql_env_in(arena, it);
    case CLIENT_FORM_MARIADB:
        return mysql_command_in(arena, it);
    case CLIENT_FORM_DSN:
    case CLIENT_FORM_PSQL:
    case CLIENT_FORM_SSH:
    case CLIENT_FORM_SSH_CONFIG:
    case CLIENT_FORM_COUNT:
        break;
    }
    return SLICE_NONE;
}

/* An option file. What the person's own say comes first, so that these have the last word; of them
 * only those are named that are there. TLS is the way to the gateway's, and clients of MariaDB that
 * insist on it between two ends of one machine are told so. */
static struct slice mysql_file_in(struct arena *arena, const struct client_credential *it)
{
    const char *home = getenv("HOME");
    const char *const others[] = {"/etc/my.cnf", "/etc/mysql/my.cnf",
                                  home == NULL ? "" : arena_format(arena, "%s/.my.cnf", home).at};
    struct slice text = SLICE("");
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        if (client_file_is_there(others[i])) {
            text = arena_format(arena, "%.*s!include %s\n", SLICE_ARG(text), others[i]);
        }
    }
    text = arena_format(arena,
                        "%.*s[client]\nprotocol=tcp\nhost=127.0.0.1\nport=%u\nuser=\"%.*s\"\n"
                        "password=\"%.*s\"\n[client-mariadb]\nskip-ssl\n",
                        SLICE_ARG(text), it->port,
                        SLICE_ARG(protocol_escape_in(arena, it->user, "\\\"")),
                        SLICE_ARG(protocol_escape_in(arena, it->password, "\\\"")));
    return it->database.len == 0
               ? text
               : arena_format(arena, "%.*s[mysql]\ndatabase=\"%.*s\"\n", SLICE_ARG(text),
                              SLICE_ARG(protocol_escape_in(arena, it->database, "\\\"")));
}

static size_t mysql_variables_in(struct arena *arena, const struct client_credential *it,
                                 const char *file, struct slice *ret_variables)
{
    size_t folder = strlen(file) - strlen(it->target.protocol->file_name) - 1;
    const struct slice variables[] = {
        arena_format(arena, "MYSQL_HOME=%.*s", (int)folder, file),
        SLICE_INIT("MYSQL_HOST=127.0.0.1"),
        arena_format(arena, "MYSQL_TCP_PORT=%u", it->port),
        /* One that is not there: ~/.mylogin.cnf would have the very last word. */
        arena_format(arena, "MYSQL_TEST_LOGIN_FILE=%.*s/login", (int)folder, file),
        SLICE_INIT("MYSQL_PWD"),
        SLICE_INIT("MARIADB_HOME"),
        SLICE_INIT("MYSQL_UNIX_PORT"),
        SLICE_INIT("MYSQL_GROUP_SUFFIX"),
    };
    for (size_t i = 0; i < COUNT_OF(variables); i++) {
        ret_variables[i] = variables[i];
    }
    return COUNT_OF(variables);
}

/* "mariadb", "mysqldump", "/usr/bin/mysql_upgrade" … */
static bool mysql_is_client(const char *program)
{
    const char *slash = strrchr(program, '/');
    struct slice name = slice_of_text(slash == NULL ? program : slash + 1);
    return slice_starts_with(name, SLICE("mysql")) || slice_starts_with(name, SLICE("mariadb"));
}

/* A client of theirs reads this file and none besides: ~/.my.cnf comes after the folder of
 * MYSQL_HOME, and might lead somewhere else. The option has to be the first. */
static char **mysql_arguments_in(struct arena *arena, const struct client_credential *it,
                                 char **arguments, const char *file)
{
    (void)it;
    bool is_chosen = arguments[1] != NULL &&
                     (strncmp(arguments[1], "--defaults-", sizeof("--defaults-") - 1) == 0 ||
                      strcmp(arguments[1], "--no-defaults") == 0);
    size_t count = 0;
    if (is_chosen || !mysql_is_client(arguments[0])) {
        return arguments;
    }
    while (arguments[count] != NULL) {
        count++;
    }
    char **made = arena_alloc_array(arena, count + 2, sizeof(*made));
    made[0] = arguments[0];
    made[1] = arena_text(arena, arena_format(arena, "--defaults-file=%s", file));
    for (size_t i = 1; i < count; i++) {
        made[i + 1] = arguments[i];
    }
    return made;
}

/* SSH ------------------------------------------------------------------------------------------ */

/* A client knows the gateway by its host key alone, which came over HTTPS, and by no file. It asks
 * a program for that: here one that says what it is given. */
static struct slice ssh_known_in(struct arena *arena, const struct client_credential *it)
{
    return arena_format(arena, "/bin/echo [%.*s]:%u %.*s", SLICE_ARG(it->host), it->port,
                        SLICE_ARG(it->host_key));
}

static struct slice ssh_command_in(struct arena *arena, const struct client_credential *it)
{
    struct slice known =
        arena_format(arena, "KnownHostsCommand=%.*s", SLICE_ARG(ssh_known_in(arena, it)));
    return arena_format(
        arena, "ssh -o %.*s -p %u -- %.*s", SLICE_ARG(protocol_shell_in(arena, known)), it->port,
        SLICE_ARG(protocol_shell_in(
            arena, arena_format(arena, "%.*s@%.*s", SLICE_ARG(it->user), SLICE_ARG(it->host)))));
}

static struct slice ssh_form_in(struct arena *arena, const struct client_credential *it,
                                enum client_form form)
{
    if (form == CLIENT_FORM_SSH) {
        return ssh_command_in(arena, it);
    }
    return form == CLIENT_FORM_SSH_CONFIG
               ? arena_format(arena,
                              "# the secret that ssh asks for: %.*s\nHost %.*s\n  HostName %.*s\n"
                              "  Port %u\n  User %.*s\n  PreferredAuthentications password\n"
                              "  KnownHostsCommand %.*s",
                              SLICE_ARG(it->password), SLICE_ARG(it->target.connection),
                              SLICE_ARG(it->host), it->port, SLICE_ARG(it->user),
                              SLICE_ARG(ssh_known_in(arena, it)))
               : SLICE_NONE;
}

/* A program that ssh asks for the secret. */
static struct slice ssh_file_in(struct arena *arena, const struct client_credential *it)
{
    return arena_format(arena, "#!/bin/sh\nprintf '%%s\\n' %.*s\n",
                        SLICE_ARG(protocol_shell_in(arena, it->password)));
}

#define SSH_OPTIONS 6

/* In the place of what the person's own configuration says of a host with this name. */
static void ssh_options_in(struct arena *arena, const struct client_credential *it,
                           struct slice ret_options[SSH_OPTIONS])
{
    const struct slice options[SSH_OPTIONS] = {
        SLICE("HostName=127.0.0.1"),
        arena_format(arena, "Port=%u", it->port),
        arena_format(arena, "User=%.*s", SLICE_ARG(it->user)),
        SLICE("PreferredAuthentications=password"),
        SLICE("UserKnownHostsFile=/dev/null"),
        arena_format(arena, "KnownHostsCommand=%.*s", SLICE_ARG(ssh_known_in(arena, it))),
    };
    for (size_t i = 0; i < SSH_OPTIONS; i++) {
        ret_options[i] = options[i];
    }
}

/* git, rsync and scp of other programs run an ssh of their own. */
static size_t ssh_variables_in(struct arena *arena, const struct client_credential *it,
                               const char *file, struct slice *ret_variables)
{
    struct slice options[SSH_OPTIONS];
    struct slice command = SLICE("ssh");
    ssh_options_in(arena, it, options);
    for (size_t i = 0; i < SSH_OPTIONS; i++) {
        command = arena_format(arena, "%.*s -o %.*s", SLICE_ARG(command),
                               SLICE_ARG(protocol_shell_in(arena, options[i])));
    }
    ret_variables[0] = arena_format(arena, "SSH_ASKPASS=%s", file);
    ret_variables[1] = SLICE("SSH_ASKPASS_REQUIRE=force");
    ret_variables[2] = arena_format(arena, "GIT_SSH_COMMAND=%.*s", SLICE_ARG(command));
    ret_variables[3] = arena_format(arena, "RSYNC_RSH=%.*s", SLICE_ARG(command));
    return 4;
}

static bool ssh_is_client(const char *program)
{
    static const char *const names[] = {"ssh", "scp", "sftp"};
    const char *slash = strrchr(program, '/');
    bool is_client = false;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        is_client = is_client || strcmp(slash == NULL ? program : slash + 1, names[i]) == 0;
    }
    return is_client;
}

static char **ssh_arguments_in(struct arena *arena, const struct client_credential *it,
                               char **arguments, const char *file)
{
    struct slice options[SSH_OPTIONS];
    size_t count = 0;
    (void)file;
    if (!ssh_is_client(arguments[0])) {
        return arguments;
    }
    while (arguments[count] != NULL) {
        count++;
    }
    char **made = arena_alloc_array(arena, count + 2 * SSH_OPTIONS + 1, sizeof(*made));
    made[0] = arguments[0];
    ssh_options_in(arena, it, options);
    for (size_t i = 0; i < SSH_OPTIONS; i++) {
        made[1 + 2 * i] = arena_text(arena, SLICE("-o"));
        made[2 + 2 * i] = arena_text(arena, options[i]);
    }
    for (size_t i = 1; i < count; i++) {
        made[2 * SSH_OPTIONS + i] = arguments[i];
    }
    return made;
}

/* TCP ------------------------------------------------------------------------------------------ */

static struct slice tcp_form_in(struct arena *arena, const struct client_credential *it,
                                enum client_form form)
{
    (void)arena;
    (void)it;
    (void)form;
    return SLICE_NONE; /* an address is all that can be said */
}

static size_t tcp_variables_in(struct arena *arena, const struct client_credential *it,
                               const char *file, struct slice *ret_variables)
{
    (void)file;
    ret_variables[0] = SLICE("GATEHOUSE_HOST=127.0.0.1");
    ret_variables[1] = arena_format(arena, "GATEHOUSE_PORT=%u", it->port);
    return 2;
}

/* The table ------------------------------------------------------------------------------------ */

static const struct client_protocol client_protocols[] = {
    {.subtype = "postgres",
     .port = 5432,
     .connect = client_connect_port,
     .form_in = postgres_form_in,
     .file_name = "pgpass",
     .file_in = postgres_file_in,
     .variables_in = postgres_variables_in},
    {.subtype = "mysql",
     .port = 3306,
     .connect = client_connect_port,
     .form_in = mysql_form_in,
     .file_name = "my.cnf",
     .file_in = mysql_file_in,
     .variables_in = mysql_variables_in,
     .arguments_in = mysql_arguments_in},
    {.subtype = "ssh",
     .connect = client_connect_port,
     .form_in = ssh_form_in,
     .file_name = "askpass",
     .file_is_program = true,
     .file_in = ssh_file_in,
     .variables_in = ssh_variables_in,
     .arguments_in = ssh_arguments_in},
    {.subtype = "tcp",
     .is_signed_in_by_tunnel = true,
     .connect = client_connect_port,
     .form_in = tcp_form_in,
     .variables_in = tcp_variables_in},
};

enum err client_target_find(struct client_run *run, const char *name,
                            struct client_target *ret_target, struct error *reterr)
{
    struct json connection;
    struct slice path = arena_format(run->arena, "/api/connections/%.*s",
                                     SLICE_ARG(url_encode(run->arena, slice_of_text(name))));
    enum err err = client_get(&run->client, path, &connection, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct slice subtype = show_text(&connection, "subtype");
    for (size_t i = 0; i < COUNT_OF(client_protocols); i++) {
        if (slice_equals(subtype, slice_of_text(client_protocols[i].subtype))) {
            *ret_target = (struct client_target){.connection = show_text(&connection, "name"),
                                                 .protocol = &client_protocols[i]};
            return ERR_NONE;
        }
    }
    return fail(reterr, ERR_INPUT, "'%s' is of subtype '%.*s', which clients cannot reach yet",
                name, SLICE_ARG(subtype));
}
