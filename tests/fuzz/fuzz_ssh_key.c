/* SPDX-License-Identifier: MIT */
/* Public keys of people. Held: what is read lies inside the blob, a line's key is the one of its
 * blob, and no prefix of a blob is a key. */
#include "base/limits.h"
#include "base/must.h"
#include "fuzz.h"
#include "wire/ssh_key.h"

static void check_inside(struct slice part, struct slice whole)
{
    must(part.len == 0 || (part.at >= whole.at && part.at + part.len <= whole.at + whole.len));
}

static void check_blob(struct slice blob)
{
    struct sshwire_key key;
    struct error error;
    if (sshwire_key_read(blob, &key, &error) != ERR_NONE) {
        return;
    }
    must(slice_equals(key.blob, blob) && key.bits >= 256 && key.bits <= LIMIT_SSH_RSA_BITS);
    check_inside(key.type, blob);
    check_inside(key.point, blob);
    check_inside(key.application, blob);
    for (size_t len = 0; len < blob.len; len++) {
        must(sshwire_key_read(slice_sub(blob, 0, len), &key, &error) == ERR_INPUT);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct sshwire_key key;
    struct sshwire_key again;
    struct error error;
    struct arena arena;
    if (size < 1 || size > LIMIT_KIB(8)) {
        return 0;
    }
    struct slice rest = slice_of(bytes + 1, size - 1);
    if ((bytes[0] & 1) == 0) {
        check_blob(rest);
        return 0;
    }
    arena_init(&arena);
    if (sshwire_key_read_line_in(&arena, rest, &key, &error) == ERR_NONE) {
        check_inside(key.comment, rest);
        must(sshwire_key_read(key.blob, &again, &error) == ERR_NONE);
        must(key.kind == again.kind && key.bits == again.bits);
        check_blob(key.blob);
    }
    arena_release(&arena);
    return 0;
}
