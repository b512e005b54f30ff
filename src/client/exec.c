/* SPDX-License-Identifier: MIT */
/* A script, executed by the gateway. What is over soon is in the first answer; what takes longer,
 * or is more than such an answer holds, is read from the session's recording as it comes. */
#include "base/limits.h"
#include "base/memory.h"
#include "base/text.h"
#include "client/files.h"
#include "client/parameters.h"
#include "client/result.h"
#include "codec/base64.h"
#include "codec/json_writer.h"
#include "codec/url.h"
#include "io/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define LOOK_AGAIN_MS 150
#define COMPLETE      SLICE("the client left") /* how a session ends whose script is over */

struct exec {
    struct client_run *run;
    struct slice script;
    struct slice env_vars; /* JSON, for a command; empty: none */
    struct slice session_id;
    struct result result;
    struct buf line; /* of the answer, whose end has not come */
    struct slice end_reason;
    bool has_started; /* something was told of */
    bool is_cut;      /* something is not on record */
    bool has_failed;
    bool is_blocked;
};

/* The script ----------------------------------------------------------------------------------- */

static enum err exec_read_file(struct exec *self, const char *path, struct error *reterr)
{
    bool is_input = strcmp(path, "-") == 0;
    int fd = is_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return fail(reterr, ERR_INPUT, "'%s': %s", path, strerror(errno));
    }
    enum err err = client_file_take_in(self->run->arena, fd, LIMIT_EXECUTION_SCRIPT_SIZE,
                                       &self->script, reterr);
    if (!is_input) {
        (void)close(fd);
    }
    if (err != ERR_NONE) {
        error_prefix(reterr, is_input ? "the script: " : "the script in the file: ");
    }
    return err == ERR_LIMIT ? ERR_INPUT : err;
}

static enum err exec_read_script(struct exec *self, struct error *reterr)
{
    const struct client_run *run = self->run;
    const char *text = client_given(run, CLIENT_SCRIPT);
    const char *path = client_given(run, CLIENT_FILE);
    bool has_dash = run->given.word_count == 2;
    enum err err = ERR_NONE;
    if (has_dash && strcmp(run->given.words[1], "-") != 0) {
        return fail(reterr, ERR_INPUT,
                    "exec: '%s' is too much: a script comes with -c, -f or on standard input",
                    run->given.words[1]);
    }
    if ((text != NULL) + (path != NULL) + has_dash > 1) {
        return fail(reterr, ERR_INPUT, "exec: one of -c, -f and - is expected");
    }
    if (text != NULL) {
        self->script = slice_of_text(text);
    } else if (path == NULL && !has_dash && isatty(STDIN_FILENO)) {
        return fail(reterr, ERR_INPUT,
                    "exec: a script is expected: -c TEXT, -f FILE or on standard input");
    } else {
        err = exec_read_file(self, path == NULL ? "-" : path, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    bool is_text =
        text_is_utf8(self->script) && slice_find_byte(self->script, '\0') == self->script.len;
    return !is_text ? fail(reterr, ERR_INPUT, "the script is no text in UTF-8, or has a NUL in it")
           : self->script.len == 0 ? fail(reterr, ERR_INPUT, "the script is empty")
                                   : ERR_NONE;
}

/* Values ----------------------------------------------------------------------------------------
 */

static enum err exec_read_parameters(const struct exec *self,
                                     struct client_parameters *ret_parameters, struct error *reterr)
{
    const struct client_arguments *given = &self->run->given;
    size_t count = given->counts[CLIENT_PARAM];
    struct client_parameter *items = arena_alloc_array(self->run->arena, count + 1, sizeof(*items));
    for (size_t i = 0; i < count; i++) {
        struct slice value = SLICE_NONE;
        items[i].name = slice_cut(slice_of_text(given->values[CLIENT_PARAM][i]), '=', &value);
        items[i].value = value;
        if (items[i].name.len == 0 || value.at == NULL || !text_is_utf8(value)) {
            return fail(reterr, ERR_INPUT,
                        "--param: NAME=VALUE is expected, with a value in UTF-8");
        }
        for (size_t j = 0; j < i; j++) {
            if (slice_equals(items[i].name, items[j].name)) {
                return fail(reterr, ERR_INPUT, "--param: '%.*s' is given twice",
                            SLICE_ARG(items[i].name));
            }
        }
    }
    *ret_parameters = (struct client_parameters){.items = items, .count = count};
    return ERR_NONE;
}

static enum err exec_put_variables(struct exec *self, const struct client_parameters *parameters)
{
    struct arena *arena = self->run->arena;
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, LIMIT_MIB(8));
    struct json_writer json = json_writer_to(&buf);
    json_begin_object(&json);
    for (size_t i = 0; i < parameters->count; i++) {
        const struct client_parameter *item = &parameters->items[i];
        json_key_text(&json, arena_format(arena, "envvar:%.*s", SLICE_ARG(item->name)));
        json_text(&json, base64_encode_in(arena, BASE64_STANDARD, item->value));
    }
    json_end_object(&json);
    enum err err = json_writer_done(&json);
    self->env_vars = arena_copy(arena, buf_view(&buf));
    return err;
}

/* What they mean depends on what the connection is. */
static enum err exec_put_parameters(struct exec *self, struct error *reterr)
{
    struct client_run *run = self->run;
    struct client_parameters parameters = {0};
    struct json connection;
    enum err err = exec_read_parameters(self, &parameters, reterr);
    if (err != ERR_NONE || parameters.count == 0) {
        return err;
    }
    err = client_get(
        &run->client,
        arena_format(run->arena, "/api/connections/%.*s",
                     SLICE_ARG(url_encode(run->arena, slice_of_text(run->given.words[0])))),
        &connection, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct slice subtype = show_text(&connection, "subtype");
    parameters.is_mysql = slice_equals(subtype, SLICE("mysql"));
    if (!parameters.is_mysql && !slice_equals(subtype, SLICE("postgres"))) {
        err = exec_put_variables(self, &parameters);
        return err == ERR_NONE ? err : fail(reterr, err, "--param: that is too much");
    }
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, LIMIT_EXECUTION_SCRIPT_SIZE);
    err = client_parameters_put(&parameters, self->script, &buf, reterr);
    self->script = err == ERR_NONE ? arena_copy(run->arena, buf_view(&buf)) : self->script;
    return err;
}

/* The request ------------------------------------------------------------------------------------
 */

static enum err exec_body_in(struct exec *self, struct slice *ret_body, struct error *reterr)
{
    struct client_run *run = self->run;
    struct slice metadata = SLICE_NONE;
    enum err err = client_given_metadata_in(run, &metadata, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, LIMIT_EXECUTION_SCRIPT_SIZE * 2);
    struct json_writer json = json_writer_to(&buf);
    json_begin_object(&json);
    json_member_text(&json, "connection", slice_of_text(run->given.words[0]));
    json_member_text(&json, "script", self->script);
    json_member_raw(&json, "metadata", metadata);
    if (self->env_vars.len > 0) {
        json_member_raw(&json, "env_vars", self->env_vars);
    }
    json_end_object(&json);
    if (json_writer_done(&json) != ERR_NONE) {
        return fail(reterr, ERR_INPUT, "the script is too long: %zu MiB are the most",
                    LIMIT_EXECUTION_SCRIPT_SIZE >> 20);
    }
    *ret_body = arena_copy(run->arena, buf_view(&buf));
    return ERR_NONE;
}

/* What the first answer has -------------------------------------------------------------------- */

static size_t exec_texts(struct arena *arena, const struct json *list, const char *member,
                         struct slice **ret_texts)
{
    size_t count = 0;
    (void)!json_as_array(*list, &count, NULL);
    struct slice *texts = arena_alloc_array(arena, count + 1, sizeof(*texts));
    for (size_t i = 0; i < count; i++) {
        struct json item = json_item(list, i);
        bool is_true = false;
        if (member != NULL) {
            texts[i] = show_text(&item, member);
        } else if (json_as_bool(item, &is_true, NULL) == ERR_NONE) {
            texts[i] = is_true ? SLICE("t") : SLICE("f"); /* as the target says it */
        } else if (json_is_given(item)) {
            texts[i] = json_as_written(item);
        }
    }
    *ret_texts = texts;
    return count;
}

static void exec_show_statement(struct exec *self, const struct json *statement)
{
    struct arena *arena = self->run->arena;
    struct json columns = json_member(statement, "columns");
    struct json rows = json_member(statement, "rows");
    struct json notices = json_member(statement, "notices");
    struct json error = json_member(statement, "error");
    struct slice text = show_text(statement, "text");
    struct slice *names = NULL;
    struct slice *types = NULL;
    size_t row_count = 0;
    size_t notice_count = 0;
    size_t count = exec_texts(arena, &columns, "name", &names);
    (void)exec_texts(arena, &columns, "type", &types);
    (void)!json_as_array(rows, &row_count, NULL);
    (void)!json_as_array(notices, &notice_count, NULL);
    for (size_t i = 0; i < notice_count; i++) {
        struct json notice = json_item(&notices, i);
        result_notice(&self->result, &notice);
    }
    if (count > 0) {
        result_columns(&self->result, names, types, count);
    }
    for (size_t i = 0; i < row_count; i++) {
        struct json row = json_item(&rows, i);
        struct slice *values = NULL;
        size_t value_count = exec_texts(arena, &row, NULL, &values);
        result_row(&self->result, values, value_count);
    }
    if (text.len > 0) {
        result_bytes(&self->result, text);
    }
    if (json_is_given(error)) {
        result_error(&self->result, &error);
    } else {
        struct json affected = json_member(statement, "rows_affected");
        result_done(&self->result, show_text(statement, "command"),
                    json_is_given(affected) ? show_number(statement, "rows_affected") : -1);
    }
}

static void exec_show_answer(struct exec *self, const struct json *answer)
{
    struct json statements = json_member(answer, "statements");
    size_t count = 0;
    (void)!json_as_array(statements, &count, NULL);
    for (size_t i = 0; i < count; i++) {
        struct json statement = json_item(&statements, i);
        exec_show_statement(self, &statement);
    }
    struct slice failure = show_text(answer, "output"); /* why there is no more */
    if (failure.len > 0 && self->result.error_count == 0) {
        show_problem("%.*s", SLICE_ARG(failure));
    }
}

/* What comes by and by ------------------------------------------------------------------------- */

static void exec_take_row(struct exec *self, struct arena *arena, const struct json *event)
{
    struct json list = json_member(event, "values");
    struct slice *values = NULL;
    size_t count = exec_texts(arena, &list, NULL, &values);
    self->is_cut = self->is_cut || show_is_true(event, "cut");
    result_row(&self->result, values, count);
}

static void exec_take_columns(struct exec *self, struct arena *arena, const struct json *event)
{
    struct json names_list = json_member(event, "columns");
    struct json types_list = json_member(event, "types");
    struct slice *names = NULL;
    struct slice *types = NULL;
    size_t count = exec_texts(arena, &names_list, NULL, &names);
    size_t type_count = exec_texts(arena, &types_list, NULL, &types);
    result_columns(&self->result, names, type_count == count ? types : NULL, count);
}

/* "SELECT 3", "INSERT 0 2": the last word, where it is a number. */
static int64_t exec_rows_of(struct slice tag)
{
    int64_t rows = -1;
    while (tag.at != NULL) {
        struct slice rest = SLICE_NONE;
        struct slice word = slice_cut(tag, ' ', &rest);
        if (text_parse_i64(word, &rows) != ERR_NONE) {
            rows = -1;
        }
        tag = rest;
    }
    return rows;
}

static void exec_take_event(struct exec *self, struct arena *arena, const struct json *event)
{
    struct slice type = show_text(event, "type");
    self->has_started = true;
    if (slice_equals(type, SLICE("columns"))) {
        exec_take_columns(self, arena, event);
    } else if (slice_equals(type, SLICE("row"))) {
        exec_take_row(self, arena, event);
    } else if (slice_equals(type, SLICE("copy"))) {
        self->is_cut = self->is_cut || show_is_true(event, "cut");
        result_bytes(&self->result, show_text(event, "data"));
    } else if (slice_equals(type, SLICE("count"))) {
        self->is_cut = self->is_cut || show_is_true(event, "cut");
    } else if (slice_equals(type, SLICE("done"))) {
        struct slice tag = show_text(event, "tag");
        result_done(&self->result, tag, exec_rows_of(tag));
    } else if (slice_equals(type, SLICE("notice"))) {
        result_notice(&self->result, event);
    } else if (slice_equals(type, SLICE("error"))) {
        self->has_failed = true;
        result_error(&self->result, event);
    } else if (slice_equals(type, SLICE("close"))) {
        struct json summary = json_member(event, "summary");
        self->end_reason = arena_copy(self->run->arena, show_text(&summary, "reason"));
    }
}

static enum err exec_take_line(struct exec *self, struct slice line, struct error *reterr)
{
    struct arena arena CLEANUP(arena_release);
    struct json event;
    arena_init(&arena);
    enum err err = json_parse_in(&arena, line, &event, reterr);
    if (err != ERR_NONE) {
        error_prefix(reterr, "what the gateway sends cannot be read: ");
        return ERR_IO;
    }
    exec_take_event(self, &arena, &event);
    return ferror(stdout) ? fail(reterr, ERR_IO, "standard output takes no more") : ERR_NONE;
}

static enum err exec_take(void *context, struct slice bytes, struct error *reterr)
{
    struct exec *self = context;
    enum err err = ERR_NONE;
    while (bytes.len > 0 && err == ERR_NONE) {
        size_t end = slice_find_byte(bytes, '\n');
        bool is_whole = end < bytes.len;
        struct slice line = slice_sub(bytes, 0, end);
        if (!is_whole || self->line.len > 0) {
            if (buf_append(&self->line, line) != ERR_NONE) {
                return fail(reterr, ERR_LIMIT, "a line of the gateway's answer is too long");
            }
            line = buf_view(&self->line);
        }
        if (is_whole) {
            err = exec_take_line(self, line, reterr);
            buf_truncate(&self->line, 0);
        }
        bytes = slice_from(bytes, is_whole ? end + 1 : end);
    }
    result_look(&self->result);
    return err;
}

/* A session is on record as soon as it may go to its target; until then there is nothing to read.
 */
static enum err exec_follow(struct exec *self, struct error *reterr)
{
    struct client *client = &self->run->client;
    int64_t end = clock_monotonic() + LIMIT_CLIENT_RECORDING_MS * INT64_C(1000);
    struct slice path = arena_format(self->run->arena, "/api/sessions/%.*s/result?results=jsonl",
                                     SLICE_ARG(self->session_id));
    enum err err = client_stream(client, path, exec_take, self, reterr);
    while (err == ERR_NOT_FOUND && !self->has_started && clock_monotonic() < end) {
        err = client_pause(client, LOOK_AGAIN_MS, reterr);
        if (err == ERR_NONE && client->deadline != 0 && clock_monotonic() > client->deadline) {
            err = fail(reterr, ERR_TIMEOUT, "it took longer than --timeout allows");
        }
        err = err == ERR_NONE ? client_stream(client, path, exec_take, self, reterr) : err;
    }
    return err;
}

/* Whoever asked does not wait any more: neither shall the target. */
static enum err exec_kill(struct exec *self, enum err err, struct error *reterr)
{
    struct client *client = &self->run->client;
    struct client_answer answer = {0};
    struct error failure;
    const struct client_request request = {
        .method = "POST",
        .path =
            arena_format(self->run->arena, "/api/sessions/%.*s/kill", SLICE_ARG(self->session_id)),
    };
    client->deadline = 0;
    if (client_call(client, &request, &answer, &failure) != ERR_NONE) {
        return fail(reterr, err, "%s, but the session %.*s could not be ended: %s",
                    err == ERR_TIMEOUT ? "it took too long" : "interrupted",
                    SLICE_ARG(self->session_id), failure.message);
    }
    return fail(reterr, err, "%s: the session %.*s was ended",
                err == ERR_TIMEOUT ? "it took longer than --timeout allows" : "interrupted",
                SLICE_ARG(self->session_id));
}

/* The store has what rules have met a moment after the recording is closed. */
static enum err exec_wait_for_end(struct exec *self, struct json *ret_session, struct error *reterr)
{
    struct client *client = &self->run->client;
    struct slice path =
        arena_format(self->run->arena, "/api/sessions/%.*s", SLICE_ARG(self->session_id));
    int64_t end = clock_monotonic() + LIMIT_CLIENT_END_MS * INT64_C(1000);
    enum err err = client_get(client, path, ret_session, reterr);
    while (err == ERR_NONE && !slice_equals(show_text(ret_session, "status"), SLICE("done")) &&
           clock_monotonic() < end) {
        err = client_pause(client, LOOK_AGAIN_MS, reterr);
        err = err == ERR_NONE ? client_get(client, path, ret_session, reterr) : err;
    }
    return err;
}

/* Whether a rule has blocked something of it; where that cannot be read, the error speaks. */
static bool exec_was_blocked(struct exec *self)
{
    struct json session;
    struct error ignored;
    size_t count = 0;
    if (exec_wait_for_end(self, &session, &ignored) != ERR_NONE) {
        return false;
    }
    struct json list = json_member(&session, "guardrails_info");
    (void)!json_as_array(list, &count, NULL);
    for (size_t i = 0; i < count; i++) {
        struct json met = json_item(&list, i);
        if (slice_equals(show_text(&met, "action"), SLICE("block"))) {
            return true;
        }
    }
    return false;
}

static enum err exec_show_rest(struct exec *self, struct error *reterr)
{
    enum err err = exec_follow(self, reterr);
    if (err == ERR_CLOSED || err == ERR_TIMEOUT) {
        return exec_kill(self, err, reterr);
    }
    if (err != ERR_NONE) {
        show_problem("what came of it is in the session %.*s", SLICE_ARG(self->session_id));
        return err;
    }
    if (!self->has_failed && !slice_equals(self->end_reason, COMPLETE)) {
        self->has_failed = true;
        show_problem("the session %.*s ended before its time: %.*s", SLICE_ARG(self->session_id),
                     SLICE_ARG(self->end_reason.len > 0 ? self->end_reason
                                                        : SLICE("its recording breaks off")));
    }
    self->is_blocked = self->has_failed && exec_was_blocked(self);
    return self->is_cut
               ? fail(reterr, ERR_LIMIT,
                      "not all of it is on record (recording_row_limit of the connection), "
                      "and what is not there is missing above; gatehouse connect %s -- psql has "
                      "no such limit",
                      self->run->given.words[0])
               : ERR_NONE;
}

/* Starting ------------------------------------------------------------------------------------- */

static enum err exec_show(struct exec *self, const struct client_answer *answer,
                          struct error *reterr)
{
    struct slice status = show_text(&answer->json, "output_status");
    self->session_id = show_text(&answer->json, "session_id");
    if (show_is_true(&answer->json, "has_review")) {
        self->run->exit_code = CLIENT_EXIT_REVIEW;
        return fail(reterr, ERR_DENIED, "it waits for a review: session %.*s",
                    SLICE_ARG(self->session_id));
    }
    enum err err = ERR_NONE;
    result_init(&self->result, self->run);
    buf_init(&self->line, LIMIT_CLIENT_LINE_SIZE);
    if (answer->status == 200 && !show_is_true(&answer->json, "truncated")) {
        exec_show_answer(self, &answer->json);
        self->has_failed = !slice_equals(status, SLICE("success"));
        self->is_blocked = slice_equals(status, SLICE("blocked"));
    } else {
        err = exec_show_rest(self, reterr);
    }
    result_end(&self->result);
    result_release(&self->result);
    buf_release(&self->line);
    self->run->exit_code = self->is_blocked   ? CLIENT_EXIT_BLOCKED
                           : self->has_failed ? CLIENT_EXIT_FAILED
                                              : 0;
    return err;
}

/* A signal has to wait for the answer, which says what would have to be ended. */
static enum err exec_begin(struct exec *self, struct slice body, struct client_answer *ret_answer,
                           struct error *reterr)
{
    struct client *client = &self->run->client;
    int signal_fd = client->signal_fd;
    const struct client_request request = {
        .method = "POST",
        .path = arena_format(self->run->arena, "/api/sessions?results=json&wait_ms=%d",
                             LIMIT_CLIENT_EXEC_WAIT_MS),
        .body = body,
    };
    client->signal_fd = -1;
    enum err err = client_call(client, &request, ret_answer, reterr);
    client->signal_fd = signal_fd;
    return err;
}

enum err client_exec(struct client_run *run, struct error *reterr)
{
    struct exec self = {.run = run};
    struct client_answer answer = {0};
    struct slice body = SLICE_NONE;
    int64_t seconds = 0;
    enum err err = exec_read_script(&self, reterr);
    if (err == ERR_NONE) {
        err = client_given_seconds(run, CLIENT_TIMEOUT, 0, &seconds, reterr);
    }
    if (err == ERR_NONE) {
        err = client_open(run, reterr);
    }
    if (err == ERR_NONE) {
        err = exec_put_parameters(&self, reterr);
    }
    if (err == ERR_NONE) {
        err = exec_body_in(&self, &body, reterr);
    }
    if (err == ERR_NONE) {
        err = client_catch_signals(&run->client, reterr);
    }
    if (err == ERR_NONE) {
        int64_t end = seconds == 0 ? 0 : clock_monotonic() + seconds * INT64_C(1000000);
        err = exec_begin(&self, body, &answer, reterr);
        run->client.deadline = end;
    }
    return err == ERR_NONE ? exec_show(&self, &answer, reterr) : err;
}
