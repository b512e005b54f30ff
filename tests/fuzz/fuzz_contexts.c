/* SPDX-License-Identifier: MIT */
/* What is read as contexts is written and read again as the same, has names that may be those of
 * files, and addresses to which a token may go. */
#include "fuzz.h"

#include "base/must.h"
#include "client/contexts.h"

static void check_same(const struct client_contexts *one, const struct client_contexts *other)
{
    must(slice_equals(one->current, other->current) && one->count == other->count);
    for (size_t i = 0; i < one->count; i++) {
        must(slice_equals(one->items[i].name, other->items[i].name));
        must(slice_equals(one->items[i].url, other->items[i].url));
        must(slice_equals(one->items[i].ca_file, other->items[i].ca_file));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct arena arena;
    struct client_contexts contexts = {0};
    struct client_contexts again = {0};
    struct error error;
    arena_init(&arena);
    if (client_contexts_parse_in(&arena, slice_of(bytes, size), &contexts, &error) == ERR_NONE) {
        struct slice text = client_contexts_write_in(&arena, &contexts);
        must(client_contexts_parse_in(&arena, text, &again, &error) == ERR_NONE);
        check_same(&contexts, &again);
        for (size_t i = 0; i < contexts.count; i++) {
            struct slice name = contexts.items[i].name;
            must(slice_find_byte(name, '/') == name.len && name.at[0] != '.');
            must(slice_find_byte(name, '\0') == name.len);
            must(client_context_check_url(contexts.items[i].url, &error) == ERR_NONE);
            must(client_contexts_find(&contexts, name) == &contexts.items[i]);
        }
        const struct client_context added = {
            .name = SLICE("added"), .url = SLICE("https://added"), .ca_file = SLICE("")};
        if (client_contexts_put(&arena, &contexts, &added, &error) == ERR_NONE) {
            must(slice_equals(contexts.current, SLICE("added")));
            must(slice_equals(client_contexts_find(&contexts, SLICE("added"))->url, added.url));
        }
    } else {
        must(memchr(error.message, '\0', sizeof(error.message)) != NULL);
    }
    arena_release(&arena);
    return 0;
}
