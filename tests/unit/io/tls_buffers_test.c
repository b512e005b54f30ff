/* SPDX-License-Identifier: MIT */
/* When a connection has OpenSSL's buffers and when not. They are counted where OpenSSL takes
 * memory: nothing else in this test is as large. */
#include "base/limits.h"
#include "io/timer.h"
#include "tls_help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <malloc.h>
#include <unistd.h>

#include <cmocka.h>

#include <openssl/crypto.h>

#define BUFFER_SIZE_MIN 16384
#define TURN_COUNT      20
#define QUIET_MS        (2 * LIMIT_TLS_QUIET_MS + 4 * TIMER_TICK_MS)
#define PAUSE_US        5000

static size_t buffers_taken;
static size_t buffers_there;

static void count_taken(void *at)
{
    bool is_buffer = malloc_usable_size(at) >= BUFFER_SIZE_MIN;
    buffers_taken += is_buffer ? 1 : 0;
    buffers_there += is_buffer ? 1 : 0;
}

static void *count_malloc(size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    void *at = malloc(size);
    count_taken(at);
    return at;
}

static void count_free(void *at, const char *file, int line)
{
    (void)file;
    (void)line;
    buffers_there -= malloc_usable_size(at) >= BUFFER_SIZE_MIN ? 1 : 0;
    free(at);
}

static void *count_realloc(void *at, size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    buffers_there -= malloc_usable_size(at) >= BUFFER_SIZE_MIN ? 1 : 0;
    void *moved = realloc(at, size);
    count_taken(moved);
    return moved;
}

/* A connection whose server reads, and whose client has buffers of its own all the time. */
struct line {
    struct tls_peers peers;
    struct tls_seen seen;
};

static void line_turn(struct line *line)
{
    for (size_t i = 0; i < TURN_COUNT; i++) {
        loop_turn(line->peers.loop);
    }
}

static void line_wait(struct line *line, uint64_t ms)
{
    uint64_t end_ms = loop_now_ms(line->peers.loop) + ms;
    while (loop_now_ms(line->peers.loop) < end_ms) {
        (void)usleep(PAUSE_US);
        loop_turn(line->peers.loop);
    }
}

/* One message each way. */
static void line_talk(struct line *line)
{
    char answer[2];
    size_t len = 0;
    buf_clear(&line->seen.in);
    assert_int_equal(SSL_write(line->peers.client, "ab", 2), 2);
    line_turn(line);
    assert_true(slice_equals(buf_view(&line->seen.in), SLICE("ab")));
    assert_int_equal(stream_write(line->peers.server, &SLICE("cd"), 1, &len), ERR_NONE);
    assert_int_equal(SSL_read(line->peers.client, answer, 2), 2);
    assert_memory_equal(answer, "cd", 2);
}

static void line_start(struct line *line, size_t read_size)
{
    tls_peers_start(&line->peers, (struct tls_wish){.fault = NULL});
    line->seen = (struct tls_seen){.stream = line->peers.server, .read_size = read_size};
    buf_init(&line->seen.in, LIMIT_MIB(1));
    stream_own(line->peers.server, tls_reader_on_event, &line->seen);
    stream_watch(line->peers.server, STREAM_READABLE);
    assert_int_equal(tls_peers_shake_hands(&line->peers), 1);
    line_talk(line);
}

static void line_end(struct line *line)
{
    tls_peers_end(&line->peers);
    buf_release(&line->seen.in);
}

static void a_busy_connection_keeps_its_buffers(void **state)
{
    (void)state;
    struct line line;
    line_start(&line, 100);
    size_t taken = buffers_taken;
    for (size_t i = 0; i < 10; i++) {
        line_talk(&line);
        line_wait(&line, QUIET_MS / 10);
    }
    assert_int_equal(buffers_taken, taken);
    line_end(&line);
}

static void a_quiet_connection_has_none_until_it_talks_again(void **state)
{
    (void)state;
    struct line line;
    line_start(&line, 100);
    size_t there = buffers_there;
    line_wait(&line, QUIET_MS);
    assert_int_equal(buffers_there, there - 2);
    line_talk(&line);
    assert_int_equal(buffers_there, there);
    line_wait(&line, QUIET_MS);
    assert_int_equal(buffers_there, there - 2);
    line_end(&line);
}

/* The client's next record, taken from under it. */
static struct slice seal_text(struct line *line, const char *text, BIO **ret_bio)
{
    char *at = NULL;
    BIO *bio = BIO_new(BIO_s_mem());
    assert_int_equal(BIO_up_ref(bio), 1);
    SSL_set0_wbio(line->peers.client, bio);
    assert_int_equal(SSL_write(line->peers.client, text, (int)strlen(text)), strlen(text));
    long len = BIO_get_mem_data(bio, &at);
    *ret_bio = bio;
    return slice_of(at, (size_t)len);
}

static void send_bytes(const struct line *line, struct slice bytes)
{
    assert_int_equal(write(line->peers.client_fd, bytes.at, bytes.len), bytes.len);
}

/* In its head, behind it, and in its body. */
static void a_record_may_come_in_two_parts_with_a_long_pause(void **state)
{
    (void)state;
    const size_t sizes[] = {3, 5, 9};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct line line;
        BIO *bio = NULL;
        line_start(&line, 100);
        buf_clear(&line.seen.in);
        struct slice record = seal_text(&line, "half a record", &bio);
        send_bytes(&line, slice_sub(record, 0, sizes[i]));
        line_wait(&line, QUIET_MS);
        send_bytes(&line, slice_from(record, sizes[i]));
        line_turn(&line);
        assert_true(slice_equals(buf_view(&line.seen.in), SLICE("half a record")));
        (void)BIO_free(bio);
        line_end(&line);
    }
}

static void a_record_may_be_read_in_two_parts_with_a_long_pause(void **state)
{
    (void)state;
    struct line line;
    char bytes[8];
    size_t len = 0;
    line_start(&line, 100);
    stream_watch(line.peers.server, 0);
    assert_int_equal(SSL_write(line.peers.client, "one record", 10), 10);
    assert_int_equal(stream_read(line.peers.server, bytes, 4, &len), ERR_NONE);
    assert_memory_equal(bytes, "one ", 4);
    line_wait(&line, QUIET_MS);
    assert_int_equal(stream_read(line.peers.server, bytes, 8, &len), ERR_NONE);
    assert_int_equal(len, 6);
    assert_memory_equal(bytes, "record", 6);
    line_end(&line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_busy_connection_keeps_its_buffers),
        cmocka_unit_test(a_quiet_connection_has_none_until_it_talks_again),
        cmocka_unit_test(a_record_may_come_in_two_parts_with_a_long_pause),
        cmocka_unit_test(a_record_may_be_read_in_two_parts_with_a_long_pause),
    };
    if (CRYPTO_set_mem_functions(count_malloc, count_realloc, count_free) != 1) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
