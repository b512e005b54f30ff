/* SPDX-License-Identifier: MIT */
#ifndef GH_IDENTITY_PASSWORD_H
#define GH_IDENTITY_PASSWORD_H

#include "base/arena.h"
#include "base/error.h"

enum err password_check(struct slice password, struct slice email, struct error *reterr) MUST_USE;
enum err password_hash_in(struct arena *arena, struct slice password, struct slice *ret_text,
                          struct error *reterr) MUST_USE;
bool password_verify(struct slice hash_text, struct slice password);
void password_verify_nobody(struct slice password);

#endif
