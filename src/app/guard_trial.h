/* SPDX-License-Identifier: MIT */
/* The command 'guard test': asks the running gateway what a guard rail would have stopped. */
#ifndef GH_APP_GUARD_TRIAL_H
#define GH_APP_GUARD_TRIAL_H

#include "base/arena.h"
#include "base/error.h"

/* 'arguments': NAME|ID [--days N] [--rule FILE] [--organization NAME] [--data-dir FOLDER] */
enum err guard_trial_run(struct arena *arena, char **arguments, struct error *reterr) MUST_USE;

#endif
