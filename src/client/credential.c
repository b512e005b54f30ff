/* SPDX-License-Identifier: MIT */
#include "client/credential.h"

#include "base/memory.h"
#include "base/text.h"
#include "client/show.h"
#include "codec/json_writer.h"
#include "codec/url.h"

#define DURATION_S     (8 * 3600)
#define DURATION_MAX_S 172800 /* that the gateway takes */

static const struct client_protocol credential_protocols[] = {
    {.subtype = "postgres", .port = 5432},
};

static enum err credential_read(const struct client_run *run, const struct json *answer,
                                struct client_credential *credential, struct error *reterr)
{
    struct json access = json_member(answer, "connection_credentials");
    struct slice subtype = show_text(answer, "connection_subtype");
    uint64_t port = 0;
    *credential = (struct client_credential){
        .id = show_text(answer, "id"),
        .connection = show_text(answer, "connection_name"),
        .host = show_text(&access, "hostname"),
        .user = show_text(&access, "username"),
        .password = show_text(&access, "password"),
        .database = show_text(&access, "database_name"),
        .tls = "require",
    };
    for (size_t i = 0; i < COUNT_OF(credential_protocols); i++) {
        if (slice_equals(subtype, slice_of_text(credential_protocols[i].subtype))) {
            credential->protocol = &credential_protocols[i];
        }
    }
    struct slice whole = show_text(&access, "connection_string");
    if (slice_find(whole, SLICE("sslmode=disable")) < whole.len) {
        credential->tls = "disable";
    }
    if (credential->id.len == 0 || credential->password.len == 0 ||
        text_parse_u64(show_text(&access, "port"), &port) != ERR_NONE || port > 65535) {
        return fail(reterr, ERR_UNAVAILABLE, "'%.*s' does not answer as a gateway does",
                    SLICE_ARG(run->client.context.url));
    }
    credential->port = (unsigned)port;
    return ERR_NONE;
}

/* Before one is made of something that has no clients. */
static enum err credential_check(struct client_run *run, struct slice path, struct error *reterr)
{
    struct json connection;
    enum err err = client_get(&run->client, path, &connection, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct slice subtype = show_text(&connection, "subtype");
    for (size_t i = 0; i < COUNT_OF(credential_protocols); i++) {
        if (slice_equals(subtype, slice_of_text(credential_protocols[i].subtype))) {
            return ERR_NONE;
        }
    }
    return slice_equals(subtype, SLICE("tcp"))
               ? fail(reterr, ERR_INPUT,
                      "'%s' is of subtype tcp: 'gatehouse tcp' carries a connection to it",
                      run->given.words[0])
               : fail(reterr, ERR_INPUT,
                      "'%s' is of subtype '%.*s', which clients cannot reach yet",
                      run->given.words[0], SLICE_ARG(subtype));
}

enum err client_credential_make(struct client_run *run, struct client_credential *ret_credential,
                                struct error *reterr)
{
    struct arena *arena = run->arena;
    struct client_answer answer = {0};
    int64_t seconds = 0;
    struct slice path =
        arena_format(arena, "/api/connections/%.*s",
                     SLICE_ARG(url_encode(arena, slice_of_text(run->given.words[0]))));
    enum err err = client_given_seconds(run, CLIENT_DURATION, DURATION_S, &seconds, reterr);
    if (err == ERR_NONE && seconds > DURATION_MAX_S) {
        err = fail(reterr, ERR_INPUT, "--duration: two days are the most");
    }
    if (err == ERR_NONE) {
        err = credential_check(run, path, reterr);
    }
    const struct client_request request = {
        .method = "POST",
        .path = arena_format(arena, "%.*s/credentials", SLICE_ARG(path)),
        .body = arena_format(arena, "{\"access_duration_seconds\":%lld,\"keep_others\":%s}",
                             (long long)seconds,
                             client_given(run, CLIENT_REPLACE) == NULL ? "true" : "false"),
    };
    if (err == ERR_NONE) {
        err = client_call(&run->client, &request, &answer, reterr);
        err = err == ERR_CONFLICT
                  ? fail(reterr, err,
                         "there are as many credentials of yours for '%s' as can be "
                         "side by side: --replace ends them, and their sessions",
                         run->given.words[0])
                  : err;
    }
    return err == ERR_NONE ? credential_read(run, &answer.json, ret_credential, reterr) : err;
}

void client_credential_end(struct client_run *run, const struct client_credential *credential)
{
    struct error ignored;
    struct client_answer answer = {0};
    const struct client_request request = {
        .method = "POST",
        .path = arena_format(run->arena, "/api/connections/%.*s/credentials/%.*s/revoke",
                             SLICE_ARG(url_encode(run->arena, credential->connection)),
                             SLICE_ARG(credential->id)),
    };
    if (client_call(&run->client, &request, &answer, &ignored) != ERR_NONE) {
        show_problem("the credential could not be ended: %s", ignored.message);
    }
}

/* Forms ---------------------------------------------------------------------------------------- */

/* 'It''s' of a shell, and of libpq's keywords. */
static struct slice credential_quote_in(struct arena *arena, struct slice text, const char *quote)
{
    struct slice made = SLICE("'");
    while (text.at != NULL) {
        struct slice rest = SLICE_NONE;
        struct slice part = slice_cut(text, '\'', &rest);
        made = arena_format(arena, "%.*s%.*s%s", SLICE_ARG(made), SLICE_ARG(part),
                            rest.at == NULL ? "'" : quote);
        text = rest;
    }
    return made;
}

static struct slice credential_shell_in(struct arena *arena, struct slice text)
{
    return credential_quote_in(arena, text, "'\\''");
}

static struct slice credential_dsn_value_in(struct arena *arena, struct slice text)
{
    struct slice escaped = SLICE("");
    for (size_t i = 0; i < text.len; i++) {
        escaped = arena_format(arena, "%.*s%s%c", SLICE_ARG(escaped),
                               text.at[i] == '\\' || text.at[i] == '\'' ? "\\" : "", text.at[i]);
    }
    return arena_format(arena, "'%.*s'", SLICE_ARG(escaped));
}

static struct slice credential_host_in(struct arena *arena, struct slice host)
{
    return slice_find_byte(host, ':') < host.len ? arena_format(arena, "[%.*s]", SLICE_ARG(host))
                                                 : host;
}

static struct slice credential_env_in(struct arena *arena, const struct client_credential *it,
                                      const char *before, const char *between)
{
    return arena_format(
        arena,
        "%sPGHOST=%.*s%s%sPGPORT=%u%s%sPGUSER=%.*s%s%sPGPASSWORD=%.*s%s%sPGDATABASE=%.*s%s%s"
        "PGSSLMODE=%s",
        before, SLICE_ARG(credential_shell_in(arena, it->host)), between, before, it->port, between,
        before, SLICE_ARG(credential_shell_in(arena, it->user)), between, before,
        SLICE_ARG(credential_shell_in(arena, it->password)), between, before,
        SLICE_ARG(credential_shell_in(arena, it->database)), between, before, it->tls);
}

struct slice client_credential_form_in(struct arena *arena,
                                       const struct client_credential *credential,
                                       enum credential_form form)
{
    const struct client_credential *it = credential;
    struct slice host = credential_host_in(arena, it->host);
    struct slice user = url_encode(arena, it->user);
    struct slice password = url_encode(arena, it->password);
    struct slice database = url_encode(arena, it->database);
    switch (form) {
    case CREDENTIAL_URL:
        return arena_format(arena, "postgres://%.*s:%.*s@%.*s:%u/%.*s?sslmode=%s", SLICE_ARG(user),
                            SLICE_ARG(password), SLICE_ARG(host), it->port, SLICE_ARG(database),
                            it->tls);
    case CREDENTIAL_JDBC:
        return arena_format(arena,
                            "jdbc:postgresql://%.*s:%u/%.*s?user=%.*s&password=%.*s&sslmode=%s",
                            SLICE_ARG(host), it->port, SLICE_ARG(database), SLICE_ARG(user),
                            SLICE_ARG(password), it->tls);
    case CREDENTIAL_DSN:
        return arena_format(arena,
                            "host=%.*s port=%u user=%.*s password=%.*s dbname=%.*s sslmode=%s",
                            SLICE_ARG(credential_dsn_value_in(arena, it->host)), it->port,
                            SLICE_ARG(credential_dsn_value_in(arena, it->user)),
                            SLICE_ARG(credential_dsn_value_in(arena, it->password)),
                            SLICE_ARG(credential_dsn_value_in(arena, it->database)), it->tls);
    case CREDENTIAL_ENV:
        return credential_env_in(arena, it, "export ", "\n");
    case CREDENTIAL_PSQL:
        return arena_format(arena, "%.*s psql", SLICE_ARG(credential_env_in(arena, it, "", " ")));
    }
    return SLICE("");
}
