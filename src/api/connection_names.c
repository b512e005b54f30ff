/* SPDX-License-Identifier: MIT */
#include "api/connection_names.h"

#include "base/text.h"
#include "store/connection_store.h"

static bool connection_is_in(const struct shape_texts *texts, struct slice text)
{
    for (size_t i = 0; i < texts->count; i++) {
        if (slice_equals(texts->items[i], text)) {
            return true;
        }
    }
    return false;
}

/* Adds the id of each that is given by its name, or its name when ids are given. */
static enum err connection_join(struct api_call *call, struct store_tx *tx,
                                struct shape_texts *texts, const struct shape_texts *given,
                                bool are_ids, struct error *reterr)
{
    const struct visibility all = {.organization_id = call->caller.organization_id,
                                   .sees_all = true};
    struct shape_texts joined = {.count = texts->count, .is_given = true};
    if (given->count == 0) {
        return ERR_NONE;
    }
    joined.items =
        arena_alloc_array(call->arena, texts->count + given->count, sizeof(*joined.items));
    for (size_t i = 0; i < texts->count; i++) {
        joined.items[i] = texts->items[i];
    }
    for (size_t i = 0; i < given->count; i++) {
        struct connection_row row = {0};
        const struct connection *found = &row.connection;
        struct slice wanted =
            are_ids ? text_lower_in(call->arena, given->items[i]) : given->items[i];
        enum err err = connection_store_find(tx, call->arena, &all, wanted, &row, reterr);
        bool is_it = err == ERR_NONE && slice_equals(are_ids ? found->id : found->name, wanted);
        if (err == ERR_NOT_FOUND || (err == ERR_NONE && !is_it)) {
            return fail(reterr, ERR_INPUT, "'%s[%zu]': there is no connection '%.*s'",
                        are_ids ? "connection_ids" : "connection_names", i, SLICE_ARG(wanted));
        }
        if (err != ERR_NONE) {
            return err;
        }
        struct slice other = are_ids ? found->name : found->id;
        if (!connection_is_in(&joined, other)) {
            joined.items[joined.count++] = other;
        }
    }
    *texts = joined;
    return ERR_NONE;
}

enum err connection_ids_with_names(struct api_call *call, struct store_tx *tx,
                                   struct shape_texts *ids, const struct shape_texts *names,
                                   struct error *reterr)
{
    struct shape_texts lower = *ids;
    lower.items = arena_alloc_array(call->arena, ids->count, sizeof(*lower.items));
    for (size_t i = 0; i < ids->count; i++) {
        lower.items[i] = text_lower_in(call->arena, ids->items[i]);
    }
    *ids = lower;
    return connection_join(call, tx, ids, names, false, reterr);
}

enum err connection_names_with_ids(struct api_call *call, struct store_tx *tx,
                                   struct shape_texts *names, const struct shape_texts *ids,
                                   struct error *reterr)
{
    return connection_join(call, tx, names, ids, true, reterr);
}
