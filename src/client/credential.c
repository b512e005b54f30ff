/* SPDX-License-Identifier: MIT */
#include "client/credential.h"

#include "base/memory.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "client/show.h"
#include "codec/url.h"
#include "model/name.h"

#define DURATION_S      (8 * 3600)
#define DURATION_MAX_S  172800 /* that the gateway takes */
#define REVIEW_PAUSE_MS 2000

/* By the gateway's clock alone. */
static int64_t credential_seconds(const struct json *answer)
{
    int64_t begin = 0;
    int64_t end = 0;
    bool is_known = timestamp_parse(show_text(answer, "created_at"), &begin) == ERR_NONE &&
                    timestamp_parse(show_text(answer, "expire_at"), &end) == ERR_NONE &&
                    end > begin;
    return is_known ? (end - begin) / TIMESTAMP_SECOND : 0;
}

#define CREDENTIAL_ID_MAX 64

/* Its id names a file here, and each of the others is to be on a line of its own. */
static bool credential_is_plain(const struct client_credential *it)
{
    const struct slice lines[] = {it->target.connection, it->host, it->user, it->password,
                                  it->database};
    for (size_t i = 0; i < it->id.len; i++) {
        char at = it->id.at[i];
        if (!((at >= 'a' && at <= 'z') || (at >= 'A' && at <= 'Z') || (at >= '0' && at <= '9') ||
              at == '-')) {
            return false;
        }
    }
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        if (line_check(lines[i], NULL) != ERR_NONE) {
            return false;
        }
    }
    return it->id.len > 0 && it->id.len <= CREDENTIAL_ID_MAX && it->password.len > 0;
}

static bool credential_is_word(struct slice text)
{
    static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "+/=-_.:@";
    return text.len > 0 && text.at[0] != '-' && slice_trim(text, good).len == 0;
}

/* "[gate]:12222 ssh-ed25519 AAAA…": what is behind the host. It becomes part of command lines and
 * of configurations, with the names: a false gateway must not bring options or other hosts that
 * way. */
static bool credential_read_key(struct slice known_hosts, struct client_credential *credential)
{
    struct slice rest = SLICE_NONE;
    credential->host_key = SLICE("");
    if (known_hosts.len == 0) {
        return true;
    }
    (void)slice_cut(known_hosts, ' ', &credential->host_key);
    struct slice kind = slice_cut(credential->host_key, ' ', &rest);
    return credential_is_word(kind) && credential_is_word(rest) &&
           credential_is_word(credential->target.connection) &&
           credential_is_word(credential->user) && credential_is_word(credential->host);
}

static enum err credential_read(const struct client_run *run, const struct json *answer,
                                struct client_credential *credential, struct error *reterr)
{
    struct json access = json_member(answer, "connection_credentials");
    uint64_t port = 0;
    struct slice whole = show_text(&access, "connection_string");
    credential->id = show_text(answer, "id");
    credential->host = show_text(&access, "hostname");
    credential->user = show_text(&access, "username");
    credential->password = show_text(&access, "password");
    credential->database = show_text(&access, "database_name");
    credential->seconds = credential_seconds(answer);
    credential->uses_tls = slice_find(whole, SLICE("sslmode=disable")) == whole.len;
    if (!credential_read_key(show_text(&access, "known_hosts"), credential) ||
        !credential_is_plain(credential) ||
        text_parse_u64(show_text(&access, "port"), &port) != ERR_NONE || port > 65535) {
        return fail(reterr, ERR_UNAVAILABLE, "'%.*s' does not answer as a gateway does",
                    SLICE_ARG(run->client.context.url));
    }
    credential->port = (unsigned)port;
    return ERR_NONE;
}

static struct slice credential_path_in(struct arena *arena, const struct client_target *target)
{
    return arena_format(arena, "/api/connections/%.*s/credentials",
                        SLICE_ARG(url_encode(arena, target->connection)));
}

enum err client_credential_make(struct client_run *run, const struct client_target *target,
                                struct client_credential *ret_credential, struct error *reterr)
{
    struct client_answer answer = {0};
    struct slice metadata = SLICE_NONE;
    int64_t seconds = 0;
    enum err err = client_given_seconds(run, CLIENT_DURATION, DURATION_S, &seconds, reterr);
    if (err == ERR_NONE && seconds > DURATION_MAX_S) {
        err = fail(reterr, ERR_INPUT, "--duration: two days are the most");
    }
    if (err == ERR_NONE) {
        err = client_given_metadata_in(run, &metadata, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    const struct client_request request = {
        .method = "POST",
        .path = credential_path_in(run->arena, target),
        .body = arena_format(
            run->arena, "{\"access_duration_seconds\":%lld,\"keep_others\":%s,\"metadata\":%.*s}",
            (long long)seconds, client_given(run, CLIENT_REPLACE) == NULL ? "true" : "false",
            SLICE_ARG(metadata)),
    };
    err = client_call(&run->client, &request, &answer, reterr);
    if (err == ERR_CONFLICT) {
        return fail(reterr, err,
                    "there are as many credentials of yours for '%.*s' as can be "
                    "side by side: --replace ends them, and their sessions",
                    SLICE_ARG(target->connection));
    }
    *ret_credential = (struct client_credential){.target = *target};
    if (err == ERR_NONE && answer.status == 202) {
        ret_credential->review_id = show_text(&answer.json, "review_id");
        run->exit_code = CLIENT_EXIT_REVIEW;
        return fail(reterr, ERR_DENIED, "it waits for others to approve: %.*s",
                    SLICE_ARG(show_text(&answer.json, "review_url")));
    }
    return err == ERR_NONE ? credential_read(run, &answer.json, ret_credential, reterr) : err;
}

/* A request that was turned down is not made anew. */
enum err client_review_await(struct client_run *run, struct slice review_id, struct error *reterr)
{
    struct slice path =
        arena_format(run->arena, "/api/reviews/%.*s", SLICE_ARG(url_encode(run->arena, review_id)));
    for (;;) {
        struct json review;
        enum err err = client_pause(&run->client, REVIEW_PAUSE_MS, reterr);
        if (err == ERR_NONE) {
            err = client_get(&run->client, path, &review, reterr);
        }
        if (err != ERR_NONE) {
            return err;
        }
        struct slice status = show_text(&review, "status");
        if (slice_equals(status, SLICE("APPROVED"))) {
            return ERR_NONE;
        }
        if (!slice_equals(status, SLICE("PENDING"))) {
            run->exit_code = CLIENT_EXIT_NO_ACCESS;
            return fail(reterr, ERR_DENIED, "the request was not approved: it is %.*s",
                        SLICE_ARG(text_lower_in(run->arena, status)));
        }
    }
}

enum err client_credential_await(struct client_run *run, const struct client_target *target,
                                 struct client_credential *ret_credential, struct error *reterr)
{
    enum err err = client_credential_make(run, target, ret_credential, reterr);
    if (err != ERR_DENIED || ret_credential->review_id.len == 0) {
        return err;
    }
    (void)fprintf(stderr, "gatehouse: %s\n", reterr->message);
    err = client_review_await(run, ret_credential->review_id, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    run->exit_code = 0;
    return client_credential_make(run, target, ret_credential, reterr);
}

void client_credential_end(struct client_run *run, const struct client_credential *credential)
{
    struct error ignored;
    struct client_answer answer = {0};
    const struct client_request request = {
        .method = "POST",
        .path = arena_format(run->arena, "%.*s/%.*s/revoke",
                             SLICE_ARG(credential_path_in(run->arena, &credential->target)),
                             SLICE_ARG(credential->id)),
    };
    if (client_call(&run->client, &request, &answer, &ignored) != ERR_NONE) {
        show_problem("the credential could not be ended: %s", ignored.message);
    }
}
