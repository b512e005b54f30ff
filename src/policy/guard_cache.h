/* SPDX-License-Identifier: MIT */
/* What was judged before is not judged again: text to verdict, for the rules and the scope it was
 * judged by. Belongs to one thread. Bounded in entries and bytes (LIMIT_GUARD_CACHE_…); what was
 * not asked for again since the clock's hand last came by makes room. Texts are compared whole, the
 * hash only says where. */
#ifndef GH_POLICY_GUARD_CACHE_H
#define GH_POLICY_GUARD_CACHE_H

#include "base/hash.h"
#include "policy/guard.h"

struct guard_cache;

/* 'seed' should be random: others choose the texts. */
struct guard_cache *guard_cache_new(const uint8_t seed[HASH_SEED_SIZE]);
void guard_cache_free(struct guard_cache *cache);

/* What the wire needs to know about a script, beside the verdict. Slices are valid until the next
 * call with the same cache. */
struct guard_facts {
    size_t statement_count;
    enum sql_operation verb;   /* of the first statement */
    uint64_t operations;       /* bits, of all statements: EXECUTE, BEGIN … are found here */
    bool is_unknown;           /* one of them is */
    bool needs_no_transaction; /* one of them cannot run inside a transaction block */
    bool ends_transaction;     /* the last of them does, so that the next runs in another one */
    bool goes_on_behind_end;   /* one before the last does, or may */
    /* One statement, an INSERT, UPDATE, DELETE or MERGE with no other write in it: its command tag
     * counts all rows that it changes itself. */
    bool is_counted_write;
    struct slice prepared; /* of the first statement: as sql_statement has it */
};

/* What a verdict depends on. */
struct guard_cache_key {
    const struct guard_scope *scope;
    const struct sql_settings *settings;
    struct slice text;
    /* What was known of names: 0 for guard_judge_input(), for guard_judge_named() a number that
     * changes whenever an answer may (search path, catalog, database). */
    uint64_t names_id;
};

/* The verdict from before. False: there is none. */
bool guard_cache_find(struct guard_cache *cache, const struct guard_cache_key *key,
                      struct guard_verdict *ret_verdict, struct guard_facts *ret_facts) MUST_USE;
/* Keeps one that was not found, and tells the facts of the script. */
void guard_cache_keep(struct guard_cache *cache, const struct guard_cache_key *key,
                      const struct sql_script *script, const struct guard_verdict *verdict,
                      struct guard_facts *ret_facts);

/* guard_judge_input() of what sql_analyze_effects() says about the text, or the same verdict from
 * before. */
void guard_cache_judge(struct guard_cache *cache, const struct guard_scope *scope,
                       const struct sql_settings *settings, struct slice text,
                       struct guard_verdict *ret_verdict, struct guard_facts *ret_facts);

/* The same by guard_judge_known() of what sql_analyze() says. */
bool guard_cache_judge_known(struct guard_cache *cache, const struct guard_cache_key *key,
                             const struct guard_known *known, struct guard_verdict *ret_verdict,
                             struct guard_facts *ret_facts) MUST_USE;

struct guard_cache_counts {
    uint64_t hits;
    uint64_t misses;
    size_t entries;
    size_t bytes;
};
struct guard_cache_counts guard_cache_counts(const struct guard_cache *cache);

#endif
