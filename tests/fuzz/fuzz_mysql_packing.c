/* SPDX-License-Identifier: MIT */
/* Compressed packets one behind the other, of the method that the first byte says: no more is taken
 * than there is, nor given than fits; what was read can be written and is read again. */
#include "base/must.h"
#include "fuzz.h"
#include "protocol/mysql/mysql_packing.h"

#define PLAIN_SIZE (1 << 16)

static void check_again(enum mysql_packing method, struct slice plain)
{
    struct buf packed;
    struct buf again;
    size_t taken = 0;
    uint8_t sequence = 0;
    buf_init(&packed, 2 * PLAIN_SIZE);
    buf_init(&again, PLAIN_SIZE);
    must(mysql_packing_write(method, 3, plain, &packed) == ERR_NONE);
    must(mysql_packing_read(method, buf_view(&packed), &taken, &sequence, &again) == ERR_NONE);
    must(slice_equals(buf_view(&again), plain) && taken == packed.len && sequence == 3);
    buf_release(&packed);
    buf_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < 1 || size > PLAIN_SIZE) {
        return 0;
    }
    enum mysql_packing method = (bytes[0] & 1U) == 0 ? MYSQL_ZLIB : MYSQL_ZSTANDARD;
    struct slice rest = slice_from(slice_of(bytes, size), 1);
    enum err err = ERR_NONE;
    while (err == ERR_NONE && rest.len > 0) {
        struct buf plain;
        size_t taken = 0;
        uint8_t sequence = 0;
        buf_init(&plain, PLAIN_SIZE);
        err = mysql_packing_read(method, rest, &taken, &sequence, &plain);
        must(err != ERR_NONE || (taken >= MYSQL_PACKING_HEADER_SIZE && taken <= rest.len));
        if (err == ERR_NONE) {
            check_again(method, buf_view(&plain));
            rest = slice_from(rest, taken);
        }
        buf_release(&plain);
    }
    return 0;
}
