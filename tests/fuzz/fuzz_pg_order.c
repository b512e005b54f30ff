/* SPDX-License-Identifier: MIT */
/* What a gateway and an agent tell each other of a session. The first byte says which message it
 * is. Held: what is read can be written, is then read as the same, and is within its limits. */
#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "fuzz.h"
#include "protocol/postgres/pg_order.h"

static void check_key(const struct pgwire_key *key, const struct pgwire_key *again)
{
    must((key->secret.at == NULL) == (again->secret.at == NULL));
    if (key->secret.at != NULL) {
        must(key->secret.len >= PGWIRE_KEY_SIZE_MIN && key->secret.len <= LIMIT_PGWIRE_KEY_SIZE);
        must(key->process == again->process && slice_equals(key->secret, again->secret));
    }
}

static void check_order(struct arena *arena, struct slice bytes, struct buf *buf)
{
    struct pg_order order;
    struct pg_order again;
    if (pg_order_read_in(arena, bytes, &order, NULL) != ERR_NONE) {
        return;
    }
    must(order.parameter_count <= LIMIT_PGWIRE_PARAMETERS && order.timeout_ms > 0);
    must(pg_order_write(&order, buf) == ERR_NONE);
    must(pg_order_read_in(arena, buf_view(buf), &again, NULL) == ERR_NONE);
    must(slice_equals(order.database, again.database) && order.version == again.version);
    must(order.variables.count == again.variables.count);
    for (size_t i = 0; i < order.variables.count; i++) {
        must(slice_equals(order.variables.pairs[i].key, again.variables.pairs[i].key));
    }
    must(order.parameter_count == again.parameter_count && order.timeout_ms == again.timeout_ms);
    for (size_t i = 0; i < order.parameter_count; i++) {
        must(slice_equals(order.parameters[i].value, again.parameters[i].value));
    }
    check_key(&order.key, &again.key);
}

static void check_report(struct arena *arena, struct slice bytes, struct buf *buf)
{
    struct pg_report report;
    struct pg_report again;
    if (pg_report_read_in(arena, bytes, &report, NULL) != ERR_NONE) {
        return;
    }
    must(report.transaction == PGWIRE_IDLE || report.transaction == PGWIRE_IN_TRANSACTION ||
         report.transaction == PGWIRE_FAILED_TRANSACTION);
    must(pg_report_write(&report, buf) == ERR_NONE);
    must(pg_report_read_in(arena, buf_view(buf), &again, NULL) == ERR_NONE);
    must(slice_equals(report.greeting, again.greeting) && slice_equals(report.rest, again.rest));
    check_key(&report.key, &again.key);
}

static void check_refusal(struct arena *arena, struct slice bytes, struct buf *buf)
{
    struct pg_refusal refusal;
    struct pg_refusal again;
    if (pg_refusal_read_in(arena, bytes, &refusal, NULL) != ERR_NONE) {
        return;
    }
    must(refusal.sqlstate.len == 5);
    must(pg_refusal_write(&refusal, buf) == ERR_NONE);
    must(pg_refusal_read_in(arena, buf_view(buf), &again, NULL) == ERR_NONE);
    must(slice_equals(refusal.message, again.message) &&
         slice_equals(refusal.sqlstate, again.sqlstate) &&
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
