/* SPDX-License-Identifier: MIT */
/* What a connection has when it says nothing: by type and subtype, the command that its database's
 * own client is run with, and secrets that this command needs. */
#include "base/memory.h"
#include "model/connection.h"
#include "model/secret_map.h"

#define COMMAND_WORDS_MAX 24

struct connection_default {
    const char *subtype;
    const char *without_secret; /* only when there is no such secret */
    const char *command[COMMAND_WORDS_MAX];
    struct shape_pair secrets[2];
};

#define SECRET(name, base64)                                                                       \
    {                                                                                              \
        .key = SLICE_INIT(name), .value = SLICE_INIT(base64)                                       \
    }

static const struct connection_default connection_defaults[] = {
    {.subtype = "postgres",
     .command = {"psql", "-v", "ON_ERROR_STOP=1", "-A", "-F\t", "-P", "pager=off", "-h", "$HOST",
                 "-U", "$USER", "--port=$PORT", "$DB"}},
    {.subtype = "mysql", .command = {"mysql", "-h$HOST", "-u$USER", "--port=$PORT", "-D$DB"}},
    {.subtype = "mssql",
     .command = {"sqlcmd", "-b", "-r", "-W", "-s\t", "-S$HOST:$PORT", "-U$USER", "-d$DB",
                 "-i/dev/stdin"},
     .secrets = {SECRET("envvar:INSECURE", "ZmFsc2U=")}},
    {.subtype = "oracledb", .command = {"sqlplus", "-s", "$USER/$PASS@$HOST:$PORT/$SID"}},
    {.subtype = "mongodb",
     .without_secret = "envvar:CONNECTION_STRING",
     .command = {"mongo", "--quiet", "mongodb://$USER:$PASS@$HOST:$PORT/?$OPTIONS"},
     .secrets = {SECRET("envvar:OPTIONS", "dGxzPXRydWU="), SECRET("envvar:PORT", "MjcwMTc=")}},
    {.subtype = "mongodb", .command = {"mongo", "--quiet", "$CONNECTION_STRING"}},
};

static const struct connection_default *connection_default_of(const struct connection *connection)
{
    if (!slice_equals(connection->type, SLICE("database"))) {
        return NULL;
    }
    for (size_t i = 0; i < COUNT_OF(connection_defaults); i++) {
        const struct connection_default *known = &connection_defaults[i];
        bool fits = slice_equals(connection->subtype, slice_of_text(known->subtype));
        bool is_refused =
            known->without_secret != NULL &&
            secret_find(&connection->secret, slice_of_text(known->without_secret)) != NULL;
        if (fits && !is_refused) {
            return known;
        }
    }
    return NULL;
}

static void connection_fill_command(struct arena *arena, const struct connection_default *known,
                                    struct shape_texts *command)
{
    command->items = arena_alloc_array(arena, COMMAND_WORDS_MAX, sizeof(*command->items));
    command->is_given = true;
    while (command->count < COMMAND_WORDS_MAX && known->command[command->count] != NULL) {
        command->items[command->count] = slice_of_text(known->command[command->count]);
        command->count++;
    }
}

static void connection_fill_secrets(struct arena *arena, const struct connection_default *known,
                                    struct shape_pairs *secret)
{
    struct shape_pair *pairs =
        arena_alloc_array(arena, secret->count + COUNT_OF(known->secrets), sizeof(*pairs));
    for (size_t i = 0; i < secret->count; i++) {
        pairs[i] = secret->pairs[i];
    }
    secret->pairs = pairs;
    for (size_t i = 0; i < COUNT_OF(known->secrets); i++) {
        const struct shape_pair *pair = &known->secrets[i];
        if (pair->key.len > 0 && secret_find(secret, pair->key) == NULL) {
            pairs[secret->count++] = *pair;
        }
    }
}

void connection_fill_defaults(struct arena *arena, struct connection *connection)
{
    const struct connection_default *known = connection_default_of(connection);
    if (known == NULL) {
        return;
    }
    if (connection->command.count == 0) {
        connection_fill_command(arena, known, &connection->command);
    }
    connection_fill_secrets(arena, known, &connection->secret);
}

void connection_fill_role_modes(struct connection *role)
{
    bool is_database = slice_equals(role->type, SLICE("database"));
    role->access_mode_connect = SLICE("enabled");
    role->access_mode_exec = SLICE("enabled");
    role->access_mode_runbooks = SLICE("enabled");
    role->access_schema = is_database ? SLICE("enabled") : SLICE("disabled");
}
