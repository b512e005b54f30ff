/* SPDX-License-Identifier: MIT */
#include "api/login_account.h"

#include "base/memory.h"
#include "io/clock.h"
#include "io/log.h"
#include "model/organization.h"
#include "store/organization_store.h"
#include "store/row_id.h"

/* One person coming in. */
struct arrival {
    struct api_call *call;
    struct store_tx *tx;
    const struct login_attempt *attempt;
    const struct provider_profile *profile;
    struct shape_texts groups; /* of the profile, as far as they count here */
    struct user user;
    bool is_new;
    bool is_unverified; /* the address that the person will have */
};

static enum err arrival_refuse(struct error *reterr, const char *reason)
{
    return fail(reterr, ERR_DENIED, "access denied: %s", reason);
}

static struct slice arrival_admin_group(const struct arrival *arrival)
{
    return identity_admin_group(arrival->call->api->identity);
}

static bool arrival_is_role(const struct arrival *arrival, struct slice group)
{
    const struct identity *identity = arrival->call->api->identity;
    return slice_equals(group, identity_admin_group(identity)) ||
           slice_equals(group, identity_auditor_group(identity));
}

/* Those of the groups that are roles, or that are none. */
static void arrival_add_groups(struct arrival *arrival, const struct shape_texts *groups,
                               bool are_roles)
{
    for (size_t i = 0; i < groups->count; i++) {
        if (arrival_is_role(arrival, groups->items[i]) == are_roles) {
            arrival->groups.items[arrival->groups.count++] = groups->items[i];
        }
    }
}

/* Where the provider's word on roles does not count, it neither gives nor takes them. */
static enum err arrival_choose_groups(struct arrival *arrival, const struct shape_texts *before,
                                      struct error *reterr)
{
    const struct shape_texts *said = &arrival->profile->groups;
    bool is_trusted = false;
    enum err err = organization_store_trusts_provider(
        arrival->tx, arrival->attempt->organization_id, &is_trusted, reterr);
    if (err != ERR_NONE || is_trusted || !said->is_given) {
        arrival->groups = *said;
        return err;
    }
    arrival->groups = (struct shape_texts){
        .items = arena_alloc_array(arrival->call->arena, said->count + before->count + 1,
                                   sizeof(*said->items)),
        .is_given = true,
    };
    arrival_add_groups(arrival, said, false);
    arrival_add_groups(arrival, before, true);
    return ERR_NONE;
}

/* What the provider calls the person is what counts. An address alone is no proof of who somebody
 * is: an account is only handed over to it when the provider has verified the address, and nobody
 * came to the account through a provider before. */
static enum err arrival_link(struct arrival *arrival, struct error *reterr)
{
    const struct provider_profile *profile = arrival->profile;
    struct user *user = &arrival->user;
    enum err err =
        user_store_find_owner(arrival->tx, arrival->call->arena, arrival->attempt->organization_id,
                              profile->email, user, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    if (user->issuer.len > 0) {
        return arrival_refuse(reterr, "another account has this e-mail address; ask an admin");
    }
    if (!profile->has_verified_email) {
        return arrival_refuse(reterr,
                              "an account has this e-mail address already, and the identity "
                              "provider does not say that it is yours (email_verified)");
    }
    if (slice_equals(user->status, SLICE("invited"))) {
        user->status = SLICE("active");
    }
    return ERR_NONE;
}

/* The first person of a fresh gateway becomes its admin, so he must be the one who started it; that
 * a provider calls him an admin does not say so. */
static enum err arrival_found(struct arrival *arrival, struct error *reterr)
{
    const struct shape_texts *groups = &arrival->groups;
    struct user *user = &arrival->user;
    int64_t count = 0;
    enum err err = user_store_count(arrival->tx, arrival->attempt->organization_id, &count, reterr);
    if (err != ERR_NONE || count > 0) {
        return err;
    }
    user->groups = *groups;
    if (!arrival->attempt->may_found) {
        return arrival_refuse(reterr,
                              "the first to sign in becomes the admin: begin with the setup_code "
                              "that the gateway's start printed ('gatehouse setup-code')");
    }
    if (user_has_group(user, arrival_admin_group(arrival))) {
        return ERR_NONE;
    }
    user->groups.items =
        arena_alloc_array(arrival->call->arena, groups->count + 1, sizeof(struct slice));
    for (size_t i = 0; i < groups->count; i++) {
        user->groups.items[i] = groups->items[i];
    }
    user->groups.items[groups->count] = arrival_admin_group(arrival);
    user->groups.count = groups->count + 1;
    user->groups.is_given = true;
    return ERR_NONE;
}

static enum err arrival_sign_up(struct arrival *arrival, struct error *reterr)
{
    struct slice organization_id = arrival->attempt->organization_id;
    if (!slice_equals(organization_id, SLICE(ORGANIZATION_DEFAULT_ID))) {
        return arrival_refuse(reterr, "nobody has invited you to this organization");
    }
    const struct shape_texts none = {0};
    enum err err = arrival_choose_groups(arrival, &none, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    arrival->is_new = true;
    arrival->user = (struct user){
        .id = row_id_new(arrival->call->arena),
        .status = SLICE("active"),
        .email = arrival->profile->email,
        .groups = arrival->groups,
    };
    arrival->is_unverified = !arrival->profile->has_verified_email;
    return arrival_found(arrival, reterr);
}

static enum err arrival_find(struct arrival *arrival, struct error *reterr)
{
    const struct provider_profile *profile = arrival->profile;
    const struct user_subject subject = {
        .organization_id = arrival->attempt->organization_id,
        .issuer = profile->issuer,
        .subject = profile->subject,
    };
    enum err err = user_store_find_subject(arrival->tx, arrival->call->arena, &subject,
                                           &arrival->user, reterr);
    if (err == ERR_NOT_FOUND && profile->email.len == 0) {
        return arrival_refuse(reterr, "the identity provider gives no e-mail address: its scope "
                                      "or claim 'email' is missing");
    }
    if (err == ERR_NOT_FOUND) {
        err = arrival_link(arrival, reterr);
    }
    if (err == ERR_NOT_FOUND) {
        err = arrival_sign_up(arrival, reterr);
    }
    return err;
}

/* An organization without an admin could not be managed any more, whatever the provider says. */
static enum err arrival_keep_admin(struct arrival *arrival, bool was_admin, struct error *reterr)
{
    struct slice admins = arrival_admin_group(arrival);
    struct user *user = &arrival->user;
    int64_t count = 0;
    if (!was_admin || user_has_group(user, admins)) {
        return ERR_NONE;
    }
    enum err err = user_store_count_active(arrival->tx, arrival->attempt->organization_id, admins,
                                           &count, reterr);
    if (err != ERR_NONE || count > 1) {
        return err;
    }
    log_line(LOG_APP, LOG_WARN, "the last admin stays one, though the identity provider says no",
             log_text("email", user->email));
    struct slice *items =
        arena_alloc_array(arrival->call->arena, user->groups.count + 1, sizeof(*items));
    for (size_t i = 0; i < user->groups.count; i++) {
        items[i] = user->groups.items[i];
    }
    items[user->groups.count] = admins;
    user->groups.items = items;
    user->groups.count++;
    return ERR_NONE;
}

static enum err arrival_is_owned(const struct arrival *arrival, struct slice email,
                                 bool *ret_is_owned, struct error *reterr)
{
    struct user other = {0};
    enum err err = user_store_find_owner(arrival->tx, arrival->call->arena,
                                         arrival->attempt->organization_id, email, &other, NULL);
    *ret_is_owned = err == ERR_NONE && !slice_equals(other.id, arrival->user.id);
    return err == ERR_NONE || err == ERR_NOT_FOUND ? ERR_NONE
                                                   : fail(reterr, err, "the store failed");
}

/* An address that another has stays as it was. One that the provider has not verified is taken, but
 * does not become the person's own; what an admin gave him stays so until the provider denies it.
 */
static enum err arrival_choose_email(struct arrival *arrival, struct error *reterr)
{
    const struct provider_profile *profile = arrival->profile;
    struct user *user = &arrival->user;
    bool is_same = slice_equals_nocase(profile->email, user->email);
    bool is_owned = false;
    arrival->is_unverified = !user->verified.value;
    if (profile->email.len == 0) {
        return ERR_NONE;
    }
    if (is_same && !profile->has_verified_email) {
        arrival->is_unverified = arrival->is_unverified || profile->is_email_denied;
        return ERR_NONE;
    }
    enum err err = arrival_is_owned(arrival, profile->email, &is_owned, reterr);
    if (err == ERR_NONE && !is_owned) {
        user->email = profile->email;
        arrival->is_unverified = !profile->has_verified_email;
    }
    return err;
}

static enum err arrival_write(struct arrival *arrival, struct error *reterr)
{
    struct user *user = &arrival->user;
    const struct provider_profile *profile = arrival->profile;
    const struct user_write write = {
        .organization_id = arrival->attempt->organization_id,
        .user = user,
        .now = clock_now(),
        .is_unverified = arrival->is_unverified,
    };
    user->issuer = profile->issuer;
    user->subject = profile->subject;
    user->name = profile->name.len > 0 ? profile->name : user->name;
    user->picture = profile->picture.len > 0 ? profile->picture : user->picture;
    return arrival->is_new
               ? user_store_insert(arrival->tx, arrival->call->arena, &write, reterr)
               : user_store_set_profile(arrival->tx, arrival->call->arena, &write, reterr);
}

static enum err arrival_update(struct arrival *arrival, struct error *reterr)
{
    struct user *user = &arrival->user;
    bool was_admin = user_has_group(user, arrival_admin_group(arrival));
    enum err err = arrival_choose_groups(arrival, &user->groups, reterr);
    if (err == ERR_NONE && arrival->groups.is_given) {
        user->groups = arrival->groups;
        err = arrival_keep_admin(arrival, was_admin, reterr);
    }
    return err == ERR_NONE ? arrival_choose_email(arrival, reterr) : err;
}

static enum err arrival_settle(struct arrival *arrival, struct error *reterr)
{
    enum err err = arrival_find(arrival, reterr);
    if (err == ERR_NONE && !slice_equals(arrival->user.status, SLICE("active"))) {
        return arrival_refuse(reterr, "the account is not active; ask an admin");
    }
    if (err == ERR_NONE && !arrival->is_new) {
        err = arrival_update(arrival, reterr);
    }
    return err == ERR_NONE ? arrival_write(arrival, reterr) : err;
}

enum err login_account_settle(struct api_call *call, struct store_tx *tx,
                              const struct login_attempt *attempt,
                              const struct provider_profile *profile, struct user *ret_user,
                              struct error *reterr)
{
    struct arrival arrival = {.call = call, .tx = tx, .attempt = attempt, .profile = profile};
    enum err err = arrival_settle(&arrival, reterr);
    *ret_user = arrival.user;
    return err;
}
