/* SPDX-License-Identifier: MIT */
#include "store/device_login_store.h"

#include "base/limits.h"
#include "base/memory.h"
#include "store/rows.h"

static const char *const device_login_words[] = {
    [DEVICE_LOGIN_WAITS] = "waits",
    [DEVICE_LOGIN_GRANTED] = "granted",
    [DEVICE_LOGIN_REFUSED] = "refused",
};

static struct store_value device_login_word(enum device_login_status status)
{
    return store_text(slice_of_text(device_login_words[status]));
}

static enum err device_login_not_found(enum err err, struct error *reterr)
{
    return err == ERR_NOT_FOUND ? fail(reterr, err, "no such sign-in is under way") : err;
}

enum err device_login_store_insert(struct store_tx *tx, const struct device_login *login,
                                   struct error *reterr)
{
    int64_t count = 0;
    int64_t own_count = 0;
    enum err err = store_exec(tx, "DELETE FROM device_login WHERE expires_at <= $1",
                              PARAMS(store_int(login->created_at)), NULL, reterr);
    if (err == ERR_NONE) {
        err = rows_number(tx, "SELECT count(*) FROM device_login", NO_PARAMS, &count, reterr);
    }
    if (err == ERR_NONE) {
        err = rows_number(tx, "SELECT count(*) FROM device_login WHERE asker = $1",
                          PARAMS(store_text(login->asker)), &own_count, reterr);
    }
    if (err == ERR_NONE &&
        (count >= LIMIT_DEVICE_LOGINS || own_count >= LIMIT_DEVICE_LOGINS_EACH)) {
        err = fail(reterr, ERR_BUSY, "too many sign-ins are under way: try again in some minutes");
    }
    if (err != ERR_NONE) {
        return err;
    }
    return store_exec(
        tx,
        "INSERT INTO device_login (id, user_code, status, program_name, asked_from, user_id, "
        "organization_id, interval_s, asked_at, created_at, expires_at, asker) "
        "VALUES ($1, $2, $3, $4, $5, '', '', $6, 0, $7, $8, $9)",
        PARAMS(store_text(login->id), store_text(login->user_code),
               device_login_word(login->status), store_text(login->program_name),
               store_text(login->asked_from), store_int(login->interval_s),
               store_int(login->created_at), store_int(login->expires_at),
               store_text(login->asker)),
        NULL, reterr);
}

#define COLUMNS                                                                                    \
    "SELECT id, user_code, status, program_name, asked_from, user_id, organization_id, "           \
    "interval_s, asked_at, created_at, expires_at FROM device_login "

static void device_login_take(struct arena *arena, const struct store_rows *rows,
                              struct device_login *login)
{
    struct slice status = rows_text_in(arena, rows, 2);
    *login = (struct device_login){
        .id = rows_text_in(arena, rows, 0),
        .user_code = rows_text_in(arena, rows, 1),
        .program_name = rows_text_in(arena, rows, 3),
        .asked_from = rows_text_in(arena, rows, 4),
        .user_id = rows_text_in(arena, rows, 5),
        .organization_id = rows_text_in(arena, rows, 6),
        .interval_s = store_rows_int(rows, 7),
        .asked_at = store_rows_int(rows, 8),
        .created_at = store_rows_int(rows, 9),
        .expires_at = store_rows_int(rows, 10),
        .status = DEVICE_LOGIN_WAITS,
    };
    for (size_t i = 0; i < COUNT_OF(device_login_words); i++) {
        if (slice_equals(status, slice_of_text(device_login_words[i]))) {
            login->status = (enum device_login_status)i;
        }
    }
}

enum err device_login_store_find(struct store_tx *tx, struct arena *arena, struct slice user_code,
                                 int64_t now, struct device_login *ret_login, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err =
        store_query_one(tx, COLUMNS "WHERE user_code = $1 AND expires_at > $2 AND status = 'waits'",
                        PARAMS(store_text(user_code), store_int(now)), &rows, reterr);
    if (err == ERR_NONE) {
        device_login_take(arena, &rows, ret_login);
    }
    return device_login_not_found(err, reterr);
}

enum err device_login_store_decide(struct store_tx *tx, const struct device_login *login,
                                   int64_t now, struct error *reterr)
{
    uint64_t changed = 0;
    enum err err = store_exec(
        tx,
        "UPDATE device_login SET status = $2, user_id = $3, organization_id = $4 "
        "WHERE id = $1 AND status = 'waits' AND expires_at > $5",
        PARAMS(store_text(login->id), device_login_word(login->status), store_text(login->user_id),
               store_text(login->organization_id), store_int(now)),
        &changed, reterr);
    return device_login_not_found(err == ERR_NONE && changed == 0 ? ERR_NOT_FOUND : err, reterr);
}

enum err device_login_store_get(struct store_tx *tx, struct arena *arena, struct slice id,
                                int64_t now, struct device_login *ret_login, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query_one(tx, COLUMNS "WHERE id = $1 AND expires_at > $2",
                                   PARAMS(store_text(id), store_int(now)), &rows, reterr);
    if (err == ERR_NONE) {
        device_login_take(arena, &rows, ret_login);
    }
    return device_login_not_found(err, reterr);
}

enum err device_login_store_note(struct store_tx *tx, const struct device_login *login,
                                 struct error *reterr)
{
    return store_exec(
        tx, "UPDATE device_login SET interval_s = $2, asked_at = $3 WHERE id = $1",
        PARAMS(store_text(login->id), store_int(login->interval_s), store_int(login->asked_at)),
        NULL, reterr);
}

enum err device_login_store_end(struct store_tx *tx, struct slice id, struct error *reterr)
{
    uint64_t changed = 0;
    enum err err = store_exec(tx, "DELETE FROM device_login WHERE id = $1", PARAMS(store_text(id)),
                              &changed, reterr);
    return device_login_not_found(err == ERR_NONE && changed == 0 ? ERR_NOT_FOUND : err, reterr);
}
