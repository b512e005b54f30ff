/* SPDX-License-Identifier: MIT */
#include "model/secret_trust.h"

#include "base/memory.h"
#include "model/organization.h"

static const struct {
    struct slice name;
    enum secret_source source;
} secret_trust_sources[] = {{SLICE_INIT("aws"), SECRET_SOURCE_AWS},
                            {SLICE_INIT("envjson"), SECRET_SOURCE_ENVJSON},
                            {SLICE_INIT("vaultkv1"), SECRET_SOURCE_VAULT_KV1},
                            {SLICE_INIT("vaultkv2"), SECRET_SOURCE_VAULT_KV2}};

static enum err secret_trust_read_sources(struct slice text, unsigned *ret_sources,
                                          struct error *reterr)
{
    *ret_sources = 0;
    for (struct slice rest = text; rest.at != NULL;) {
        struct slice name = slice_trim(slice_cut(rest, '+', &rest), " ");
        unsigned source = 0;
        for (size_t i = 0; i < COUNT_OF(secret_trust_sources); i++) {
            if (slice_equals(secret_trust_sources[i].name, name)) {
                source = secret_trust_sources[i].source;
            }
        }
        if (source == 0) {
            return fail(reterr, ERR_INPUT,
                        "behind NAME= aws, envjson, vaultkv1 or vaultkv2 is expected, with '+' "
                        "between");
        }
        *ret_sources |= source;
    }
    return ERR_NONE;
}

static enum err secret_trust_read_entry(struct slice text, struct secret_trust_entry *ret_entry,
                                        struct error *reterr)
{
    struct slice sources = SLICE_NONE;
    struct secret_trust_entry entry = {.sources = SECRET_SOURCES_ALL};
    entry.organization = slice_trim(slice_cut(text, '=', &sources), " ");
    if (organization_check_name(entry.organization, NULL) != ERR_NONE) {
        return fail(reterr, ERR_INPUT, "names of organizations are expected, with commas between");
    }
    enum err err =
        sources.at == NULL ? ERR_NONE : secret_trust_read_sources(sources, &entry.sources, reterr);
    *ret_entry = entry;
    return err;
}

enum err secret_trust_parse(struct slice text, struct secret_trust *ret_trust, struct error *reterr)
{
    struct secret_trust trust = {.count = 0};
    for (struct slice rest = text; rest.at != NULL && !slice_equals(text, SLICE("off"));) {
        struct slice entry = slice_cut(rest, ',', &rest);
        if (trust.count == LIMIT_SECRET_TRUST) {
            return fail(reterr, ERR_LIMIT, "more than %d organizations", LIMIT_SECRET_TRUST);
        }
        enum err err = secret_trust_read_entry(entry, &trust.entries[trust.count++], reterr);
        if (err != ERR_NONE) {
            return err;
        }
    }
    *ret_trust = trust;
    return ERR_NONE;
}

unsigned secret_trust_of(const struct secret_trust *trust, struct slice id, struct slice name)
{
    unsigned sources = 0;
    for (size_t i = 0; i < trust->count; i++) {
        const struct secret_trust_entry *entry = &trust->entries[i];
        if (slice_equals(entry->organization, id) || slice_equals(entry->organization, name)) {
            sources |= entry->sources;
        }
    }
    return sources;
}

enum err secret_trust_check(unsigned sources, const struct shape_pairs *secret,
                            struct error *reterr)
{
    struct arena arena CLEANUP(arena_release);
    struct secret_reference reference;
    struct slice name = SLICE_NONE;
    arena_init(&arena);
    for (size_t i = 0; i < secret->count; i++) {
        const struct shape_pair *pair = &secret->pairs[i];
        if (secret_key_place(pair->key, &name) != SECRET_PLACE_BARE &&
            secret_reference_in(&arena, pair->value, &reference) &&
            (reference.source & sources) == 0) {
            return fail(reterr, ERR_INPUT, "'%.*s': " SECRET_TRUST_REFUSED, SLICE_ARG(pair->key));
        }
    }
    return ERR_NONE;
}
