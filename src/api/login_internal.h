/* SPDX-License-Identifier: MIT */
/* What the parts of a sign-in through a provider share: login.c goes there and back,
 * login_program.c asks the person whether a program may. */
#ifndef GH_API_LOGIN_INTERNAL_H
#define GH_API_LOGIN_INTERNAL_H

#include "api/api.h"
#include "identity/provider.h"
#include "store/login_store.h"
#include "store/user_store.h"

struct login {
    struct api_call *call;
    struct provider *provider;
    struct slice browser; /* the secret in the cookie */
    struct provider_login there;
    struct login_attempt attempt;
    struct provider_profile profile;
    struct user user;
};

typedef enum err (*login_step_fn)(struct login *login, struct error *reterr);

/* The step, with the provider, for whom the rate lets through. */
enum err login_run(struct api_call *call, login_step_fn step, struct error *reterr) MUST_USE;

/* A second sign-in in the same browser goes on with the same secret, so that the first can still
 * end. */
void login_use_browser(struct login *login, bool makes);
void login_use_state(struct login *login, struct slice state);
/* From state and browser: what nobody knows who has but one of them. */
struct slice login_derive_in(struct arena *arena, const struct login *login, const char *purpose);
/* Nonce, verifier, and the hash by which the browser is known. */
void login_derive(struct login *login);

enum err login_go(struct api_call *call, int status, struct slice url) MUST_USE;
enum err login_over(struct error *reterr) MUST_USE;

#endif
