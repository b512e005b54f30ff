/* SPDX-License-Identifier: MIT */
#include "io/fetch.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "codec/url.h"
#include "io/clock.h"
#include "io/fetch_internal.h"

#include <netinet/in.h>
#include <sys/socket.h>

static _Atomic int64_t fetch_ends_at = INT64_MAX; /* monotonic */

void fetch_start(void)
{
    must(curl_global_init_mem(CURL_GLOBAL_DEFAULT, malloc, memory_wipe_free, memory_wipe_resize,
                              strdup, calloc) == CURLE_OK);
}

void fetch_stop_after(uint64_t ms)
{
    atomic_store(&fetch_ends_at, clock_monotonic() + (int64_t)ms * 1000);
}

/* curl asks at least once a second. */
static int fetch_check_stop(void *context, curl_off_t down_size, curl_off_t down,
                            curl_off_t up_size, curl_off_t up)
{
    const atomic_bool *is_stopped = context;
    (void)down_size;
    (void)down;
    (void)up_size;
    (void)up;
    bool stops = is_stopped != NULL && atomic_load(is_stopped);
    return stops || clock_monotonic() >= atomic_load(&fetch_ends_at) ? 1 : 0;
}

/* Returning less than was offered makes curl give up. */
static size_t fetch_take(char *bytes, size_t size, size_t count, void *context)
{
    return buf_append(context, slice_of(bytes, size * count)) == ERR_NONE ? size * count : 0;
}

static void fetch_authenticate(CURL *curl, struct arena *arena, const struct fetch_request *request)
{
    if (request->user.len > 0) {
        if (request->mail == NULL) {
            (void)curl_easy_setopt(curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
        }
        (void)curl_easy_setopt(curl, CURLOPT_USERNAME, arena_text(arena, request->user));
        (void)curl_easy_setopt(curl, CURLOPT_PASSWORD, arena_text(arena, request->password));
    } else if (request->bearer.len > 0) {
        (void)curl_easy_setopt(curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
        (void)curl_easy_setopt(curl, CURLOPT_XOAUTH2_BEARER, arena_text(arena, request->bearer));
    }
}

static bool fetch_address_of(const struct curl_sockaddr *from, struct address *ret_address)
{
    /* Behind the address that it declares curl has as much as 'addrlen' says. */
    const char *bytes = (const char *)from + offsetof(struct curl_sockaddr, addr);
    if (from->family == AF_INET && from->addrlen >= sizeof(struct sockaddr_in)) {
        struct sockaddr_in v4;
        memcpy(&v4, bytes, sizeof(v4));
        *ret_address = address_of_v4((const unsigned char *)&v4.sin_addr);
        return true;
    }
    struct sockaddr_in6 v6;
    if (from->family == AF_INET6 && from->addrlen >= sizeof(v6)) {
        memcpy(&v6, bytes, sizeof(v6));
        memcpy(ret_address->bytes, &v6.sin6_addr, ADDRESS_SIZE);
        return true;
    }
    return false;
}

/* At the last moment, with the very address that is connected to: what its name says to somebody
 * who asks again does not matter. */
static curl_socket_t fetch_open_socket(void *context, curlsocktype purpose,
                                       struct curl_sockaddr *to)
{
    struct fetch_handle *handle = context;
    struct address address;
    (void)purpose;
    if (!fetch_address_of(to, &address) ||
        !(address_is_public(&address) || network_list_has(handle->reachable, &address))) {
        handle->has_refused = true;
        return CURL_SOCKET_BAD;
    }
    return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

static void fetch_add_header(struct fetch_handle *handle, const char *line)
{
    struct curl_slist *longer = curl_slist_append(handle->headers, line);
    must(longer != NULL);
    handle->headers = longer;
}

static enum err fetch_add_headers(struct fetch_handle *handle, struct arena *arena,
                                  const struct fetch_request *request, struct error *reterr)
{
    fetch_add_header(handle, "Accept: application/json");
    for (size_t i = 0; i < request->header_count; i++) {
        const struct fetch_header *header = &request->headers[i];
        for (size_t at = 0; at < header->value.len; at++) {
            unsigned char byte = (unsigned char)header->value.at[at];
            if (byte < ' ' || byte == 0x7f) {
                return fail(reterr, ERR_INPUT, "the value of %s has a control character",
                            header->name);
            }
        }
        if (header->value.len > 0) {
            fetch_add_header(
                handle, arena_format(arena, "%s: %.*s", header->name, SLICE_ARG(header->value)).at);
        }
    }
    (void)curl_easy_setopt(handle->curl, CURLOPT_HTTPHEADER, handle->headers);
    return ERR_NONE;
}

static void fetch_set_body(CURL *curl, struct slice body)
{
    if (body.at != NULL) {
        (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.len);
        (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body.at);
    }
}

static void fetch_set(CURL *curl, struct arena *arena, const struct fetch_request *request)
{
    uint32_t most_ms = request->mail != NULL ? LIMIT_FETCH_MAIL_MS : LIMIT_FETCH_MS;
    bool is_shorter = request->timeout_ms > 0 && request->timeout_ms < most_ms;
    (void)curl_easy_setopt(curl, CURLOPT_URL, request->url);
    (void)curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    (void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    /* With a mail this counts until the server has greeted, and knows who sends it. */
    (void)curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS,
                           request->mail != NULL ? (long)most_ms : (long)LIMIT_FETCH_CONNECT_MS);
    (void)curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS,
                           is_shorter ? (long)request->timeout_ms : (long)most_ms);
    (void)curl_easy_setopt(curl, CURLOPT_USERAGENT, "gatehouse");
    (void)curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    (void)curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, fetch_check_stop);
    (void)curl_easy_setopt(curl, CURLOPT_XFERINFODATA, request->is_stopped);
    fetch_authenticate(curl, arena, request);
    if (request->mail == NULL) {
        fetch_set_body(curl, request->form);
        fetch_set_body(curl, request->body);
    }
    if (request->method != NULL) {
        (void)curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
    }
    if (request->issuers != NULL) {
        (void)curl_easy_setopt(curl, CURLOPT_CAINFO, request->issuers);
        (void)curl_easy_setopt(curl, CURLOPT_CAPATH, NULL);
    }
    if (request->is_without_proxy) {
        (void)curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
    }
}

static enum err fetch_handle_init(struct fetch_handle *handle, struct arena *arena,
                                  const struct fetch_request *request, struct error *reterr)
{
    *handle = (struct fetch_handle){.curl = curl_easy_init()};
    must(handle->curl != NULL);
    buf_init(&handle->body, request->status_size > 0 ? request->status_size : LIMIT_FETCH_SIZE);
    fetch_set(handle->curl, arena, request);
    if (request->reachable != NULL) {
        handle->reachable = request->reachable;
        (void)curl_easy_setopt(handle->curl, CURLOPT_OPENSOCKETFUNCTION, fetch_open_socket);
        (void)curl_easy_setopt(handle->curl, CURLOPT_OPENSOCKETDATA, handle);
        (void)curl_easy_setopt(handle->curl, CURLOPT_NOPROXY, "*");
    }
    (void)curl_easy_setopt(handle->curl, CURLOPT_ERRORBUFFER, handle->cause);
    (void)curl_easy_setopt(handle->curl, CURLOPT_WRITEFUNCTION, fetch_take);
    (void)curl_easy_setopt(handle->curl, CURLOPT_WRITEDATA, &handle->body);
    return request->mail != NULL ? fetch_mail_set(handle, arena, request, reterr)
                                 : fetch_add_headers(handle, arena, request, reterr);
}

static void fetch_handle_release(struct fetch_handle *handle)
{
    curl_slist_free_all(handle->headers);
    curl_easy_cleanup(handle->curl);
    buf_wipe(&handle->body);
    buf_release(&handle->refusal);
}

/* The host alone: the rest of the URL may be long, or not for everybody. */
static enum err fetch_fail(const struct fetch_request *request, CURLcode code, const char *cause,
                           struct error *reterr)
{
    struct url url = {0};
    bool is_url =
        request->mail == NULL && url_parse(slice_of_text(request->url), &url, NULL) == ERR_NONE;
    struct slice host = request->mail != NULL ? request->mail->host
                        : is_url              ? url.host
                                              : SLICE("the server");
    if (code == CURLE_WRITE_ERROR) {
        return fail(reterr, ERR_LIMIT, "%.*s: the answer has more than %zu bytes", SLICE_ARG(host),
                    LIMIT_FETCH_SIZE);
    }
    return fail(reterr, ERR_UNAVAILABLE, "%.*s: %s", SLICE_ARG(host),
                cause[0] != '\0' ? cause : curl_easy_strerror(code));
}

static enum err fetch_finish(struct fetch_handle *handle, struct arena *arena,
                             const struct fetch_request *request, struct fetch_answer *ret_answer,
                             struct error *reterr)
{
    (void)curl_easy_getinfo(handle->curl, CURLINFO_RESPONSE_CODE, &ret_answer->status);
    ret_answer->replies = handle->replies;
    ret_answer->is_refused = handle->is_refused;
    bool is_answered = request->status_size > 0 && ret_answer->status >= 200 &&
                       (handle->code == CURLE_WRITE_ERROR || handle->code == CURLE_PARTIAL_FILE ||
                        handle->code == CURLE_OPERATION_TIMEDOUT);
    if (handle->code != CURLE_OK && handle->has_refused) {
        return fetch_fail(request, handle->code,
                          "its address is private, or this machine's, and no network of the "
                          "operator's setting",
                          reterr);
    }
    if (handle->code != CURLE_OK && !is_answered) {
        struct slice refusal = buf_view(&handle->refusal);
        const char *cause = refusal.len == 0 ? handle->cause : arena_text(arena, refusal);
        return fetch_fail(request, handle->code, cause, reterr);
    }
    if (request->mail != NULL) {
        return ERR_NONE;
    }
    ret_answer->body = arena_copy(arena, buf_view(&handle->body));
    struct curl_header *header = NULL;
    if (curl_easy_header(handle->curl, "Cache-Control", 0, CURLH_HEADER, -1, &header) ==
        CURLHE_OK) {
        ret_answer->cache_control = arena_copy(arena, slice_of_text(header->value));
    }
    return ERR_NONE;
}

enum err fetch_in(struct arena *arena, const struct fetch_request *request,
                  struct fetch_answer *ret_answer, struct error *reterr)
{
    struct fetch_handle handle CLEANUP(fetch_handle_release);
    enum err err = fetch_handle_init(&handle, arena, request, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    handle.code = curl_easy_perform(handle.curl);
    return fetch_finish(&handle, arena, request, ret_answer, reterr);
}

/* Those that are under way together. */
struct fetch_round {
    struct arena *arena;
    struct fetch *fetches;
    struct fetch_handle *handles;
    size_t count;
    CURLM *multi;
};

static void fetch_round_end(struct fetch_round *round, size_t index)
{
    struct fetch *fetch = &round->fetches[index];
    (void)curl_multi_remove_handle(round->multi, round->handles[index].curl);
    fetch->err = fetch_finish(&round->handles[index], round->arena, &fetch->request, &fetch->answer,
                              &fetch->error);
    round->handles[index].is_over = true;
    if (fetch->on_end != NULL) {
        fetch->on_end(fetch);
    }
}

static void fetch_note_ends(struct fetch_round *round)
{
    int left = 0;
    for (CURLMsg *message = curl_multi_info_read(round->multi, &left); message != NULL;
         message = curl_multi_info_read(round->multi, &left)) {
        size_t index = 0;
        while (index < round->count && round->handles[index].curl != message->easy_handle) {
            index++;
        }
        if (message->msg == CURLMSG_DONE && index < round->count) {
            round->handles[index].code = message->data.result;
            fetch_round_end(round, index);
        }
    }
}

static void fetch_perform_all(struct fetch_round *round)
{
    int running = 1;
    CURLMcode code = CURLM_OK;
    while (running > 0 && code == CURLM_OK) {
        code = curl_multi_perform(round->multi, &running);
        fetch_note_ends(round);
        if (running > 0 && code == CURLM_OK) {
            code = curl_multi_poll(round->multi, NULL, 0, 1000, NULL);
        }
    }
}

void fetch_all_in(struct arena *arena, struct fetch *fetches, size_t count)
{
    struct fetch_handle handles[LIMIT_FETCH_AT_ONCE];
    struct fetch_round round = {.arena = arena,
                                .fetches = fetches,
                                .handles = handles,
                                .count = count,
                                .multi = curl_multi_init()};
    must(round.multi != NULL && count <= COUNT_OF(handles));
    for (size_t i = 0; i < count; i++) {
        struct fetch *fetch = &fetches[i];
        fetch->err = fetch_handle_init(&handles[i], arena, &fetch->request, &fetch->error);
        handles[i].code = CURLE_FAILED_INIT; /* until it has ended */
        handles[i].is_over = fetch->err != ERR_NONE;
        if (fetch->err == ERR_NONE) {
            must(curl_multi_add_handle(round.multi, handles[i].curl) == CURLM_OK);
        } else if (fetch->on_end != NULL) {
            fetch->on_end(fetch);
        }
    }
    fetch_perform_all(&round);
    for (size_t i = 0; i < count; i++) {
        if (!handles[i].is_over) {
            fetch_round_end(&round, i);
        }
        fetch_handle_release(&handles[i]);
    }
    (void)curl_multi_cleanup(round.multi);
}
