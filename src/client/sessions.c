/* SPDX-License-Identifier: MIT */
/* Sessions: which there were, what passed in one, and its end. */
#include "base/limits.h"
#include "base/memory.h"
#include "base/text.h"
#include "client/show.h"
#include "codec/base64.h"
#include "codec/url.h"

static struct slice sessions_path_in(struct client_run *run, const char *behind)
{
    return arena_format(run->arena, "/api/sessions/%.*s%s",
                        SLICE_ARG(url_encode(run->arena, slice_of_text(run->given.words[0]))),
                        behind);
}

/* Which ---------------------------------------------------------------------------------------- */

enum err client_sessions_list(struct client_run *run, struct error *reterr)
{
    static const struct show_column columns[] = {{"ID", "id"},
                                                 {"STARTED", "start_date"},
                                                 {"USER", "user"},
                                                 {"VERB", "verb"},
                                                 {"CONNECTION", "connection"},
                                                 {"STATUS", "status"},
                                                 {"ENDED BECAUSE", "end_reason"}};
    const char *connection = client_given(run, CLIENT_CONNECTION);
    const char *limit = client_given(run, CLIENT_LIMIT);
    uint64_t most = 20;
    struct json answer;
    size_t count = 0;
    if (limit != NULL &&
        (text_parse_u64(slice_of_text(limit), &most) != ERR_NONE || most < 1 || most > 100)) {
        return fail(reterr, ERR_INPUT, "--limit: a number from 1 to 100 is expected");
    }
    enum err err = client_open(run, reterr);
    if (err == ERR_NONE) {
        err = client_get(
            &run->client,
            arena_format(run->arena, "/api/sessions?limit=%llu%s%.*s", (unsigned long long)most,
                         connection == NULL ? "" : "&connection=",
                         SLICE_ARG(url_encode(
                             run->arena, slice_of_text(connection == NULL ? "" : connection)))),
            &answer, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct json data = json_member(&answer, "data");
    err = json_as_array(data, &count, reterr);
    struct json *items = arena_alloc_array(run->arena, count + 1, sizeof(*items));
    for (size_t i = 0; i < count && err == ERR_NONE; i++) {
        items[i] = json_item(&data, i);
    }
    if (err == ERR_NONE) {
        show_list(run, items, count, columns, COUNT_OF(columns));
    }
    return err;
}

/* One ------------------------------------------------------------------------------------------ */

enum err client_sessions_show(struct client_run *run, struct error *reterr)
{
    static const struct show_pair names[] = {
        {"session", "id", {0}},          {"connection", "connection", {0}},
        {"user", "user", {0}},           {"verb", "verb", {0}},
        {"status", "status", {0}},       {"started", "start_date", {0}},
        {"ended", "end_date", {0}},      {"because", "end_reason", {0}},
        {"address", "client_ip", {0}},   {"program", "application_name", {0}},
        {"metadata", "metadata", {0}},   {"bytes in", "bytes_in", {0}},
        {"bytes out", "bytes_out", {0}}, {"guard rails met", "guardrails_info", {0}},
        {"figures", "metrics", {0}}};
    struct json session;
    struct show_pair pairs[COUNT_OF(names)];
    enum err err = client_open(run, reterr);
    if (err == ERR_NONE) {
        err = client_get(&run->client, sessions_path_in(run, ""), &session, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    if (client_wants_json(run)) {
        struct slice written = json_as_written(session);
        (void)printf("%.*s\n", SLICE_ARG(written));
        return ERR_NONE;
    }
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        pairs[i] = names[i];
        pairs[i].value = show_words_in(run->arena, json_member(&session, names[i].member));
    }
    show_pairs(run, pairs, COUNT_OF(pairs));
    return ERR_NONE;
}

enum err client_sessions_kill(struct client_run *run, struct error *reterr)
{
    struct client_answer answer = {0};
    enum err err = client_open(run, reterr);
    if (err == ERR_NONE) {
        err = client_call(
            &run->client,
            &(struct client_request){.method = "POST", .path = sessions_path_in(run, "/kill")},
            &answer, reterr);
    }
    if (err == ERR_NONE) {
        show_line(arena_format(run->arena, "the session %s ends", run->given.words[0]));
    }
    return err;
}

enum err client_sessions_verify(struct client_run *run, struct error *reterr)
{
    struct json answer;
    enum err err = client_open(run, reterr);
    if (err == ERR_NONE) {
        err = client_get(&run->client, sessions_path_in(run, "/verify"), &answer, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct slice status = show_text(&answer, "recording_status");
    if (client_wants_json(run)) {
        struct slice written = json_as_written(answer);
        (void)printf("%.*s\n", SLICE_ARG(written));
    } else {
        show_line(status);
    }
    bool is_good = slice_equals(status, SLICE("whole")) || slice_equals(status, SLICE("open"));
    run->exit_code = is_good ? 0 : CLIENT_EXIT_FAILED;
    return ERR_NONE;
}

/* Downloading ---------------------------------------------------------------------------------- */

static enum err sessions_put(void *context, struct slice bytes, struct error *reterr)
{
    (void)context;
    return fwrite(bytes.at, 1, bytes.len, stdout) == bytes.len
               ? ERR_NONE
               : fail(reterr, ERR_IO, "standard output takes no more");
}

enum err client_sessions_download(struct client_run *run, struct error *reterr)
{
    const char *format = client_given(run, CLIENT_FORMAT);
    enum err err = client_open(run, reterr);
    struct slice path = sessions_path_in(run, "/download?extension=");
    path = arena_format(run->arena, "%.*s%s", SLICE_ARG(path), format == NULL ? "txt" : format);
    return err == ERR_NONE ? client_stream(&run->client, path, sessions_put, NULL, reterr) : err;
}

/* Following ------------------------------------------------------------------------------------ */

struct follow {
    struct buf line;
    bool is_last;     /* the event that is being read ends it */
    bool is_terminal; /* it has a size: what is typed is seen when it is shown */
    bool is_over;
};

/* What was said may try to move the cursor: ends of lines and tabs stay, all else is shown. */
static void follow_print(struct slice text)
{
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, text.len * 8 + 16);
    struct writer writer = writer_to(&buf);
    while (text.at != NULL) {
        struct slice rest = SLICE_NONE;
        struct slice line = slice_cut(text, '\n', &rest);
        while (line.at != NULL) {
            struct slice behind = SLICE_NONE;
            text_show(&writer, slice_cut(line, '\t', &behind));
            writer_bytes(&writer, behind.at == NULL ? SLICE("") : SLICE("\t"));
            line = behind;
        }
        writer_bytes(&writer, rest.at == NULL ? SLICE("") : SLICE("\n"));
        text = rest;
    }
    (void)fwrite(buf_view(&buf).at, 1, buf_view(&buf).len, stdout);
    (void)fflush(stdout);
}

/* Of a terminal what is on its screen, and what the gateway says. */
static bool follow_shows(struct follow *self, const struct json *event)
{
    struct slice type = show_text(event, "type");
    self->is_terminal = self->is_terminal || slice_equals(type, SLICE("r"));
    return !self->is_terminal || slice_equals(type, SLICE("o")) || slice_equals(type, SLICE("e"));
}

static enum err follow_data(struct follow *self, struct slice data, struct error *reterr)
{
    struct arena arena CLEANUP(arena_release);
    struct json event;
    struct slice text = SLICE_NONE;
    arena_init(&arena);
    enum err err = json_parse_in(&arena, data, &event, reterr);
    if (err == ERR_NONE && self->is_last) {
        struct slice reason = show_text(&event, "reason");
        self->is_over = true;
        show_line(arena_format(&arena, "-- the session has ended: %.*s", SLICE_ARG(reason)));
    } else if (err == ERR_NONE && follow_shows(self, &event)) {
        err = base64_decode_in(&arena, BASE64_STANDARD, show_text(&event, "payload"), &text);
        follow_print(err == ERR_NONE ? text : SLICE(""));
    }
    return err == ERR_NONE ? err : fail(reterr, ERR_IO, "what the gateway sends cannot be read");
}

/* Server-sent events: of each the lines "event" and "data" matter. */
static enum err follow_line(struct follow *self, struct slice line, struct error *reterr)
{
    struct slice value = SLICE_NONE;
    struct slice name = slice_cut(line, ':', &value);
    value = slice_starts_with(value, SLICE(" ")) ? slice_from(value, 1) : value;
    if (slice_equals(name, SLICE("event"))) {
        self->is_last = slice_equals(value, SLICE("session_end"));
    }
    return slice_equals(name, SLICE("data")) ? follow_data(self, value, reterr) : ERR_NONE;
}

static enum err follow_take(void *context, struct slice bytes, struct error *reterr)
{
    struct follow *self = context;
    enum err err = ERR_NONE;
    while (bytes.len > 0 && err == ERR_NONE) {
        size_t end = slice_find_byte(bytes, '\n');
        if (buf_append(&self->line, slice_sub(bytes, 0, end)) != ERR_NONE) {
            return fail(reterr, ERR_LIMIT, "a line of the gateway's answer is too long");
        }
        if (end < bytes.len) {
            err = follow_line(self, buf_view(&self->line), reterr);
            buf_truncate(&self->line, 0);
        }
        bytes = slice_from(bytes, end < bytes.len ? end + 1 : end);
    }
    return err;
}

enum err client_sessions_follow(struct client_run *run, struct error *reterr)
{
    struct follow self = {.is_over = false};
    enum err err = client_open(run, reterr);
    if (err == ERR_NONE) {
        err = client_catch_signals(&run->client, reterr);
    }
    buf_init(&self.line, LIMIT_CLIENT_LINE_SIZE);
    if (err == ERR_NONE) {
        err = client_stream(&run->client, sessions_path_in(run, "/stream"), follow_take, &self,
                            reterr);
        err = err == ERR_CLOSED ? ERR_NONE : err; /* who looks on may stop */
    }
    buf_release(&self.line);
    return err;
}
