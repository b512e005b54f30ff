/* SPDX-License-Identifier: MIT */
#include "client/sign_in.h"

#include "base/limits.h"
#include "client/show.h"
#include "codec/url.h"
#include "io/clock.h"

#define DEVICE_GRANT    "urn:ietf:params:oauth:grant-type:device_code"
#define SLOW_DOWN_S     5
#define INTERVAL_MAX_S  120
#define CODE_MAX        32
#define UNREACHABLE_MAX 5 /* answers that did not come, one behind the other */

struct device_sign_in {
    struct client_run *run;
    struct slice device_code;
    int64_t interval_s;
    int64_t ends_at; /* monotonic */
    size_t unreachable_count;
    struct slice token;
};

/* Letters, digits and hyphens, which somebody is to compare. */
static bool device_is_code(struct slice code)
{
    for (size_t i = 0; i < code.len; i++) {
        char at = code.at[i];
        if (!((at >= 'A' && at <= 'Z') || (at >= 'a' && at <= 'z') || (at >= '0' && at <= '9') ||
              at == '-')) {
            return false;
        }
    }
    return code.len > 0 && code.len <= CODE_MAX;
}

static bool device_read(struct device_sign_in *self, const struct json *answer)
{
    const int64_t longest_s = LIMIT_CLIENT_SIGN_IN_MS / 1000;
    int64_t seconds = show_number(answer, "expires_in");
    self->device_code = show_text(answer, "device_code");
    self->interval_s = show_number(answer, "interval");
    self->interval_s = self->interval_s < INTERVAL_MAX_S ? self->interval_s : INTERVAL_MAX_S;
    seconds = seconds < longest_s ? seconds : longest_s;
    self->ends_at = clock_monotonic() + seconds * INT64_C(1000000);
    return self->device_code.len > 0 && self->interval_s >= 1 && seconds >= 1;
}

static enum err device_begin(struct device_sign_in *self, struct error *reterr)
{
    struct arena *arena = self->run->arena;
    struct client_answer answer = {0};
    const struct client_request request = {
        .method = "POST",
        .path = SLICE("/api/device/authorize"),
        .body = arena_format(arena, "client_id=gatehouse&program=%.*s",
                             SLICE_ARG(url_encode(arena, sign_in_program_in(arena)))),
        .is_form = true,
    };
    enum err err = client_call(&self->run->client, &request, &answer, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct slice code = show_text(&answer.json, "user_code");
    struct slice page = show_text(&answer.json, "verification_uri");
    struct slice whole = show_text(&answer.json, "verification_uri_complete");
    whole = whole.len > 0 ? whole : page;
    if (!device_read(self, &answer.json) || !device_is_code(code)) {
        return fail(reterr, ERR_UNAVAILABLE, "'%.*s' does not answer as a gateway does",
                    SLICE_ARG(self->run->client.context.url));
    }
    err = sign_in_check_page(self->run, page, reterr);
    if (err == ERR_NONE) {
        err = sign_in_check_page(self->run, whole, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    (void)fprintf(stderr,
                  "Open this page in a browser, and confirm that it shows the same code:\n\n"
                  "  %.*s\n\n  code  %.*s\n\n",
                  SLICE_ARG(page), SLICE_ARG(code));
    sign_in_open_page(self->run, whole);
    return ERR_NONE;
}

/* ERR_AGAIN: not yet. */
static enum err device_hear(struct device_sign_in *self, const struct client_answer *answer,
                            struct error *reterr)
{
    struct slice error = show_text(&answer->json, "error");
    self->unreachable_count = 0;
    if (answer->status == 200) {
        self->token = show_text(&answer->json, "access_token");
        return self->token.len > 0 ? ERR_NONE
                                   : fail(reterr, ERR_UNAVAILABLE, "the gateway gave no token");
    }
    if (slice_equals(error, SLICE("slow_down"))) {
        self->interval_s += self->interval_s < INTERVAL_MAX_S ? SLOW_DOWN_S : 0;
        return ERR_AGAIN;
    }
    if (slice_equals(error, SLICE("authorization_pending"))) {
        return ERR_AGAIN;
    }
    if (slice_equals(error, SLICE("access_denied"))) {
        return fail(reterr, ERR_DENIED, "the sign-in was refused in the browser");
    }
    if (slice_equals(error, SLICE("expired_token"))) {
        return fail(reterr, ERR_TIMEOUT, "nobody has confirmed the code in time: start again");
    }
    return client_refusal(&self->run->client, answer, reterr);
}

/* A gateway that is away for a moment ends nothing (RFC 8628, 3.5). */
static enum err device_ask(struct device_sign_in *self, struct error *reterr)
{
    struct arena *arena = self->run->arena;
    struct client_answer answer = {0};
    const struct client_request request = {
        .method = "POST",
        .path = SLICE("/api/device/token"),
        .body = arena_format(arena, "client_id=gatehouse&grant_type=%.*s&device_code=%.*s",
                             SLICE_ARG(url_encode(arena, SLICE(DEVICE_GRANT))),
                             SLICE_ARG(url_encode(arena, self->device_code))),
        .is_form = true,
    };
    enum err err = client_ask(&self->run->client, &request, &answer, reterr);
    bool is_away = err == ERR_UNAVAILABLE || (err == ERR_NONE && answer.status >= 500);
    if (is_away && ++self->unreachable_count < UNREACHABLE_MAX) {
        self->interval_s += self->interval_s < INTERVAL_MAX_S ? SLOW_DOWN_S : 0;
        return ERR_AGAIN;
    }
    return err == ERR_NONE ? device_hear(self, &answer, reterr) : err;
}

enum err sign_in_by_device(struct client_run *run, struct slice *ret_token, struct error *reterr)
{
    struct device_sign_in self = {.run = run};
    enum err err = device_begin(&self, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    for (err = ERR_AGAIN; err == ERR_AGAIN;) {
        err = client_pause(&run->client, self.interval_s * 1000, reterr);
        if (err == ERR_NONE && clock_monotonic() > self.ends_at) {
            err = fail(reterr, ERR_TIMEOUT, "nobody has confirmed the code in time: start again");
        }
        err = err == ERR_NONE ? device_ask(&self, reterr) : err;
    }
    *ret_token = self.token;
    return err;
}
