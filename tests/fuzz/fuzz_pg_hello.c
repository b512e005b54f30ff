/* SPDX-License-Identifier: MIT */
/* What a client says about its session, in a startup message. Held: what is given is within its
 * limits, the target sees nothing of it, and memory is in proportion to the message. */
#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"
#include "fuzz.h"
#include "model/session.h"
#include "protocol/postgres/pg_hello.h"

#define VERSION (3U << 16)
#define PREFIX  "gatehouse.metadata."

static void check(struct arena *arena, const struct pgwire_startup *startup)
{
    struct hello hello = pg_hello_in(arena, startup);
    size_t size = 0;
    if (session_metadata_check(&hello.metadata, NULL) != ERR_NONE) {
        return;
    }
    must(hello.metadata.count <= SESSION_METADATA_COUNT);
    for (size_t i = 0; i < hello.metadata.count; i++) {
        const struct shape_pair *pair = &hello.metadata.pairs[i];
        must(pair->key.len <= SESSION_METADATA_NAME_SIZE);
        must(text_is_utf8(pair->key) && text_is_utf8(pair->value));
        size += pair->key.len + pair->value.len;
    }
    must(size <= SESSION_METADATA_SIZE);
    must(hello.parameters.count <= startup->parameter_count);
    for (size_t i = 0; i < hello.parameters.count; i++) {
        struct slice name = hello.parameters.pairs[i].key;
        must(name.len <= sizeof(PREFIX) - 1 || !slice_starts_with(name, SLICE(PREFIX)));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct arena arena;
    struct pgwire_startup startup;
    arena_init(&arena);
    if (pgwire_startup_read(VERSION, slice_of(bytes, size), &startup, NULL) == ERR_NONE) {
        check(&arena, &startup);
        must(arena.size <= LIMIT_KIB(16) + 8 * size);
    }
    arena_release(&arena);
    return 0;
}
