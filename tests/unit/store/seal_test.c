/* SPDX-License-Identifier: MIT */
#include "store/seal.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define ENVELOPE_MIN (1 + 8 + 24 + 16) /* version, id of the key, nonce, tag */
#define LINE_SIZE    65
#define OPENER_COUNT 8

DEFINE_FREE_AT(seal_keys_close, struct seal_keys)

static struct arena arena;
static struct error error;
static char folder[64];
static char path[96];
static char other_path[96];

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena);
    error = (struct error){0};
    (void)snprintf(folder, sizeof(folder), "/tmp/gatehouse-seal-XXXXXX");
    must(mkdtemp(folder) != NULL);
    (void)snprintf(path, sizeof(path), "%s/key", folder);
    (void)snprintf(other_path, sizeof(other_path), "%s/other", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_release(&arena);
    (void)unlink(path);
    (void)unlink(other_path);
    return rmdir(folder); /* nothing else may be left in it */
}

static struct seal_keys *open_keys(const char *at)
{
    struct seal_keys *keys = NULL;
    bool is_new = false;
    must(seal_keys_open(at, &keys, &is_new, NULL) == ERR_NONE);
    return keys;
}

static void write_file(const char *text, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    must(fd >= 0 && fchmod(fd, mode) == 0);
    must(write(fd, text, strlen(text)) == (ssize_t)strlen(text) && close(fd) == 0);
}

static struct slice read_file(void)
{
    char text[2048];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    must(fd >= 0);
    ssize_t size = read(fd, text, sizeof(text));
    must(size >= 0 && close(fd) == 0);
    return arena_copy(&arena, slice_of(text, (size_t)size));
}

static void check_file_refused(const char *message)
{
    struct seal_keys *keys = NULL;
    bool is_new = true;
    assert_int_equal(seal_keys_open(path, &keys, &is_new, &error), ERR_INPUT);
    assert_null(keys);
    assert_false(is_new);
    assert_non_null(strstr(error.message, message));
}

static void check_opens(struct seal_keys *keys, struct slice sealed, const char *expected)
{
    struct slice plain;
    assert_int_equal(unseal_in(&arena, keys, SLICE("row"), sealed, &plain, &error), ERR_NONE);
    assert_string_equal(arena_text(&arena, plain), expected);
}

static void check_stays_shut(struct seal_keys *keys, struct slice owner, struct slice sealed)
{
    struct slice plain = SLICE_NONE;
    error = (struct error){0};
    assert_int_equal(unseal_in(&arena, keys, owner, sealed, &plain, &error), ERR_INTERNAL);
    assert_true(error.message[0] != '\0' && plain.at == NULL);
}

/* Envelopes ----------------------------------------------------------------------------------- */

static void what_was_sealed_opens(void **state)
{
    (void)state;
    struct seal_keys *keys CLEANUP(seal_keys_close_at)
    = open_keys(path);
    static const size_t sizes[] = {0, 1, 15, 16, 17, 63, 64, 65, 4096, 262144};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        char *bytes = arena_alloc(&arena, sizes[i] + 1);
        for (size_t at = 0; at < sizes[i]; at++) {
            bytes[at] = (char)(at * 7);
        }
        struct slice plain = slice_of(bytes, sizes[i]);
        struct slice sealed = seal_in(&arena, keys, SLICE("row"), plain);
        struct slice opened;
        assert_int_equal(sealed.len, sizes[i] + ENVELOPE_MIN);
        assert_int_equal(unseal_in(&arena, keys, SLICE("row"), sealed, &opened, &error), ERR_NONE);
        assert_true(slice_equals(opened, plain));
        assert_true(seal_is_current(keys, sealed));
    }
}

static void no_two_envelopes_are_alike(void **state)
{
    (void)state;
    struct seal_keys *keys CLEANUP(seal_keys_close_at)
    = open_keys(path);
    struct slice one = seal_in(&arena, keys, SLICE("row"), SLICE("a secret of some length"));
    struct slice two = seal_in(&arena, keys, SLICE("row"), SLICE("a secret of some length"));
    assert_false(slice_equals(one, two));
    assert_false(slice_equals(slice_from(one, 33), slice_from(two, 33)));
    assert_int_equal(slice_find(one, SLICE("secret")), one.len);
}

static void an_envelope_opens_for_its_row_only(void **state)
{
    (void)state;
    struct seal_keys *keys CLEANUP(seal_keys_close_at)
    = open_keys(path);
    struct slice sealed = seal_in(&arena, keys, SLICE("row"), SLICE("secret"));
    check_stays_shut(keys, SLICE("ro"), sealed);
    check_stays_shut(keys, SLICE("row2"), sealed);
    check_stays_shut(keys, SLICE("Row"), sealed);
    check_stays_shut(keys, SLICE(""), sealed);
    check_opens(keys, sealed, "secret");
}

static void a_flipped_bit_anywhere_keeps_it_shut(void **state)
{
    (void)state;
    struct seal_keys *keys CLEANUP(seal_keys_close_at)
    = open_keys(path);
    struct slice sealed = seal_in(&arena, keys, SLICE("row"), SLICE("secret"));
    for (size_t bit = 0; bit < sealed.len * 8; bit++) {
        char *changed = arena_text(&arena, sealed);
        changed[bit / 8] = (char)(changed[bit / 8] ^ (1 << (bit % 8)));
        check_stays_shut(keys, SLICE("row"), slice_of(changed, sealed.len));
    }
    check_opens(keys, sealed, "secret");
}

static void what_is_cut_or_longer_stays_shut(void **state)
{
    (void)state;
    struct seal_keys *keys CLEANUP(seal_keys_close_at)
    = open_keys(path);
    struct slice sealed = seal_in(&arena, keys, SLICE("row"), SLICE("secret"));
    for (size_t len = 0; len < sealed.len; len++) {
        struct slice cut = arena_copy(&arena, slice_sub(sealed, 0, len));
        check_stays_shut(keys, SLICE("row"), cut);
        assert_true(!seal_is_current(keys, cut) || len > 33);
    }
    check_stays_shut(keys, SLICE("row"), SLICE_NONE);
    check_stays_shut(keys, SLICE("row"), slice_of(arena_text(&arena, sealed), sealed.len + 1));
}

static void another_key_does_not_open_it(void **state)
{
    (void)state;
    struct seal_keys *keys CLEANUP(seal_keys_close_at)
    = open_keys(path);
    struct seal_keys *others CLEANUP(seal_keys_close_at)
    = open_keys(other_path);
    struct slice sealed = seal_in(&arena, keys, SLICE("row"), SLICE("secret"));
    check_stays_shut(others, SLICE("row"), sealed);
    assert_non_null(strstr(error.message, "lacks the key of a stored secret"));
    assert_false(seal_is_current(others, sealed));
    char id[SEAL_KEY_ID_SIZE];
    char other_id[SEAL_KEY_ID_SIZE];
    seal_keys_current(keys, id);
    seal_keys_current(others, other_id);
    assert_int_equal(strlen(id), SEAL_KEY_ID_SIZE - 1);
    assert_string_not_equal(id, other_id);
}

/* The file ------------------------------------------------------------------------------------ */

static void a_new_file_holds_one_key_that_only_its_owner_can_read(void **state)
{
    (void)state;
    struct seal_keys *keys CLEANUP(seal_keys_close_at)
    = NULL;
    bool is_new = false;
    struct stat status;
    mode_t mask = umask(0);
    assert_int_equal(seal_keys_open(path, &keys, &is_new, &error), ERR_NONE);
    (void)umask(mask);
    assert_true(is_new);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_int_equal(status.st_nlink, 1);
    assert_int_equal(read_file().len, LINE_SIZE);
}

static void a_file_that_is_there_is_read_and_left_alone(void **state)
{
    (void)state;
    seal_keys_close(open_keys(path));
    struct slice before = read_file();
    struct seal_keys *keys CLEANUP(seal_keys_close_at)
    = NULL;
    bool is_new = true;
    assert_int_equal(seal_keys_open(path, &keys, &is_new, &error), ERR_NONE);
    assert_false(is_new);
    assert_true(slice_equals(read_file(), before));
}

static void a_key_opens_after_a_restart(void **state)
{
    (void)state;
    struct seal_keys *keys = open_keys(path);
    struct slice sealed = seal_in(&arena, keys, SLICE("row"), SLICE("secret"));
    seal_keys_close(keys);
    struct seal_keys *again CLEANUP(seal_keys_close_at)
    = open_keys(path);
    check_opens(again, sealed, "secret");
}

#define KEY_A "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define KEY_B "0f112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF"

static void a_file_that_others_can_read_is_refused(void **state)
{
    (void)state;
    static const mode_t modes[] = {0640, 0604, 0660, 0620, 0601, 0610, 0644, 0777};
    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        write_file(KEY_A "\n", modes[i]);
        check_file_refused("can be read by others: chmod 600 it");
    }
    write_file(KEY_A "\n", 0600);
    seal_keys_close(open_keys(path));
    write_file(KEY_A "\n", 0400);
    seal_keys_close(open_keys(path));
}

static void a_file_that_is_no_list_of_keys_is_refused(void **state)
{
    (void)state;
    static const char lines[] = "must hold 1 to 8 keys, a line of 64 hex digits each";
    static const struct {
        const char *text;
        const char *message;
    } files[] = {
        {"", "holds no key"},
        {"\n\n", "holds no key"},
        {"secret\n", lines},
        {KEY_A KEY_B "\n", lines},
        {KEY_A "0\n", lines},
        {KEY_A "\r\n", lines},
        {" " KEY_A "\n", lines},
        {KEY_A "\n" KEY_B "x\n", lines},
        {"0x112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n", lines},
        {"112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n", lines},
    };
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        write_file(files[i].text, 0600);
        check_file_refused(files[i].message);
        assert_null(strstr(error.message, "2233"));
    }
    write_file(KEY_A "\n\n" KEY_B, 0600);
    seal_keys_close(open_keys(path));
}

static void a_file_with_more_keys_than_fit_is_refused(void **state)
{
    (void)state;
    struct slice text = SLICE("");
    for (size_t i = 0; i < LIMIT_SEAL_KEYS; i++) {
        text = arena_format(&arena, "%.*s" KEY_A "\n", SLICE_ARG(text));
    }
    write_file(arena_text(&arena, text), 0600);
    seal_keys_close(open_keys(path));
    write_file(arena_format(&arena, "%.*s" KEY_B "\n", SLICE_ARG(text)).at, 0600);
    check_file_refused("");
    write_file(arena_format(&arena, "%.*s\n" KEY_B "\n", SLICE_ARG(text)).at, 0600);
    check_file_refused("");
}

static void a_folder_that_is_not_there_is_an_error(void **state)
{
    (void)state;
    char missing[128];
    struct seal_keys *keys = NULL;
    bool is_new = true;
    (void)snprintf(missing, sizeof(missing), "%s/none/key", folder);
    assert_int_equal(seal_keys_open(missing, &keys, &is_new, &error), ERR_IO);
    assert_false(is_new);
    assert_int_equal(seal_keys_open(folder, &keys, &is_new, &error), ERR_IO);
    assert_null(keys);
}

/* Keys that come and go ----------------------------------------------------------------------- */

static void a_key_that_is_added_closes_and_the_old_one_opens(void **state)
{
    (void)state;
    struct seal_keys *keys CLEANUP(seal_keys_close_at)
    = open_keys(path);
    char id[SEAL_KEY_ID_SIZE];
    char new_id[SEAL_KEY_ID_SIZE];
    seal_keys_current(keys, id);
    struct slice before = read_file();
    struct slice old = seal_in(&arena, keys, SLICE("row"), SLICE("old"));
    assert_int_equal(seal_keys_add(keys, &error), ERR_NONE);
    seal_keys_current(keys, new_id);
    assert_string_not_equal(id, new_id);
    assert_true(slice_equals(slice_from(read_file(), LINE_SIZE), before));
    struct slice new = seal_in(&arena, keys, SLICE("row"), SLICE("new"));
    assert_true(seal_is_current(keys, new) && !seal_is_current(keys, old));
    check_opens(keys, old, "old");
    check_opens(keys, new, "new");
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
}

static void what_a_dropped_key_closed_stays_shut(void **state)
{
    (void)state;
    struct seal_keys *keys CLEANUP(seal_keys_close_at)
    = open_keys(path);
    struct slice old = seal_in(&arena, keys, SLICE("row"), SLICE("old"));
    assert_int_equal(seal_keys_add(keys, &error), ERR_NONE);
    struct slice new = seal_in(&arena, keys, SLICE("row"), SLICE("new"));
    assert_int_equal(seal_keys_drop_old(keys, &error), ERR_NONE);
    assert_int_equal(read_file().len, LINE_SIZE);
    check_opens(keys, new, "new");
    check_stays_shut(keys, SLICE("row"), old);
    assert_int_equal(seal_keys_drop_old(keys, &error), ERR_NONE);
    check_opens(keys, new, "new");
}

static void no_key_is_pushed_out_of_a_full_file(void **state)
{
    (void)state;
    struct seal_keys *keys CLEANUP(seal_keys_close_at)
    = open_keys(path);
    struct slice first = seal_in(&arena, keys, SLICE("row"), SLICE("first"));
    for (size_t i = 1; i < LIMIT_SEAL_KEYS; i++) {
        assert_int_equal(seal_keys_add(keys, &error), ERR_NONE);
    }
    assert_int_equal(seal_keys_add(keys, &error), ERR_LIMIT);
    check_opens(keys, first, "first");
    struct seal_keys *again CLEANUP(seal_keys_close_at)
    = open_keys(path);
    check_opens(again, first, "first");
}

static void a_key_that_another_process_added_is_found(void **state)
{
    (void)state;
    struct seal_keys *keys CLEANUP(seal_keys_close_at)
    = open_keys(path);
    struct seal_keys *others CLEANUP(seal_keys_close_at)
    = open_keys(path);
    assert_int_equal(seal_keys_add(others, &error), ERR_NONE);
    struct slice sealed = seal_in(&arena, others, SLICE("row"), SLICE("secret"));
    assert_false(seal_is_current(keys, sealed));
    check_opens(keys, sealed, "secret");
    assert_true(seal_is_current(keys, sealed));
}

static void the_keys_in_memory_stay_when_the_file_cannot_be_read_again(void **state)
{
    (void)state;
    struct seal_keys *keys CLEANUP(seal_keys_close_at)
    = open_keys(path);
    struct seal_keys *others CLEANUP(seal_keys_close_at)
    = open_keys(other_path);
    struct slice ours = seal_in(&arena, keys, SLICE("row"), SLICE("ours"));
    struct slice strange = seal_in(&arena, others, SLICE("row"), SLICE("theirs"));
    must(chmod(path, 0644) == 0);
    check_stays_shut(keys, SLICE("row"), strange);
    check_opens(keys, ours, "ours");
    must(unlink(path) == 0);
    check_stays_shut(keys, SLICE("row"), strange);
    check_opens(keys, ours, "ours");
}

static void keys_that_two_processes_add_are_both_kept(void **state)
{
    (void)state;
    struct seal_keys *one CLEANUP(seal_keys_close_at)
    = open_keys(path);
    struct seal_keys *two CLEANUP(seal_keys_close_at)
    = open_keys(path);
    assert_int_equal(seal_keys_add(one, &error), ERR_NONE);
    struct slice sealed = seal_in(&arena, one, SLICE("row"), SLICE("one"));
    assert_int_equal(seal_keys_add(two, &error), ERR_NONE);
    assert_int_equal(read_file().len, 3 * LINE_SIZE);
    check_opens(two, sealed, "one");
    struct seal_keys *again CLEANUP(seal_keys_close_at)
    = open_keys(path);
    check_opens(again, sealed, "one");
}

static void nothing_is_dropped_when_another_process_put_a_key_in_front(void **state)
{
    (void)state;
    struct seal_keys *one CLEANUP(seal_keys_close_at)
    = open_keys(path);
    struct seal_keys *two CLEANUP(seal_keys_close_at)
    = open_keys(path);
    struct slice sealed = seal_in(&arena, one, SLICE("row"), SLICE("one"));
    assert_int_equal(seal_keys_add(two, &error), ERR_NONE);
    assert_int_equal(seal_keys_drop_old(one, &error), ERR_CONFLICT);
    assert_int_equal(read_file().len, 2 * LINE_SIZE);
    check_opens(two, sealed, "one");
}

struct opener {
    pthread_t thread;
    pthread_barrier_t *start;
    struct seal_keys *keys;
    bool is_new;
    enum err err;
};

static void *run_opener(void *at)
{
    struct opener *opener = at;
    (void)pthread_barrier_wait(opener->start);
    opener->err = seal_keys_open(path, &opener->keys, &opener->is_new, NULL);
    return NULL;
}

/* Threads stand for gateways that start on one empty folder, which may all have the same id. */
static void of_many_that_open_a_new_file_one_makes_it_and_all_have_its_key(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        struct opener openers[OPENER_COUNT] = {0};
        pthread_barrier_t start;
        must(pthread_barrier_init(&start, NULL, OPENER_COUNT) == 0);
        for (size_t i = 0; i < OPENER_COUNT; i++) {
            openers[i].start = &start;
            must(pthread_create(&openers[i].thread, NULL, run_opener, &openers[i]) == 0);
        }
        size_t new_count = 0;
        for (size_t i = 0; i < OPENER_COUNT; i++) {
            must(pthread_join(openers[i].thread, NULL) == 0);
            assert_int_equal(openers[i].err, ERR_NONE);
            new_count += openers[i].is_new ? 1 : 0;
        }
        (void)pthread_barrier_destroy(&start);
        assert_int_equal(new_count, 1);
        char id[SEAL_KEY_ID_SIZE];
        struct seal_keys *keys = open_keys(path);
        seal_keys_current(keys, id);
        seal_keys_close(keys);
        for (size_t i = 0; i < OPENER_COUNT; i++) {
            char its_id[SEAL_KEY_ID_SIZE];
            seal_keys_current(openers[i].keys, its_id);
            assert_string_equal(its_id, id);
            seal_keys_close(openers[i].keys);
        }
        must(unlink(path) == 0);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_was_sealed_opens),
        TEST(no_two_envelopes_are_alike),
        TEST(an_envelope_opens_for_its_row_only),
        TEST(a_flipped_bit_anywhere_keeps_it_shut),
        TEST(what_is_cut_or_longer_stays_shut),
        TEST(another_key_does_not_open_it),
        TEST(a_new_file_holds_one_key_that_only_its_owner_can_read),
        TEST(a_file_that_is_there_is_read_and_left_alone),
        TEST(a_key_opens_after_a_restart),
        TEST(a_file_that_others_can_read_is_refused),
        TEST(a_file_that_is_no_list_of_keys_is_refused),
        TEST(a_file_with_more_keys_than_fit_is_refused),
        TEST(a_folder_that_is_not_there_is_an_error),
        TEST(a_key_that_is_added_closes_and_the_old_one_opens),
        TEST(what_a_dropped_key_closed_stays_shut),
        TEST(no_key_is_pushed_out_of_a_full_file),
        TEST(a_key_that_another_process_added_is_found),
        TEST(the_keys_in_memory_stay_when_the_file_cannot_be_read_again),
        TEST(keys_that_two_processes_add_are_both_kept),
        TEST(nothing_is_dropped_when_another_process_put_a_key_in_front),
        TEST(of_many_that_open_a_new_file_one_makes_it_and_all_have_its_key),
    };
    return cmocka_run_group_tests_name("store/seal", tests, NULL, NULL);
}
