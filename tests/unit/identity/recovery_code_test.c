/* SPDX-License-Identifier: MIT */
#include "identity/recovery_code.h"

#include "base/memory.h"
#include "codec/hex.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool normalizes_to(struct slice typed, struct slice wanted)
{
    struct arena arena;
    arena_init(&arena);
    struct slice code = SLICE_NONE;
    enum err err = recovery_code_normalize_in(&arena, typed, &code);
    bool is_wanted = err == ERR_NONE ? slice_equals(code, wanted) : wanted.len == 0;
    assert_true(err == ERR_NONE || err == ERR_INPUT);
    arena_release(&arena);
    return is_wanted;
}

static void codes_are_four_groups_and_never_the_same(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct slice codes[2 * RECOVERY_CODE_COUNT];
    recovery_codes_make_in(&arena, codes);
    recovery_codes_make_in(&arena, codes + RECOVERY_CODE_COUNT);
    for (size_t i = 0; i < COUNT_OF(codes); i++) {
        assert_int_equal(codes[i].len, RECOVERY_CODE_LEN);
        for (size_t at = 0; at < codes[i].len; at++) {
            char byte = codes[i].at[at];
            bool is_digit = (byte >= 'A' && byte <= 'Z') || (byte >= '2' && byte <= '7');
            assert_true(at % 5 == 4 ? byte == '-' : is_digit);
        }
        for (size_t other = 0; other < i; other++) {
            assert_false(slice_equals(codes[i], codes[other]));
        }
    }
    arena_release(&arena);
}

static void every_digit_of_base32_comes_at_every_place(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    uint32_t seen[RECOVERY_CODE_LEN] = {0};
    for (size_t round = 0; round < 200; round++) {
        struct slice codes[RECOVERY_CODE_COUNT];
        recovery_codes_make_in(&arena, codes);
        for (size_t i = 0; i < COUNT_OF(codes); i++) {
            for (size_t at = 0; at < RECOVERY_CODE_LEN; at++) {
                char byte = codes[i].at[at];
                seen[at] |= 1U << (byte >= 'A' ? byte - 'A' : (byte - '2' + 26) & 31);
            }
        }
        arena_reset(&arena);
    }
    for (size_t at = 0; at < RECOVERY_CODE_LEN; at++) {
        assert_true(at % 5 == 4 || seen[at] == UINT32_MAX);
    }
    arena_release(&arena);
}

static void what_was_made_is_already_normal(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct slice codes[RECOVERY_CODE_COUNT];
    recovery_codes_make_in(&arena, codes);
    for (size_t i = 0; i < COUNT_OF(codes); i++) {
        assert_true(normalizes_to(codes[i], codes[i]));
    }
    arena_release(&arena);
}

static void typing_it_another_way_is_the_same_code(void **state)
{
    (void)state;
    static const struct slice code = SLICE_INIT("ABOI-EFGH-2345-67OB");
    assert_true(normalizes_to(SLICE("aboi-efgh-2345-67ob"), code));
    assert_true(normalizes_to(SLICE("ABOIEFGH234567OB"), code));
    assert_true(normalizes_to(SLICE("  aboi efgh 2345 67ob\r\n"), code));
    assert_true(normalizes_to(SLICE("abo-ief-gh\t2345-67ob-"), code));
    assert_true(normalizes_to(SLICE("AB01-EFGH-2345-6708"), code));
}

static void what_cannot_be_a_code_is_refused(void **state)
{
    (void)state;
    static const struct slice refused[] = {
        SLICE_INIT(""),
        SLICE_INIT("-"),
        SLICE_INIT("ABCD-EFGH-IJKL-MNO"),
        SLICE_INIT("ABCD-EFGH-IJKL-MNOPQ"),
        SLICE_INIT("ABCD-EFGH-IJKL-MNOP-QRST-UVWX"),
        SLICE_INIT("ABCD-EFGH-IJKL-MNO9"),
        SLICE_INIT("ABCD-EFGH-IJKL-MNO="),
        SLICE_INIT("ABCD-EFGH-IJKL-MNOP="),
        SLICE_INIT("ABCD-EFGH-IJKL-MNOP\0"),
        SLICE_INIT("ABCD_EFGH_IJKL_MNOP"),
        SLICE_INIT("\xc3\x84"
                   "BCD-EFGH-IJKL-MNOP"),
        SLICE_INIT("123456"),
    };
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        assert_true(normalizes_to(refused[i], SLICE_NONE));
    }
    assert_true(normalizes_to(SLICE_NONE, SLICE_NONE));
}

static void the_hash_is_the_sha_256_of_the_written_form(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    unsigned char hash[RECOVERY_CODE_HASH_SIZE];
    recovery_code_hash(SLICE("ABCD-EFGH-IJKL-MNOP"), hash);
    struct slice text = hex_encode(&arena, slice_of(hash, sizeof(hash)));
    assert_true(slice_equals(
        text, SLICE("a974bce510987bf3e9b6bc206fbb5ade39ae75403502ae6f78f52cd047ff76ab")));
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_are_four_groups_and_never_the_same),
        cmocka_unit_test(every_digit_of_base32_comes_at_every_place),
        cmocka_unit_test(what_was_made_is_already_normal),
        cmocka_unit_test(typing_it_another_way_is_the_same_code),
        cmocka_unit_test(what_cannot_be_a_code_is_refused),
        cmocka_unit_test(the_hash_is_the_sha_256_of_the_written_form),
    };
    return cmocka_run_group_tests_name("identity/recovery_code", tests, NULL, NULL);
}
