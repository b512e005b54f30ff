/* SPDX-License-Identifier: MIT */
#include "policy/guard_cache.h"

#include "base/limits.h"
#include "base/memory.h"
#include "policy/guard_internal.h"

#define CACHE_BUCKETS (LIMIT_GUARD_CACHE_ENTRIES * 2)
#define CACHE_NONE    UINT32_MAX

#define CACHE_WRITES                                                                               \
    (SQL_BIT(SQL_INSERT) | SQL_BIT(SQL_UPDATE) | SQL_BIT(SQL_DELETE) | SQL_BIT(SQL_MERGE))
/* Beside those, what makes a statement's command tag say less than it changes. */
#define CACHE_OTHER_WRITES                                                                         \
    (SQL_BIT(SQL_TRUNCATE) | SQL_BIT(SQL_CREATE) | SQL_BIT(SQL_ALTER) | SQL_BIT(SQL_DROP) |        \
     SQL_BIT(SQL_COPY) | SQL_BIT(SQL_CALL) | SQL_BIT(SQL_DO) | SQL_BIT(SQL_EXECUTE))

/* A finding, as what it is made of again: names and messages are the rules' own. */
struct cache_finding {
    size_t rule;
    size_t statement;
    struct slice why;
    enum guard_direction direction;
};

/* What a verdict depends on, beside the text that it is kept with. */
struct cache_stamp {
    uint64_t hash; /* of the text, and what sets scopes apart */
    uint64_t scope[2];
    uint64_t names_id;
    uint64_t database; /* its hash */
    bool is_backslash_quoted;
    bool is_ansi_quoted;
    enum sql_charset charset;
    enum sql_dialect dialect;
};

struct cache_entry {
    void *memory; /* of all that it points to; NULL: the entry is free */
    size_t size;
    struct slice text;
    struct cache_stamp stamp;
    uint32_t next;  /* in the same bucket */
    bool was_asked; /* since the hand came by */
    enum guard_action action;
    int64_t max_rows;
    struct cache_finding max_rows_rule;
    struct cache_finding *findings;
    size_t finding_count;
    struct guard_facts facts;
};

struct guard_cache {
    uint64_t key[2];
    struct arena arena; /* of the analysis under way, and of facts that are not kept */
    struct cache_entry *entries;
    uint32_t *buckets;
    uint32_t hand;
    struct guard_cache_counts counts;
};

struct guard_cache *guard_cache_new(const uint8_t seed[HASH_SEED_SIZE])
{
    struct guard_cache *cache = memory_new(sizeof(*cache));
    hash_key_of(seed, cache->key);
    arena_init(&cache->arena);
    cache->entries = memory_new_array(LIMIT_GUARD_CACHE_ENTRIES, sizeof(*cache->entries));
    cache->buckets = memory_new_array(CACHE_BUCKETS, sizeof(*cache->buckets));
    for (size_t i = 0; i < CACHE_BUCKETS; i++) {
        cache->buckets[i] = CACHE_NONE;
    }
    return cache;
}

void guard_cache_free(struct guard_cache *cache)
{
    if (cache == NULL) {
        return;
    }
    for (size_t i = 0; i < LIMIT_GUARD_CACHE_ENTRIES; i++) {
        memory_free(cache->entries[i].memory);
    }
    memory_free(cache->entries);
    memory_free(cache->buckets);
    arena_release(&cache->arena);
    memory_free(cache);
}

struct guard_cache_counts guard_cache_counts(const struct guard_cache *cache)
{
    return cache->counts;
}

/* Entries ---------------------------------------------------------------------------------------
 */

static uint32_t *cache_bucket(struct guard_cache *cache, uint64_t hash)
{
    return &cache->buckets[hash % CACHE_BUCKETS];
}

static struct cache_stamp cache_stamp_of(const struct guard_cache *cache,
                                         const struct guard_cache_key *key)
{
    bool may_be_kept = key->text.len <= LIMIT_GUARD_CACHE_TEXT_SIZE;
    const struct guard_scope *scope = key->scope;
    return (struct cache_stamp){
        .hash = may_be_kept ? hash_of(cache->key, key->text) ^ scope->id[0] ^ key->names_id : 0,
        .scope = {scope->id[0], scope->id[1]},
        .names_id = key->names_id,
        .database =
            key->settings->database.len > 0 ? hash_of(cache->key, key->settings->database) : 0,
        .is_backslash_quoted = key->settings->is_backslash_quoted,
        .is_ansi_quoted = key->settings->is_ansi_quoted,
        .charset = key->settings->charset,
        .dialect = key->settings->dialect,
    };
}

static bool cache_is_stamp(const struct cache_stamp *a, const struct cache_stamp *b)
{
    return a->hash == b->hash && a->scope[0] == b->scope[0] && a->scope[1] == b->scope[1] &&
           a->names_id == b->names_id && a->is_backslash_quoted == b->is_backslash_quoted &&
           a->dialect == b->dialect && a->database == b->database &&
           a->is_ansi_quoted == b->is_ansi_quoted && a->charset == b->charset;
}

static void cache_evict(struct guard_cache *cache, uint32_t index)
{
    struct cache_entry *entry = &cache->entries[index];
    uint32_t *link = cache_bucket(cache, entry->stamp.hash);
    while (*link != index) {
        link = &cache->entries[*link].next;
    }
    *link = entry->next;
    cache->counts.entries--;
    cache->counts.bytes -= entry->size;
    memory_free(entry->memory);
    *entry = (struct cache_entry){0};
}

/* The hand goes on to the next entry that is free, or that was not asked for since it last came by;
 * at the second time round it finds one. */
static uint32_t cache_make_room(struct guard_cache *cache, size_t size)
{
    for (;;) {
        uint32_t index = cache->hand;
        struct cache_entry *entry = &cache->entries[index];
        cache->hand = (index + 1) % LIMIT_GUARD_CACHE_ENTRIES;
        if (entry->was_asked) {
            entry->was_asked = false;
            continue;
        }
        if (entry->memory != NULL) {
            cache_evict(cache, index);
        }
        if (cache->counts.bytes + size <= LIMIT_GUARD_CACHE_SIZE) {
            return index;
        }
    }
}

/* What an entry points to: findings, which have to be aligned, and behind them texts. */
static size_t cache_size_of(struct slice text, const struct guard_verdict *verdict,
                            const struct guard_facts *facts)
{
    return verdict->count * sizeof(struct cache_finding) + facts->prepared.len + text.len;
}

static struct slice cache_keep(char *at, struct slice text)
{
    if (text.len > 0) {
        memcpy(at, text.at, text.len);
    }
    return slice_of(at, text.len);
}

static struct cache_finding cache_finding_of(const struct guard_finding *finding)
{
    return (struct cache_finding){.rule = finding->rule,
                                  .statement = finding->statement,
                                  .why = finding->why,
                                  .direction = finding->direction};
}

static struct guard_finding cache_finding_again(const struct guard_scope *scope,
                                                const struct cache_finding *kept)
{
    struct guard_finding finding =
        guard_finding_of(scope->rules, kept->rule, kept->statement, kept->why);
    finding.direction = kept->direction;
    return finding;
}

static void cache_fill(struct cache_entry *entry, const struct guard_verdict *verdict,
                       const struct guard_facts *facts, struct slice text)
{
    entry->action = verdict->action;
    entry->max_rows = verdict->max_rows;
    if (verdict->max_rows >= 0) {
        entry->max_rows_rule = cache_finding_of(&verdict->max_rows_rule);
    }
    entry->finding_count = verdict->count;
    entry->findings = entry->memory;
    for (size_t i = 0; i < verdict->count; i++) {
        entry->findings[i] = cache_finding_of(&verdict->findings[i]);
    }
    char *texts = (char *)(entry->findings + verdict->count);
    entry->facts = *facts;
    entry->facts.prepared = cache_keep(texts, facts->prepared);
    entry->text = cache_keep(texts + facts->prepared.len, text);
}

/* A place in the table for what was judged just now. */
static struct cache_entry *cache_add(struct guard_cache *cache, const struct cache_stamp *stamp,
                                     size_t size)
{
    uint32_t index = cache_make_room(cache, size);
    struct cache_entry *entry = &cache->entries[index];
    *entry =
        (struct cache_entry){.memory = memory_resize(NULL, size), .size = size, .stamp = *stamp};
    uint32_t *bucket = cache_bucket(cache, stamp->hash);
    entry->next = *bucket;
    *bucket = index;
    cache->counts.entries++;
    cache->counts.bytes += size;
    return entry;
}

/* Facts -----------------------------------------------------------------------------------------
 */

/* How often one of the four words stands in the text, in whatever place. */
static size_t cache_count_write_words(struct slice text)
{
    static const char *const words[] = {"insert", "update", "delete", "merge"};
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++) {
        char first = (char)(text.at[i] | 0x20);
        struct slice rest = slice_from(text, i);
        for (size_t j = 0; j < COUNT_OF(words) && strchr("iudm", first) != NULL; j++) {
            struct slice word = slice_of_text(words[j]);
            count += slice_equals_nocase(slice_sub(rest, 0, word.len), word) ? 1 : 0;
        }
    }
    return count;
}

/* A write before the main one stands in a WITH at the start, and nowhere else (PostgreSQL, 7.8.4);
 * the tag does not count its rows. */
static bool cache_is_counted_write(const struct sql_script *script, struct slice text)
{
    const struct sql_statement *first = script->statements;
    if (script->count != 1 || first->is_unknown || (SQL_BIT(first->verb) & CACHE_WRITES) == 0 ||
        (first->operations & CACHE_OTHER_WRITES) != 0) {
        return false;
    }
    struct slice statement = slice_sub(text, first->offset, first->len);
    bool has_with = slice_equals_nocase(slice_sub(statement, 0, 4), SLICE("with"));
    return !has_with || cache_count_write_words(statement) == 1;
}

static struct guard_facts cache_facts_of(const struct sql_script *script, struct slice text)
{
    struct guard_facts facts = {
        .statement_count = script->count,
        .verb = SQL_OTHER,
        .prepared = SLICE(""),
    };
    for (size_t i = 0; i < script->count; i++) {
        const struct sql_statement *statement = &script->statements[i];
        facts.operations |= statement->operations;
        facts.is_unknown = facts.is_unknown || statement->is_unknown;
        facts.needs_no_transaction = facts.needs_no_transaction || statement->needs_no_transaction;
        facts.goes_on_behind_end = facts.goes_on_behind_end || facts.ends_transaction;
        facts.ends_transaction = statement->ends_transaction;
    }
    if (script->count > 0) {
        facts.verb = script->statements[0].verb;
        facts.prepared = script->statements[0].prepared;
    }
    facts.is_counted_write = cache_is_counted_write(script, text);
    for (const struct sql_script *other = script->other; other != NULL; other = other->other) {
        facts.is_counted_write = facts.is_counted_write && cache_is_counted_write(other, text);
        for (size_t i = 0; i < other->count; i++) {
            facts.operations |= other->statements[i].operations;
            facts.is_unknown = facts.is_unknown || other->statements[i].is_unknown;
        }
    }
    return facts;
}

/* Judgement -------------------------------------------------------------------------------------
 */

static void cache_answer(const struct cache_entry *entry, const struct guard_scope *scope,
                         struct guard_verdict *ret_verdict, struct guard_facts *ret_facts)
{
    ret_verdict->action = entry->action;
    ret_verdict->count = entry->finding_count;
    ret_verdict->max_rows = entry->max_rows;
    if (entry->max_rows >= 0) {
        ret_verdict->max_rows_rule = cache_finding_again(scope, &entry->max_rows_rule);
    }
    for (size_t i = 0; i < entry->finding_count; i++) {
        ret_verdict->findings[i] = cache_finding_again(scope, &entry->findings[i]);
    }
    *ret_facts = entry->facts;
}

/* What the next one may be judged by; a failure for want of memory is not kept. */
static bool cache_is_kept(const struct guard_scope *scope, struct slice text,
                          const struct guard_verdict *verdict)
{
    for (size_t i = 0; i < verdict->count; i++) {
        if (verdict->findings[i].rule == SIZE_MAX) {
            return false;
        }
    }
    return !scope->is_broken && text.len <= LIMIT_GUARD_CACHE_TEXT_SIZE;
}

bool guard_cache_find(struct guard_cache *cache, const struct guard_cache_key *key,
                      struct guard_verdict *ret_verdict, struct guard_facts *ret_facts)
{
    struct cache_stamp stamp = cache_stamp_of(cache, key);
    bool may_be_kept = key->text.len <= LIMIT_GUARD_CACHE_TEXT_SIZE;
    uint32_t index = may_be_kept ? *cache_bucket(cache, stamp.hash) : CACHE_NONE;
    for (; index != CACHE_NONE; index = cache->entries[index].next) {
        struct cache_entry *entry = &cache->entries[index];
        if (cache_is_stamp(&entry->stamp, &stamp) && slice_equals(entry->text, key->text)) {
            entry->was_asked = true;
            cache->counts.hits++;
            cache_answer(entry, key->scope, ret_verdict, ret_facts);
            return true;
        }
    }
    cache->counts.misses++;
    return false;
}

void guard_cache_keep(struct guard_cache *cache, const struct guard_cache_key *key,
                      const struct sql_script *script, const struct guard_verdict *verdict,
                      struct guard_facts *ret_facts)
{
    *ret_facts = cache_facts_of(script, key->text);
    if (cache_is_kept(key->scope, key->text, verdict)) {
        struct cache_stamp stamp = cache_stamp_of(cache, key);
        struct cache_entry *entry =
            cache_add(cache, &stamp, cache_size_of(key->text, verdict, ret_facts));
        cache_fill(entry, verdict, ret_facts, key->text);
    }
}

void guard_cache_judge(struct guard_cache *cache, const struct guard_scope *scope,
                       const struct sql_settings *settings, struct slice text,
                       struct guard_verdict *ret_verdict, struct guard_facts *ret_facts)
{
    const struct guard_cache_key key = {scope, settings, text, 0};
    if (guard_cache_find(cache, &key, ret_verdict, ret_facts)) {
        return;
    }
    arena_reset(&cache->arena);
    /* What makes room is far away in memory: it comes while the text is read. */
    const struct cache_entry *oldest = &cache->entries[cache->hand];
    __builtin_prefetch(oldest, 1);
    __builtin_prefetch(&oldest->facts, 1);
    struct sql_script script = sql_analyze_effects(&cache->arena, settings, text);
    __builtin_prefetch(cache_bucket(cache, oldest->stamp.hash), 1);
    __builtin_prefetch(oldest->memory, 1);
    guard_judge_input(scope, text, settings, &script, ret_verdict);
    guard_cache_keep(cache, &key, &script, ret_verdict, ret_facts);
}

bool guard_cache_judge_known(struct guard_cache *cache, const struct guard_cache_key *key,
                             const struct guard_known *known, struct guard_verdict *ret_verdict,
                             struct guard_facts *ret_facts)
{
    struct guard_cache_key named = *key;
    named.names_id = known == NULL ? 0 : known->id;
    if (!key->scope->asks_names) {
        guard_cache_judge(cache, key->scope, key->settings, key->text, ret_verdict, ret_facts);
        return true;
    }
    if (named.names_id != 0 && guard_cache_find(cache, &named, ret_verdict, ret_facts)) {
        return true;
    }
    arena_reset(&cache->arena);
    struct sql_script script = sql_analyze(&cache->arena, key->settings, key->text);
    bool is_known =
        guard_judge_known(key->scope, key->text, key->settings, &script, known, ret_verdict);
    if (named.names_id != 0) {
        guard_cache_keep(cache, &named, &script, ret_verdict, ret_facts);
    } else {
        *ret_facts = cache_facts_of(&script, key->text);
    }
    return is_known;
}
