/* SPDX-License-Identifier: MIT */
/* What a connection's secrets are, where the connection runs: inline values are decoded, references
 * are looked up where the agent's environment says (AWS Secrets Manager, Vault, a variable that
 * holds JSON). Nothing is remembered from one call to the next: a session asks once, and the next
 * one sees what was rotated meanwhile.
 *
 * Blocks for LIMIT_SECRETS_MS at most, so it is for pool threads. Reads the process's environment,
 * which nobody may change while it runs. */
#ifndef GH_TARGET_SECRET_SOURCE_H
#define GH_TARGET_SECRET_SOURCE_H

#include "codec/shape.h"
#include "model/secret_map.h"

/* Values may refer to the given sources (of enum secret_source); other references fail.
 *
 * 'secret' has keys as they are stored ("envvar:NAME", "filesystem:NAME", or the bare NAME of a
 * resource's plain variable) and values as they are stored. The answer has the same keys in the
 * same order, and bytes; the arena, which holds it, is wiped when it ends.
 *
 * All are tried before it fails, each distinct secret once. The error names keys, references and
 * causes, never a value: as many as fit, and how many more there are. 'reterr_all' (may be NULL)
 * has every one, a line each.
 *
 * ERR_UNAVAILABLE when any of them failed because of somebody else or may work later, ERR_INPUT
 * when all that failed are wrong as they stand. */
enum err secret_sources_resolve(struct arena *arena, unsigned sources,
                                const struct shape_pairs *secret, struct shape_pairs *ret_plain,
                                struct slice *reterr_all, struct error *reterr) MUST_USE;

#define SECRET_SOURCE_FILES_MAX 4

/* The files outside of the data folder that resolving may read, as the environment names them, for
 * sandbox_settings.replaced. Returns how many; those that do not exist are among them. */
size_t secret_source_files_in(struct arena *arena, const char *ret_paths[SECRET_SOURCE_FILES_MAX]);

#endif
