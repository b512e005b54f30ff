/* SPDX-License-Identifier: MIT */
#include "io/dial.h"

#include "base/must.h"
#include "io/listener.h"
#include "io/sandbox.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define WAIT_TURNS 20000 /* of a millisecond */

/* A host that answers, one that refuses, one that says nothing. */
struct place {
    struct worker *worker;
    struct resolver *resolver;
    int listener;
    uint16_t port;
};

struct seen {
    struct stream *stream;
    struct error error;
    unsigned count;
};

static void on_done(void *owner, struct stream *take_stream, const struct error *error)
{
    struct seen *seen = owner;
    must((take_stream == NULL) == (error != NULL));
    seen->count++;
    seen->stream = take_stream;
    if (error != NULL) {
        seen->error = *error;
    }
}

static void place_open(struct place *place, resolver_find_fn find)
{
    must(listener_open_sockets(SLICE("127.0.0.1:0"), 1, &place->listener, NULL) == ERR_NONE);
    place->port = (uint16_t)listener_port(place->listener);
    place->worker = worker_new(0, NULL);
    place->resolver = resolver_new(find);
}

static void place_close(struct place *place)
{
    resolver_free(place->resolver);
    worker_free(place->worker);
    (void)close(place->listener);
}

static struct dial *dial_to(struct place *place, struct slice host, uint64_t timeout_ms,
                            struct seen *seen)
{
    struct dial_request request = {.host = host, .port = place->port, .timeout_ms = timeout_ms};
    *seen = (struct seen){.count = 0};
    struct dial *dial = dial_start(place->worker, place->resolver, &request, on_done, seen);
    must(seen->count == 0);
    return dial;
}

static void turn(struct place *place)
{
    loop_turn(worker_loop(place->worker));
    (void)usleep(1000);
}

static void await(struct place *place, const struct seen *seen)
{
    for (size_t i = 0; i < WAIT_TURNS && seen->count == 0; i++) {
        turn(place);
    }
    assert_int_equal(seen->count, 1);
}

static void assert_fails(struct place *place, struct slice host, enum err code, const char *words)
{
    struct seen seen;
    (void)dial_to(place, host, 300, &seen);
    await(place, &seen);
    assert_null(seen.stream);
    assert_int_equal(seen.error.code, code);
    if (strstr(seen.error.message, words) == NULL) {
        fail_msg("'%s' is not in '%s'", words, seen.error.message);
    }
}

static void add(struct addresses *addresses, const char *text)
{
    struct sockaddr_storage *address = &addresses->list[addresses->count++];
    *address = (struct sockaddr_storage){.ss_family = AF_INET};
    if (inet_pton(AF_INET, text, &((struct sockaddr_in *)address)->sin_addr) != 1) {
        address->ss_family = AF_INET6;
        must(inet_pton(AF_INET6, text, &((struct sockaddr_in6 *)address)->sin6_addr) == 1);
    }
}

/* "127.0.0.2,::1" has these addresses; the answering host listens on 127.0.0.1 alone. */
static enum err find_listed(const char *host, struct addresses *ret_addresses, struct error *reterr)
{
    struct slice rest = slice_of_text(host);
    (void)reterr;
    ret_addresses->count = 0;
    while (rest.len > 0) {
        char text[64];
        struct slice name = slice_cut(rest, ',', &rest);
        (void)snprintf(text, sizeof(text), "%.*s", SLICE_ARG(name));
        if (name.len > 0) {
            add(ret_addresses, text);
        }
    }
    return ERR_NONE;
}

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
    enum err err = find_listed("127.0.0.1", ret_addresses, reterr);
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
    for (size_t i = 0; i < WAIT_TURNS && atomic_load(&gate_waiting) != count; i++) {
        (void)usleep(1000);
    }
    assert_int_equal(atomic_load(&gate_waiting), count);
}

/* A port of 127.0.0.3 whose queue of connections is full: it drops what comes. */
struct silence {
    int fds[64];
    size_t count;
};

static bool silence_is_full(const struct silence *silence)
{
    int error = 0;
    struct tcp_info info;
    socklen_t size = sizeof(info);
    error = getsockopt(silence->fds[silence->count - 1], IPPROTO_TCP, TCP_INFO, &info, &size);
    return error == 0 && info.tcpi_state != TCP_ESTABLISHED;
}

static void silence_open(struct silence *silence, uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    must(inet_pton(AF_INET, "127.0.0.3", &address.sin_addr) == 1);
    silence->fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    silence->count = 1;
    assert_int_equal(bind(silence->fds[0], (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(silence->fds[0], 0), 0);
    do {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void)connect(fd, (struct sockaddr *)&address, sizeof(address));
        silence->fds[silence->count++] = fd;
        (void)usleep(10000);
    } while (!silence_is_full(silence) && silence->count < COUNT_OF(silence->fds));
    assert_true(silence->count < COUNT_OF(silence->fds));
}

static void silence_close(struct silence *silence)
{
    for (size_t i = 0; i < silence->count; i++) {
        assert_int_equal(close(silence->fds[i]), 0);
    }
}

/* The tests ------------------------------------------------------------------------------------ */

static int accept_one(struct place *place)
{
    int fd = -1;
    for (size_t i = 0; i < WAIT_TURNS && fd < 0; i++) {
        fd = accept4(place->listener, NULL, NULL, SOCK_CLOEXEC);
        (void)usleep(1000);
    }
    assert_true(fd >= 0);
    return fd;
}

static void assert_connects(struct place *place, struct slice host)
{
    struct seen seen;
    char byte = 0;
    size_t len = 0;
    (void)dial_to(place, host, 5000, &seen);
    await(place, &seen);
    if (seen.stream == NULL) {
        fail_msg("%s", seen.error.message);
    }
    int fd = accept_one(place);
    assert_int_equal(stream_write(seen.stream, &SLICE("x"), 1, &len), ERR_NONE);
    assert_int_equal(read(fd, &byte, 1), 1);
    assert_int_equal(write(fd, "y", 1), 1);
    enum err err = ERR_AGAIN;
    for (size_t i = 0; i < WAIT_TURNS && err == ERR_AGAIN; i++) {
        turn(place);
        err = stream_read(seen.stream, &byte, 1, &len);
    }
    assert_int_equal(err, ERR_NONE);
    assert_int_equal(byte, 'y');
    stream_close(seen.stream);
    assert_int_equal(read(fd, &byte, 1), 0);
    assert_int_equal(close(fd), 0);
}

static void names_and_addresses_are_connected_to(void **state)
{
    (void)state;
    struct place place;
    place_open(&place, NULL);
    assert_connects(&place, SLICE("127.0.0.1"));
    assert_connects(&place, SLICE("localhost"));
    assert_connects(&place, SLICE("::ffff:127.0.0.1"));
    place_close(&place);
}

/* Our end of the connection, found by its other end. */
static int socket_to(uint16_t port)
{
    for (int fd = 3; fd < 200; fd++) {
        struct sockaddr_in address = {.sin_family = AF_UNSPEC};
        socklen_t size = sizeof(address);
        if (getpeername(fd, (struct sockaddr *)&address, &size) == 0 &&
            address.sin_family == AF_INET && ntohs(address.sin_port) == port) {
            return fd;
        }
    }
    return -1;
}

static int option_of(int fd, int level, int name)
{
    int value = -1;
    socklen_t size = sizeof(value);
    assert_int_equal(getsockopt(fd, level, name, &value, &size), 0);
    return value;
}

static void small_writes_leave_at_once_and_dead_peers_are_noticed(void **state)
{
    (void)state;
    struct place place;
    struct seen seen;
    place_open(&place, NULL);
    (void)dial_to(&place, SLICE("127.0.0.1"), 5000, &seen);
    await(&place, &seen);
    int fd = socket_to(place.port);
    assert_int_not_equal(option_of(fd, IPPROTO_TCP, TCP_NODELAY), 0);
    assert_int_not_equal(option_of(fd, SOL_SOCKET, SO_KEEPALIVE), 0);
    assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_KEEPIDLE), LIMIT_KEEPALIVE_IDLE_S);
    stream_close(seen.stream);
    place_close(&place);
}

static void what_went_wrong_is_told_in_words(void **state)
{
    (void)state;
    struct place place;
    char host[300];
    memset(host, 'a', sizeof(host));
    place_open(&place, NULL);
    assert_fails(&place, SLICE(""), ERR_INPUT, "no name");
    assert_fails(&place, SLICE("two words"), ERR_INPUT, "characters that no name has");
    assert_fails(&place, SLICE("a\0b"), ERR_INPUT, "characters that no name has");
    assert_fails(&place, slice_of(host, LIMIT_HOST_SIZE), ERR_INPUT, "too long");
    place.port = 1;
    assert_fails(&place, SLICE("127.0.0.1"), ERR_UNAVAILABLE, "'127.0.0.1' port ");
    assert_fails(&place, SLICE("127.0.0.1"), ERR_UNAVAILABLE, ": Connection refused");
    place_close(&place);
}

static void a_name_that_is_not_found_is_named(void **state)
{
    (void)state;
    struct place place;
    struct seen seen;
    place_open(&place, NULL);
    (void)dial_to(&place, SLICE("no.such.host.invalid"), 60000, &seen);
    await(&place, &seen);
    assert_int_equal(seen.error.code, ERR_UNAVAILABLE);
    assert_non_null(strstr(seen.error.message, "cannot find 'no.such.host.invalid': "));
    place_close(&place);
}

static void families_take_turns_and_every_cause_is_told(void **state)
{
    (void)state;
    struct place place;
    place_open(&place, find_listed);
    place.port = 1;
    assert_fails(&place, SLICE("127.0.0.1,127.0.0.2,::1"), ERR_UNAVAILABLE,
                 "port 1: 127.0.0.1: Connection refused; ::1: ");
    assert_fails(&place, SLICE("127.0.0.1,127.0.0.2,::1"), ERR_UNAVAILABLE,
                 "; 127.0.0.2: Connection refused");
    assert_fails(&place, SLICE("127.0.0.1,127.0.0.2,127.0.0.3,127.0.0.4,127.0.0.5"),
                 ERR_UNAVAILABLE, "; 127.0.0.3: Connection refused; and 2 more");
    assert_fails(&place, SLICE(","), ERR_UNAVAILABLE, "it has no address");
    place_close(&place);
}

static void the_first_address_that_answers_is_taken(void **state)
{
    (void)state;
    struct place place;
    struct silence silence;
    place_open(&place, find_listed);
    silence_open(&silence, place.port);
    assert_connects(&place, SLICE("127.0.0.2,127.0.0.4,127.0.0.1"));
    struct timespec start;
    struct timespec end;
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    assert_connects(&place, SLICE("127.0.0.3,127.0.0.3,127.0.0.1"));
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    int64_t ms = (end.tv_sec - start.tv_sec) * 1000 + (end.tv_nsec - start.tv_nsec) / 1000000;
    assert_in_range(ms, 2 * LIMIT_DIAL_STEP_MS - 10, 4500); /* two that say nothing */
    silence_close(&silence);
    place_close(&place);
}

static void a_deadline_ends_it_while_it_connects(void **state)
{
    (void)state;
    struct place place;
    struct silence silence;
    place_open(&place, find_listed);
    silence_open(&silence, place.port);
    assert_fails(&place, SLICE("127.0.0.3"), ERR_TIMEOUT, ": no answer");
    assert_fails(&place, SLICE("127.0.0.3,127.0.0.2"), ERR_TIMEOUT,
                 "127.0.0.3: no answer; 127.0.0.2: Connection refused");
    silence_close(&silence);
    place_close(&place);
}

static void a_deadline_ends_it_while_the_name_is_looked_up(void **state)
{
    (void)state;
    struct place place;
    gate_close();
    place_open(&place, find_after_gate);
    assert_fails(&place, SLICE("slow.test"), ERR_TIMEOUT,
                 "cannot find 'slow.test': no answer from the name servers");
    atomic_store(&gate_is_open, true);
    gate_await(0);
    place_close(&place);
}

static void a_slow_name_holds_up_no_other(void **state)
{
    (void)state;
    struct place place;
    struct seen slow[LIMIT_RESOLVER_THREADS - 1];
    struct seen seen;
    gate_close();
    place_open(&place, find_after_gate);
    for (size_t i = 0; i < COUNT_OF(slow); i++) {
        (void)dial_to(&place, SLICE("slow.test"), 20000, &slow[i]);
    }
    gate_await(COUNT_OF(slow));
    assert_connects(&place, SLICE("127.0.0.1"));
    (void)dial_to(&place, SLICE("other.test"), 20000, &seen);
    gate_await(COUNT_OF(slow) + 1); /* it has a thread */
    atomic_store(&gate_is_open, true);
    await(&place, &seen);
    assert_non_null(seen.stream);
    stream_close(seen.stream);
    for (size_t i = 0; i < COUNT_OF(slow); i++) {
        await(&place, &slow[i]);
        stream_close(slow[i].stream);
    }
    place_close(&place);
}

static void too_many_names_at_once_are_refused(void **state)
{
    (void)state;
    static struct seen seen[LIMIT_RESOLVER_THREADS + LIMIT_RESOLVER_QUEUE_COUNT];
    static struct dial *dials[COUNT_OF(seen)];
    struct place place;
    gate_close();
    place_open(&place, find_after_gate);
    for (size_t i = 0; i < COUNT_OF(seen); i++) {
        dials[i] = dial_to(&place, SLICE("slow.test"), 20000, &seen[i]);
        if (i < LIMIT_RESOLVER_THREADS) {
            gate_await((unsigned)i + 1);
        }
    }
    assert_fails(&place, SLICE("slow.test"), ERR_BUSY, "too many names");
    for (size_t i = 0; i < COUNT_OF(seen); i++) {
        assert_int_equal(seen[i].count, 0);
        dial_cancel(dials[i]);
    }
    atomic_store(&gate_is_open, true);
    gate_await(0);
    place_close(&place);
}

/* Turns a while longer: nobody is called. */
static void assert_nothing_comes(struct place *place, const struct seen *seen)
{
    for (size_t i = 0; i < 20; i++) {
        turn(place);
    }
    assert_int_equal(seen->count, 0);
    assert_int_equal(socket_to(place->port), -1);
}

static void a_cancelled_dial_is_silent_at_every_step(void **state)
{
    (void)state;
    struct place place;
    struct silence silence;
    struct seen seen;
    place_open(&place, find_listed);
    dial_cancel(dial_to(&place, SLICE(""), 1000, &seen));
    assert_nothing_comes(&place, &seen);
    for (unsigned turns = 0; turns < 60; turns++) {
        struct dial *dial = dial_to(&place, SLICE("127.0.0.2,127.0.0.1"), 1000, &seen);
        for (unsigned i = 0; i < turns && seen.count == 0; i++) {
            loop_turn(worker_loop(place.worker));
        }
        if (seen.count == 0) {
            dial_cancel(dial);
            assert_nothing_comes(&place, &seen);
        } else {
            stream_close(seen.stream);
        }
    }
    silence_open(&silence, place.port);
    uint16_t port = place.port;
    struct dial *dial = dial_to(&place, SLICE("127.0.0.3,127.0.0.3"), 10000, &seen);
    for (size_t i = 0; i < 400; i++) {
        turn(&place); /* both are under way */
    }
    dial_cancel(dial);
    place.port = 1;
    assert_nothing_comes(&place, &seen);
    place.port = port;
    silence_close(&silence);
    place_close(&place);
}

static void a_dial_is_cancelled_in_the_middle_of_resolution(void **state)
{
    (void)state;
    struct place place;
    struct seen seen;
    gate_close();
    place_open(&place, find_after_gate);
    struct dial *dial = dial_to(&place, SLICE("slow.test"), 1000, &seen);
    gate_await(1);
    dial_cancel(dial);
    assert_nothing_comes(&place, &seen);
    atomic_store(&gate_is_open, true);
    gate_await(0);
    assert_nothing_comes(&place, &seen);
    /* The answer is on its way when nobody wants it any more. */
    dial = dial_to(&place, SLICE("slow.test"), 1000, &seen);
    (void)usleep(50000);
    dial_cancel(dial);
    assert_nothing_comes(&place, &seen);
    place_close(&place);
}

static void a_stop_waits_for_no_name(void **state)
{
    (void)state;
    struct place place;
    struct seen seen;
    gate_close();
    place_open(&place, find_after_gate);
    struct dial *dial = dial_to(&place, SLICE("slow.test"), 1000, &seen);
    gate_await(1);
    dial_cancel(dial);
    place_close(&place); /* the thread still runs, and says nothing to anybody */
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
        struct seen nobody = {.count = 0};
        dial_cancel(dial_start(dialing->worker, dialing->resolver, &request, on_done, &nobody));
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
    struct place place;
    struct dialing dialings[3];
    place_open(&place, NULL);
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
    place_close(&place);
    for (size_t i = 0; i < COUNT_OF(dialings); i++) {
        worker_free(dialings[i].worker);
        assert_int_equal(dialings[i].connected_count, THREAD_DIALS);
    }
}

static int dial_confined(struct place *place)
{
    static const struct sandbox_settings settings = {.writable = {NULL}};
    struct sandbox_state sandbox;
    struct seen seen;
    if (sandbox_start(&settings, &sandbox, NULL) != ERR_NONE || !sandbox.has_filter) {
        return 1;
    }
    place->worker = worker_new(0, NULL);
    place->resolver = resolver_new(NULL);
    static const char *const hosts[] = {"localhost", "127.0.0.1"};
    for (size_t i = 0; i < COUNT_OF(hosts); i++) {
        (void)dial_to(place, slice_of_text(hosts[i]), 5000, &seen);
        for (size_t j = 0; j < WAIT_TURNS && seen.count == 0; j++) {
            turn(place);
        }
        if (seen.stream == NULL) {
            return 2 + (int)i;
        }
        stream_close(seen.stream);
    }
    resolver_free(place->resolver);
    worker_free(place->worker);
    return 0;
}

static void the_sandbox_lets_it_find_and_connect(void **state)
{
    (void)state;
    struct place place;
    int status = -1;
    must(listener_open_sockets(SLICE("127.0.0.1:0"), 1, &place.listener, NULL) == ERR_NONE);
    place.port = (uint16_t)listener_port(place.listener);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(dial_confined(&place));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(close(place.listener), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sandbox_lets_it_find_and_connect), /* first: it forks */
        cmocka_unit_test(names_and_addresses_are_connected_to),
        cmocka_unit_test(small_writes_leave_at_once_and_dead_peers_are_noticed),
        cmocka_unit_test(what_went_wrong_is_told_in_words),
        cmocka_unit_test(a_name_that_is_not_found_is_named),
        cmocka_unit_test(families_take_turns_and_every_cause_is_told),
        cmocka_unit_test(the_first_address_that_answers_is_taken),
        cmocka_unit_test(a_deadline_ends_it_while_it_connects),
        cmocka_unit_test(a_deadline_ends_it_while_the_name_is_looked_up),
        cmocka_unit_test(a_slow_name_holds_up_no_other),
        cmocka_unit_test(too_many_names_at_once_are_refused),
        cmocka_unit_test(a_cancelled_dial_is_silent_at_every_step),
        cmocka_unit_test(a_dial_is_cancelled_in_the_middle_of_resolution),
        cmocka_unit_test(a_stop_waits_for_no_name),
        cmocka_unit_test(workers_share_a_resolver),
    };
    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests_name("io/dial", tests, NULL, NULL);
}
