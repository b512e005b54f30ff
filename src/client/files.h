/* SPDX-License-Identifier: MIT */
/* Where the client's files lie (the XDG base directories), and how: contexts in
 * $XDG_CONFIG_HOME/gatehouse, tokens in $XDG_STATE_HOME/gatehouse, each of them for its owner's
 * eyes alone and written whole or not at all. */
#ifndef GH_CLIENT_FILES_H
#define GH_CLIENT_FILES_H

#include "base/arena.h"
#include "base/error.h"

/* "…/gatehouse/contexts.json". ERR_INPUT: neither the variable nor HOME is an absolute path. */
enum err client_contexts_path_in(struct arena *arena, const char **ret_path,
                                 struct error *reterr) MUST_USE;
/* Of the context with this name, which was checked. */
enum err client_token_path_in(struct arena *arena, struct slice context, const char **ret_path,
                              struct error *reterr) MUST_USE;

/* Of the password of a client that is run, which it reads from a file with this name; it lies in a
 * folder of its own. */
enum err client_pass_path_in(struct arena *arena, struct slice credential_id, const char *name,
                             const char **ret_path, struct error *reterr) MUST_USE;
/* With its folder, as far as they are there. */
void client_pass_remove(struct arena *arena, const char *path);

/* What 'up' keeps. */
enum err client_ports_path_in(struct arena *arena, const char **ret_path,
                              struct error *reterr) MUST_USE;
/* Until the descriptor is closed nobody else changes what lies there. */
enum err client_file_lock(struct arena *arena, const char *path, int *ret_fd,
                          struct error *reterr) MUST_USE;

/* And may be read. */
bool client_file_is_there(const char *path);

/* At most LIMIT_CLIENT_FILE_SIZE. One that is not there is empty. */
enum err client_file_read_in(struct arena *arena, const char *path, struct slice *ret_text,
                             struct error *reterr) MUST_USE;
/* With mode 0600, in folders of 0700 that are made where they are missing. */
enum err client_file_write(struct arena *arena, const char *path, struct slice text,
                           struct error *reterr) MUST_USE;
/* One that is not there is removed. */
enum err client_file_remove(const char *path, struct error *reterr) MUST_USE;

/* All of an open file, of 'size_max' at most. */
enum err client_file_take_in(struct arena *arena, int fd, size_t size_max, struct slice *ret_text,
                             struct error *reterr) MUST_USE;

#endif
