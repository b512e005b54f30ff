/* SPDX-License-Identifier: MIT */
/* Lines of scp's copy protocol. Held: a line lies inside the bytes, a name has no slash, and what
 * is written again reads the same. */
#include "base/limits.h"
#include "base/must.h"
#include "fuzz.h"
#include "wire/scp.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct slice left = slice_of(bytes, size);
    enum err err = ERR_NONE;
    while (err == ERR_NONE) {
        struct scp_line line;
        struct scp_line again;
        size_t taken = 0;
        err = scp_line_read(left, &taken, &line);
        if (err == ERR_NONE) {
            struct buf buf;
            size_t size_again = 0;
            buf_init(&buf, LIMIT_KIB(64));
            must(taken > 0 && taken <= left.len &&
                 slice_find_byte(line.name, '/') == line.name.len);
            must(scp_line_write(&buf, &line) == ERR_NONE);
            must(scp_line_read(buf_view(&buf), &size_again, &again) == ERR_NONE);
            must(size_again == buf.len && again.kind == line.kind && again.size == line.size);
            must(slice_equals(again.name, line.name) && slice_equals(again.text, line.text));
            left = slice_from(left, taken);
            buf_release(&buf);
        }
    }
    return 0;
}
