/* SPDX-License-Identifier: MIT */
/* Made by the build from common_passwords.txt, which says what is in it. */
#ifndef GH_IDENTITY_COMMON_PASSWORDS_H
#define GH_IDENTITY_COMMON_PASSWORDS_H

#include "base/slice.h"

/* In small letters. */
extern const struct slice common_passwords[];
extern const size_t common_password_count;

#endif
