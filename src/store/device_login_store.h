/* SPDX-License-Identifier: MIT */
/* Sign-ins of programs without a browser (RFC 8628) that are under way. Of what the program holds
 * there is the hash alone; who knows the short code can give his own name to it, and no more. */
#ifndef GH_STORE_DEVICE_LOGIN_STORE_H
#define GH_STORE_DEVICE_LOGIN_STORE_H

#include "base/arena.h"
#include "store/store.h"

enum device_login_status {
    DEVICE_LOGIN_WAITS,
    DEVICE_LOGIN_GRANTED,
    DEVICE_LOGIN_REFUSED,
};

struct device_login {
    struct slice id;        /* the hash of the device code, as text */
    struct slice user_code; /* as it is shown, "BCDF-GHJK" */
    enum device_login_status status;
    struct slice program_name; /* as it calls itself; may be empty */
    struct slice asker;        /* as it is counted; where it is inserted alone */
    struct slice asked_from;   /* the address */
    struct slice user_id;      /* who said so; empty: nobody yet */
    struct slice organization_id;
    int64_t interval_s; /* that the program has to wait between two questions */
    int64_t asked_at;   /* by the program, the last time; 0: never */
    int64_t created_at;
    int64_t expires_at;
};

/* Forgets those that have expired, too. ERR_BUSY: LIMIT_DEVICE_LOGINS wait, or
 * LIMIT_DEVICE_LOGINS_EACH of this asker. */
enum err device_login_store_insert(struct store_tx *tx, const struct device_login *login,
                                   struct error *reterr) MUST_USE;
/* One that waits for a person. ERR_NOT_FOUND. */
enum err device_login_store_find(struct store_tx *tx, struct arena *arena, struct slice user_code,
                                 int64_t now, struct device_login *ret_login,
                                 struct error *reterr) MUST_USE;
/* A person has said yes or no, once: status, user_id and organization_id. ERR_NOT_FOUND. */
enum err device_login_store_decide(struct store_tx *tx, const struct device_login *login,
                                   int64_t now, struct error *reterr) MUST_USE;

/* By the hash of the device code, in whatever state. ERR_NOT_FOUND: also when it has expired. */
enum err device_login_store_get(struct store_tx *tx, struct arena *arena, struct slice id,
                                int64_t now, struct device_login *ret_login,
                                struct error *reterr) MUST_USE;
/* The program asked: interval_s and asked_at. */
enum err device_login_store_note(struct store_tx *tx, const struct device_login *login,
                                 struct error *reterr) MUST_USE;
/* It is over. ERR_NOT_FOUND: it was already, so that a token is handed out once. */
enum err device_login_store_end(struct store_tx *tx, struct slice id,
                                struct error *reterr) MUST_USE;

#endif
