/* SPDX-License-Identifier: MIT */
#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const uint8_t seed[HASH_SEED_SIZE] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

/* The key of the reference implementation's vectors, and the bytes 0, 1, 2 … as the message. Made
 * by a second implementation of SipHash-1-3. */
static void hashes_are_those_of_siphash_1_3(void **state)
{
    (void)state;
    static const uint64_t wanted[] = {0xabac0158050fc4dcU, 0xc9f49bf37d57ca93U, 0x82cb9b024dc7d44dU,
                                      0x8bf80ab8e7ddf7fbU, 0xcf75576088d38328U, 0xdef9d52f49533b67U,
                                      0xc50d2b50c59f22a7U, 0xd3927d989bb11140U, 0x369095118d299a8eU,
                                      0x25a48eb36c063de4U, 0x79de85ee92ff097fU, 0x70c118c1f94dc352U,
                                      0x78a384b157b4d9a2U, 0x306f760c1229ffa7U, 0x605aa111c0f95d34U,
                                      0xd320d86d2a519956U, 0xcc4fdd1a7d908b66U};
    char bytes[17];
    uint64_t key[2];
    hash_key_of(seed, key);
    assert_true(key[0] == 0x0706050403020100U && key[1] == 0x0f0e0d0c0b0a0908U);
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (char)i;
        assert_true(hash_of(key, slice_of(bytes, i)) == wanted[i]);
    }
}

static void every_bit_of_the_key_and_the_bytes_counts(void **state)
{
    (void)state;
    uint64_t key[2] = {1, 2};
    uint64_t other[2] = {1, 3};
    struct slice text = SLICE("select * from a_table where id = 42");
    assert_true(hash_of(key, text) != hash_of(other, text));
    assert_true(hash_of(key, text) != hash_of(key, slice_sub(text, 0, text.len - 1)));
    assert_true(hash_of(key, SLICE("")) != hash_of(key, SLICE("\0")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_are_those_of_siphash_1_3),
        cmocka_unit_test(every_bit_of_the_key_and_the_bytes_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
