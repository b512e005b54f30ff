/* SPDX-License-Identifier: MIT */
/* All of it in a process as the gateway is one: confined by io/sandbox.h. */
#include "base/memory.h"
#include "http_stub.h"
#include "io/fetch.h"
#include "io/sandbox.h"
#include "target/secret_source.h"
#include "target/session_files.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            return __LINE__ % 256;                                                                 \
        }                                                                                          \
    } while (0)

static struct arena arena;
static char root[64];

static struct slice answer(void *context, struct arena *scratch, struct slice request)
{
    (void)context;
    bool is_aws = slice_find(request, SLICE("Credential=FILEID/")) < request.len;
    bool is_vault = slice_starts_with(request, SLICE("GET /v1/kv/app "));
    return is_aws     ? http_stub_json(scratch, 200, "{\"SecretString\":\"{\\\"a\\\":\\\"1\\\"}\"}")
           : is_vault ? http_stub_json(scratch, 200, "{\"data\":{\"a\":\"2\"}}")
                      : http_stub_json(scratch, 404, "{}");
}

static const char *path_in_root(const char *name)
{
    return arena_format(&arena, "%s/%s", root, name).at;
}

/* The line that went wrong, or 0. */
static int run_confined(void)
{
    struct shape_pair pairs[] = {
        {.key = SLICE("envvar:A"), .value = SLICE("_aws:one:a")},
        {.key = SLICE("filesystem:B"), .value = SLICE("_vaultkv1:kv/app:a")},
        {.key = SLICE("envvar:C"), .value = SLICE("_aws:two:a")},
    };
    struct shape_pairs secret = {.pairs = pairs, .count = COUNT_OF(pairs)};
    struct shape_pairs plain;
    struct shape_pairs variables;
    struct session_files *files = NULL;
    struct sandbox_settings settings = {.writable = {path_in_root("data")}};
    struct sandbox_state state;
    const char *paths[SECRET_SOURCE_FILES_MAX];
    size_t count = secret_source_files_in(&arena, paths);
    for (size_t i = 0; i < count; i++) {
        settings.replaced[i] = paths[i];
    }
    EXPECT(sandbox_start(&settings, &state, NULL) == ERR_NONE);
    struct error error = {.message = ""};
    enum err err =
        secret_sources_resolve(&arena, SECRET_SOURCES_ALL, &secret, &plain, NULL, &error);
    if (err != ERR_NONE) {
        print_error("%s\n", error.message);
    }
    EXPECT(err == ERR_NONE);
    EXPECT(slice_equals(plain.pairs[0].value, SLICE("1")));
    EXPECT(slice_equals(plain.pairs[1].value, SLICE("2")));
    EXPECT(session_files_new(path_in_root("data/files"), &files, NULL) == ERR_NONE);
    EXPECT(session_files_write(files, &arena, SLICE("s"), &plain, &variables, NULL) == ERR_NONE);
    EXPECT(access(arena_text(&arena, variables.pairs[1].value), R_OK) == 0);
    EXPECT(session_files_remove(files, SLICE("s"), NULL) == ERR_NONE);
    EXPECT(access(arena_text(&arena, variables.pairs[1].value), R_OK) != 0);
    session_files_free(files);
    return 0;
}

static void secrets_and_files_need_no_more_than_the_sandbox_lets_through(void **state)
{
    (void)state;
    static const char credentials[] =
        "[default]\naws_access_key_id=FILEID\naws_secret_access_key=key\nregion=eu-west-1\n";
    (void)snprintf(root, sizeof(root), "/tmp/gatehouse-confined-XXXXXX");
    assert_non_null(mkdtemp(root));
    assert_int_equal(mkdir(path_in_root("data"), 0700), 0);
    assert_int_equal(mkdir(path_in_root(".aws"), 0700), 0);
    int fd = open(path_in_root(".aws/credentials"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, credentials, sizeof(credentials) - 1), sizeof(credentials) - 1);
    (void)close(fd);
    struct http_stub *stub = http_stub_new(answer, NULL, NULL);
    assert_int_equal(setenv("HOME", root, 1), 0);
    assert_int_equal(setenv("AWS_EC2_METADATA_DISABLED", "true", 1), 0);
    assert_int_equal(setenv("AWS_ENDPOINT_URL", http_stub_url(stub), 1), 0);
    assert_int_equal(setenv("VAULT_ADDR", http_stub_url(stub), 1), 0);
    assert_int_equal(setenv("VAULT_TOKEN", "token", 1), 0);
    pid_t child = fork();
    if (child == 0) {
        _exit(run_confined());
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    http_stub_free(stub);
    (void)unlink(path_in_root(".aws/credentials"));
    (void)rmdir(path_in_root(".aws"));
    (void)rmdir(path_in_root("data/files"));
    (void)rmdir(path_in_root("data"));
    (void)rmdir(root);
}

int main(void)
{
    static const char *const unwanted[] = {
        "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",      "AWS_PROFILE", "AWS_CONFIG_FILE",
        "AWS_REGION",        "AWS_DEFAULT_REGION",         "http_proxy",  "all_proxy",
        "VAULT_NAMESPACE",   "AWS_SHARED_CREDENTIALS_FILE"};
    for (size_t i = 0; i < COUNT_OF(unwanted); i++) {
        (void)unsetenv(unwanted[i]);
    }
    fetch_start();
    json_set_seed(1);
    arena_init(&arena);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(secrets_and_files_need_no_more_than_the_sandbox_lets_through),
    };
    int failed = cmocka_run_group_tests_name("target/confined", tests, NULL, NULL);
    arena_release(&arena);
    return failed;
}
