/* SPDX-License-Identifier: MIT */
/* Signing in and out, and who one is. */
#include "base/limits.h"
#include "base/timestamp.h"
#include "client/files.h"
#include "client/show.h"
#include "client/sign_in.h"
#include "codec/json_writer.h"
#include "codec/jwt.h"
#include "codec/url.h"

#include <unistd.h>

/* Signing in ----------------------------------------------------------------------------------- */

/* "gate.example.com:8443" is "gate.example.com-8443": the name of a file, too. */
static struct slice login_name_in(struct arena *arena, struct slice address)
{
    struct slice authority = slice_from(address, slice_find(address, SLICE("://")) + 3);
    char *name = arena_text(arena, slice_sub(authority, 0, slice_find_byte(authority, '/')));
    for (char *at = name; *at != '\0'; at++) {
        if (*at == ':' || *at == '[' || *at == ']') {
            *at = '-';
        }
    }
    return slice_sub(slice_trim(slice_of_text(name), "-."), 0, CLIENT_CONTEXT_NAME_MAX);
}

static enum err login_choose(struct client_run *run, const struct client_contexts *contexts,
                             struct error *reterr)
{
    const char *given = client_given(run, CLIENT_CONTEXT);
    const char *ca_file = client_given(run, CLIENT_CA_FILE);
    struct client_context *context = &run->client.context;
    struct slice url = run->given.word_count == 0
                           ? SLICE("")
                           : slice_trim(slice_of_text(run->given.words[0]), "/");
    struct slice name = given != NULL ? slice_of_text(given)
                        : url.len > 0 ? SLICE("")
                                      : contexts->current;
    enum err err = url.len == 0 ? ERR_NONE : client_context_check_url(url, reterr);
    if (err == ERR_NONE && name.len == 0 && url.len > 0) {
        name = login_name_in(run->arena, url);
    }
    if (err == ERR_NONE && name.len > 0) {
        err = client_context_check_name(name, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    const struct client_context *known = client_contexts_find(contexts, name);
    if (url.len == 0 && known == NULL) {
        return fail(reterr, ERR_INPUT, "which gateway? gatehouse login https://YOUR-GATEWAY");
    }
    *context = (struct client_context){.name = name, .url = url, .ca_file = SLICE("")};
    if (known != NULL && (url.len == 0 || slice_equals(url, known->url))) {
        *context = *known;
    }
    if (ca_file != NULL) { /* it is meant from whatever folder the next command runs in */
        char *whole = realpath(ca_file, NULL);
        context->ca_file = arena_copy(run->arena, slice_of_text(whole == NULL ? ca_file : whole));
        free(whole);
    }
    return ERR_NONE;
}

static enum err login_read_token(struct client_run *run, struct slice *ret_token,
                                 struct error *reterr)
{
    struct slice text = SLICE_NONE;
    enum err err =
        client_file_take_in(run->arena, STDIN_FILENO, LIMIT_CLIENT_FILE_SIZE, &text, reterr);
    if (err != ERR_NONE) {
        error_prefix(reterr, "the token on standard input: ");
        return err;
    }
    *ret_token = slice_trim(text, " \r\n\t");
    return ret_token->len > 0 ? ERR_NONE
                              : fail(reterr, ERR_INPUT, "a token is expected on standard input");
}

static enum err login_obtain(struct client_run *run, struct slice *ret_token, struct error *reterr)
{
    struct json info;
    if (client_given(run, CLIENT_TOKEN_STDIN) != NULL) {
        return login_read_token(run, ret_token, reterr);
    }
    enum err err = client_catch_signals(&run->client, reterr);
    if (err == ERR_NONE) {
        err = client_get(&run->client, SLICE("/api/publicserverinfo"), &info, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    if (show_is_true(&info, "setup_required")) {
        return fail(reterr, ERR_DENIED,
                    "nobody is registered at this gateway yet: its start printed a link");
    }
    bool is_browser = slice_equals(show_text(&info, "auth_method"), SLICE("oidc")) &&
                      client_given(run, CLIENT_DEVICE) == NULL;
    return is_browser ? sign_in_by_browser(run, ret_token, reterr)
                      : sign_in_by_device(run, ret_token, reterr);
}

static enum err login_keep(struct client_run *run, struct client_contexts *contexts,
                           struct error *reterr)
{
    const char *path = NULL;
    enum err err = client_token_path_in(run->arena, run->client.context.name, &path, reterr);
    if (err == ERR_NONE) {
        err = client_contexts_put(run->arena, contexts, &run->client.context, reterr);
    }
    if (err == ERR_NONE) {
        err = client_file_write(run->arena, path, run->client.token, reterr);
    }
    return err == ERR_NONE ? client_contexts_save(run, contexts, reterr) : err;
}

enum err client_login(struct client_run *run, struct error *reterr)
{
    struct client_contexts contexts = {0};
    struct json me;
    enum err err = client_contexts_read(run, &contexts, reterr);
    if (err == ERR_NONE) {
        err = login_choose(run, &contexts, reterr);
    }
    if (err == ERR_NONE) {
        err = login_obtain(run, &run->client.token, reterr);
    }
    for (size_t i = 0; err == ERR_NONE && i < run->client.token.len; i++) {
        if (run->client.token.at[i] <= ' ' || run->client.token.at[i] > '~') {
            err = fail(reterr, ERR_INPUT, "that is no token: it has a character that none has");
        }
    }
    if (err == ERR_NONE) {
        err = client_get(&run->client, SLICE("/api/userinfo"), &me, reterr);
        err = err == ERR_UNAUTHENTICATED ? fail(reterr, err, "the gateway does not take this token")
                                         : err;
    }
    if (err == ERR_NONE) {
        err = login_keep(run, &contexts, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct slice who = show_text(&me, "email");
    show_line(arena_format(run->arena, "signed in to %.*s as %.*s (context '%.*s')",
                           SLICE_ARG(run->client.context.url),
                           SLICE_ARG(who.len > 0 ? who : show_text(&me, "name")),
                           SLICE_ARG(run->client.context.name)));
    return ERR_NONE;
}

/* Signing out ---------------------------------------------------------------------------------- */

/* What is kept here goes in any case; that the gateway was not told is an error. */
enum err client_logout(struct client_run *run, struct error *reterr)
{
    struct client_answer answer = {0};
    const char *path = NULL;
    struct error ignored;
    enum err err = client_open(run, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    if (run->client.has_token_of_env) {
        return fail(reterr, ERR_INPUT,
                    "the token is in GATEHOUSE_TOKEN, not kept here: unset that to sign out");
    }
    bool is_everywhere = client_given(run, CLIENT_EVERYWHERE) != NULL;
    const struct client_request request = {
        .method = "POST",
        .path = is_everywhere ? SLICE("/api/logout?everywhere=true") : SLICE("/api/logout"),
    };
    enum err told = client_call(&run->client, &request, &answer, reterr);
    err = client_token_path_in(run->arena, run->client.context.name, &path, &ignored);
    err = err == ERR_NONE ? client_file_remove(path, &ignored) : err;
    if (err != ERR_NONE) {
        return fail(reterr, err, "%s", ignored.message);
    }
    if (answer.status == 400) { /* a key, or a token of the provider's */
        error_prefix(reterr, "the token is forgotten here, but still good: ");
        return told;
    }
    if (told != ERR_NONE && told != ERR_UNAUTHENTICATED) {
        error_prefix(reterr, "the token is forgotten here, but the gateway was not told: ");
        return told;
    }
    show_line(arena_format(run->arena, "signed out of %.*s", SLICE_ARG(run->client.context.url)));
    return ERR_NONE;
}

/* Who one is ----------------------------------------------------------------------------------- */

/* What the token says of itself; the gateway may end it before. */
static struct slice login_expiry(const struct client_run *run)
{
    struct jwt jwt;
    int64_t expiry = 0;
    char text[TIMESTAMP_TEXT_SIZE];
    if (jwt_parse_in(run->arena, run->client.token, &jwt, NULL) != ERR_NONE ||
        jwt_expiry(&jwt, &expiry, NULL) != ERR_NONE) {
        return SLICE("");
    }
    return arena_copy(run->arena, timestamp_format(expiry, text));
}

struct login_state {
    struct json me;
    struct json *credentials;
    size_t credential_count;
    struct json *sessions;
    size_t session_count;
};

/* Admins see everybody's; here each sees his own. */
static struct json *login_own_in(struct arena *arena, const struct json *list, const char *member,
                                 struct slice wanted, size_t *ret_count)
{
    size_t count = 0;
    size_t kept = 0;
    (void)!json_as_array(*list, &count, NULL);
    struct json *items = arena_alloc_array(arena, count + 1, sizeof(*items));
    for (size_t i = 0; i < count; i++) {
        items[kept] = json_item(list, i);
        kept += slice_equals(show_text(&items[kept], member), wanted) ? 1 : 0;
    }
    *ret_count = kept;
    return items;
}

static enum err login_read_state(struct client_run *run, struct login_state *state,
                                 struct error *reterr)
{
    struct json credentials;
    struct json sessions;
    enum err err = client_open(run, reterr);
    if (err == ERR_NONE) {
        err = client_get(&run->client, SLICE("/api/userinfo"), &state->me, reterr);
    }
    if (err == ERR_NONE) {
        err = client_get(&run->client, SLICE("/api/connection-credentials"), &credentials, reterr);
    }
    struct slice id = err == ERR_NONE ? show_text(&state->me, "id") : SLICE("");
    if (err == ERR_NONE) {
        err = client_get(&run->client,
                         arena_format(run->arena, "/api/sessions?limit=100&user=%.*s",
                                      SLICE_ARG(url_encode(run->arena, id))),
                         &sessions, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct json data = json_member(&sessions, "data");
    state->credentials =
        login_own_in(run->arena, &credentials, "user_id", id, &state->credential_count);
    state->sessions =
        login_own_in(run->arena, &data, "status", SLICE("open"), &state->session_count);
    return ERR_NONE;
}

static void login_write_items(struct json_writer *json, const char *name, const struct json *items,
                              size_t count)
{
    json_member_array(json, name);
    for (size_t i = 0; i < count; i++) {
        json_raw(json, json_as_written(items[i]));
    }
    json_end_array(json);
}

static enum err login_print_json(const struct client_run *run, const struct login_state *state,
                                 struct error *reterr)
{
    struct buf buf;
    struct slice expiry = login_expiry(run);
    buf_init(&buf, LIMIT_CLIENT_ANSWER_SIZE);
    struct json_writer json = json_writer_to(&buf);
    json_begin_object(&json);
    json_member_text(&json, "context", run->client.context.name);
    json_member_text(&json, "url", run->client.context.url);
    json_member_raw(&json, "user", json_as_written(state->me));
    if (expiry.len > 0) {
        json_member_text(&json, "token_expires_at", expiry);
    } else {
        json_member_no_value(&json, "token_expires_at");
    }
    login_write_items(&json, "credentials", state->credentials, state->credential_count);
    login_write_items(&json, "sessions", state->sessions, state->session_count);
    json_end_object(&json);
    enum err err = json_writer_done(&json);
    (void)printf("%.*s\n", SLICE_ARG(buf_view(&buf)));
    buf_release(&buf);
    return err == ERR_NONE ? err : fail(reterr, err, "there is too much to show");
}

enum err client_status(struct client_run *run, struct error *reterr)
{
    struct login_state state = {.credential_count = 0};
    enum err err = login_read_state(run, &state, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    if (client_wants_json(run)) {
        return login_print_json(run, &state, reterr);
    }
    struct arena *arena = run->arena;
    struct slice expiry = login_expiry(run);
    struct slice who = show_text(&state.me, "email");
    const struct show_pair pairs[] = {
        {"gateway", "url", run->client.context.url},
        {"context", "context", run->client.context.name},
        {"signed in as", "user", who.len > 0 ? who : show_text(&state.me, "name")},
        {"role", "role", show_text(&state.me, "role")},
        {"organization", "organization", show_text(&state.me, "org_name")},
        {"until", "until", expiry.len > 0 ? expiry : SLICE("it is revoked")},
    };
    show_pairs(run, pairs, sizeof(pairs) / sizeof(pairs[0]));
    for (size_t i = 0; i < state.credential_count; i++) {
        struct slice end = show_words_in(arena, json_member(&state.credentials[i], "expire_at"));
        show_line(arena_format(arena, "%-15s %.*s until %.*s", "credential",
                               SLICE_ARG(show_text(&state.credentials[i], "connection_name")),
                               SLICE_ARG(end.len > 0 ? end : SLICE("it is revoked"))));
    }
    for (size_t i = 0; i < state.session_count; i++) {
        const struct json *session = &state.sessions[i];
        show_line(arena_format(
            arena, "%-15s %.*s %.*s since %.*s", "session", SLICE_ARG(show_text(session, "id")),
            SLICE_ARG(show_text(session, "connection")),
            SLICE_ARG(show_words_in(arena, json_member(session, "start_date")))));
    }
    return ERR_NONE;
}

/* Which gateway -------------------------------------------------------------------------------- */

enum err client_context_command(struct client_run *run, struct error *reterr)
{
    struct client_contexts contexts = {0};
    enum err err = client_contexts_read(run, &contexts, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    if (run->given.word_count == 0) {
        struct json document;
        size_t count = 0;
        struct slice text = client_contexts_write_in(run->arena, &contexts);
        err = json_parse_in(run->arena, text, &document, reterr);
        struct json list = json_member(&document, "contexts");
        err = err == ERR_NONE ? json_as_array(list, &count, reterr) : err;
        struct json *items = arena_alloc_array(run->arena, count + 1, sizeof(*items));
        for (size_t i = 0; i < count; i++) {
            items[i] = json_item(&list, i);
        }
        static const struct show_column columns[] = {
            {"NAME", "name"}, {"ADDRESS", "url"}, {"CA FILE", "ca_file"}};
        if (err == ERR_NONE) {
            show_list(run, items, count, columns, 3);
        }
        return err;
    }
    const struct client_context *wanted =
        client_contexts_find(&contexts, slice_of_text(run->given.words[0]));
    if (wanted == NULL) {
        return fail(reterr, ERR_INPUT, "there is no context '%s': 'gatehouse context' lists them",
                    run->given.words[0]);
    }
    contexts.current = wanted->name;
    err = client_contexts_save(run, &contexts, reterr);
    if (err == ERR_NONE) {
        show_line(
            arena_format(run->arena, "commands ask %.*s from now on", SLICE_ARG(wanted->url)));
    }
    return err;
}
