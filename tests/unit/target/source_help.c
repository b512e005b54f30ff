/* SPDX-License-Identifier: MIT */
#include "source_help.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

struct source_test test;

static const char *const variables[] = {
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_PROFILE",
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_SECRETS_MANAGER",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_CONFIG_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "AWS_EC2_METADATA_SERVICE_ENDPOINT",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "VAULT_ADDR",
    "VAULT_TOKEN",
    "VAULT_NAMESPACE",
    "VAULT_CACERT",
    "VAULT_MOUNTS",
    "VAULT_ROLE_ID",
    "VAULT_SECRET_ID",
    "APP",
    "http_proxy",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
};

static struct slice answer(void *context, struct arena *arena, struct slice request)
{
    (void)context;
    assert_true(test.seen_count < SEEN_MAX);
    test.seen[test.seen_count++] = arena_copy(&test.heard, request);
    for (size_t i = 0; i < test.line_count; i++) {
        const struct line *line = &test.lines[i];
        if (slice_find(request, slice_of_text(line->wanted)) == request.len) {
            continue;
        }
        if (test.asked_count[i]++ < line->busy_count) {
            return http_stub_json(arena, 429, "{}");
        }
        return line->status == 0 ? SLICE_NONE : http_stub_json(arena, line->status, line->body);
    }
    return http_stub_json(arena, 404, "{\"errors\":[]}");
}

void set(const char *name, const char *value)
{
    assert_int_equal(setenv(name, value, 1), 0);
}

int set_up(void **state)
{
    (void)state;
    memset(&test, 0, sizeof(test));
    arena_init(&test.arena);
    arena_init(&test.heard);
    for (size_t i = 0; i < COUNT_OF(variables); i++) {
        (void)unsetenv(variables[i]);
    }
    (void)snprintf(test.folder, sizeof(test.folder), "/tmp/gatehouse-source-XXXXXX");
    assert_non_null(mkdtemp(test.folder));
    set("HOME", test.folder);
    set("AWS_EC2_METADATA_DISABLED", "true");
    test.stub = http_stub_new(answer, NULL, NULL);
    return 0;
}

int tear_down(void **state)
{
    (void)state;
    http_stub_free(test.stub);
    arena_release(&test.heard);
    arena_release(&test.arena);
    (void)rmdir(test.folder);
    return 0;
}

void use_aws(void)
{
    set("AWS_ACCESS_KEY_ID", "AKID");
    set("AWS_SECRET_ACCESS_KEY", "s3cret-access-key");
    set("AWS_REGION", "eu-west-1");
    set("AWS_ENDPOINT_URL", http_stub_url(test.stub));
}

void use_vault(void)
{
    set("VAULT_ADDR", http_stub_url(test.stub));
    set("VAULT_TOKEN", "hvs.s3cret\n");
}

enum err resolve(const struct shape_pairs *secret)
{
    return secret_sources_resolve(&test.arena, SECRET_SOURCES_ALL, secret, &test.plain, &test.all,
                                  &test.error);
}

void check_plain(const struct shape_pairs *secret, const char *const *values)
{
    test.error.message[0] = '\0';
    enum err err = resolve(secret);
    assert_string_equal(test.error.message, "");
    assert_int_equal(err, ERR_NONE);
    assert_int_equal(test.plain.count, secret->count);
    for (size_t i = 0; i < secret->count; i++) {
        assert_true(slice_equals(test.plain.pairs[i].key, secret->pairs[i].key));
        assert_string_equal(arena_text(&test.arena, test.plain.pairs[i].value), values[i]);
    }
}

void check_failure(const struct shape_pairs *secret, enum err wanted, const char *message)
{
    enum err err = resolve(secret);
    assert_string_equal(test.error.message, message);
    assert_int_equal(err, wanted);
}

void check_cause(const char *reference, const char *cause)
{
    struct shape_pair pair = {.key = SLICE("envvar:A"), .value = slice_of_text(reference)};
    const char *message =
        arena_format(&test.arena, "cannot get 1 secret: envvar:A (%s): %s", reference, cause).at;
    enum err err = resolve(&(struct shape_pairs){.pairs = &pair, .count = 1});
    assert_true(err != ERR_NONE);
    assert_string_equal(test.error.message, message);
}

bool was_seen(const char *text)
{
    for (size_t i = 0; i < test.seen_count; i++) {
        if (slice_find(test.seen[i], slice_of_text(text)) < test.seen[i].len) {
            return true;
        }
    }
    return false;
}
