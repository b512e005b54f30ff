/* SPDX-License-Identifier: MIT */
/* Backups of a gateway with an embedded store, made beside it while it runs, and taken back. A
 * backup is a folder: gatehouse.db, master.key, recordings/ and SHA256SUMS, which lists all of them
 * for 'sha256sum -c', too. It holds the key and what the key opens: it is as secret as the gateway.
 * Certificates and settings are not in it. */
#ifndef GH_APP_BACKUP_H
#define GH_APP_BACKUP_H

#include "app/settings.h"

/* The first argument is the folder, which must not be there yet; settings come behind it. */
enum err backup_make(struct arena *arena, char **arguments, char **environment,
                     struct error *reterr) MUST_USE;
/* Looks through all of it first, and writes over nothing. */
enum err backup_restore(struct arena *arena, char **arguments, char **environment,
                        struct error *reterr) MUST_USE;

#endif
