/* SPDX-License-Identifier: MIT */
/* Lines of keys and, behind a space, values. References are values, wrapping does not change what
 * is one, a key is a variable's too; and of the pairs that are taken, no inline value is shown. */
#include "fuzz.h"

#include "base/memory.h"
#include "base/must.h"
#include "codec/base64.h"
#include "model/secret_map.h"

#define PAIR_COUNT_MAX 16

static void check_key(struct slice key)
{
    struct error error = {0};
    enum err err = secret_check_key(key, &error);
    must(err == ERR_NONE || (err == ERR_INPUT && error.message[0] != '\0'));
    if (err == ERR_NONE) {
        must(secret_check_variable_key(key, NULL) == ERR_NONE);
        struct slice name = SLICE_NONE;
        (void)slice_cut(key, ':', &name);
        must(secret_check_variable_key(name, NULL) == ERR_NONE);
    }
}

static void check_value(struct arena *arena, struct slice value)
{
    struct error error = {0};
    enum err err = secret_check_value(value, &error);
    must(err == ERR_NONE || (err == ERR_INPUT && error.message[0] != '\0'));
    bool is_plain = slice_starts_with(value, SLICE("_"));
    struct slice wrapped = base64_encode_in(arena, BASE64_STANDARD, value);
    must(secret_check_value(wrapped, NULL) == ERR_NONE);
    must(!secret_is_reference(value) || err == ERR_NONE);
    must(secret_is_reference(wrapped) == (is_plain && secret_is_reference(value)));
    must(!is_plain || secret_is_reference(value) == (err == ERR_NONE));
}

static void check_pairs(struct arena *arena, const struct shape_pairs *pairs)
{
    const struct shape_pairs none = {0};
    struct shape_pairs merged = secret_merge_in(arena, &none, pairs, false);
    struct shape_pairs again = secret_merge_in(arena, &merged, pairs, true);
    must(merged.count == pairs->count && again.count == pairs->count);
    must(!secret_was_replaced(pairs, pairs));
    struct shape_pairs view = secret_view_in(arena, pairs);
    for (size_t i = 0; i < view.count; i++) {
        must(view.pairs[i].is_null != secret_is_reference(pairs->pairs[i].value));
        must(secret_find(&merged, pairs->pairs[i].key) != NULL);
    }
    struct slice host = secret_value_in(arena, pairs, "HOST");
    must(host.len == 0 || secret_find(pairs, SLICE("envvar:HOST")) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct shape_pair taken[PAIR_COUNT_MAX];
    struct shape_pairs pairs = {.pairs = taken, .is_given = true};
    struct slice rest = slice_of(bytes, size);
    struct arena arena;
    arena_init(&arena);
    while (rest.len > 0 && pairs.count < PAIR_COUNT_MAX) {
        struct slice value = SLICE_NONE;
        struct slice key = slice_cut(slice_cut(rest, '\n', &rest), ' ', &value);
        check_key(key);
        check_value(&arena, value);
        if (secret_check_key(key, NULL) == ERR_NONE && secret_find(&pairs, key) == NULL &&
            secret_check_value(value, NULL) == ERR_NONE) {
            taken[pairs.count++] = (struct shape_pair){.key = key, .value = value};
        }
    }
    must(secret_check_variables(&pairs, "env_vars", NULL) == ERR_NONE);
    check_pairs(&arena, &pairs);
    arena_release(&arena);
    return 0;
}
