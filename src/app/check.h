/* SPDX-License-Identifier: MIT */
/* 'gatehouse check': whether the gateway would start, found out without changing anything of it. An
 * embedded store is copied into a folder that goes again, and opened there; one in PostgreSQL is
 * brought up to date in a transaction that is taken back. */
#ifndef GH_APP_CHECK_H
#define GH_APP_CHECK_H

#include "app/settings.h"

enum err check_run(struct arena *arena, const struct settings *settings,
                   struct error *reterr) MUST_USE;

#endif
