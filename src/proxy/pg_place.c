/* SPDX-License-Identifier: MIT */
#include "proxy/pg_place.h"

#include "base/memory.h"
#include "base/secret.h"
#include "base/text.h"

#define DEFAULT_PORT 5432

static const struct {
    const char *prefix; /* of the key; NAME alone is as good as envvar:NAME */
    const char *name;
} pg_place_names[] = {
    {"envvar:", "HOST"},
    {"envvar:", "PORT"},
    {"envvar:", "USER"},
    {"envvar:", "PASS"},
    {"envvar:", "DB"},
    {"envvar:", "SSLMODE"},
    {"filesystem:", "SSLROOTCERT"},
    {"filesystem:", "SSLCERT"},
    {"filesystem:", "SSLKEY"},
};

static bool pg_place_is(struct slice key, const char *prefix, const char *name)
{
    struct slice start = slice_of_text(prefix);
    bool has_prefix = slice_starts_with(key, start);
    return slice_equals(has_prefix ? slice_from(key, start.len) : key, slice_of_text(name));
}

/* SLICE_NONE when it is not there. */
static struct slice pg_place_find(const struct shape_pairs *variables, const char *prefix,
                                  const char *name)
{
    for (size_t i = 0; i < variables->count; i++) {
        if (pg_place_is(variables->pairs[i].key, prefix, name)) {
            return variables->pairs[i].value;
        }
    }
    return SLICE_NONE;
}

static enum err pg_place_read_port(struct slice text, uint16_t *ret_port, struct error *reterr)
{
    uint64_t port = DEFAULT_PORT;
    if (text.len > 0 &&
        (text_parse_u64(text, &port) != ERR_NONE || port == 0 || port > UINT16_MAX)) {
        return fail(reterr, ERR_INPUT, "'envvar:PORT' of the connection is not a port");
    }
    *ret_port = (uint16_t)port;
    return ERR_NONE;
}

static enum err pg_place_read_mode(struct slice text, enum pg_sslmode *ret_mode,
                                   struct error *reterr)
{
    static const struct {
        const char *text;
        enum pg_sslmode mode;
    } modes[] = {
        {"", PG_SSL_PREFER},
        {"disable", PG_SSL_DISABLE},
        {"prefer", PG_SSL_PREFER},
        {"require", PG_SSL_REQUIRE},
        {"verify-ca", PG_SSL_VERIFY_CA},
        {"verify-full", PG_SSL_VERIFY_FULL},
    };
    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        if (slice_equals(text, slice_of_text(modes[i].text))) {
            *ret_mode = modes[i].mode;
            return ERR_NONE;
        }
    }
    return fail(reterr, ERR_INPUT,
                "'envvar:SSLMODE' of the connection must be disable, prefer, require, verify-ca or "
                "verify-full");
}

enum err pg_place_read(const struct shape_pairs *variables, struct pg_place *ret_place,
                       struct error *reterr)
{
    struct pg_place place = {
        .host = pg_place_find(variables, "envvar:", "HOST"),
        .user = pg_place_find(variables, "envvar:", "USER"),
        .password = pg_place_find(variables, "envvar:", "PASS"),
        .database = pg_place_find(variables, "envvar:", "DB"),
        .trusted = pg_place_find(variables, "filesystem:", "SSLROOTCERT"),
        .certificate = pg_place_find(variables, "filesystem:", "SSLCERT"),
        .key = pg_place_find(variables, "filesystem:", "SSLKEY"),
    };
    if (place.host.len == 0 || place.user.len == 0) {
        return fail(reterr, ERR_INPUT, "the connection has no 'envvar:%s'",
                    place.host.len == 0 ? "HOST" : "USER");
    }
    if (place.password.len > SECRET_SIZE_MAX) {
        return fail(reterr, ERR_INPUT, "'envvar:PASS' of the connection is too long");
    }
    enum err err =
        pg_place_read_port(pg_place_find(variables, "envvar:", "PORT"), &place.port, reterr);
    if (err == ERR_NONE) {
        err =
            pg_place_read_mode(pg_place_find(variables, "envvar:", "SSLMODE"), &place.mode, reterr);
    }
    if (err == ERR_NONE) {
        *ret_place = place;
    }
    return err;
}

enum err pg_place_tls(const struct pg_place *place, struct tls_client **ret_client,
                      struct error *reterr)
{
    /* As libpq has it: who names issuers wants the server to be one of theirs. */
    bool is_required_of_issuer = place->mode == PG_SSL_REQUIRE && place->trusted.len > 0;
    const struct tls_client_settings settings = {
        .verify = place->mode == PG_SSL_VERIFY_FULL                          ? TLS_VERIFY_FULL
                  : place->mode == PG_SSL_VERIFY_CA || is_required_of_issuer ? TLS_VERIFY_CA
                                                                             : TLS_VERIFY_NONE,
        .trusted = {.bytes = place->trusted},
        .certificate = {.bytes = place->certificate},
        .key = {.bytes = place->key},
    };
    *ret_client = NULL;
    return place->mode == PG_SSL_DISABLE ? ERR_NONE : tls_client_new(&settings, ret_client, reterr);
}

struct shape_pairs pg_place_variables_in(struct arena *arena, const struct shape_pairs *variables,
                                         bool with_password)
{
    struct shape_pairs own = {.is_given = true};
    own.pairs = arena_alloc_array(arena, variables->count + 1, sizeof(*own.pairs));
    for (size_t i = 0; i < variables->count; i++) {
        struct slice key = variables->pairs[i].key;
        bool is_wanted = false;
        for (size_t j = 0; j < COUNT_OF(pg_place_names); j++) {
            is_wanted =
                is_wanted || pg_place_is(key, pg_place_names[j].prefix, pg_place_names[j].name);
        }
        if (is_wanted && (with_password || !pg_place_is(key, "envvar:", "PASS"))) {
            own.pairs[own.count++] = variables->pairs[i];
        }
    }
    return own;
}
