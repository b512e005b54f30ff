/* SPDX-License-Identifier: MIT */
#include "model/secret_map.h"

#include "base/memory.h"
#include "base/text.h"
#include "codec/base64.h"

#define SECRET_NAME_MAX 127

/* What makes the loader, a shell or an interpreter run what the variable says. */
static const struct slice secret_denied_names[] = {
    SLICE_INIT("GCONV_PATH"),
    SLICE_INIT("GLIBC_TUNABLES"),
    SLICE_INIT("LOCPATH"),
    SLICE_INIT("NLSPATH"),
    SLICE_INIT("HOSTALIASES"),
    SLICE_INIT("BASH_ENV"),
    SLICE_INIT("SHELLOPTS"),
    SLICE_INIT("BASHOPTS"),
    SLICE_INIT("IFS"),
    SLICE_INIT("PS4"),
    SLICE_INIT("PROMPT_COMMAND"),
    SLICE_INIT("NODE_OPTIONS"),
    SLICE_INIT("PYTHONPATH"),
    SLICE_INIT("PYTHONHOME"),
    SLICE_INIT("PYTHONSTARTUP"),
    SLICE_INIT("PERL5LIB"),
    SLICE_INIT("PERL5OPT"),
    SLICE_INIT("PERLLIB"),
    SLICE_INIT("RUBYLIB"),
    SLICE_INIT("RUBYOPT"),
    SLICE_INIT("JAVA_TOOL_OPTIONS"),
    SLICE_INIT("_JAVA_OPTIONS"),
    SLICE_INIT("JDK_JAVA_OPTIONS"),
    SLICE_INIT("OPENSSL_CONF"),
    SLICE_INIT("OPENSSL_MODULES"),
    SLICE_INIT("OPENSSL_ENGINES"),
    SLICE_INIT("GIT_SSH_COMMAND"),
    SLICE_INIT("RESOLV_HOST_CONF"),
};

static bool secret_is_name(struct slice name)
{
    for (size_t i = 0; i < name.len; i++) {
        char byte = name.at[i];
        bool is_letter =
            (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
        bool is_digit = byte >= '0' && byte <= '9';
        if (!is_letter && !(is_digit && i > 0)) {
            return false;
        }
    }
    return name.len > 0 && name.len <= SECRET_NAME_MAX;
}

static enum err secret_check_name(struct slice name, struct error *reterr)
{
    if (!secret_is_name(name)) {
        return fail(reterr, ERR_INPUT,
                    "must name a variable: letters, digits and '_', not starting with a digit");
    }
    bool is_denied =
        slice_starts_with(name, SLICE("LD_")) || slice_starts_with(name, SLICE("DYLD_"));
    for (size_t i = 0; i < COUNT_OF(secret_denied_names); i++) {
        is_denied = is_denied || slice_equals(name, secret_denied_names[i]);
    }
    return is_denied ? fail(reterr, ERR_INPUT, "is a variable that programs take code from")
                     : ERR_NONE;
}

enum secret_place secret_key_place(struct slice key, struct slice *ret_name)
{
    static const struct {
        struct slice prefix;
        enum secret_place place;
    } places[] = {{SLICE_INIT("envvar:"), SECRET_PLACE_VARIABLE},
                  {SLICE_INIT("filesystem:"), SECRET_PLACE_FILE}};
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        if (slice_starts_with(key, places[i].prefix)) {
            *ret_name = slice_from(key, places[i].prefix.len);
            return places[i].place;
        }
    }
    *ret_name = key;
    return SECRET_PLACE_BARE;
}

enum err secret_check_key(struct slice key, struct error *reterr)
{
    struct slice name = SLICE_NONE;
    if (secret_key_place(key, &name) == SECRET_PLACE_BARE) {
        return fail(reterr, ERR_INPUT,
                    "must have a key that starts with 'envvar:' or 'filesystem:'");
    }
    return secret_check_name(name, reterr);
}

enum err secret_check_variable_key(struct slice key, struct error *reterr)
{
    struct slice name = SLICE_NONE;
    (void)secret_key_place(key, &name);
    return secret_check_name(name, reterr);
}

/* "_aws:ID:KEY": the id may hold colons, the last one separates. */
static bool secret_reference_read(struct slice text, struct secret_reference *ret_reference)
{
    static const struct {
        struct slice prefix;
        enum secret_source source;
    } sources[] = {{SLICE_INIT("_aws:"), SECRET_SOURCE_AWS},
                   {SLICE_INIT("_envjson:"), SECRET_SOURCE_ENVJSON},
                   {SLICE_INIT("_vaultkv1:"), SECRET_SOURCE_VAULT_KV1},
                   {SLICE_INIT("_vaultkv2:"), SECRET_SOURCE_VAULT_KV2},
                   {SLICE_INIT("_aws_iam_rds:"), SECRET_SOURCE_AWS_IAM_RDS}};
    size_t index = 0;
    while (index < COUNT_OF(sources) && !slice_starts_with(text, sources[index].prefix)) {
        index++;
    }
    if (index == COUNT_OF(sources)) {
        return false;
    }
    struct secret_reference reference = {
        .source = sources[index].source,
        .text = text,
        .name = slice_from(text, sources[index].prefix.len),
    };
    if (reference.source == SECRET_SOURCE_AWS_IAM_RDS) {
        *ret_reference = reference;
        return reference.name.len > 0;
    }
    size_t last = reference.name.len;
    for (size_t at = 0; at < reference.name.len; at++) {
        last = reference.name.at[at] == ':' ? at : last;
    }
    reference.key = slice_from(reference.name, last + 1);
    reference.name = slice_sub(reference.name, 0, last);
    *ret_reference = reference;
    return last > 0 && reference.key.len > 0;
}

bool secret_reference_in(struct arena *arena, struct slice value,
                         struct secret_reference *ret_reference)
{
    if (secret_reference_read(value, ret_reference)) {
        return true;
    }
    if (!slice_starts_with(value, SLICE("X"))) {
        return false; /* base64 of '_' starts with an X */
    }
    struct slice decoded = SLICE_NONE;
    if (base64_decode_in(arena, BASE64_STANDARD, value, &decoded) != ERR_NONE) {
        return false;
    }
    if (!secret_reference_read(decoded, ret_reference)) {
        explicit_bzero((char *)(uintptr_t)decoded.at, decoded.len);
        return false;
    }
    return true;
}

bool secret_is_reference(struct slice value)
{
    struct arena arena CLEANUP(arena_release);
    struct secret_reference reference;
    arena_init(&arena);
    return secret_reference_in(&arena, value, &reference);
}

enum err secret_check_value(struct slice value, struct error *reterr)
{
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    struct slice decoded = SLICE_NONE;
    struct secret_reference reference;
    if (value.len == 0 || secret_reference_read(value, &reference)) {
        return ERR_NONE;
    }
    enum err err = base64_decode_in(&arena, BASE64_STANDARD, value, &decoded);
    if (decoded.len > 0) {
        explicit_bzero((char *)(uintptr_t)decoded.at, decoded.len);
    }
    if (err != ERR_NONE && value.at[0] == '_') {
        return fail(reterr, ERR_INPUT,
                    "is no reference: _aws:, _envjson:, _vaultkv1: or _vaultkv2:, "
                    "then NAME:KEY");
    }
    return err == ERR_NONE ? ERR_NONE : fail(reterr, ERR_INPUT, "must be base64 or a reference");
}

enum err secret_check_variables(const struct shape_pairs *variables, const char *member,
                                struct error *reterr)
{
    for (size_t i = 0; i < variables->count; i++) {
        const struct shape_pair *pair = &variables->pairs[i];
        struct error reason = {0};
        struct slice name = SLICE_NONE;
        if (secret_key_place(pair->key, &name) != SECRET_PLACE_BARE &&
            secret_check_value(pair->value, &reason) != ERR_NONE) {
            return fail(reterr, ERR_INPUT, "'%s.%.*s' %s", member, SLICE_ARG(pair->key),
                        reason.message);
        }
    }
    return ERR_NONE;
}

struct slice secret_value_of_other(struct arena *arena, struct slice written)
{
    return base64_encode_in(arena, BASE64_STANDARD, written);
}

const struct shape_pair *secret_find(const struct shape_pairs *secrets, struct slice key)
{
    for (size_t i = 0; i < secrets->count; i++) {
        if (slice_equals(secrets->pairs[i].key, key)) {
            return &secrets->pairs[i];
        }
    }
    return NULL;
}

struct shape_pairs secret_merge_in(struct arena *arena, const struct shape_pairs *stored,
                                   const struct shape_pairs *given, bool is_change)
{
    struct shape_pairs merged = {
        .pairs = arena_alloc_array(arena, stored->count + given->count, sizeof(*merged.pairs)),
        .is_given = true,
    };
    for (size_t i = 0; i < given->count; i++) {
        struct shape_pair pair = given->pairs[i];
        if (pair.is_null && is_change) {
            continue;
        }
        const struct shape_pair *before = secret_find(stored, pair.key);
        if (pair.value.len == 0) {
            pair.value = before != NULL ? before->value : SLICE("");
        }
        pair.is_null = false;
        merged.pairs[merged.count++] = pair;
    }
    for (size_t i = 0; i < stored->count && is_change; i++) {
        if (secret_find(given, stored->pairs[i].key) == NULL) {
            merged.pairs[merged.count++] = stored->pairs[i];
        }
    }
    return merged;
}

bool secret_was_replaced(const struct shape_pairs *before, const struct shape_pairs *after)
{
    for (size_t i = 0; i < after->count; i++) {
        const struct shape_pair *now = &after->pairs[i];
        const struct shape_pair *was = secret_find(before, now->key);
        if (was != NULL && !slice_equals(was->value, now->value) &&
            !secret_is_reference(was->value) && !secret_is_reference(now->value)) {
            return true;
        }
    }
    return false;
}

struct shape_pairs secret_view_in(struct arena *arena, const struct shape_pairs *secrets)
{
    struct shape_pairs view = {
        .pairs = arena_alloc_array(arena, secrets->count, sizeof(*view.pairs)),
        .count = secrets->count,
        .is_given = true,
    };
    for (size_t i = 0; i < secrets->count; i++) {
        view.pairs[i] = secrets->pairs[i];
        view.pairs[i].is_null = !secret_is_reference(secrets->pairs[i].value);
    }
    return view;
}

struct slice secret_value_in(struct arena *arena, const struct shape_pairs *secrets,
                             const char *name)
{
    struct slice key = arena_format(arena, "envvar:%s", name);
    const struct shape_pair *pair = secret_find(secrets, key);
    struct slice value = SLICE_NONE;
    if (pair == NULL || secret_is_reference(pair->value) ||
        base64_decode_in(arena, BASE64_STANDARD, pair->value, &value) != ERR_NONE ||
        !text_is_utf8(value)) {
        return SLICE("");
    }
    return value;
}
