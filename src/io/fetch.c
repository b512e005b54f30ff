/* SPDX-License-Identifier: MIT */
#include "io/fetch.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "codec/url.h"
#include "io/clock.h"

#include <curl/curl.h>
#include <stdatomic.h>

static _Atomic int64_t fetch_ends_at = INT64_MAX; /* monotonic */

void fetch_start(void)
{
    must(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
}

void fetch_stop_after(uint64_t ms)
{
    atomic_store(&fetch_ends_at, clock_monotonic() + (int64_t)ms * 1000);
}

/* curl asks at least once a second. */
static int fetch_check_stop(void *context, curl_off_t down_size, curl_off_t down,
                            curl_off_t up_size, curl_off_t up)
{
    (void)context;
    (void)down_size;
    (void)down;
    (void)up_size;
    (void)up;
    return clock_monotonic() >= atomic_load(&fetch_ends_at) ? 1 : 0;
}

/* Returning less than was offered makes curl give up. */
static size_t fetch_take(char *bytes, size_t size, size_t count, void *context)
{
    return buf_append(context, slice_of(bytes, size * count)) == ERR_NONE ? size * count : 0;
}

static void fetch_authenticate(CURL *curl, struct arena *arena, const struct fetch_request *request)
{
    if (request->user.len > 0) {
        (void)curl_easy_setopt(curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
        (void)curl_easy_setopt(curl, CURLOPT_USERNAME, arena_text(arena, request->user));
        (void)curl_easy_setopt(curl, CURLOPT_PASSWORD, arena_text(arena, request->password));
    } else if (request->bearer.len > 0) {
        (void)curl_easy_setopt(curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
        (void)curl_easy_setopt(curl, CURLOPT_XOAUTH2_BEARER, arena_text(arena, request->bearer));
    }
}

static void fetch_prepare(CURL *curl, struct arena *arena, const struct fetch_request *request)
{
    (void)curl_easy_setopt(curl, CURLOPT_URL, request->url);
    (void)curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    (void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)LIMIT_FETCH_CONNECT_MS);
    (void)curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)LIMIT_FETCH_MS);
    (void)curl_easy_setopt(curl, CURLOPT_USERAGENT, "gatehouse");
    (void)curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    (void)curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, fetch_check_stop);
    fetch_authenticate(curl, arena, request);
    if (request->form.at != NULL) {
        (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->form.len);
        (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->form.at);
    }
}

/* The host alone: the rest of the URL may be long, or not for everybody. */
static enum err fetch_fail(const struct fetch_request *request, CURLcode code, const char *cause,
                           struct error *reterr)
{
    struct url url = {0};
    bool is_url = url_parse(slice_of_text(request->url), &url, NULL) == ERR_NONE;
    struct slice host = is_url ? url.host : SLICE("the server");
    if (code == CURLE_WRITE_ERROR) {
        return fail(reterr, ERR_LIMIT, "%.*s: the answer has more than %zu bytes", SLICE_ARG(host),
                    LIMIT_FETCH_SIZE);
    }
    return fail(reterr, ERR_UNAVAILABLE, "%.*s: %s", SLICE_ARG(host),
                cause[0] != '\0' ? cause : curl_easy_strerror(code));
}

enum err fetch_in(struct arena *arena, const struct fetch_request *request,
                  struct fetch_answer *ret_answer, struct error *reterr)
{
    struct buf body CLEANUP(buf_release);
    char cause[CURL_ERROR_SIZE] = "";
    buf_init(&body, LIMIT_FETCH_SIZE);
    CURL *curl = curl_easy_init();
    struct curl_slist *headers = curl_slist_append(NULL, "Accept: application/json");
    must(curl != NULL && headers != NULL);
    fetch_prepare(curl, arena, request);
    (void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    (void)curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, cause);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, fetch_take);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, &body);
    CURLcode code = curl_easy_perform(curl);
    (void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &ret_answer->status);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    if (code != CURLE_OK) {
        return fetch_fail(request, code, cause, reterr);
    }
    ret_answer->body = arena_copy(arena, buf_view(&body));
    return ERR_NONE;
}
