/* SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "io/clock.h"
#include "store/rows.h"
#include "store/user_store.h"

static enum err group_store_names(struct arena *arena, struct store_rows *rows,
                                  struct shape_texts *ret_names, struct error *reterr)
{
    struct rows_list list = {.arena = arena, .item_size = sizeof(struct slice)};
    enum err err = ERR_NONE;
    while ((err = store_rows_next(rows, reterr)) == ERR_NONE) {
        struct slice *name = rows_list_add(&list);
        *name = rows_text_in(arena, rows, 0);
    }
    *ret_names = (struct shape_texts){.items = list.items, .count = list.count, .is_given = true};
    return rows_end(err);
}

enum err group_store_list(struct store_tx *tx, struct arena *arena, struct slice organization_id,
                          struct shape_texts *ret_names, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err =
        store_query(tx, "SELECT name FROM user_group WHERE organization_id = $1 ORDER BY name",
                    PARAMS(store_text(organization_id)), &rows, reterr);
    return err == ERR_NONE ? group_store_names(arena, &rows, ret_names, reterr) : err;
}

enum err group_store_of(struct store_tx *tx, struct arena *arena, struct slice member_id,
                        struct shape_texts *ret_groups, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query(
        tx, "SELECT group_name FROM group_member WHERE member_id = $1 ORDER BY group_name",
        PARAMS(store_text(member_id)), &rows, reterr);
    return err == ERR_NONE ? group_store_names(arena, &rows, ret_groups, reterr) : err;
}

enum err group_store_insert(struct store_tx *tx, struct slice organization_id, struct slice name,
                            int64_t now, struct error *reterr)
{
    enum err err = store_exec(
        tx, "INSERT INTO user_group (organization_id, name, created_at) VALUES ($1, $2, $3)",
        PARAMS(store_text(organization_id), store_text(name), store_int(now)), NULL, reterr);
    return err == ERR_CONFLICT
               ? fail(reterr, ERR_CONFLICT, "a group '%.*s' already exists", SLICE_ARG(name))
               : err;
}

enum err group_store_delete(struct store_tx *tx, struct slice organization_id, struct slice name,
                            struct error *reterr)
{
    uint64_t changed = 0;
    enum err err =
        store_exec(tx, "DELETE FROM user_group WHERE organization_id = $1 AND name = $2",
                   PARAMS(store_text(organization_id), store_text(name)), &changed, reterr);
    if (err == ERR_CONFLICT) {
        return fail(reterr, ERR_CONFLICT,
                    "rules of access name the group '%.*s': take it out of them first",
                    SLICE_ARG(name));
    }
    if (err == ERR_NONE && changed == 0) {
        return fail(reterr, ERR_NOT_FOUND, "there is no group '%.*s'", SLICE_ARG(name));
    }
    return err == ERR_NONE ? store_note_callers(tx, reterr) : err;
}

enum err group_store_set(struct store_tx *tx, struct slice organization_id, struct slice member_id,
                         const struct shape_texts *groups, struct error *reterr)
{
    enum err err = store_exec(tx, "DELETE FROM group_member WHERE member_id = $1",
                              PARAMS(store_text(member_id)), NULL, reterr);
    for (size_t i = 0; i < groups->count && err == ERR_NONE; i++) {
        err = store_exec(tx,
                         "INSERT INTO user_group (organization_id, name, created_at) "
                         "VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
                         PARAMS(store_text(organization_id), store_text(groups->items[i]),
                                store_int(clock_now())),
                         NULL, reterr);
        if (err == ERR_NONE) {
            err = store_exec(tx,
                             "INSERT INTO group_member (member_id, organization_id, group_name) "
                             "VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
                             PARAMS(store_text(member_id), store_text(organization_id),
                                    store_text(groups->items[i])),
                             NULL, reterr);
        }
    }
    return err == ERR_NONE ? store_note_callers(tx, reterr) : err;
}
