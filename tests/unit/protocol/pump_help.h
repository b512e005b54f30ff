/* SPDX-License-Identifier: MIT */
/* A pump between two socket pairs; the test holds the far ends. */
#ifndef GH_TESTS_PROXY_PUMP_HELP_H
#define GH_TESTS_PROXY_PUMP_HELP_H

#include "protocol/pump.h"

#include "base/buf.h"
#include "base/memory.h"
#include "io/fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define SCRATCH_SIZE 4096

struct fixture {
    struct fault fault;
    struct loop *loop;
    struct pump *pump;
    int fds[2]; /* by side */
    char scratch[SCRATCH_SIZE];
    bool watches;           /* on_pass is set */
    enum err verdicts[2];   /* what it says of the next bytes of a side */
    struct buf seen[2];     /* what it was given */
    unsigned seen_count[2]; /* and how often */
    bool replaces[2];       /* what it gives on in their place is this */
    struct slice replacement[2];
    struct slice words[2]; /* that it says to the side they come from */
    size_t replaced_max;
    bool closes_at_end;
    unsigned end_count;
    enum pump_side end_side;
    enum err end;
    unsigned gone_count;
};

int set_up(void **state);
int set_up_disturbed(void **state); /* sockets take and give little at a time */
int tear_down(void **state);

#define TEST(name)           cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define TEST_DISTURBED(name) cmocka_unit_test_setup_teardown(name, set_up_disturbed, tear_down)

void start(struct fixture *fixture, struct slice of_client, struct slice of_target);
/* With an on_pass that lets all pass. */
void start_watched(struct fixture *fixture, struct slice of_client, struct slice of_target);

void say(const struct fixture *fixture, int side, struct slice text);
void turn(struct fixture *fixture);
/* What the far end of a side gets within some turns. */
struct slice receive(struct fixture *fixture, int side, char *at, size_t size);
/* The far end is gone, in the worst way if there is something that it has not read. */
void vanish(struct fixture *fixture, int side);
/* As much as all buffers on the way hold and then some; returns how much. */
size_t fill(struct fixture *fixture, int side);
void must_be_silent(struct fixture *fixture, int side);
void must_have_ended(struct fixture *fixture, int side);
void must_have_seen(const struct fixture *fixture, int side, const char *text);

#define assert_received(fixture, side, text)                                                       \
    do {                                                                                           \
        char got_at[64];                                                                           \
        struct slice received = receive(fixture, side, got_at, strlen(text));                      \
        assert_int_equal(received.len, strlen(text));                                              \
        assert_memory_equal(received.at, text, received.len);                                      \
    } while (0)

#endif
