/* SPDX-License-Identifier: MIT */
/* Where a command runs: a folder of its own, as a user that is not root, behind limits, and kept
 * from what belongs to the gateway by Landlock and a filter of system calls. Used by a keeper
 * alone. */
#ifndef GH_IO_COMMAND_BOX_H
#define GH_IO_COMMAND_BOX_H

#include "base/slice.h"
#include "io/commands.h"

#include <sys/types.h>

#define COMMAND_FOLDER_SIZE 64
#define COMMAND_SECRETS     ".secrets" /* files of secrets, in the working folder */

struct command_box {
    const struct commands_settings *settings;
    char folder[COMMAND_FOLDER_SIZE]; /* the working folder; empty: there is none */
    uid_t user;
    gid_t group;
};

/* Makes the folder. ERR_UNSUPPORTED: this machine cannot keep a command from the gateway's keys. */
enum err command_box_open(struct command_box *box, const struct commands_settings *settings,
                          struct error *reterr) MUST_USE;
/* A file of a secret, for the command alone. 'path' has room for PATH_MAX bytes. */
enum err command_box_write(const struct command_box *box, const char *name, struct slice value,
                           char *ret_path, struct error *reterr) MUST_USE;
/* The folder goes, with all that is in it; files of secrets are overwritten first. */
void command_box_close(struct command_box *box);

/* In the process that becomes the command, for good. 0, or errno. */
int command_box_enter(const struct command_box *box);
/* The last before the program: this process may have more already. */
void command_box_limit_memory(void);

#endif
