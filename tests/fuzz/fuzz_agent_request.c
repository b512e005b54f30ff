/* SPDX-License-Identifier: MIT */
/* What a gateway and an agent tell each other of a session. The first byte says which message it
 * is. Held: what is read can be written, is then read as the same, and is within its limits. */
#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "fuzz.h"
#include "protocol/agent_request.h"

static void check_key(const struct cancel_key *key, const struct cancel_key *again)
{
    must((key->secret.at == NULL) == (again->secret.at == NULL));
    if (key->secret.at != NULL) {
        must(key->secret.len >= 4 && key->secret.len <= LIMIT_CANCEL_KEY_SIZE);
        must(key->number == again->number && slice_equals(key->secret, again->secret));
    }
}

static void check_order(struct arena *arena, struct slice bytes, struct buf *buf)
{
    struct agent_request order;
    struct agent_request again;
    if (agent_request_read_in(arena, bytes, &order, NULL) != ERR_NONE) {
        return;
    }
    must(order.parameters.count <= LIMIT_START_PARAMETERS && order.timeout_ms > 0);
    must(agent_request_write(&order, buf) == ERR_NONE);
    must(agent_request_read_in(arena, buf_view(buf), &again, NULL) == ERR_NONE);
    must(slice_equals(order.database, again.database) && order.version == again.version);
    must(order.variables.count == again.variables.count);
    for (size_t i = 0; i < order.variables.count; i++) {
        must(slice_equals(order.variables.pairs[i].key, again.variables.pairs[i].key));
    }
    must(order.parameters.count == again.parameters.count && order.timeout_ms == again.timeout_ms);
    for (size_t i = 0; i < order.parameters.count; i++) {
        must(slice_equals(order.parameters.pairs[i].value, again.parameters.pairs[i].value));
    }
    check_key(&order.key, &again.key);
}

static void check_report(struct arena *arena, struct slice bytes, struct buf *buf)
{
    struct arrival report;
    struct arrival again;
    if (agent_ready_read_in(arena, bytes, &report, NULL) != ERR_NONE) {
        return;
    }
    must(report.state == '\0' || report.state == 'I' || report.state == 'T' || report.state == 'E');
    must(agent_ready_write(&report, buf) == ERR_NONE);
    must(agent_ready_read_in(arena, buf_view(buf), &again, NULL) == ERR_NONE);
    must(slice_equals(report.greeting, again.greeting) && slice_equals(report.rest, again.rest));
    check_key(&report.key, &again.key);
}

static void check_refusal(struct arena *arena, struct slice bytes, struct buf *buf)
{
    struct agent_failure refusal;
    struct agent_failure again;
    if (agent_failure_read_in(arena, bytes, &refusal, NULL) != ERR_NONE) {
        return;
    }
    must(refusal.code.len == 5);
    must(agent_failure_write(&refusal, buf) == ERR_NONE);
    must(agent_failure_read_in(arena, buf_view(buf), &again, NULL) == ERR_NONE);
    must(slice_equals(refusal.message, again.message) && slice_equals(refusal.code, again.code) &&
         slice_equals(refusal.answer, again.answer));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static void (*const checks[])(struct arena *, struct slice,
                                  struct buf *) = {check_order, check_report, check_refusal};
    struct arena arena;
    struct buf buf;
    if (size == 0) {
        return 0;
    }
    arena_init(&arena);
    buf_init(&buf, LIMIT_MIB(16));
    checks[bytes[0] % COUNT_OF(checks)](&arena, slice_of(bytes + 1, size - 1), &buf);
    buf_release(&buf);
    arena_release(&arena);
    return 0;
}
