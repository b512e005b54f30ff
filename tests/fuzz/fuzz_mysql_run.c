/* SPDX-License-Identifier: MIT */
/* What a server answers to a script that is executed over the API. The first byte says in pieces of
 * which size it comes, to somebody who takes each row at the second time. Held: that makes no
 * difference, it ends once, a row has as many values as
 * are said, and nothing is sent behind an error. */
#include "base/limits.h"
#include "fuzz.h"
#include "fuzz_stream.h"
#include "io/worker.h"
#include "protocol/mysql/mysql_run.h"

#define TURN_COUNT_MAX 1000000u
#define GREETING                                                                                   \
    "\x4a\0\0\0\x0a"                                                                               \
    "8.0.36\0\1\0\0\0"                                                                             \
    "12345678\0\xff\xff\x2d\2\0\xff\xff\x15\0\0\0\0\0\0\0\0\0\0"                                   \
    "123456789012\0"                                                                               \
    "mysql_native_password\0"
#define OK "\7\0\0\2\0\0\0\2\0\0\0"

struct outcome {
    unsigned ends;
    bool has_failed;
    bool was_told_of_error;
    bool holds;      /* takes nothing at the first time */
    bool is_held;    /* what was not taken comes again, and nothing else before it */
    bool comes_back; /* now */
    struct buf told; /* all that came of it */
};

static bool hold(struct outcome *outcome)
{
    must(!outcome->is_held || outcome->comes_back);
    outcome->is_held = !outcome->comes_back;
    outcome->comes_back = false;
    return outcome->is_held;
}

static void tell(struct outcome *outcome, struct slice what, struct slice text)
{
    const struct slice parts[] = {what, text, SLICE("|")};
    must(outcome->ends == 0 && !outcome->is_held);
    must(buf_append_parts(&outcome->told, parts, COUNT_OF(parts)) == ERR_NONE);
}

static void on_columns(void *owner, const struct run_column *columns, size_t count)
{
    tell(owner, SLICE("columns"), SLICE(""));
    for (size_t i = 0; i < count; i++) {
        tell(owner, columns[i].type, columns[i].name);
    }
}

/* Every second row is not taken when it comes first. */
static bool on_row(void *owner, const struct slice *values, size_t count)
{
    struct outcome *outcome = owner;
    must(values != NULL || count == 0);
    if (values != NULL && outcome->holds && hold(outcome)) {
        return false;
    }
    tell(owner, SLICE("row"), SLICE(""));
    for (size_t i = 0; i < count; i++) {
        tell(owner, values[i].at == NULL ? SLICE("-") : SLICE("+"), values[i]);
    }
    return true;
}

/* They come in whatever pieces there are. */
static bool on_bytes(void *owner, struct slice bytes)
{
    struct outcome *outcome = owner;
    must(bytes.len > 0 && outcome->ends == 0);
    if (outcome->holds && hold(outcome)) {
        return false;
    }
    must(buf_append(&outcome->told, bytes) == ERR_NONE);
    return true;
}

static void on_notice(void *owner, const struct run_notice *notice)
{
    tell(owner, SLICE("notice"), notice->message);
}

static void on_complete(void *owner, struct slice command, int64_t rows)
{
    tell(owner, rows < 0 ? SLICE("done") : SLICE("done with rows"), command);
}

static void on_error(void *owner, const struct run_notice *error)
{
    struct outcome *outcome = owner;
    outcome->was_told_of_error = true;
    tell(owner, error->code, error->message);
}

static void on_end(void *owner, const struct error *error)
{
    struct outcome *outcome = owner;
    outcome->ends++;
    outcome->has_failed = error != NULL;
}

static const struct run_events events = {
    .on_columns = on_columns,
    .on_row = on_row,
    .on_bytes = on_bytes,
    .on_notice = on_notice,
    .on_complete = on_complete,
    .on_error = on_error,
    .on_end = on_end,
};

/* The server says nothing more before it is asked. */
static void sign_in(struct loop *loop, struct script *script)
{
    struct slice said = script->in;
    size_t piece = script->piece;
    script->piece = SIZE_MAX;
    script->in = SLICE(GREETING);
    while (script->in.len > 0 || (script->watched & STREAM_WRITABLE) != 0) {
        script->stream.on_event(script->stream.owner, script->watched);
        loop_turn(loop);
    }
    script->in = SLICE(OK);
    script->stream.on_event(script->stream.owner, script->watched);
    loop_turn(loop);
    must(script->in.len == 0 && !script->is_closed);
    script->in = said;
    script->piece = piece;
}

static void run(struct loop *loop, struct script *script, struct outcome *outcome)
{
    static const struct slice statements[] = {SLICE_INIT("SELECT 1"), SLICE_INIT("SELECT 2")};
    const struct run_request request = {
        .name = SLICE("shop"),
        .application_name = SLICE("gatehouse"),
        .statements = statements,
        .statement_count = COUNT_OF(statements),
        .sign_in_ms = 3600000,
    };
    script->stream = (struct stream){.ops = &script_ops, .loop = loop};
    buf_init(&script->out, LIMIT_KIB(4));
    buf_init(&outcome->told, LIMIT_MIB(1));
    struct run *going = mysql_run_ops.start(&script->stream, &request, &events, outcome);
    sign_in(loop, script);
    for (unsigned i = 0; outcome->ends == 0; i++) {
        must(i < TURN_COUNT_MAX);
        if (outcome->is_held) {
            must((script->watched & STREAM_READABLE) == 0);
            outcome->comes_back = true;
            going->resume(going);
            continue;
        }
        must(script->watched != 0);
        script->stream.on_event(script->stream.owner, script->watched);
        loop_turn(loop);
    }
    loop_turn(loop);
    must(outcome->ends == 1 && script->is_closed);
    bool has_sent_second = slice_find(buf_view(&script->out), statements[1]) < script->out.len;
    must(!outcome->was_told_of_error || outcome->has_failed || script->out.len > 0);
    must(has_sent_second || outcome->was_told_of_error || outcome->has_failed);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct worker *worker;
    if (size < 1 || size > LIMIT_KIB(64)) {
        return 0;
    }
    if (worker == NULL) {
        worker = worker_new(0, NULL);
    }
    struct buf input;
    buf_init(&input, LIMIT_KIB(128));
    must(buf_append(&input, slice_of(bytes + 1, size - 1)) == ERR_NONE);
    struct script whole = {.in = buf_view(&input), .piece = SIZE_MAX};
    struct script split = {.in = buf_view(&input), .piece = 1u + bytes[0]};
    struct outcome first = {0};
    struct outcome second = {.holds = true};
    run(worker_loop(worker), &whole, &first);
    run(worker_loop(worker), &split, &second);
    must(first.has_failed == second.has_failed);
    must(slice_equals(buf_view(&first.told), buf_view(&second.told)));
    must(slice_equals(buf_view(&whole.out), buf_view(&split.out)));
    buf_release(&whole.out);
    buf_release(&split.out);
    buf_release(&first.told);
    buf_release(&second.told);
    buf_release(&input);
    return 0;
}
