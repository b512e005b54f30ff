/* SPDX-License-Identifier: MIT */
#include "store/user_store.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/text.h"
#include "store/rows.h"
#include "store/saved_query_store.h"

#define COLUMNS                                                                                    \
    "SELECT id, subject, name, email, status, slack_id, picture, issuer, "                         \
    "CASE WHEN claimed_email_key = '' THEN 1 ELSE 0 END, "                                         \
    "coalesce((SELECT i.expires_at FROM invitation i WHERE i.user_id = user_account.id), 0) "      \
    "FROM user_account "

static void user_store_take(struct arena *arena, const struct store_rows *rows, struct user *user)
{
    *user = (struct user){
        .id = rows_text_in(arena, rows, 0),
        .subject = rows_text_in(arena, rows, 1),
        .name = rows_text_in(arena, rows, 2),
        .email = rows_text_in(arena, rows, 3),
        .status = rows_text_in(arena, rows, 4),
        .verified = {.value = store_rows_int(rows, 8) != 0, .is_given = true},
        .slack_id = rows_text_in(arena, rows, 5),
        .picture = rows_text_in(arena, rows, 6),
        .issuer = rows_text_in(arena, rows, 7),
        .invitation_expires_at = store_rows_int(rows, 9),
    };
}

/* By id first, then by an address that is somebody's, then by one that is merely said to be. */
static enum err user_store_find_row(struct store_tx *tx, struct arena *arena,
                                    struct slice organization_id, struct slice email_or_id,
                                    struct user *ret_user, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    struct slice key = text_lower_in(arena, email_or_id);
    enum err err = store_query_one(
        tx,
        COLUMNS "WHERE organization_id = $1 AND (id = $2 OR email_key = $3 "
                "OR claimed_email_key = $3) ORDER BY CASE WHEN id = $2 THEN 0 "
                "WHEN email_key = $3 THEN 1 ELSE 2 END LIMIT 2",
        PARAMS(store_text(organization_id), store_text(email_or_id), store_text(key)), &rows,
        reterr);
    if (err == ERR_NOT_FOUND || key.len == 0) {
        return fail(reterr, ERR_NOT_FOUND, "there is no user '%.*s'", SLICE_ARG(email_or_id));
    }
    if (err != ERR_NONE) {
        return err;
    }
    user_store_take(arena, &rows, ret_user);
    bool is_sure = ret_user->verified.value || slice_equals(ret_user->id, email_or_id);
    err = is_sure ? ERR_NOT_FOUND : store_rows_next(&rows, reterr);
    if (err == ERR_NONE) {
        return fail(reterr, ERR_INPUT,
                    "several users show the address '%.*s', which is verified for none: name one "
                    "by its id",
                    SLICE_ARG(email_or_id));
    }
    return rows_end(err);
}

enum err user_store_find_owner(struct store_tx *tx, struct arena *arena,
                               struct slice organization_id, struct slice email,
                               struct user *ret_user, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query_one(
        tx, COLUMNS "WHERE organization_id = $1 AND email_key = $2",
        PARAMS(store_text(organization_id), store_text(text_lower_in(arena, email))), &rows,
        reterr);
    if (err != ERR_NONE) {
        return err;
    }
    user_store_take(arena, &rows, ret_user);
    store_rows_end(&rows);
    return group_store_of(tx, arena, ret_user->id, &ret_user->groups, reterr);
}

enum err user_store_organization(struct store_tx *tx, struct arena *arena, struct slice id,
                                 struct slice *ret_organization_id, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query_one(tx, "SELECT organization_id FROM user_account WHERE id = $1",
                                   PARAMS(store_text(id)), &rows, reterr);
    if (err == ERR_NONE) {
        *ret_organization_id = rows_text_in(arena, &rows, 0);
    }
    return err;
}

enum err user_store_find(struct store_tx *tx, struct arena *arena, struct slice organization_id,
                         struct slice email_or_id, struct user *ret_user, struct error *reterr)
{
    enum err err = user_store_find_row(tx, arena, organization_id, email_or_id, ret_user, reterr);
    return err == ERR_NONE ? group_store_of(tx, arena, ret_user->id, &ret_user->groups, reterr)
                           : err;
}

static enum err user_store_list_rows(struct store_tx *tx, struct arena *arena,
                                     struct slice organization_id, struct rows_list *list,
                                     struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query(tx,
                               COLUMNS "WHERE organization_id = $1 ORDER BY "
                                       "CASE WHEN claimed_email_key = '' THEN email_key "
                                       "ELSE claimed_email_key END, id",
                               PARAMS(store_text(organization_id)), &rows, reterr);
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        user_store_take(arena, &rows, rows_list_add(list));
    }
    return rows_end(err);
}

enum err user_store_find_subject(struct store_tx *tx, struct arena *arena,
                                 const struct user_subject *wanted, struct user *ret_user,
                                 struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err =
        store_query_one(tx, COLUMNS "WHERE organization_id = $1 AND issuer = $2 AND subject = $3",
                        PARAMS(store_text(wanted->organization_id), store_text(wanted->issuer),
                               store_text(wanted->subject)),
                        &rows, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    user_store_take(arena, &rows, ret_user);
    store_rows_end(&rows);
    return group_store_of(tx, arena, ret_user->id, &ret_user->groups, reterr);
}

enum err user_store_list(struct store_tx *tx, struct arena *arena, struct slice organization_id,
                         struct user_list *ret_list, struct error *reterr)
{
    struct rows_list list = {.arena = arena, .item_size = sizeof(struct user)};
    enum err err = user_store_list_rows(tx, arena, organization_id, &list, reterr);
    struct user *users = list.items;
    for (size_t i = 0; i < list.count && err == ERR_NONE; i++) {
        err = group_store_of(tx, arena, users[i].id, &users[i].groups, reterr);
    }
    *ret_list = (struct user_list){.users = users, .count = list.count};
    return err;
}

enum err user_store_count(struct store_tx *tx, struct slice organization_id, int64_t *ret_count,
                          struct error *reterr)
{
    return rows_number(tx, "SELECT count(*) FROM user_account WHERE organization_id = $1",
                       PARAMS(store_text(organization_id)), ret_count, reterr);
}

enum err user_store_count_active(struct store_tx *tx, struct slice organization_id,
                                 struct slice group, int64_t *ret_count, struct error *reterr)
{
    return rows_number(tx,
                       "SELECT count(*) FROM user_account u JOIN group_member m "
                       "ON m.member_id = u.id AND m.group_name = $2 "
                       "WHERE u.organization_id = $1 AND u.status = 'active'",
                       PARAMS(store_text(organization_id), store_text(group)), ret_count, reterr);
}

/* What stands in email_key of an address that is nobody's: no address has a space. */
static struct slice user_store_key(struct arena *arena, const struct user_write *write)
{
    return write->is_unverified ? arena_format(arena, "unverified %.*s", SLICE_ARG(write->user->id))
                                : text_lower_in(arena, write->user->email);
}

static struct slice user_store_claimed_key(struct arena *arena, const struct user_write *write)
{
    return write->is_unverified ? text_lower_in(arena, write->user->email) : SLICE("");
}

enum err user_store_insert(struct store_tx *tx, struct arena *arena, const struct user_write *write,
                           struct error *reterr)
{
    const struct user *user = write->user;
    struct store_value hash =
        write->password_hash.len == 0 ? store_null() : store_text(write->password_hash);
    enum err err = store_exec(
        tx,
        "INSERT INTO user_account (id, organization_id, subject, email, email_key, "
        "name, picture, slack_id, status, password_hash, created_at, updated_at, issuer, "
        "claimed_email_key) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11, $12, $13)",
        PARAMS(store_text(user->id), store_text(write->organization_id), store_text(user->subject),
               store_text(user->email), store_text(user_store_key(arena, write)),
               store_text(user->name), store_text(user->picture), store_text(user->slack_id),
               store_text(user->status), hash, store_int(write->now), store_text(user->issuer),
               store_text(user_store_claimed_key(arena, write))),
        NULL, reterr);
    if (err == ERR_CONFLICT) {
        return fail(reterr, ERR_CONFLICT, "a user '%.*s' already exists", SLICE_ARG(user->email));
    }
    return err == ERR_NONE
               ? group_store_set(tx, write->organization_id, user->id, &user->groups, reterr)
               : err;
}

/* An invitation is for who is invited: what came of it, or was decided meanwhile, ends it. */
static enum err user_store_end_invitation(struct store_tx *tx, struct slice id, struct slice status,
                                          struct error *reterr)
{
    return slice_equals(status, SLICE("invited"))
               ? ERR_NONE
               : store_exec(tx, "DELETE FROM invitation WHERE user_id = $1", PARAMS(store_text(id)),
                            NULL, reterr);
}

enum err user_store_update(struct store_tx *tx, const struct user_write *write,
                           struct error *reterr)
{
    const struct user *user = write->user;
    enum err err = store_exec(tx,
                              "UPDATE user_account SET name = $2, picture = $3, slack_id = $4, "
                              "status = $5, updated_at = $6 WHERE id = $1",
                              PARAMS(store_text(user->id), store_text(user->name),
                                     store_text(user->picture), store_text(user->slack_id),
                                     store_text(user->status), store_int(write->now)),
                              NULL, reterr);
    if (err == ERR_NONE) {
        err = user_store_end_invitation(tx, user->id, user->status, reterr);
    }
    return err == ERR_NONE
               ? group_store_set(tx, write->organization_id, user->id, &user->groups, reterr)
               : err;
}

enum err user_store_set_profile(struct store_tx *tx, struct arena *arena,
                                const struct user_write *write, struct error *reterr)
{
    const struct user *user = write->user;
    enum err err = store_exec(
        tx,
        "UPDATE user_account SET issuer = $2, subject = $3, email = $4, email_key = $5, "
        "name = $6, picture = $7, status = $8, updated_at = $9, "
        "claimed_email_key = $10 WHERE id = $1",
        PARAMS(store_text(user->id), store_text(user->issuer), store_text(user->subject),
               store_text(user->email), store_text(user_store_key(arena, write)),
               store_text(user->name), store_text(user->picture), store_text(user->status),
               store_int(write->now), store_text(user_store_claimed_key(arena, write))),
        NULL, reterr);
    if (err == ERR_NONE) {
        err = user_store_end_invitation(tx, user->id, user->status, reterr);
    }
    return err == ERR_NONE
               ? group_store_set(tx, write->organization_id, user->id, &user->groups, reterr)
               : err;
}

enum err user_store_set_password(struct store_tx *tx, struct slice id, struct slice hash,
                                 int64_t now, struct error *reterr)
{
    enum err err =
        store_exec(tx, "UPDATE user_account SET password_hash = $2, updated_at = $3 WHERE id = $1",
                   PARAMS(store_text(id), store_text(hash), store_int(now)), NULL, reterr);
    return err == ERR_NONE ? user_store_end_invitation(tx, id, SLICE(""), reterr) : err;
}

enum err user_store_delete(struct store_tx *tx, struct slice id, struct error *reterr)
{
    enum err err = store_exec(tx, "DELETE FROM group_member WHERE member_id = $1",
                              PARAMS(store_text(id)), NULL, reterr);
    if (err == ERR_NONE) {
        err = saved_query_store_delete_own(tx, id, reterr);
    }
    if (err == ERR_NONE) {
        err = store_exec(tx, "DELETE FROM user_account WHERE id = $1", PARAMS(store_text(id)), NULL,
                         reterr);
    }
    return err == ERR_NONE ? store_note_callers(tx, reterr) : err;
}

static void user_store_take_account(struct arena *arena, const struct store_rows *rows,
                                    struct user_account *account)
{
    *account = (struct user_account){
        .id = rows_text_in(arena, rows, 0),
        .organization_id = rows_text_in(arena, rows, 1),
        .status = rows_text_in(arena, rows, 2),
        .password_hash = rows_text_in(arena, rows, 3),
        .name = rows_text_in(arena, rows, 4),
        .email = rows_text_in(arena, rows, 5),
    };
}

enum err user_store_find_accounts(struct store_tx *tx, struct arena *arena, struct slice email,
                                  struct slice organization, struct user_accounts *ret_accounts,
                                  struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query(
        tx,
        "SELECT u.id, u.organization_id, u.status, u.password_hash, u.name, u.email "
        "FROM user_account u JOIN organization o ON o.id = u.organization_id "
        "WHERE u.email_key = $1 AND u.password_hash IS NOT NULL "
        "AND ($2 = '' OR o.name = $2) "
        "ORDER BY CASE WHEN o.name = 'default' THEN 0 ELSE 1 END, o.created_at, o.name",
        PARAMS(store_text(text_lower_in(arena, email)), store_text(organization)), &rows, reterr);
    *ret_accounts = (struct user_accounts){0};
    while (err == ERR_NONE && ret_accounts->count < LIMIT_SIGN_IN_ACCOUNTS &&
           (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        user_store_take_account(arena, &rows, &ret_accounts->items[ret_accounts->count++]);
    }
    return rows_end(err);
}

enum err user_store_get_account(struct store_tx *tx, struct arena *arena, struct slice id,
                                struct user_account *ret_account, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query_one(tx,
                                   "SELECT id, organization_id, status, password_hash, name, email "
                                   "FROM user_account WHERE id = $1 AND password_hash IS NOT NULL",
                                   PARAMS(store_text(id)), &rows, reterr);
    if (err == ERR_NONE) {
        user_store_take_account(arena, &rows, ret_account);
    }
    return err;
}
