/* SPDX-License-Identifier: MIT */
#include "client/client.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"
#include "client/client_internal.h"
#include "codec/url.h"
#include "io/clock.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* Signals -------------------------------------------------------------------------------------- */

enum err client_catch_signals(struct client *client, struct error *reterr)
{
    sigset_t signals;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGHUP);
    if (sigprocmask(SIG_BLOCK, &signals, NULL) == 0) {
        client->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    }
    return client->signal_fd >= 0 ? ERR_NONE
                                  : fail(reterr, ERR_IO, "signalfd: %s", strerror(errno));
}

bool client_was_interrupted(const struct client *client)
{
    struct signalfd_siginfo info;
    return client->signal_fd >= 0 &&
           read(client->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info);
}

enum err client_pause(const struct client *client, int64_t ms, struct error *reterr)
{
    struct pollfd waited = {.fd = client->signal_fd, .events = POLLIN};
    int64_t end = clock_monotonic() + ms * 1000;
    for (int64_t left = ms; left > 0; left = (end - clock_monotonic()) / 1000) {
        if (poll(&waited, 1, (int)left) > 0 && client_was_interrupted(client)) {
            return fail(reterr, ERR_CLOSED, "interrupted");
        }
    }
    return ERR_NONE;
}

/* One request ---------------------------------------------------------------------------------- */

/* What libcurl works on. */
struct client_transfer {
    const struct client *client;
    CURL *curl;
    struct curl_slist *headers;
    char cause[CURL_ERROR_SIZE];
    struct buf body;
    client_sink_fn sink; /* of a good answer; NULL: all into the body */
    void *context;
    enum err err; /* of the sink */
    struct error error;
};

static size_t client_take(char *bytes, size_t size, size_t count, void *context)
{
    struct client_transfer *transfer = context;
    struct slice part = slice_of(bytes, size * count);
    long status = 0;
    (void)curl_easy_getinfo(transfer->curl, CURLINFO_RESPONSE_CODE, &status);
    if (transfer->sink == NULL || status >= 300) {
        return buf_append(&transfer->body, part) == ERR_NONE ? part.len : 0;
    }
    transfer->err = transfer->sink(transfer->context, part, &transfer->error);
    return transfer->err == ERR_NONE ? part.len : 0;
}

void client_curl_set(CURL *curl, const struct client *client, const char *url, char *cause)
{
    struct slice ca_file = client->context.ca_file;
    cause[0] = '\0';
    (void)curl_easy_setopt(curl, CURLOPT_URL, url);
    (void)curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, cause);
    (void)curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    (void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_TCP_NODELAY, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)LIMIT_CLIENT_CONNECT_MS);
    (void)curl_easy_setopt(curl, CURLOPT_USERAGENT, "gatehouse");
    if (ca_file.len > 0) {
        const char *path = arena_text(client->arena, ca_file);
        (void)curl_easy_setopt(curl, CURLOPT_CAINFO, path);
        (void)curl_easy_setopt(curl, CURLOPT_CAPATH, NULL);
        (void)curl_easy_setopt(curl, CURLOPT_PROXY_CAINFO, path);
    }
}

static void client_transfer_set(struct client_transfer *transfer,
                                const struct client_request *request)
{
    const struct client *client = transfer->client;
    CURL *curl = transfer->curl;
    struct arena *arena = client->arena;
    client_curl_set(
        curl, client,
        arena_format(arena, "%.*s%.*s", SLICE_ARG(client->context.url), SLICE_ARG(request->path))
            .at,
        transfer->cause);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, client_take);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, transfer);
    transfer->headers =
        curl_slist_append(NULL, request->is_form ? "Content-Type: application/x-www-form-urlencoded"
                                                 : "Content-Type: application/json");
    if (client->token.len > 0) {
        (void)curl_easy_setopt(curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
        (void)curl_easy_setopt(curl, CURLOPT_XOAUTH2_BEARER, arena_text(arena, client->token));
    }
    if (request->body.at != NULL) {
        (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.len);
        (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body.at);
        transfer->headers = curl_slist_append(transfer->headers, "Expect:");
    }
    must(transfer->headers != NULL);
    (void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, transfer->headers);
    (void)curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
    if (transfer->sink == NULL) {
        (void)curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)LIMIT_CLIENT_QUIET_MS);
    }
}

enum err client_curl_fail(const struct client *client, CURLcode code, const char *cause,
                          struct error *reterr)
{
    struct url url = {0};
    struct slice host =
        url_parse(client->context.url, &url, NULL) == ERR_NONE ? url.host : client->context.url;
    const char *words = cause[0] != '\0' ? cause : curl_easy_strerror(code);
    bool is_certificate =
        code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE;
    return fail(reterr, ERR_UNAVAILABLE, "cannot reach the gateway at %.*s: %s%s", SLICE_ARG(host),
                words, is_certificate ? " (--ca-file FILE names who issued its certificate)" : "");
}

/* Waits for the network, for a signal or for the deadline. */
static enum err client_transfer_wait(const struct client *client, CURLM *multi,
                                     struct error *reterr)
{
    struct curl_waitfd signals = {.fd = client->signal_fd, .events = CURL_WAIT_POLLIN};
    int64_t left_ms = 1000;
    if (client->deadline != 0) {
        left_ms = (client->deadline - clock_monotonic()) / 1000;
        if (left_ms <= 0) {
            return fail(reterr, ERR_TIMEOUT, "it took longer than --timeout allows");
        }
        left_ms = left_ms > 1000 ? 1000 : left_ms;
    }
    (void)curl_multi_poll(multi, &signals, client->signal_fd >= 0 ? 1 : 0, (int)left_ms, NULL);
    return client_was_interrupted(client) ? fail(reterr, ERR_CLOSED, "interrupted") : ERR_NONE;
}

static enum err client_transfer_perform(struct client_transfer *transfer, CURLM *multi,
                                        struct error *reterr)
{
    int running = 1;
    int left = 0;
    enum err err = ERR_NONE;
    while (err == ERR_NONE && curl_multi_perform(multi, &running) == CURLM_OK && running > 0) {
        err = client_transfer_wait(transfer->client, multi, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    const CURLMsg *message = curl_multi_info_read(multi, &left);
    CURLcode code = message == NULL ? CURLE_FAILED_INIT : message->data.result;
    if (transfer->err != ERR_NONE) {
        return fail(reterr, transfer->err, "%s", transfer->error.message);
    }
    if (code == CURLE_WRITE_ERROR) {
        return fail(reterr, ERR_LIMIT, "the gateway's answer has more than %zu bytes",
                    LIMIT_CLIENT_ANSWER_SIZE);
    }
    return code == CURLE_OK ? ERR_NONE
                            : client_curl_fail(transfer->client, code, transfer->cause, reterr);
}

static enum err client_transfer_run(struct client_transfer *transfer,
                                    const struct client_request *request,
                                    struct client_answer *ret_answer, struct error *reterr)
{
    const struct client *client = transfer->client;
    CURLM *multi = curl_multi_init();
    transfer->curl = curl_easy_init();
    must(multi != NULL && transfer->curl != NULL);
    buf_init(&transfer->body, LIMIT_CLIENT_ANSWER_SIZE);
    client_transfer_set(transfer, request);
    must(curl_multi_add_handle(multi, transfer->curl) == CURLM_OK);
    enum err err = client_transfer_perform(transfer, multi, reterr);
    (void)curl_easy_getinfo(transfer->curl, CURLINFO_RESPONSE_CODE, &ret_answer->status);
    ret_answer->body = arena_copy(client->arena, buf_view(&transfer->body));
    if (json_parse_in(client->arena, ret_answer->body, &ret_answer->json, NULL) != ERR_NONE) {
        ret_answer->json = (struct json){.path = SLICE(""), .arena = client->arena};
    }
    (void)curl_multi_remove_handle(multi, transfer->curl);
    curl_easy_cleanup(transfer->curl);
    curl_slist_free_all(transfer->headers);
    (void)curl_multi_cleanup(multi);
    buf_wipe(&transfer->body);
    return err;
}

enum err client_ask(struct client *client, const struct client_request *request,
                    struct client_answer *ret_answer, struct error *reterr)
{
    struct client_transfer transfer = {.client = client};
    *ret_answer = (struct client_answer){0};
    return client_transfer_run(&transfer, request, ret_answer, reterr);
}

/* What it means -------------------------------------------------------------------------------- */

static enum err client_status_err(long status)
{
    switch (status) {
    case 400:
        return ERR_INPUT;
    case 401:
        return ERR_UNAUTHENTICATED;
    case 403:
        return ERR_DENIED;
    case 404:
        return ERR_NOT_FOUND;
    case 409:
        return ERR_CONFLICT;
    case 413:
        return ERR_LIMIT;
    case 429:
        return ERR_BUSY;
    default:
        return status >= 500 ? ERR_UNAVAILABLE : ERR_INPUT;
    }
}

/* The words of others come on one line, and move no cursor. */
static enum err client_fail_shown(const struct client *client, enum err err, struct slice words,
                                  struct error *reterr)
{
    struct buf shown CLEANUP(buf_release);
    buf_init(&shown, LIMIT_KIB(16));
    struct writer writer = writer_to(&shown);
    text_show(&writer, slice_sub(words, 0, ERROR_MESSAGE_SIZE));
    (void)client;
    return fail(reterr, err, "%.*s", SLICE_ARG(buf_view(&shown)));
}

enum err client_refusal(const struct client *client, const struct client_answer *answer,
                        struct error *reterr)
{
    struct slice message = SLICE_NONE;
    enum err err = client_status_err(answer->status);
    bool has_words =
        json_as_text(json_member(&answer->json, "message"), &message, NULL) == ERR_NONE;
    if (err == ERR_UNAUTHENTICATED) {
        return client->has_token_of_env
                   ? fail(reterr, err, "the gateway does not take the token of GATEHOUSE_TOKEN")
                   : fail(reterr, err, "you are not signed in, or no longer: gatehouse login %.*s",
                          SLICE_ARG(client->context.url));
    }
    return has_words
               ? client_fail_shown(client, err, message, reterr)
               : fail(reterr, err, "'%.*s' answers with status %ld, and not as a gateway does",
                      SLICE_ARG(client->context.url), answer->status);
}

enum err client_call(struct client *client, const struct client_request *request,
                     struct client_answer *ret_answer, struct error *reterr)
{
    enum err err = client_ask(client, request, ret_answer, reterr);
    bool is_good = ret_answer->status >= 200 && ret_answer->status < 300;
    return err != ERR_NONE || is_good ? err : client_refusal(client, ret_answer, reterr);
}

enum err client_get(struct client *client, struct slice path, struct json *ret_json,
                    struct error *reterr)
{
    struct client_answer answer = {0};
    enum err err = client_call(client, &(struct client_request){.method = "GET", .path = path},
                               &answer, reterr);
    *ret_json = answer.json;
    return err == ERR_NONE && json_is_absent(answer.json)
               ? fail(reterr, ERR_UNAVAILABLE, "'%.*s' does not answer as a gateway does",
                      SLICE_ARG(client->context.url))
               : err;
}

enum err client_stream(struct client *client, struct slice path, client_sink_fn sink, void *context,
                       struct error *reterr)
{
    struct client_transfer transfer = {.client = client, .sink = sink, .context = context};
    struct client_answer answer = {0};
    enum err err = client_transfer_run(
        &transfer, &(struct client_request){.method = "GET", .path = path}, &answer, reterr);
    bool is_good = answer.status >= 200 && answer.status < 300;
    return err != ERR_NONE || is_good ? err : client_refusal(client, &answer, reterr);
}
