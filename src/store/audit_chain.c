/* SPDX-License-Identifier: MIT */
#include "store/audit_chain.h"

#include "store/audit_store.h"

#include <string.h>

bool audit_chain_begin_behind(struct audit_chain *chain, const struct audit_entry *entry)
{
    if (entry->hash.len > sizeof(chain->hash)) {
        return false;
    }
    memcpy(chain->hash, entry->hash.at, entry->hash.len);
    chain->hash_len = entry->hash.len;
    chain->number = entry->number.value + 1;
    return true;
}

const char *audit_chain_follow(struct audit_chain *chain, struct arena *arena,
                               const struct audit_entry *entry)
{
    if (entry->number.value != chain->number) {
        return "it is missing";
    }
    if (!slice_equals(entry->previous_hash, slice_of(chain->hash, chain->hash_len))) {
        return "it does not follow on the entry before";
    }
    if (!slice_equals(entry->hash, audit_entry_hash_in(arena, entry)) ||
        !audit_chain_begin_behind(chain, entry)) {
        return "its content was changed";
    }
    return NULL;
}
