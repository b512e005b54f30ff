/* SPDX-License-Identifier: MIT */
#include "store/service_account_store.h"

#include "base/memory.h"
#include "store/rows.h"
#include "store/user_store.h"

#define COLUMNS                                                                                    \
    "SELECT id, organization_id, subject, name, status, created_at, updated_at, "                  \
    "coalesce(issuer, '') "                                                                        \
    "FROM service_account "

static const struct rows_names service_account_groups = {offsetof(struct service_account, id),
                                                         offsetof(struct service_account, groups)};

static void service_account_store_take(struct arena *arena, const struct store_rows *rows,
                                       struct service_account *account)
{
    *account = (struct service_account){
        .id = rows_text_in(arena, rows, 0),
        .organization_id = rows_text_in(arena, rows, 1),
        .subject = rows_text_in(arena, rows, 2),
        .name = rows_text_in(arena, rows, 3),
        .status = rows_text_in(arena, rows, 4),
        .created_at = store_rows_int(rows, 5),
        .updated_at = store_rows_int(rows, 6),
        .issuer = rows_text_in(arena, rows, 7),
    };
}

static enum err service_account_store_list_rows(struct store_tx *tx, struct slice organization_id,
                                                struct rows_list *list, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query(tx, COLUMNS "WHERE organization_id = $1 ORDER BY subject",
                               PARAMS(store_text(organization_id)), &rows, reterr);
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        service_account_store_take(list->arena, &rows, rows_list_add(list));
    }
    return rows_end(err);
}

enum err service_account_store_list(struct store_tx *tx, struct arena *arena,
                                    struct slice organization_id,
                                    struct service_account_list *ret_list, struct error *reterr)
{
    struct rows_list list = {.arena = arena, .item_size = sizeof(struct service_account)};
    enum err err = service_account_store_list_rows(tx, organization_id, &list, reterr);
    if (err == ERR_NONE) {
        err = rows_list_names(tx, &list, &service_account_groups,
                              "SELECT s.id, m.group_name FROM service_account s "
                              "JOIN group_member m ON m.member_id = s.id "
                              "WHERE s.organization_id = $1 ORDER BY s.subject, m.group_name",
                              PARAMS(store_text(organization_id)), reterr);
    }
    *ret_list = (struct service_account_list){.accounts = list.items, .count = list.count};
    return err;
}

static enum err service_account_store_find_row(struct store_tx *tx, struct arena *arena,
                                               struct slice organization_id,
                                               struct slice subject_or_id,
                                               struct service_account *ret_account,
                                               struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query_one(
        tx,
        COLUMNS "WHERE organization_id = $1 AND (subject = $2 OR id = $2) "
                "ORDER BY CASE WHEN id = $2 THEN 0 ELSE 1 END LIMIT 1",
        PARAMS(store_text(organization_id), store_text(subject_or_id)), &rows, reterr);
    if (err == ERR_NOT_FOUND) {
        return fail(reterr, ERR_NOT_FOUND, "there is no service account '%.*s'",
                    SLICE_ARG(subject_or_id));
    }
    if (err == ERR_NONE) {
        service_account_store_take(arena, &rows, ret_account);
    }
    return err;
}

enum err service_account_store_find(struct store_tx *tx, struct arena *arena,
                                    struct slice organization_id, struct slice subject_or_id,
                                    struct service_account *ret_account, struct error *reterr)
{
    enum err err = service_account_store_find_row(tx, arena, organization_id, subject_or_id,
                                                  ret_account, reterr);
    return err == ERR_NONE
               ? group_store_of(tx, arena, ret_account->id, &ret_account->groups, reterr)
               : err;
}

/* Whoever was first with a subject stays the one that it means. */
static enum err service_account_store_claim(struct store_tx *tx,
                                            const struct service_account *account,
                                            struct error *reterr)
{
    return account->issuer.len == 0
               ? ERR_NONE
               : store_exec(tx,
                            "INSERT INTO service_account_owner (issuer, subject, organization_id) "
                            "VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
                            PARAMS(store_text(account->issuer), store_text(account->subject),
                                   store_text(account->organization_id)),
                            NULL, reterr);
}

enum err service_account_store_insert(struct store_tx *tx, const struct service_account *account,
                                      struct error *reterr)
{
    enum err err =
        store_exec(tx,
                   "INSERT INTO service_account (id, organization_id, subject, name, status, "
                   "created_at, updated_at, issuer) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
                   PARAMS(store_text(account->id), store_text(account->organization_id),
                          store_text(account->subject), store_text(account->name),
                          store_text(account->status), store_int(account->created_at),
                          store_int(account->updated_at), store_text(account->issuer)),
                   NULL, reterr);
    if (err == ERR_CONFLICT) {
        return fail(reterr, ERR_CONFLICT, "a service account '%.*s' already exists",
                    SLICE_ARG(account->subject));
    }
    if (err == ERR_NONE) {
        err = service_account_store_claim(tx, account, reterr);
    }
    return err == ERR_NONE ? group_store_set(tx, account->organization_id, account->id,
                                             &account->groups, reterr)
                           : err;
}

enum err service_account_store_update(struct store_tx *tx, const struct service_account *account,
                                      struct error *reterr)
{
    enum err err = store_exec(
        tx,
        "UPDATE service_account SET name = $2, status = $3, updated_at = $4, issuer = $5 "
        "WHERE id = $1",
        PARAMS(store_text(account->id), store_text(account->name), store_text(account->status),
               store_int(account->updated_at), store_text(account->issuer)),
        NULL, reterr);
    if (err == ERR_NONE) {
        err = service_account_store_claim(tx, account, reterr);
    }
    return err == ERR_NONE ? group_store_set(tx, account->organization_id, account->id,
                                             &account->groups, reterr)
                           : err;
}

enum err service_account_store_delete(struct store_tx *tx, struct slice id, struct error *reterr)
{
    enum err err = store_exec(tx, "DELETE FROM group_member WHERE member_id = $1",
                              PARAMS(store_text(id)), NULL, reterr);
    return err == ERR_NONE ? store_exec(tx, "DELETE FROM service_account WHERE id = $1",
                                        PARAMS(store_text(id)), NULL, reterr)
                           : err;
}

struct service_account_binding {
    struct slice issuer;
    int64_t count;
};

static enum err service_account_store_count_unbound(struct store_tx *tx, void *context,
                                                    struct error *reterr)
{
    struct service_account_binding *binding = context;
    return rows_number(tx, "SELECT count(*) FROM service_account WHERE issuer IS NULL", NO_PARAMS,
                       &binding->count, reterr);
}

/* Of several organizations with the same subject the oldest account counts. */
static enum err service_account_store_bind_body(struct store_tx *tx, void *context,
                                                struct error *reterr)
{
    const struct service_account_binding *binding = context;
    enum err err = ERR_NONE;
    if (binding->issuer.len > 0) {
        err = store_exec(tx,
                         "INSERT INTO service_account_owner (issuer, subject, organization_id) "
                         "SELECT $1, s.subject, s.organization_id FROM service_account s "
                         "WHERE s.issuer IS NULL AND NOT EXISTS (SELECT 1 FROM service_account e "
                         "WHERE e.issuer IS NULL AND e.subject = s.subject "
                         "AND (e.created_at < s.created_at "
                         "OR (e.created_at = s.created_at AND e.id < s.id))) "
                         "ON CONFLICT DO NOTHING",
                         PARAMS(store_text(binding->issuer)), NULL, reterr);
    }
    if (err == ERR_NONE) {
        err = store_exec(tx, "UPDATE service_account SET issuer = $1 WHERE issuer IS NULL",
                         PARAMS(store_text(binding->issuer)), NULL, reterr);
    }
    return err == ERR_NONE ? store_note_callers(tx, reterr) : err;
}

enum err service_account_store_bind(struct store *store, struct slice issuer, struct error *reterr)
{
    struct service_account_binding binding = {.issuer = issuer};
    enum err err = store_read(store, service_account_store_count_unbound, &binding, reterr);
    return err == ERR_NONE && binding.count > 0
               ? store_write(store, service_account_store_bind_body, &binding, reterr)
               : err;
}
