/* SPDX-License-Identifier: MIT */
#include "protocol/place.h"

#include "base/memory.h"
#include "base/secret.h"
#include "base/text.h"
#include "model/secret_map.h"

static const char *const place_names[] = {
    "HOST",        "PORT",        "USER",    "PASS",         "DB",         "SSLMODE",
    "SSLROOTCERT", "SSLCERT",     "SSLKEY",  "PRIVATE_KEY",  "PASSPHRASE", "CERTIFICATE",
    "HOST_KEY",    "KNOWN_HOSTS", "FORWARD", "FORWARD_BACK", "ACCEPT_ENV", "LOGINS",
};

static const char *const place_secrets[] = {"PASS", "PRIVATE_KEY", "PASSPHRASE"};

static bool place_is(struct slice key, const char *name)
{
    struct slice own = SLICE_NONE;
    (void)secret_key_place(key, &own);
    return slice_equals(own, slice_of_text(name));
}

/* 'NAME' alone is as good as 'envvar:NAME'. */
struct slice place_variable(const struct shape_pairs *variables, const char *name)
{
    struct slice own = SLICE_NONE;
    for (size_t i = 0; i < variables->count; i++) {
        if (secret_key_place(variables->pairs[i].key, &own) != SECRET_PLACE_FILE &&
            slice_equals(own, slice_of_text(name))) {
            return variables->pairs[i].value;
        }
    }
    return SLICE_NONE;
}

/* *ret_path is NULL when it is not there. */
static enum err place_find_file(struct arena *arena, const struct shape_pairs *variables,
                                const char *name, const char **ret_path, struct error *reterr)
{
    struct slice own = SLICE_NONE;
    *ret_path = NULL;
    for (size_t i = 0; i < variables->count; i++) {
        const struct shape_pair *pair = &variables->pairs[i];
        enum secret_place place = secret_key_place(pair->key, &own);
        if (!slice_equals(own, slice_of_text(name))) {
            continue;
        }
        if (place != SECRET_PLACE_FILE) {
            return fail(reterr, ERR_INPUT, "'%.*s' of the connection must be 'filesystem:%s'",
                        SLICE_ARG(pair->key), name);
        }
        *ret_path = arena_text(arena, pair->value);
    }
    return ERR_NONE;
}

static enum err place_read_port(struct slice text, uint16_t otherwise, uint16_t *ret_port,
                                struct error *reterr)
{
    uint64_t port = otherwise;
    if (text.len == 0 && otherwise == 0) {
        return fail(reterr, ERR_INPUT, "the connection has no 'envvar:PORT'");
    }
    if (text.len > 0 &&
        (text_parse_u64(text, &port) != ERR_NONE || port == 0 || port > UINT16_MAX)) {
        return fail(reterr, ERR_INPUT, "'envvar:PORT' of the connection is not a port");
    }
    *ret_port = (uint16_t)port;
    return ERR_NONE;
}

static enum err place_read_mode(struct slice text, enum place_tls *ret_mode, struct error *reterr)
{
    static const struct {
        const char *text;
        enum place_tls mode;
    } modes[] = {
        {"", PLACE_TLS_PREFER},
        {"disable", PLACE_TLS_DISABLE},
        {"prefer", PLACE_TLS_PREFER},
        {"require", PLACE_TLS_REQUIRE},
        {"verify-ca", PLACE_TLS_VERIFY_CA},
        {"verify-full", PLACE_TLS_VERIFY_FULL},
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

static enum err place_read_files(struct arena *arena, const struct shape_pairs *variables,
                                 struct place *place, struct error *reterr)
{
    enum err err = place_find_file(arena, variables, "SSLROOTCERT", &place->trusted, reterr);
    if (err == ERR_NONE) {
        err = place_find_file(arena, variables, "SSLCERT", &place->certificate, reterr);
    }
    return err == ERR_NONE ? place_find_file(arena, variables, "SSLKEY", &place->key, reterr) : err;
}

enum err place_read(struct arena *arena, const struct place_rules *rules,
                    const struct shape_pairs *variables, struct place *ret_place,
                    struct error *reterr)
{
    struct place place = {
        .host = place_variable(variables, "HOST"),
        .user = place_variable(variables, "USER"),
        .password = place_variable(variables, "PASS"),
        .database = place_variable(variables, "DB"),
        .private_key = place_variable(variables, "PRIVATE_KEY"),
        .passphrase = place_variable(variables, "PASSPHRASE"),
        .user_certificate = place_variable(variables, "CERTIFICATE"),
        .host_key = place_variable(variables, "HOST_KEY"),
        .known_hosts = place_variable(variables, "KNOWN_HOSTS"),
        .forward = place_variable(variables, "FORWARD"),
        .forward_back = place_variable(variables, "FORWARD_BACK"),
        .accept_env = place_variable(variables, "ACCEPT_ENV"),
        .logins = place_variable(variables, "LOGINS"),
    };
    if (place.host.len == 0 || (rules->needs_user && place.user.len == 0)) {
        return fail(reterr, ERR_INPUT, "the connection has no 'envvar:%s'",
                    place.host.len == 0 ? "HOST" : "USER");
    }
    if (place.password.len > SECRET_SIZE_MAX) {
        return fail(reterr, ERR_INPUT, "'envvar:PASS' of the connection is too long");
    }
    enum err err =
        place_read_port(place_variable(variables, "PORT"), rules->port, &place.port, reterr);
    if (err == ERR_NONE) {
        err = place_read_mode(place_variable(variables, "SSLMODE"), &place.mode, reterr);
    }
    if (err == ERR_NONE) {
        err = place_read_files(arena, variables, &place, reterr);
    }
    if (err == ERR_NONE && rules->prepare != NULL) {
        err = rules->prepare(arena, &place, reterr);
    }
    if (err == ERR_NONE) {
        *ret_place = place;
    }
    return err;
}

static enum err place_tls(const struct place *place, struct tls_client **ret_client,
                          struct error *reterr)
{
    /* As libpq has it: who names issuers wants the server to be one of theirs. */
    bool is_required_of_issuer = place->mode == PLACE_TLS_REQUIRE && place->trusted != NULL;
    const struct tls_client_settings settings = {
        .verify = place->mode == PLACE_TLS_VERIFY_FULL                          ? TLS_VERIFY_FULL
                  : place->mode == PLACE_TLS_VERIFY_CA || is_required_of_issuer ? TLS_VERIFY_CA
                                                                                : TLS_VERIFY_NONE,
        .trusted = {.path = place->trusted, .name = "filesystem:SSLROOTCERT"},
        .certificate = {.path = place->certificate, .name = "filesystem:SSLCERT"},
        .key = {.path = place->key, .name = "filesystem:SSLKEY"},
    };
    *ret_client = NULL;
    return place->mode == PLACE_TLS_DISABLE ? ERR_NONE
                                            : tls_client_new(&settings, ret_client, reterr);
}

/* Keys stay as they are, for they say which values are paths now. */
static enum err place_write_files(const struct place_owner *owner, const struct shape_pairs *plain,
                                  struct shape_pairs *ret_variables, struct error *reterr)
{
    enum err err = session_files_write(owner->files, owner->arena, owner->session_id, plain,
                                       ret_variables, reterr);
    for (size_t i = 0; i < plain->count && err == ERR_NONE; i++) {
        ret_variables->pairs[i].key = plain->pairs[i].key;
    }
    return err;
}

enum err place_open(const struct place_owner *owner, const struct shape_pairs *plain,
                    struct place *ret_place, struct tls_client **ret_tls, struct error *reterr)
{
    struct shape_pairs variables = *plain;
    struct place place = {.port = 0};
    if (owner->rules->is_command) {
        *ret_tls = NULL;
        *ret_place = (struct place){.host = SLICE(""), .variables = *plain};
        return ERR_NONE;
    }
    bool has_files = session_files_are_wanted(plain);
    enum err err = has_files ? place_write_files(owner, plain, &variables, reterr) : ERR_NONE;
    if (err != ERR_NONE) {
        return err;
    }
    err = place_read(owner->arena, owner->rules, &variables, &place, reterr);
    if (err == ERR_NONE) {
        err = place_tls(&place, ret_tls, reterr);
    }
    if (err == ERR_NONE) {
        *ret_place = place;
        ret_place->has_files = has_files;
    } else if (has_files) {
        enum err removed = session_files_remove(owner->files, owner->session_id, NULL);
        (void)removed; /* what stays goes with the process */
    }
    return err;
}

static bool place_is_secret(struct slice key)
{
    bool is_secret = false;
    for (size_t i = 0; i < COUNT_OF(place_secrets); i++) {
        is_secret = is_secret || place_is(key, place_secrets[i]);
    }
    return is_secret;
}

struct shape_pairs place_variables_in(struct arena *arena, const struct shape_pairs *variables,
                                      bool with_password)
{
    struct shape_pairs own = {.is_given = true};
    own.pairs = arena_alloc_array(arena, variables->count + 1, sizeof(*own.pairs));
    for (size_t i = 0; i < variables->count; i++) {
        struct slice key = variables->pairs[i].key;
        bool is_wanted = false;
        for (size_t j = 0; j < COUNT_OF(place_names); j++) {
            is_wanted = is_wanted || place_is(key, place_names[j]);
        }
        if (is_wanted && (with_password || !place_is_secret(key))) {
            own.pairs[own.count++] = variables->pairs[i];
        }
    }
    return own;
}
