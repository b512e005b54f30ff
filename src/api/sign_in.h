/* SPDX-License-Identifier: MIT */
/* What all ways to sign in share: how often one may try, and the token at the end. */
#ifndef GH_API_SIGN_IN_H
#define GH_API_SIGN_IN_H

#include "api/api.h"
#include "store/sign_in_store.h"
#include "store/user_store.h"

/* A token for the person, in the header 'Token' for programs and as a cookie that scripts cannot
 * read. */
enum err sign_in_hand_over(struct api_call *call, struct slice user_id,
                           struct error *reterr) MUST_USE;
/* The cookie alone. */
void sign_in_set_cookie(struct api_call *call, struct slice token);

bool sign_in_is_encrypted(const struct api_call *call);

/* May the caller become the first admin: with the code that the start printed, from wherever he
 * asks, or over the control socket. A process of this machine, a proxy on it and a page that is
 * open there are all no proof of who started the gateway. */
bool sign_in_may_found(const struct api_call *call, struct slice setup_code);

/* Where the caller is, for counting: who has an IPv6 address has at least all of its /64. */
struct slice sign_in_address(const struct api_call *call);

/* Somebody has signed in, the call's caller: in the audit log, and told of when the address is new.
 */
enum err sign_in_note(struct api_call *call, struct store_tx *tx, int status,
                      struct error *reterr) MUST_USE;

/* The address alone, of who comes in by registering or by an invitation. */
enum err sign_in_note_address(struct api_call *call, struct store_tx *tx,
                              struct error *reterr) MUST_USE;

/* Too many requests from this address, for this account (which may be empty): ERR_BUSY, and the
 * header that says how long to wait. */
enum err sign_in_check_rate(struct api_call *call, struct slice account,
                            struct error *reterr) MUST_USE;

/* An attempt with a secret that might be guessed. It counts as failed as soon as it begins, so that
 * many at once count as well. */
struct sign_in_try {
    struct slice account_key;
    struct slice address_key;
    struct sign_in_attempt account;
    struct sign_in_attempt address;
    int64_t wait; /* when it may not begin */
};

/* 'account' is the person's id, or the address as it was typed when nobody has it. */
struct sign_in_try sign_in_try_of(const struct api_call *call, struct slice account);
/* ERR_BUSY while one must wait after failures; pass it through sign_in_busy. */
enum err sign_in_try_begin(struct store_tx *tx, struct sign_in_try *attempt,
                           struct error *reterr) MUST_USE;
/* Somebody signed in: the account's failures are forgotten. */
enum err sign_in_try_succeed(struct store_tx *tx, const struct sign_in_try *attempt,
                             struct error *reterr) MUST_USE;
/* The secret was right, but is not all that it takes to sign in: the failures before still count,
 * else who knows one secret could guess the other for ever. */
enum err sign_in_try_take_back(struct store_tx *tx, const struct sign_in_try *attempt,
                               struct error *reterr) MUST_USE;
/* The answer to waiting: what to do, and the header. */
enum err sign_in_busy(struct api_call *call, int64_t wait, struct error *reterr) MUST_USE;

/* Passwords take a processor each for a while: on threads of their own, which are few and take only
 * the time that others leave. ERR_BUSY when too many wait. */
enum err sign_in_verify_password(struct api_call *call, const struct user_account *account,
                                 struct slice password, bool *ret_is_good,
                                 struct error *reterr) MUST_USE;
enum err sign_in_hash_password(struct api_call *call, struct slice password, struct slice email,
                               struct slice *ret_hash, struct error *reterr) MUST_USE;

#endif
