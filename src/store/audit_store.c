/* SPDX-License-Identifier: MIT */
#include "store/audit_store.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "store/audit_internal.h"
#include "store/rows.h"

#include <sodium.h>

#define AUDIT_PORTION 500

struct slice audit_entry_hash_in(struct arena *arena, const struct audit_entry *entry)
{
    struct buf buf;
    unsigned char hash[crypto_hash_sha256_BYTES];
    char *text = arena_alloc(arena, sizeof(hash) * 2 + 1);
    buf_init(&buf, LIMIT_HTTP_ANSWER_SIZE);
    struct json_writer json = json_writer_to(&buf);
    json_begin_object(&json);
    shape_write_members(&audit_entry_shape, SHAPE_KEPT, 0, entry, &json);
    json_end_object(&json);
    must(json_writer_done(&json) == ERR_NONE);
    struct slice content = buf_view(&buf);
    (void)crypto_hash_sha256(hash, (const unsigned char *)content.at, content.len);
    buf_release(&buf);
    (void)sodium_bin2hex(text, sizeof(hash) * 2 + 1, hash, sizeof(hash));
    return slice_of(text, sizeof(hash) * 2);
}

static enum err audit_store_last(struct store_tx *tx, struct arena *arena,
                                 struct audit_entry *entry, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    entry->number = (struct shape_int){.value = 1, .is_given = true};
    entry->previous_hash = SLICE("");
    enum err err = store_query_one(tx,
                                   "SELECT number, hash FROM audit_entry WHERE organization_id = "
                                   "$1 ORDER BY number DESC LIMIT 1",
                                   PARAMS(store_text(entry->organization_id)), &rows, reterr);
    if (err == ERR_NONE) {
        entry->number.value = store_rows_int(&rows, 0) + 1;
        entry->previous_hash = rows_text_in(arena, &rows, 1);
    }
    return rows_end(err);
}

enum err audit_store_append(struct store_tx *tx, struct arena *arena, struct audit_entry *entry,
                            struct error *reterr)
{
    enum err err = audit_store_last(tx, arena, entry, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    entry->hash = audit_entry_hash_in(arena, entry);
    return store_exec(
        tx,
        "INSERT INTO audit_entry (organization_id, number, id, created_at, actor_subject, "
        "actor_email, actor_name, resource_type, action, http_method, http_status, http_path, "
        "client_ip, payload, outcome, error_message, previous_hash, hash) VALUES ($1, $2, $3, $4, "
        "$5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)",
        PARAMS(store_text(entry->organization_id), store_int(entry->number.value),
               store_text(entry->id), store_int(entry->created_at),
               store_text(entry->actor_subject), store_text(entry->actor_email),
               store_text(entry->actor_name), store_text(entry->resource_type),
               store_text(entry->action), store_text(entry->http_method),
               store_int(entry->http_status.value), store_text(entry->http_path),
               store_text(entry->client_ip), store_text(entry->payload),
               store_int(entry->outcome.value ? 1 : 0), store_text(entry->error_message),
               store_text(entry->previous_hash), store_text(entry->hash)),
        NULL, reterr);
}

enum err audit_store_has(struct store_tx *tx, struct slice id, bool *ret_has, struct error *reterr)
{
    int64_t count = 0;
    enum err err = rows_number(tx, "SELECT count(*) FROM audit_entry WHERE id = $1",
                               PARAMS(store_text(id)), &count, reterr);
    *ret_has = count > 0;
    return err;
}

enum err audit_store_take(struct arena *arena, struct store_rows *rows, struct audit_list *ret_list,
                          struct error *reterr)
{
    struct rows_list list = {.arena = arena, .item_size = sizeof(struct audit_entry)};
    enum err err = ERR_NONE;
    while ((err = store_rows_next(rows, reterr)) == ERR_NONE) {
        struct audit_entry *entry = rows_list_add(&list);
        entry->organization_id = rows_text_in(arena, rows, 0);
        entry->number = (struct shape_int){.value = store_rows_int(rows, 1), .is_given = true};
        entry->id = rows_text_in(arena, rows, 2);
        entry->created_at = store_rows_int(rows, 3);
        entry->actor_subject = rows_text_in(arena, rows, 4);
        entry->actor_email = rows_text_in(arena, rows, 5);
        entry->actor_name = rows_text_in(arena, rows, 6);
        entry->resource_type = rows_text_in(arena, rows, 7);
        entry->action = rows_text_in(arena, rows, 8);
        entry->http_method = rows_text_in(arena, rows, 9);
        entry->http_status =
            (struct shape_int){.value = store_rows_int(rows, 10), .is_given = true};
        entry->http_path = rows_text_in(arena, rows, 11);
        entry->client_ip = rows_text_in(arena, rows, 12);
        entry->payload = rows_text_in(arena, rows, 13);
        entry->outcome =
            (struct shape_bool){.value = store_rows_int(rows, 14) != 0, .is_given = true};
        entry->error_message = rows_text_in(arena, rows, 15);
        entry->previous_hash = rows_text_in(arena, rows, 16);
        entry->hash = rows_text_in(arena, rows, 17);
    }
    *ret_list = (struct audit_list){.entries = list.items, .count = list.count};
    return rows_end(err);
}

enum err audit_store_portion(struct store_tx *tx, struct arena *arena, struct slice organization_id,
                             int64_t number, struct audit_list *ret_list, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query(
        tx, AUDIT_COLUMNS "WHERE organization_id = $1 AND number >= $2 ORDER BY number LIMIT $3",
        PARAMS(store_text(organization_id), store_int(number), store_int(AUDIT_PORTION)), &rows,
        reterr);
    return err == ERR_NONE ? audit_store_take(arena, &rows, ret_list, reterr) : err;
}
