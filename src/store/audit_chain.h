/* SPDX-License-Identifier: MIT */
/* The chain of an audit log, walked entry by entry in its order: which entry comes next, and the
 * hash that it must name. */
#ifndef GH_STORE_AUDIT_CHAIN_H
#define GH_STORE_AUDIT_CHAIN_H

#include "base/arena.h"
#include "model/audit_entry.h"

struct audit_chain {
    int64_t number; /* of the entry that comes next */
    char hash[128]; /* of the entry before */
    size_t hash_len;
};

/* Goes on behind the entry, as if all before it had been looked at. False: that is no hash. */
bool audit_chain_begin_behind(struct audit_chain *chain, const struct audit_entry *entry) MUST_USE;
/* NULL: the entry is in its place and as it was written, and the chain is one longer. Else what is
 * wrong with entry 'number'. */
const char *audit_chain_follow(struct audit_chain *chain, struct arena *arena,
                               const struct audit_entry *entry) MUST_USE;

#endif
