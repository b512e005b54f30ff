/* SPDX-License-Identifier: MIT */
/* People and groups in the store. E-mail addresses compare without case. */
#ifndef GH_STORE_USER_STORE_H
#define GH_STORE_USER_STORE_H

#include "base/limits.h"
#include "model/caller.h"
#include "model/user.h"
#include "store/store.h"

struct user_list {
    struct user *users;
    size_t count;
};

/* By id, or by e-mail address; ERR_INPUT for one that several show and none has verified. */
enum err user_store_find(struct store_tx *tx, struct arena *arena, struct slice organization_id,
                         struct slice email_or_id, struct user *ret_user,
                         struct error *reterr) MUST_USE;
/* Whose e-mail address it is: who has it from an admin, or from a provider that has verified it. */
enum err user_store_find_owner(struct store_tx *tx, struct arena *arena,
                               struct slice organization_id, struct slice email,
                               struct user *ret_user, struct error *reterr) MUST_USE;
/* In which organization the person with this id is; ERR_NOT_FOUND without words. */
enum err user_store_organization(struct store_tx *tx, struct arena *arena, struct slice id,
                                 struct slice *ret_organization_id, struct error *reterr) MUST_USE;
struct user_subject {
    struct slice organization_id;
    struct slice issuer;
    struct slice subject;
};

/* By what an identity provider calls the person. */
enum err user_store_find_subject(struct store_tx *tx, struct arena *arena,
                                 const struct user_subject *wanted, struct user *ret_user,
                                 struct error *reterr) MUST_USE;
/* By e-mail address. */
enum err user_store_list(struct store_tx *tx, struct arena *arena, struct slice organization_id,
                         struct user_list *ret_list, struct error *reterr) MUST_USE;
enum err user_store_count(struct store_tx *tx, struct slice organization_id, int64_t *ret_count,
                          struct error *reterr) MUST_USE;

struct user_write {
    struct slice organization_id;
    const struct user *user;
    struct slice password_hash; /* empty: none, or as it was */
    bool is_unverified;         /* the address: shown, but somebody else may have it */
    int64_t now;
};

/* ERR_CONFLICT: the address is taken. Groups that do not exist are made. */
enum err user_store_insert(struct store_tx *tx, struct arena *arena, const struct user_write *write,
                           struct error *reterr) MUST_USE;
/* Name, picture, status, slack_id and groups. */
enum err user_store_update(struct store_tx *tx, const struct user_write *write,
                           struct error *reterr) MUST_USE;
/* What a provider says of the person: also issuer, subject and address, but not slack_id.
 * ERR_CONFLICT: the address is taken. */
enum err user_store_set_profile(struct store_tx *tx, struct arena *arena,
                                const struct user_write *write, struct error *reterr) MUST_USE;
enum err user_store_set_password(struct store_tx *tx, struct slice id, struct slice hash,
                                 int64_t now, struct error *reterr) MUST_USE;
enum err user_store_delete(struct store_tx *tx, struct slice id, struct error *reterr) MUST_USE;
/* Active members of the group, to keep the last one. */
enum err user_store_count_active(struct store_tx *tx, struct slice organization_id,
                                 struct slice group, int64_t *ret_count,
                                 struct error *reterr) MUST_USE;

/* A local account to sign in to. */
struct user_account {
    struct slice id;
    struct slice organization_id;
    struct slice status;
    struct slice password_hash;
    struct slice name;
    struct slice email;
};

/* ERR_NOT_FOUND also when the person has no password. */
enum err user_store_get_account(struct store_tx *tx, struct arena *arena, struct slice id,
                                struct user_account *ret_account, struct error *reterr) MUST_USE;
/* Those of one address: more than one when they are of different organizations. */
struct user_accounts {
    struct user_account items[LIMIT_SIGN_IN_ACCOUNTS];
    size_t count;
};

/* With the organization's name, or, without one, of all, the default organization first. */
enum err user_store_find_accounts(struct store_tx *tx, struct arena *arena, struct slice email,
                                  struct slice organization, struct user_accounts *ret_accounts,
                                  struct error *reterr) MUST_USE;

/* Groups, by name. */
enum err group_store_list(struct store_tx *tx, struct arena *arena, struct slice organization_id,
                          struct shape_texts *ret_names, struct error *reterr) MUST_USE;
/* ERR_CONFLICT: it exists. */
enum err group_store_insert(struct store_tx *tx, struct slice organization_id, struct slice name,
                            int64_t now, struct error *reterr) MUST_USE;
/* ERR_NOT_FOUND; ERR_CONFLICT while a rule of access names it. Ends all memberships. */
enum err group_store_delete(struct store_tx *tx, struct slice organization_id, struct slice name,
                            struct error *reterr) MUST_USE;
/* The groups of a member, in the place of those it had; what does not exist is made. */
enum err group_store_set(struct store_tx *tx, struct slice organization_id, struct slice member_id,
                         const struct shape_texts *groups, struct error *reterr) MUST_USE;
enum err group_store_of(struct store_tx *tx, struct arena *arena, struct slice member_id,
                        struct shape_texts *ret_groups, struct error *reterr) MUST_USE;

#endif
