/* SPDX-License-Identifier: MIT */
/* What passes of a file's contents, one way: counted and hashed. By OpenSSL, whose SHA-256 uses
 * what the processor has: a file is hashed while its client waits for it. */
#ifndef GH_SSH_SSH_CONTENTS_H
#define GH_SSH_SSH_CONTENTS_H

#include "base/arena.h"
#include "base/slice.h"

#include <stdint.h>

struct evp_md_ctx_st;

/* All zeros: nothing has passed. */
struct sshd_contents {
    struct evp_md_ctx_st *hash; /* NULL: nothing has passed */
    uint64_t bytes;
};

void sshd_contents_add(struct sshd_contents *contents, struct slice data);
/* SHA-256 of what has passed so far, in hexadecimal; more may follow. */
struct slice sshd_contents_hash(const struct sshd_contents *contents, struct arena *arena);
void sshd_contents_release(struct sshd_contents *contents);

#endif
