/* SPDX-License-Identifier: MIT */
#include "protocol/mysql/mysql_packing.h"

#include "base/buf.h"
#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SIZE_MAX_HERE 200000

static const enum mysql_packing methods[] = {MYSQL_ZLIB, MYSQL_ZSTANDARD};

/* Every third byte follows from its place, so that it shrinks, but not to nothing. */
static void fill(struct buf *buf, size_t size)
{
    char *at = NULL;
    buf_init(buf, SIZE_MAX_HERE);
    assert_int_equal(buf_reserve(buf, size + 1, &at), ERR_NONE);
    for (size_t i = 0; i < size; i++) {
        at[i] = (char)(i % 3 == 0 ? (i * i >> 5) & 0x7f : 'a');
    }
    buf_commit(buf, size);
}

static void what_is_written_is_read_again(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 49, 50, 51, 4096, 65536, 150000};
    for (size_t i = 0; i < COUNT_OF(sizes) * COUNT_OF(methods); i++) {
        enum mysql_packing method = methods[i % COUNT_OF(methods)];
        size_t size = sizes[i / COUNT_OF(methods)];
        struct buf plain CLEANUP(buf_release);
        struct buf packed CLEANUP(buf_release);
        struct buf again CLEANUP(buf_release);
        size_t taken = 0;
        uint8_t sequence = 0;
        fill(&plain, size);
        buf_init(&packed, SIZE_MAX_HERE);
        buf_init(&again, SIZE_MAX_HERE);
        assert_int_equal(mysql_packing_write(method, 7, buf_view(&plain), &packed), ERR_NONE);
        assert_true(size < 4096 || packed.len < size);
        for (size_t part = 0; part < packed.len; part += 1 + packed.len / 100) {
            assert_int_equal(mysql_packing_read(method, slice_sub(buf_view(&packed), 0, part),
                                                &taken, &sequence, &again),
                             ERR_MORE);
        }
        assert_int_equal(mysql_packing_read(method, buf_view(&packed), &taken, &sequence, &again),
                         ERR_NONE);
        assert_true(slice_equals(buf_view(&plain), buf_view(&again)));
        assert_int_equal(taken, packed.len);
        assert_int_equal(sequence, 7);
    }
}

static enum err read_packet(enum mysql_packing method, struct slice bytes)
{
    struct buf plain CLEANUP(buf_release);
    size_t taken = 0;
    uint8_t sequence = 0;
    buf_init(&plain, SIZE_MAX_HERE);
    return mysql_packing_read(method, bytes, &taken, &sequence, &plain);
}

static void a_size_that_is_not_so_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        struct buf plain CLEANUP(buf_release);
        struct buf packed CLEANUP(buf_release);
        fill(&plain, 1000);
        buf_init(&packed, SIZE_MAX_HERE);
        assert_int_equal(mysql_packing_write(methods[i], 0, buf_view(&plain), &packed), ERR_NONE);
        char bytes[1100];
        assert_true(packed.len <= sizeof(bytes));
        memcpy(bytes, buf_view(&packed).at, packed.len);
        struct slice said = slice_of(bytes, packed.len);
        assert_int_equal((unsigned char)bytes[4], 1000 & 0xff);
        bytes[4]++;
        assert_int_equal(read_packet(methods[i], said), ERR_INPUT);
        bytes[4] = (char)(bytes[4] - 2);
        assert_int_equal(read_packet(methods[i], said), ERR_INPUT);
        bytes[4]++;
        bytes[6] = 1; /* 65 KiB more */
        assert_int_equal(read_packet(methods[i], said), ERR_INPUT);
        bytes[6] = (char)0xff; /* more than fits */
        assert_int_equal(read_packet(methods[i], said), ERR_INPUT);
        bytes[6] = 0;
        assert_int_equal(read_packet(methods[i], said), ERR_NONE);
        assert_int_equal(read_packet(methods[1 - i], said), ERR_INPUT);
    }
}

static void zlib_comes_before_zstd(void **state)
{
    (void)state;
    assert_int_equal(mysql_packing_of(MYSQLWIRE_COMPRESS | MYSQLWIRE_ZSTD), MYSQL_ZLIB);
    assert_int_equal(mysql_packing_of(MYSQLWIRE_ZSTD), MYSQL_ZSTANDARD);
    assert_int_equal(mysql_packing_of(~(MYSQLWIRE_COMPRESS | MYSQLWIRE_ZSTD)), MYSQL_UNPACKED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(a_size_that_is_not_so_is_refused),
        cmocka_unit_test(zlib_comes_before_zstd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
