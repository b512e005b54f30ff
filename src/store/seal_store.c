/* SPDX-License-Identifier: MIT */
#include "store/seal_store.h"

#include "base/memory.h"
#include "store/rows.h"
#include "store/seal.h"

#define PORTION 200

/* Where envelopes lie: by the id of their row, which they are bound to. */
struct seal_place {
    const char *read;
    const char *write;
};

static const struct seal_place seal_places[] = {
    {"SELECT id, env_vars FROM resource WHERE id > $1 AND env_vars IS NOT NULL "
     "ORDER BY id LIMIT $2",
     "UPDATE resource SET env_vars = $2 WHERE id = $1"},
    {"SELECT id, secret FROM connection WHERE id > $1 AND secret IS NOT NULL ORDER BY id LIMIT $2",
     "UPDATE connection SET secret = $2 WHERE id = $1"},
    {"SELECT id, seed FROM signing_key WHERE id > $1 ORDER BY id LIMIT $2",
     "UPDATE signing_key SET seed = $2 WHERE id = $1"},
    {"SELECT id, client_secret FROM auth_config WHERE id > $1 AND client_secret IS NOT NULL "
     "ORDER BY id LIMIT $2",
     "UPDATE auth_config SET client_secret = $2 WHERE id = $1"},
    {"SELECT user_id, secret FROM second_factor WHERE user_id > $1 ORDER BY user_id LIMIT $2",
     "UPDATE second_factor SET secret = $2 WHERE user_id = $1"},
    {"SELECT id, verifier FROM credential WHERE id > $1 ORDER BY id LIMIT $2",
     "UPDATE credential SET verifier = $2 WHERE id = $1"},
    {"SELECT organization_id, key FROM masking_key WHERE organization_id > $1 "
     "ORDER BY organization_id LIMIT $2",
     "UPDATE masking_key SET key = $2 WHERE organization_id = $1"},
    {"SELECT id, sealed FROM review WHERE id > $1 ORDER BY id LIMIT $2 / 50" /* scripts are large */
     ,
     "UPDATE review SET sealed = $2 WHERE id = $1"},
    {"SELECT id, sealed FROM notification_sink WHERE id > $1 ORDER BY id LIMIT $2",
     "UPDATE notification_sink SET sealed = $2 WHERE id = $1"},
};

struct seal_portion {
    struct arena arena;
    const struct seal_place *place;
    char last_id[64]; /* of the portion before */
    size_t last_id_len;
    struct seal_progress progress; /* of this portion */
};

struct sealed_row {
    struct slice id;
    struct slice sealed;
};

static enum err seal_store_read(struct store_tx *tx, struct seal_portion *portion,
                                struct rows_list *list, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query(
        tx, portion->place->read,
        PARAMS(store_text(slice_of(portion->last_id, portion->last_id_len)), store_int(PORTION)),
        &rows, reterr);
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        struct sealed_row *row = rows_list_add(list);
        row->id = rows_text_in(&portion->arena, &rows, 0);
        row->sealed = rows_text_in(&portion->arena, &rows, 1);
    }
    return rows_end(err);
}

static enum err seal_store_portion(struct store_tx *tx, void *context, struct error *reterr)
{
    struct seal_portion *portion = context;
    struct rows_list list = {.arena = &portion->arena, .item_size = sizeof(struct sealed_row)};
    portion->progress = (struct seal_progress){0};
    enum err err = seal_store_read(tx, portion, &list, reterr);
    const struct sealed_row *rows = list.items;
    for (size_t i = 0; i < list.count && err == ERR_NONE; i++) {
        struct slice plain = SLICE_NONE;
        portion->progress.seen_count++;
        if (seal_is_current(store_keys(tx), rows[i].sealed)) {
            continue;
        }
        err =
            unseal_in(&portion->arena, store_keys(tx), rows[i].id, rows[i].sealed, &plain, reterr);
        if (err == ERR_NONE) {
            struct slice sealed = seal_in(&portion->arena, store_keys(tx), rows[i].id, plain);
            err = store_exec(tx, portion->place->write,
                             PARAMS(store_text(rows[i].id), store_blob(sealed)), NULL, reterr);
            portion->progress.resealed_count++;
        }
    }
    if (err == ERR_NONE && list.count > 0) {
        struct slice id = rows[list.count - 1].id;
        portion->last_id_len = id.len < sizeof(portion->last_id) ? id.len : 0;
        memcpy(portion->last_id, id.at, portion->last_id_len);
    }
    return err;
}

static enum err seal_store_reseal_place(struct store *store, const struct seal_place *place,
                                        seal_progress_fn on_progress,
                                        struct seal_progress *progress, struct error *reterr)
{
    struct seal_portion portion = {.place = place};
    enum err err = ERR_NONE;
    arena_init(&portion.arena);
    do {
        err = store_write(store, seal_store_portion, &portion, reterr);
        progress->seen_count += err == ERR_NONE ? portion.progress.seen_count : 0;
        progress->resealed_count += err == ERR_NONE ? portion.progress.resealed_count : 0;
        on_progress(progress);
        arena_reset(&portion.arena);
    } while (err == ERR_NONE && portion.progress.seen_count > 0);
    arena_release(&portion.arena);
    return err;
}

enum err seal_store_reseal(struct store *store, seal_progress_fn on_progress,
                           struct seal_progress *ret_progress, struct error *reterr)
{
    enum err err = ERR_NONE;
    *ret_progress = (struct seal_progress){0};
    for (size_t i = 0; i < COUNT_OF(seal_places) && err == ERR_NONE; i++) {
        err = seal_store_reseal_place(store, &seal_places[i], on_progress, ret_progress, reterr);
    }
    return err;
}
