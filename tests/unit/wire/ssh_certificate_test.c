/* SPDX-License-Identifier: MIT */
#include "wire/ssh_certificate.h"

#include "base/limits.h"
#include "base/memory.h"
#include "codec/base64.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Made by ssh-keygen for the principals a and b; the secret halves are gone. */
static const char made[] =
    "AAAAIHNzaC1lZDI1NTE5LWNlcnQtdjAxQG9wZW5zc2guY29tAAAAIMsz3Jg5gldlcvotCW9v3qk0QR3zBXbvDGGb"
    "TEl0yTNtAAAAIFysJvlt3VMusYag7pOFfYrYLnjwreDA0+j7cLDy38ygAAAAAAAAAAAAAAABAAAAAmlkAAAACgAA"
    "AAFhAAAAAWIAAAAAawgR5AAAAABrCBNzAAAAAAAAAIIAAAAVcGVybWl0LVgxMS1mb3J3YXJkaW5nAAAAAAAAABdw"
    "ZXJtaXQtYWdlbnQtZm9yd2FyZGluZwAAAAAAAAAWcGVybWl0LXBvcnQtZm9yd2FyZGluZwAAAAAAAAAKcGVybWl0"
    "LXB0eQAAAAAAAAAOcGVybWl0LXVzZXItcmMAAAAAAAAAAAAAADMAAAALc3NoLWVkMjU1MTkAAAAgTUFox9AFbnQn"
    "tVlkqOdO6CNTqF7eVnEhDq6bQOQRuqwAAABTAAAAC3NzaC1lZDI1NTE5AAAAQC2HHCXLK4gTZ/gb6QSbQdAxHZJY"
    "sUQDz1KZnTx9EJWRKRKndnrI+5d5u0pWLSM3uKovJUZ84LyrsFbcwWKengw=";

static int set_up(void **state)
{
    static struct arena arena;
    arena_init(&arena);
    *state = &arena;
    return 0;
}

static int tear_down(void **state)
{
    arena_release(*state);
    return 0;
}

static struct slice blob_in(struct arena *arena)
{
    struct slice blob = SLICE("");
    assert_int_equal(base64_decode_in(arena, BASE64_STANDARD, slice_of_text(made), &blob),
                     ERR_NONE);
    return blob;
}

static void one_of_ssh_keygen_is_read(void **state)
{
    struct arena *arena = *state;
    struct sshwire_certificate read;
    struct sshwire_key key;
    struct error error;
    struct slice blob = blob_in(arena);
    assert_true(sshwire_certificate_is(blob));
    assert_int_equal(sshwire_certificate_read_in(arena, blob, &read, &error), ERR_NONE);
    assert_int_equal(read.role, SSHWIRE_CERTIFICATE_OF_USER);
    assert_int_equal(read.serial, 0);
    assert_true(slice_equals(read.id, SLICE("id")));
    assert_true(read.valid_before > read.valid_after);
    struct slice principals = read.principals;
    assert_true(slice_equals(sshwire_list_next(&principals), SLICE("a")));
    assert_true(slice_equals(sshwire_list_next(&principals), SLICE("b")));
    assert_int_equal(principals.len, 0);
    assert_true(sshwire_list_find(read.extensions, SLICE("permit-pty")).at != NULL);
    assert_true(sshwire_list_find(read.extensions, SLICE("permit")).at == NULL);
    assert_int_equal(sshwire_key_read(read.key, &key, &error), ERR_NONE);
    assert_int_equal(key.kind, SSHWIRE_KEY_ED25519);
    assert_false(sshwire_certificate_is(read.key));
}

static void what_was_read_is_written_again(void **state)
{
    struct arena *arena = *state;
    struct sshwire_certificate read;
    struct error error;
    struct buf again;
    assert_int_equal(sshwire_certificate_read_in(arena, blob_in(arena), &read, &error), ERR_NONE);
    buf_init(&again, LIMIT_SSH_CERTIFICATE_SIZE);
    assert_int_equal(sshwire_certificate_write(&read, &again), ERR_NONE);
    assert_true(slice_equals(buf_view(&again), read.signed_part));
    buf_release(&again);
}

static void no_prefix_is_one_nor_is_more(void **state)
{
    struct arena *arena = *state;
    struct sshwire_certificate read;
    struct error error;
    struct slice blob = blob_in(arena);
    for (size_t len = 0; len < blob.len; len++) {
        assert_int_equal(sshwire_certificate_read_in(arena, slice_sub(blob, 0, len), &read, &error),
                         ERR_INPUT);
    }
    char *longer = arena_alloc(arena, blob.len + 1);
    memcpy(longer, blob.at, blob.len);
    longer[blob.len] = '\0';
    assert_int_equal(
        sshwire_certificate_read_in(arena, slice_of(longer, blob.len + 1), &read, &error),
        ERR_INPUT);
}

/* One that has been signed with such lists all the same. */
static void a_list_that_is_none_is_refused(void **state)
{
    static const char *const bad[] = {"\0\0\0\1", "\0\0\0\0", "\0\0\0\1a\0\0\0", "\0\0\0\2a"};
    static const size_t sizes[] = {4, 4, 8, 5};
    struct arena *arena = *state;
    struct sshwire_certificate read;
    struct error error;
    assert_int_equal(sshwire_certificate_read_in(arena, blob_in(arena), &read, &error), ERR_NONE);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct sshwire_certificate changed = read;
        struct buf blob;
        buf_init(&blob, LIMIT_SSH_CERTIFICATE_SIZE);
        changed.principals = slice_of(bad[i], sizes[i]);
        assert_int_equal(sshwire_certificate_write(&changed, &blob), ERR_NONE);
        assert_int_equal(sshwire_field_write(&blob, read.signature), ERR_NONE);
        assert_int_equal(sshwire_certificate_read_in(arena, buf_view(&blob), &changed, &error),
                         ERR_INPUT);
        buf_release(&blob);
    }
}

static void an_option_that_comes_twice_is_refused(void **state)
{
    struct arena *arena = *state;
    struct sshwire_certificate read;
    struct error error;
    struct buf list;
    struct buf blob;
    assert_int_equal(sshwire_certificate_read_in(arena, blob_in(arena), &read, &error), ERR_NONE);
    buf_init(&list, LIMIT_KIB(1));
    buf_init(&blob, LIMIT_SSH_CERTIFICATE_SIZE);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(sshwire_field_write(&list, SLICE("source-address")), ERR_NONE);
        assert_int_equal(sshwire_field_write(&list, SLICE("\0\0\0\1x")), ERR_NONE);
    }
    assert_true(slice_equals(sshwire_option_text(SLICE("\0\0\0\1x")), SLICE("x")));
    assert_true(sshwire_option_text(SLICE("\0\0\0\1xy")).at == NULL);
    read.options = buf_view(&list);
    assert_int_equal(sshwire_certificate_write(&read, &blob), ERR_NONE);
    assert_int_equal(sshwire_field_write(&blob, read.signature), ERR_NONE);
    assert_int_equal(sshwire_certificate_read_in(arena, buf_view(&blob), &read, &error), ERR_INPUT);
    buf_release(&list);
    buf_release(&blob);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_of_ssh_keygen_is_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_read_is_written_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_prefix_is_one_nor_is_more, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_list_that_is_none_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_option_that_comes_twice_is_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
