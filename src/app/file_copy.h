/* SPDX-License-Identifier: MIT */
/* Files copied as they are, with the hash of what was copied. A copy is new (ERR_CONFLICT when
 * something is there), of mode 0600, and on the disk when it is done. */
#ifndef GH_APP_FILE_COPY_H
#define GH_APP_FILE_COPY_H

#include "base/err.h"
#include "base/error.h"

#include <stdbool.h>
#include <sys/types.h>

#define FILE_HASH_SIZE 65 /* SHA-256 in hexadecimal digits, and a NUL */

struct file_owner {
    bool is_given; /* else the copy is whose process this is */
    uid_t user;
    gid_t group;
};

/* With 'to' NULL it is read only. */
enum err file_copy(const char *from, const char *to, const struct file_owner *owner,
                   char hash[FILE_HASH_SIZE], struct error *reterr) MUST_USE;
/* Makes a folder of mode 0700; one that is there is good. */
enum err folder_make(const char *path, const struct file_owner *owner,
                     struct error *reterr) MUST_USE;
enum err folder_sync(const char *path, struct error *reterr) MUST_USE;

#endif
