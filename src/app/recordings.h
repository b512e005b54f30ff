/* SPDX-License-Identifier: MIT */
/* Commands on recordings, beside a running gateway or without one: they read files and the master
 * key, not the store. Arguments are those behind the command's words: recordings, by file or by
 * session, and settings. */
#ifndef GH_APP_RECORDINGS_H
#define GH_APP_RECORDINGS_H

#include "app/settings.h"
#include "store/seal.h"

/* Checks every byte of each and says a line about it; ERR_CONFLICT when one is not whole. */
enum err recordings_verify(struct arena *arena, char **arguments, char **environment,
                           struct error *reterr) MUST_USE;
enum err recordings_show(struct arena *arena, char **arguments, char **environment,
                         struct error *reterr) MUST_USE;
/* With --format. */
enum err recordings_export(struct arena *arena, char **arguments, char **environment,
                           struct error *reterr) MUST_USE;

/* Where recordings lie. */
const char *recordings_folder_in(struct arena *arena, const struct settings *settings);

struct recordings_resealed {
    uint64_t seen_count;
    uint64_t resealed_count;
    uint64_t lost_count; /* that no key opens */
};

/* Closes the key of each recording with the current one of the keys. */
enum err recordings_reseal(const char *folder, struct seal_keys *keys,
                           struct recordings_resealed *ret_resealed, struct error *reterr) MUST_USE;

#endif
