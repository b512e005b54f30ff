/* SPDX-License-Identifier: MIT */
/* Frames between a gateway and whoever keeps a command. Held: what is read lies inside the bytes,
 * and is the same when it is written again. */
#include "base/must.h"
#include "fuzz.h"
#include "wire/execwire.h"

static bool lies_in(struct slice part, struct slice whole)
{
    return part.len == 0 || (part.at >= whole.at && part.at + part.len <= whole.at + whole.len);
}

static void check_items(struct slice items)
{
    struct reader reader = reader_of(items);
    struct execwire_item item;
    struct buf again;
    buf_init(&again, LIMIT_MIB(1));
    while (execwire_item_next(&reader, &item)) {
        must(lies_in(item.name, items) && lies_in(item.value, items));
        must(execwire_item_write(&again, &item) == ERR_NONE);
    }
    must(slice_equals(buf_view(&again), slice_sub(items, 0, again.len)));
    must((reader_done(&reader) == ERR_NONE) == (again.len == items.len));
    buf_release(&again);
}

static void check_exit(struct slice payload)
{
    struct execwire_exit exit;
    struct execwire_frame frame;
    struct buf again;
    size_t taken = 0;
    if (execwire_exit_read(payload, &exit) != ERR_NONE) {
        return;
    }
    buf_init(&again, LIMIT_MIB(1));
    must(lies_in(exit.words, payload) && execwire_exit_write(&again, &exit) == ERR_NONE);
    must(execwire_read(buf_view(&again), &taken, &frame) == ERR_NONE);
    must(slice_equals(frame.payload, slice_sub(payload, 0, frame.payload.len)));
    buf_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct slice left = slice_of(bytes, size);
    enum err err = ERR_NONE;
    while (err == ERR_NONE) {
        struct execwire_frame frame;
        size_t taken = 0;
        err = execwire_read(left, &taken, &frame);
        if (err == ERR_NONE) {
            struct buf again;
            buf_init(&again, LIMIT_MIB(1));
            must(lies_in(frame.payload, left) && taken == EXECWIRE_HEAD_SIZE + frame.payload.len);
            must(execwire_write(&again, frame.type, frame.payload) == ERR_NONE);
            must(slice_equals(buf_view(&again), slice_sub(left, 0, taken)));
            check_items(frame.payload);
            check_exit(frame.payload);
            left = slice_from(left, taken);
            buf_release(&again);
        }
    }
    return 0;
}
