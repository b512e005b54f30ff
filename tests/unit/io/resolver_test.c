/* SPDX-License-Identifier: MIT */
#include "io/resolver.h"

#include "base/must.h"
#include "dial_help.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

/* The number of threads in find_after_gate, and whether they may go on. */
static atomic_uint gate_waiting;
static atomic_bool gate_is_open;

static enum err find_after_gate(const char *host, struct addresses *ret_addresses,
                                struct error *reterr)
{
    (void)host;
    (void)atomic_fetch_add(&gate_waiting, 1);
    while (!atomic_load(&gate_is_open)) {
        (void)usleep(1000);
    }
    enum err err = dial_find_listed("127.0.0.1", ret_addresses, reterr);
    (void)atomic_fetch_sub(&gate_waiting, 1);
    return err;
}

static void gate_close(void)
{
    assert_int_equal(atomic_load(&gate_waiting), 0);
    atomic_store(&gate_is_open, false);
}

static void gate_await(unsigned count)
{
    for (size_t i = 0; i < DIAL_WAIT_TURNS && atomic_load(&gate_waiting) != count; i++) {
        (void)usleep(1000);
    }
    assert_int_equal(atomic_load(&gate_waiting), count);
}

static void a_deadline_ends_it_while_the_name_is_looked_up(void **state)
{
    (void)state;
    struct dial_place place;
    gate_close();
    dial_place_open(&place, find_after_gate);
    dial_must_fail(&place, SLICE("slow.test"), ERR_TIMEOUT,
                   "cannot find 'slow.test': no answer from the name servers");
    atomic_store(&gate_is_open, true);
    gate_await(0);
    dial_place_close(&place);
}

static void a_slow_name_holds_up_no_other(void **state)
{
    (void)state;
    struct dial_place place;
    struct dial_seen slow[LIMIT_RESOLVER_THREADS - 1];
    struct dial_seen seen;
    gate_close();
    dial_place_open(&place, find_after_gate);
    for (size_t i = 0; i < COUNT_OF(slow); i++) {
        (void)dial_to(&place, SLICE("slow.test"), 20000, &slow[i]);
    }
    gate_await(COUNT_OF(slow));
    dial_must_connect(&place, SLICE("127.0.0.1"));
    (void)dial_to(&place, SLICE("other.test"), 20000, &seen);
    gate_await(COUNT_OF(slow) + 1); /* it has a thread */
    atomic_store(&gate_is_open, true);
    dial_await(&place, &seen);
    assert_non_null(seen.stream);
    stream_close(seen.stream);
    for (size_t i = 0; i < COUNT_OF(slow); i++) {
        dial_await(&place, &slow[i]);
        stream_close(slow[i].stream);
    }
    dial_place_close(&place);
}

static void too_many_names_at_once_are_refused(void **state)
{
    (void)state;
    static struct dial_seen seen[LIMIT_RESOLVER_THREADS + LIMIT_RESOLVER_QUEUE_COUNT];
    static struct dial *dials[COUNT_OF(seen)];
    struct dial_place place;
    gate_close();
    dial_place_open(&place, find_after_gate);
    for (size_t i = 0; i < COUNT_OF(seen); i++) {
        dials[i] = dial_to(&place, SLICE("slow.test"), 20000, &seen[i]);
        if (i < LIMIT_RESOLVER_THREADS) {
            gate_await((unsigned)i + 1);
        }
    }
    dial_must_fail(&place, SLICE("slow.test"), ERR_BUSY, "too many names");
    for (size_t i = 0; i < COUNT_OF(seen); i++) {
        assert_int_equal(seen[i].count, 0);
        dial_cancel(dials[i]);
    }
    atomic_store(&gate_is_open, true);
    gate_await(0);
    dial_place_close(&place);
}

static void a_dial_is_cancelled_in_the_middle_of_resolution(void **state)
{
    (void)state;
    struct dial_place place;
    struct dial_seen seen;
    gate_close();
    dial_place_open(&place, find_after_gate);
    struct dial *dial = dial_to(&place, SLICE("slow.test"), 1000, &seen);
    gate_await(1);
    dial_cancel(dial);
    dial_must_stay_silent(&place, &seen);
    atomic_store(&gate_is_open, true);
    gate_await(0);
    dial_must_stay_silent(&place, &seen);
    /* The answer is on its way when nobody wants it any more. */
    dial = dial_to(&place, SLICE("slow.test"), 1000, &seen);
    (void)usleep(50000);
    dial_cancel(dial);
    dial_must_stay_silent(&place, &seen);
    dial_place_close(&place);
}

static void a_stop_waits_for_no_name(void **state)
{
    (void)state;
    struct dial_place place;
    struct dial_seen seen;
    gate_close();
    dial_place_open(&place, find_after_gate);
    struct dial *dial = dial_to(&place, SLICE("slow.test"), 1000, &seen);
    gate_await(1);
    dial_cancel(dial);
    dial_place_close(&place); /* the thread still runs, and says nothing to anybody */
    atomic_store(&gate_is_open, true);
    gate_await(0);
}

#define THREAD_DIALS 50

struct dialing {
    struct worker *worker;
    struct resolver *resolver;
    struct mail mail;
    uint16_t port;
    unsigned started_count;
    unsigned connected_count;
};

static void dialing_next(struct dialing *dialing);

static void dialing_on_done(void *owner, struct stream *take_stream, const struct error *error)
{
    struct dialing *dialing = owner;
    if (error == NULL) {
        dialing->connected_count++;
        stream_close(take_stream);
    }
    dialing_next(dialing);
}

static void dialing_next(struct dialing *dialing)
{
    static const char *const hosts[] = {"127.0.0.1", "localhost"};
    struct dial_request request = {
        .host = slice_of_text(hosts[dialing->started_count % COUNT_OF(hosts)]),
        .port = dialing->port,
        .timeout_ms = 10000,
    };
    if (dialing->started_count++ == THREAD_DIALS) {
        worker_stop(dialing->worker);
        return;
    }
    (void)dial_start(dialing->worker, dialing->resolver, &request, dialing_on_done, dialing);
    if (dialing->started_count % 3 == 0) { /* and one that is cancelled at once */
        struct dial_seen nobody = {.count = 0};
        dial_cancel(
            dial_start(dialing->worker, dialing->resolver, &request, dial_seen_on_done, &nobody));
        must(nobody.count == 0);
    }
}

static void dialing_begin(struct mail *mail)
{
    dialing_next(CONTAINER_OF(mail, struct dialing, mail));
}

static void workers_share_a_resolver(void **state)
{
    (void)state;
    struct dial_place place;
    struct dialing dialings[3];
    dial_place_open(&place, NULL);
    for (size_t i = 0; i < COUNT_OF(dialings); i++) {
        dialings[i] = (struct dialing){.worker = worker_new(i + 1, NULL),
                                       .resolver = place.resolver,
                                       .mail = {.deliver = dialing_begin},
                                       .port = place.port};
        assert_int_equal(worker_start(dialings[i].worker), ERR_NONE);
        mailbox_send(worker_mailbox(dialings[i].worker), &dialings[i].mail);
    }
    for (size_t i = 0; i < COUNT_OF(dialings); i++) {
        worker_join(dialings[i].worker);
    }
    dial_place_close(&place);
    for (size_t i = 0; i < COUNT_OF(dialings); i++) {
        worker_free(dialings[i].worker);
        assert_int_equal(dialings[i].connected_count, THREAD_DIALS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_deadline_ends_it_while_the_name_is_looked_up),
        cmocka_unit_test(a_slow_name_holds_up_no_other),
        cmocka_unit_test(too_many_names_at_once_are_refused),
        cmocka_unit_test(a_dial_is_cancelled_in_the_middle_of_resolution),
        cmocka_unit_test(a_stop_waits_for_no_name),
        cmocka_unit_test(workers_share_a_resolver),
    };
    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests_name("io/resolver", tests, NULL, NULL);
}
