/* SPDX-License-Identifier: MIT */
/* What a session says to the gateway's own client of a command. The first byte says in pieces of
 * which size it comes, to somebody who takes each part at the second time. Held: that makes no
 * difference, it ends once, and nothing of the script is sent before it was accepted. */
#include "fuzz.h"
#include "fuzz_stream.h"
#include "io/worker.h"
#include "protocol/exec/exec.h"
#include "wire/execwire.h"

#define TURN_COUNT_MAX 1000000u

struct outcome {
    unsigned ends;
    bool has_failed;
    int code;
    bool holds;
    bool is_held;
    bool comes_back;
    struct buf told;
};

static bool on_bytes(void *owner, struct slice bytes)
{
    struct outcome *outcome = owner;
    must(bytes.len > 0 && outcome->ends == 0 && (!outcome->is_held || outcome->comes_back));
    if (outcome->holds && !outcome->comes_back) {
        outcome->is_held = true;
        return false;
    }
    outcome->is_held = outcome->comes_back = false;
    must(buf_append(&outcome->told, bytes) == ERR_NONE);
    return true;
}

static void on_error(void *owner, const struct run_notice *error)
{
    struct outcome *outcome = owner;
    const struct slice parts[] = {SLICE("|"), error->severity, error->message};
    must(outcome->ends == 0 && !outcome->is_held);
    must(buf_append_parts(&outcome->told, parts, COUNT_OF(parts)) == ERR_NONE);
}

static void on_exit_code(void *owner, int code)
{
    struct outcome *outcome = owner;
    must(outcome->ends == 0 && !outcome->is_held && code >= 0 && code < 256);
    outcome->code = code;
}

static void on_end(void *owner, const struct error *error)
{
    struct outcome *outcome = owner;
    outcome->ends++;
    outcome->has_failed = error != NULL;
}

static const struct run_events events = {
    .on_bytes = on_bytes, .on_error = on_error, .on_exit = on_exit_code, .on_end = on_end};

static void run(struct loop *loop, struct script *script, struct outcome *outcome)
{
    static const struct slice statements[] = {SLICE_INIT("the script")};
    const struct run_request request = {
        .name = SLICE("tools"),
        .application_name = SLICE("gatehouse"),
        .statements = statements,
        .statement_count = COUNT_OF(statements),
        .sign_in_ms = 3600000,
    };
    bool is_accepted = script->in.len > 0 && script->in.at[0] == EXECWIRE_ACCEPT;
    script->stream = (struct stream){.ops = &script_ops, .loop = loop};
    buf_init(&script->out, LIMIT_KIB(4));
    buf_init(&outcome->told, LIMIT_MIB(1));
    struct run *going = exec_run_ops.start(&script->stream, &request, &events, outcome);
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
    must(is_accepted || slice_find(buf_view(&script->out), statements[0]) == script->out.len);
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
    struct slice input = slice_of(bytes + 1, size - 1);
    struct script whole = {.in = input, .piece = SIZE_MAX};
    struct script split = {.in = input, .piece = 1u + bytes[0]};
    struct outcome first = {.code = -1};
    struct outcome second = {.code = -1, .holds = true};
    run(worker_loop(worker), &whole, &first);
    run(worker_loop(worker), &split, &second);
    must(first.has_failed == second.has_failed && first.code == second.code);
    must(slice_equals(buf_view(&first.told), buf_view(&second.told)));
    buf_release(&whole.out);
    buf_release(&split.out);
    buf_release(&first.told);
    buf_release(&second.told);
    return 0;
}
