/* SPDX-License-Identifier: MIT */
#include "api/login_account.h"

#include "base/memory.h"
#include "io/clock.h"
#include "io/log.h"
#include "model/organization.h"
#include "store/row_id.h"

/* One person coming in. */
struct arrival {
    struct api_call *call;
    struct store_tx *tx;
    const struct login_attempt *attempt;
    const struct provider_profile *profile;
    struct user user;
    bool is_new;
};

static enum err arrival_refuse(struct error *reterr, const char *reason)
{
    return fail(reterr, ERR_DENIED, "access denied: %s", reason);
}

static struct slice arrival_admin_group(const struct arrival *arrival)
{
    return identity_admin_group(arrival->call->api->identity);
}

/* What the provider calls the person is what counts. An address alone is no proof of who somebody
 * is: an account is only handed over to it when the provider has verified the address, and nobody
 * came to the account through a provider before. */
static enum err arrival_link(struct arrival *arrival, struct error *reterr)
{
    const struct provider_profile *profile = arrival->profile;
    struct user *user = &arrival->user;
    enum err err = user_store_find(arrival->tx, arrival->call->arena,
                                   arrival->attempt->organization_id, profile->email, user, reterr);
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

/* The first person of a fresh gateway becomes its admin, so he must be the one who started it. */
static enum err arrival_found(struct arrival *arrival, struct error *reterr)
{
    const struct shape_texts *groups = &arrival->profile->groups;
    struct user *user = &arrival->user;
    int64_t count = 0;
    enum err err = user_store_count(arrival->tx, arrival->attempt->organization_id, &count, reterr);
    if (err != ERR_NONE || count > 0) {
        return err;
    }
    user->groups = *groups;
    if (user_has_group(user, arrival_admin_group(arrival))) {
        return ERR_NONE;
    }
    if (!arrival->attempt->may_found) {
        return arrival_refuse(reterr,
                              "the first to sign in becomes the admin: begin with the setup_code "
                              "that the gateway's start printed ('gatehouse setup-code')");
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
    arrival->is_new = true;
    arrival->user = (struct user){
        .id = row_id_new(arrival->call->arena),
        .status = SLICE("active"),
        .email = arrival->profile->email,
        .groups = arrival->profile->groups,
    };
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

/* An address that another has stays as it was. */
static enum err arrival_choose_email(struct arrival *arrival, struct error *reterr)
{
    struct user *user = &arrival->user;
    struct slice email = arrival->profile->email;
    struct user other = {0};
    if (email.len == 0 || slice_equals_nocase(email, user->email)) {
        return ERR_NONE;
    }
    enum err err = user_store_find(arrival->tx, arrival->call->arena,
                                   arrival->attempt->organization_id, email, &other, NULL);
    if (err == ERR_NOT_FOUND) {
        user->email = email;
        return ERR_NONE;
    }
    return err == ERR_NONE ? err : fail(reterr, err, "the store failed");
}

static enum err arrival_write(struct arrival *arrival, struct error *reterr)
{
    struct user *user = &arrival->user;
    const struct provider_profile *profile = arrival->profile;
    const struct user_write write = {
        .organization_id = arrival->attempt->organization_id, .user = user, .now = clock_now()};
    user->issuer = profile->issuer;
    user->subject = profile->subject;
    user->name = profile->name.len > 0 ? profile->name : user->name;
    user->picture = profile->picture.len > 0 ? profile->picture : user->picture;
    return arrival->is_new
               ? user_store_insert(arrival->tx, arrival->call->arena, &write, reterr)
               : user_store_set_profile(arrival->tx, arrival->call->arena, &write, reterr);
}

static enum err arrival_settle(struct arrival *arrival, struct error *reterr)
{
    struct user *user = &arrival->user;
    enum err err = arrival_find(arrival, reterr);
    if (err == ERR_NONE && !slice_equals(user->status, SLICE("active"))) {
        return arrival_refuse(reterr, "the account is not active; ask an admin");
    }
    bool was_admin = !arrival->is_new && user_has_group(user, arrival_admin_group(arrival));
    if (err == ERR_NONE && !arrival->is_new && arrival->profile->groups.is_given) {
        user->groups = arrival->profile->groups;
        err = arrival_keep_admin(arrival, was_admin, reterr);
    }
    if (err == ERR_NONE) {
        err = arrival_choose_email(arrival, reterr);
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
