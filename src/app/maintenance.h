/* SPDX-License-Identifier: MIT */
/* Commands that work on the store itself, beside a running gateway or without one. */
#ifndef GH_APP_MAINTENANCE_H
#define GH_APP_MAINTENANCE_H

#include "app/settings.h"

/* Walks the audit log of every organization; ERR_CONFLICT at the first break, which is named. */
enum err maintenance_verify_audit(const struct settings *settings, struct error *reterr) MUST_USE;
/* Makes a new master key and closes every secret with it; older keys stay in the file. */
enum err maintenance_rekey(const struct settings *settings, struct error *reterr) MUST_USE;
/* Takes the older keys out of the file, after making sure that nothing needs them. */
enum err maintenance_drop_old_keys(const struct settings *settings, struct error *reterr) MUST_USE;

#endif
