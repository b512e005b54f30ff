/* SPDX-License-Identifier: MIT */
/* The way to a command: a keeper is made for it, and told what it is to run. */
#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"
#include "io/commands.h"
#include "io/socket_stream.h"
#include "model/secret_map.h"
#include "protocol/exec/exec.h"
#include "wire/execwire.h"

#include <unistd.h>

struct exec_open {
    struct opening opening;
    struct loop *loop;
    struct stream *stream; /* to the keeper; NULL: there is none */
    bool is_terminal;
    struct buf out; /* what it is told; wiped */
    struct error error;
    opened_fn on_done;
    void *owner;
    struct loop_task task;
};

static void exec_open_free(void *owner)
{
    struct exec_open *self = owner;
    buf_wipe(&self->out);
    buf_release(&self->out);
    memory_free(self);
}

static void exec_open_leave(struct exec_open *self)
{
    loop_task_cancel(&self->task);
    loop_task_init(&self->task, exec_open_free, self);
    loop_defer(self->loop, &self->task);
}

static void exec_open_cancel(struct opening *opening)
{
    struct exec_open *self = CONTAINER_OF(opening, struct exec_open, opening);
    if (self->stream != NULL) {
        stream_close(self->stream);
    }
    exec_open_leave(self);
}

/* What to do about it is the caller's affair, so he is told. */
static void exec_open_fail(struct exec_open *self)
{
    struct target_failure failure = {.stage = TARGET_STAGE_AGENT, .error = self->error};
    const struct ending_words words = {.why = ENDING_CONNECTION,
                                       .message = slice_of_text(self->error.message)};
    struct buf answer;
    buf_init(&answer, LIMIT_EXEC_WORDS_SIZE + LIMIT_KIB(1));
    must(exec_answer_write(&words, failure.code, &answer) == ERR_NONE);
    failure.answer = buf_view(&answer);
    exec_open_leave(self);
    self->on_done(self->owner, NULL, &failure);
    buf_release(&answer);
}

static void exec_open_run(void *owner)
{
    struct exec_open *self = owner;
    while (self->stream != NULL && self->out.len > 0) {
        struct slice bytes = buf_view(&self->out);
        size_t len = 0;
        enum err err = stream_write(self->stream, &bytes, 1, &len);
        if (err == ERR_AGAIN) {
            stream_watch(self->stream, STREAM_WRITABLE);
            return;
        }
        if (err != ERR_NONE) {
            stream_close(self->stream);
            self->stream = NULL;
            must(fail(&self->error, ERR_UNAVAILABLE, "the command cannot be run now") != ERR_NONE);
            break;
        }
        buf_consume(&self->out, len);
    }
    if (self->stream == NULL) {
        exec_open_fail(self);
        return;
    }
    const struct arrival arrival = {.take_stream = self->stream,
                                    .key = {.secret = SLICE_NONE},
                                    .greeting = SLICE(""),
                                    .rest = SLICE("")};
    stream_watch(self->stream, 0);
    exec_open_leave(self);
    self->on_done(self->owner, &arrival, NULL);
}

static void exec_open_on_event(void *owner, unsigned events)
{
    (void)events;
    exec_open_run(owner);
}

/* What is to be run --------------------------------------------------------------------------- */

/* "$NAME" of a variable of the connection, or "${NAME}". */
static bool exec_word_has(struct slice word, struct slice name)
{
    bool has = false;
    for (size_t i = 0; i + 1 < word.len && !has; i++) {
        struct slice rest = slice_from(word, i + 1);
        rest = word.at[i] == '$' && rest.at[0] == '{' ? slice_from(rest, 1) : rest;
        has = word.at[i] == '$' && slice_starts_with(rest, name);
    }
    return has;
}

/* No shell reads the command, so such a word would mean itself; and what others on the machine can
 * see of a program is no place for secrets. */
static enum err exec_check_word(const struct open_request *request, struct slice word,
                                struct error *reterr)
{
    const struct shape_pairs *variables = &request->place->variables;
    for (size_t i = 0; i < variables->count; i++) {
        struct slice name = SLICE_NONE;
        (void)secret_key_place(variables->pairs[i].key, &name);
        if (exec_word_has(word, name)) {
            return fail(reterr, ERR_INPUT,
                        "the connection's command has the word '%.*s': values are in the program's "
                        "environment alone, as %.*s; have it read that, or run a script that does",
                        SLICE_ARG(slice_sub(word, 0, 100)), SLICE_ARG(name));
        }
    }
    return ERR_NONE;
}

/* ERR_INPUT: a gateway that knows terminals says more. */
static enum err exec_write_terminal(struct buf *items, const struct open_request *request,
                                    struct error *reterr)
{
    const struct shape_pairs *parameters = &request->parameters;
    struct execwire_item item = {.kind = EXECWIRE_TERMINAL, .name = SLICE("")};
    uint64_t columns = 0;
    uint64_t rows = 0;
    enum err err = ERR_NONE;
    for (size_t i = 0; i < parameters->count && err == ERR_NONE; i++) {
        const struct shape_pair *pair = &parameters->pairs[i];
        if (slice_equals(pair->key, SLICE(EXEC_TERMINAL_KIND))) {
            item.name = pair->value;
        } else if (slice_equals(pair->key, SLICE(EXEC_TERMINAL_COLUMNS))) {
            err = text_parse_u64(pair->value, &columns);
        } else if (slice_equals(pair->key, SLICE(EXEC_TERMINAL_ROWS))) {
            err = text_parse_u64(pair->value, &rows);
        }
    }
    if (err != ERR_NONE || item.name.len == 0 || columns < 1 || columns > UINT16_MAX || rows < 1 ||
        rows > UINT16_MAX) {
        return fail(reterr, ERR_INPUT, "it is not said what the terminal is");
    }
    const struct execwire_size size = {.columns = (uint16_t)columns, .rows = (uint16_t)rows};
    char text[EXECWIRE_SIZE_SIZE];
    item.value = execwire_size_write(&size, text);
    return execwire_item_write(items, &item);
}

static enum err exec_write_items(struct buf *items, const struct open_request *request,
                                 struct error *reterr)
{
    const struct shape_texts *command = &request->command;
    const struct shape_pairs *variables = &request->place->variables;
    enum err err = command->count == 0
                       ? fail(reterr, ERR_INPUT, "the connection has no 'command' to be run")
                       : ERR_NONE;
    for (size_t i = 0; i < command->count && err == ERR_NONE; i++) {
        const struct execwire_item item = {
            .kind = EXECWIRE_ARGUMENT, .name = SLICE(""), .value = command->items[i]};
        err = exec_check_word(request, item.value, reterr);
        if (err == ERR_NONE && execwire_item_write(items, &item) != ERR_NONE) {
            err = fail(reterr, ERR_LIMIT, "the connection's command is too long");
        }
    }
    for (size_t i = 0; i < variables->count && err == ERR_NONE; i++) {
        struct execwire_item item = {.value = variables->pairs[i].value};
        bool is_file = secret_key_place(variables->pairs[i].key, &item.name) == SECRET_PLACE_FILE;
        item.kind = is_file ? EXECWIRE_FILE : EXECWIRE_VARIABLE;
        if (execwire_item_write(items, &item) != ERR_NONE) {
            err = fail(reterr, ERR_LIMIT, "the connection's variables are too long");
        }
    }
    return err;
}

static enum err exec_write_start(struct exec_open *self, const struct open_request *request)
{
    struct buf items;
    buf_init(&items, LIMIT_EXEC_START_SIZE);
    enum err err = exec_write_items(&items, request, &self->error);
    if (err == ERR_NONE && self->is_terminal) {
        err = exec_write_terminal(&items, request, &self->error);
    }
    if (err == ERR_NONE) {
        err = execwire_write(&self->out, EXECWIRE_START, buf_view(&items));
        err = err == ERR_NONE ? err : fail(&self->error, err, "the command is too long");
    }
    buf_wipe(&items);
    buf_release(&items);
    return err;
}

static struct opening *exec_open_any(const struct dial_context *context,
                                     const struct open_request *request, bool is_terminal,
                                     opened_fn on_done, void *owner)
{
    struct exec_open *self = memory_new(sizeof(*self));
    int fd = -1;
    self->is_terminal = is_terminal;
    self->opening.cancel = exec_open_cancel;
    self->loop = worker_loop(context->worker);
    self->on_done = on_done;
    self->owner = owner;
    buf_init(&self->out, LIMIT_EXEC_START_SIZE + EXECWIRE_HEAD_SIZE);
    loop_task_init(&self->task, exec_open_run, self);
    enum err err = exec_write_start(self, request);
    if (err == ERR_NONE && context->commands == NULL) {
        err = fail(&self->error, ERR_UNSUPPORTED, "the agent runs no commands (--commands off)");
    }
    if (err == ERR_NONE) {
        err = commands_connect(context->commands, &fd, &self->error);
    }
    if (err == ERR_NONE) {
        self->stream = socket_stream_new(self->loop, fd);
        stream_own(self->stream, exec_open_on_event, self);
    }
    loop_defer(self->loop, &self->task);
    return &self->opening;
}

struct opening *exec_open_start(const struct dial_context *context,
                                const struct open_request *request, opened_fn on_done, void *owner)
{
    return exec_open_any(context, request, false, on_done, owner);
}

struct opening *terminal_open_start(const struct dial_context *context,
                                    const struct open_request *request, opened_fn on_done,
                                    void *owner)
{
    return exec_open_any(context, request, true, on_done, owner);
}
