/* SPDX-License-Identifier: MIT */
/* Secrets out of the key/value engines of HashiCorp Vault and OpenBao. The agent has a token, or
 * signs in as an AppRole for one session; that token is revoked when it has served, so that leases
 * do not pile up. */
#include "target/secret_document.h"

#include "base/buf.h"
#include "base/memory.h"
#include "base/must.h"
#include "codec/json_writer.h"
#include "codec/url.h"
#include "target/environment.h"
#include "target/secret_answer.h"

#define VAULT_SOURCES      (SECRET_SOURCE_VAULT_KV1 | SECRET_SOURCE_VAULT_KV2)
#define VAULT_HEADER_COUNT 4
#define VAULT_PATH_MAX     2048
#define VAULT_LOGIN_MAX    8192
#define VAULT_MOUNTS       "secret,kv" /* unless the variable is set: as Vault calls them */

struct vault {
    struct slice address; /* without a slash at its end */
    struct slice token;
    struct fetch_header headers[VAULT_HEADER_COUNT];
    const char *issuers; /* NULL: the system's */
};

/* What every request has. */
static struct fetch_request vault_request_in(struct vault *vault, struct arena *arena,
                                             struct slice path)
{
    vault->headers[0] = (struct fetch_header){"X-Vault-Request", SLICE("true")};
    vault->headers[1] = (struct fetch_header){"X-Vault-Token", vault->token};
    vault->headers[2] =
        (struct fetch_header){"X-Vault-Namespace", environment_slice("VAULT_NAMESPACE")};
    vault->headers[3] = (struct fetch_header){"Content-Type", SLICE("application/json")};
    return (struct fetch_request){
        .url = arena_format(arena, "%.*s/v1/%.*s", SLICE_ARG(vault->address), SLICE_ARG(path)).at,
        .headers = vault->headers,
        .header_count = VAULT_HEADER_COUNT,
        .issuers = vault->issuers,
    };
}

static enum err vault_open(struct vault *vault, struct error *reterr)
{
    struct url url;
    vault->address = environment_slice("VAULT_ADDR");
    vault->token = environment_slice("VAULT_TOKEN");
    vault->issuers = environment_text("VAULT_CACERT");
    if (vault->address.len == 0) {
        return fail(reterr, ERR_NOT_FOUND, "VAULT_ADDR is not set in the agent's environment");
    }
    if (slice_ends_with(vault->address, SLICE("/"))) {
        vault->address.len--;
    }
    enum err err = url_parse(vault->address, &url, NULL);
    bool is_http = err == ERR_NONE && (slice_equals_nocase(url.scheme, SLICE("https")) ||
                                       slice_equals_nocase(url.scheme, SLICE("http")));
    if (!is_http || url.query.len > 0 || url.fragment.len > 0 || url.has_user) {
        return fail(reterr, ERR_UNAVAILABLE,
                    "VAULT_ADDR must be the address of a server, http:// or https://");
    }
    return ERR_NONE;
}

/* Secrets ------------------------------------------------------------------------------------- */

/* Where Vault keeps itself, and tokens: never secrets for connections, whatever the list says. */
static bool vault_is_reserved(struct slice path)
{
    static const struct slice reserved[] = {SLICE_INIT("auth"), SLICE_INIT("sys"),
                                            SLICE_INIT("identity"), SLICE_INIT("cubbyhole")};
    struct slice first = slice_sub(path, 0, slice_find_byte(path, '/'));
    for (size_t i = 0; i < COUNT_OF(reserved); i++) {
        if (slice_equals_nocase(first, reserved[i])) {
            return true;
        }
    }
    return false;
}

/* The longest engine of the list that the path lies in. */
static enum err vault_find_engine(struct slice path, struct slice *ret_engine, struct error *reterr)
{
    struct slice mounts = environment_slice("VAULT_MOUNTS");
    struct slice found = SLICE_NONE;
    mounts = mounts.len == 0 ? SLICE(VAULT_MOUNTS) : mounts;
    for (struct slice rest = mounts; rest.at != NULL;) {
        struct slice mount = slice_trim(slice_cut(rest, ',', &rest), " /");
        bool is_in = mount.len > 0 && slice_starts_with(path, mount) && path.len > mount.len + 1 &&
                     path.at[mount.len] == '/';
        found = is_in && mount.len > found.len ? mount : found;
    }
    if (found.len == 0 || vault_is_reserved(path)) {
        return fail(reterr, ERR_INPUT,
                    "the path is in none of the engines that VAULT_MOUNTS of the agent's "
                    "environment lists ('%.*s')",
                    SLICE_ARG(mounts));
    }
    *ret_engine = found;
    return ERR_NONE;
}

/* What an engine of version 2 has beside data would answer a reference of version 1, too. */
static bool vault_is_about_data(struct slice secret)
{
    static const struct slice others[] = {SLICE_INIT("config"),   SLICE_INIT("metadata"),
                                          SLICE_INIT("subkeys"),  SLICE_INIT("delete"),
                                          SLICE_INIT("undelete"), SLICE_INIT("destroy")};
    struct slice first = slice_sub(secret, 0, slice_find_byte(secret, '/'));
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        if (slice_equals_nocase(first, others[i])) {
            return true;
        }
    }
    return false;
}

/* No part may mean something else to whoever stands before Vault and takes paths apart again. */
static enum err vault_check_parts(struct slice path, struct error *reterr)
{
    for (struct slice rest = path; rest.at != NULL;) {
        struct slice part = slice_cut(rest, '/', &rest);
        if (part.len == 0 || slice_equals(part, SLICE(".")) || slice_equals(part, SLICE(".."))) {
            return fail(reterr, ERR_INPUT, "the path has a part that is empty, '.' or '..'");
        }
        for (size_t i = 0; i < part.len; i++) {
            unsigned char byte = (unsigned char)part.at[i];
            if (byte < ' ' || byte == 0x7f || strchr("%\\?#;", byte) != NULL) {
                return fail(reterr, ERR_INPUT,
                            "the path has a control character or one of %% \\ ? # ;");
            }
        }
    }
    return ERR_NONE;
}

static struct slice vault_escape_in(struct arena *arena, struct slice path)
{
    struct slice escaped = SLICE("");
    for (struct slice rest = path; rest.at != NULL;) {
        struct slice part = url_encode(arena, slice_cut(rest, '/', &rest));
        escaped = arena_format(arena, "%.*s%s%.*s", SLICE_ARG(escaped), escaped.len == 0 ? "" : "/",
                               SLICE_ARG(part));
    }
    return escaped;
}

/* Data of a key/value engine and nothing else: the token that reads it may be good for more.
 * Version 2 has "data" between the engine and the secret, where the reference may leave it out. */
static enum err vault_path_in(struct arena *arena, const struct secret_document *document,
                              struct slice *ret_path, struct error *reterr)
{
    struct slice name = document->name;
    struct slice engine = SLICE_NONE;
    name = slice_starts_with(name, SLICE("/")) ? slice_from(name, 1) : name;
    if (name.len > VAULT_PATH_MAX) {
        return fail(reterr, ERR_INPUT, "the path has more than %d bytes", VAULT_PATH_MAX);
    }
    if (slice_find_byte(name, '/') + 1 >= name.len) {
        return fail(reterr, ERR_INPUT, "the path must be ENGINE/SECRET");
    }
    enum err err = vault_check_parts(name, reterr);
    if (err == ERR_NONE) {
        err = vault_find_engine(name, &engine, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct slice secret = slice_from(name, engine.len + 1);
    if (document->source == SECRET_SOURCE_VAULT_KV1 && vault_is_about_data(secret)) {
        return fail(reterr, ERR_INPUT, "the path is not one of a secret's data");
    }
    bool needs_data = document->source == SECRET_SOURCE_VAULT_KV2 &&
                      !(slice_starts_with(secret, SLICE("data/")) && secret.len > strlen("data/"));
    struct slice path =
        needs_data ? arena_format(arena, "%.*s/data/%.*s", SLICE_ARG(engine), SLICE_ARG(secret))
                   : name;
    *ret_path = vault_escape_in(arena, path);
    return ERR_NONE;
}

static enum err vault_prepare(void *context, struct arena *arena,
                              const struct secret_document *document,
                              struct fetch_request *ret_request, struct error *reterr)
{
    struct slice path = SLICE_NONE;
    enum err err = vault_path_in(arena, document, &path, reterr);
    if (err == ERR_NONE) {
        *ret_request = vault_request_in(context, arena, path);
    }
    return err;
}

static enum err vault_take(void *context, struct arena *arena,
                           const struct secret_document *document,
                           const struct fetch_answer *answer, struct json *ret_object,
                           struct error *reterr)
{
    (void)context;
    enum vault_version version =
        document->source == SECRET_SOURCE_VAULT_KV2 ? VAULT_KV2 : VAULT_KV1;
    return secret_answer_vault_in(arena, version, answer->status, answer->body, ret_object, reterr);
}

/* The sign-in --------------------------------------------------------------------------------- */

static enum err vault_prepare_login(void *context, struct arena *arena,
                                    const struct secret_document *document,
                                    struct fetch_request *ret_request, struct error *reterr)
{
    struct buf buf;
    (void)document;
    buf_init(&buf, VAULT_LOGIN_MAX);
    struct json_writer json = json_writer_to(&buf);
    json_begin_object(&json);
    json_member_text(&json, "role_id", environment_slice("VAULT_ROLE_ID"));
    json_member_text(&json, "secret_id", environment_slice("VAULT_SECRET_ID"));
    json_end_object(&json);
    enum err err = json_writer_done(&json);
    if (err == ERR_NONE) {
        *ret_request = vault_request_in(context, arena, SLICE("auth/approle/login"));
        ret_request->body = arena_copy(arena, buf_view(&buf));
    } else {
        err = fail(reterr, ERR_UNAVAILABLE, "VAULT_ROLE_ID or VAULT_SECRET_ID is too long");
    }
    buf_wipe(&buf);
    return err;
}

static enum err vault_take_login(void *context, struct arena *arena,
                                 const struct secret_document *document,
                                 const struct fetch_answer *answer, struct json *ret_object,
                                 struct error *reterr)
{
    struct vault *vault = context;
    (void)document;
    *ret_object = (struct json){.arena = arena};
    enum err err =
        secret_answer_vault_login_in(arena, answer->status, answer->body, &vault->token, reterr);
    if (err != ERR_NONE) {
        error_prefix(reterr, "cannot sign in as VAULT_ROLE_ID: ");
    }
    return err;
}

static enum err vault_sign_in(struct vault *vault, struct arena *arena, int64_t ends_at,
                              struct error *reterr)
{
    struct secret_document login = {.source = SECRET_SOURCE_VAULT_KV1, .err = ERR_AGAIN};
    struct secret_documents logins = {.items = &login, .count = 1, .ends_at = ends_at};
    struct secret_keeper keeper = {
        .prepare = vault_prepare_login, .take = vault_take_login, .context = vault};
    if (environment_text("VAULT_ROLE_ID") == NULL) {
        return fail(reterr, ERR_NOT_FOUND,
                    "neither VAULT_TOKEN nor VAULT_ROLE_ID is set in the agent's environment");
    }
    secret_documents_fetch(arena, &logins, VAULT_SOURCES, &keeper);
    *reterr = login.failure;
    return login.err;
}

/* Its lease ends by itself when this does not get through. */
static void vault_sign_out(struct vault *vault, struct arena *arena,
                           const struct secret_documents *documents)
{
    struct fetch_answer answer;
    struct fetch_request request = vault_request_in(vault, arena, SLICE("auth/token/revoke-self"));
    request.body = SLICE("{}");
    request.timeout_ms = secret_documents_left_ms(documents);
    if (request.timeout_ms > 0) {
        enum err err = fetch_in(arena, &request, &answer, NULL);
        (void)err;
    }
}

void vault_secrets_fetch(struct arena *arena, struct secret_documents *documents)
{
    struct vault vault = {.issuers = NULL};
    struct secret_keeper keeper = {.prepare = vault_prepare, .take = vault_take, .context = &vault};
    struct error error = {.code = ERR_NONE};
    if (!secret_documents_wanted(documents, VAULT_SOURCES)) {
        return;
    }
    enum err err = vault_open(&vault, &error);
    bool signs_in = err == ERR_NONE && vault.token.len == 0;
    if (signs_in) {
        err = vault_sign_in(&vault, arena, documents->ends_at, &error);
    }
    if (err != ERR_NONE) {
        secret_documents_fail(documents, VAULT_SOURCES, &error);
        return;
    }
    secret_documents_fetch(arena, documents, VAULT_SOURCES, &keeper);
    if (signs_in) {
        vault_sign_out(&vault, arena, documents);
    }
}
