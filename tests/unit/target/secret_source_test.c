/* SPDX-License-Identifier: MIT */
/* One server on this machine plays AWS Secrets Manager, Vault, and the metadata services. */
#include "target/secret_source.h"

#include "base/limits.h"
#include "base/memory.h"
#include "codec/base64.h"
#include "http_stub.h"
#include "io/clock.h"
#include "io/fetch.h"
#include "model/secret_map.h"
#include "target/aws_credentials.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#define SEEN_MAX 64
#define PAIR(k, v)                                                                                 \
    {                                                                                              \
        .key = SLICE_INIT(k), .value = SLICE_INIT(v)                                               \
    }
#define PAIRS(array) (&(struct shape_pairs){.pairs = (array), .count = COUNT_OF(array)})

/* What is answered to a request whose text has 'wanted' in it; the first that fits. */
struct line {
    const char *wanted;
    int status; /* 0: never answered */
    const char *body;
    unsigned busy_count; /* answers of 429 before it */
};

static struct {
    struct arena arena;
    struct http_stub *stub;
    const struct line *lines;
    size_t line_count;
    unsigned asked_count[SEEN_MAX]; /* of each line */
    struct slice seen[SEEN_MAX];    /* whole requests */
    size_t seen_count;
    struct shape_pairs plain;
    struct slice all;
    struct error error;
    char folder[64];
} test;

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
    test.seen[test.seen_count++] = arena_copy(&test.arena, request);
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

static void set(const char *name, const char *value)
{
    assert_int_equal(setenv(name, value, 1), 0);
}

static int set_up(void **state)
{
    (void)state;
    memset(&test, 0, sizeof(test));
    arena_init(&test.arena);
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

static int tear_down(void **state)
{
    (void)state;
    http_stub_free(test.stub);
    arena_release(&test.arena);
    (void)rmdir(test.folder);
    return 0;
}

static void use_aws(void)
{
    set("AWS_ACCESS_KEY_ID", "AKID");
    set("AWS_SECRET_ACCESS_KEY", "s3cret-access-key");
    set("AWS_REGION", "eu-west-1");
    set("AWS_ENDPOINT_URL", http_stub_url(test.stub));
}

static void use_vault(void)
{
    set("VAULT_ADDR", http_stub_url(test.stub));
    set("VAULT_TOKEN", "hvs.s3cret\n");
}

#define ANSWERS(array) (test.lines = (array), test.line_count = COUNT_OF(array))

static enum err resolve(const struct shape_pairs *secret)
{
    return secret_sources_resolve(&test.arena, secret, &test.plain, &test.all, &test.error);
}

static void check_plain(const struct shape_pairs *secret, const char *const *values)
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

static void check_failure(const struct shape_pairs *secret, enum err wanted, const char *message)
{
    enum err err = resolve(secret);
    assert_string_equal(test.error.message, message);
    assert_int_equal(err, wanted);
}

/* Of one secret that is a reference. */
static void check_cause(const char *reference, const char *cause)
{
    struct shape_pair pair = {.key = SLICE("envvar:A"), .value = slice_of_text(reference)};
    const char *message =
        arena_format(&test.arena, "cannot get 1 secret: envvar:A (%s): %s", reference, cause).at;
    enum err err = resolve(&(struct shape_pairs){.pairs = &pair, .count = 1});
    assert_true(err != ERR_NONE);
    assert_string_equal(test.error.message, message);
}

static bool was_seen(const char *text)
{
    for (size_t i = 0; i < test.seen_count; i++) {
        if (slice_find(test.seen[i], slice_of_text(text)) < test.seen[i].len) {
            return true;
        }
    }
    return false;
}

/* Inline -------------------------------------------------------------------------------------- */

static void inline_values_are_decoded_and_bare_ones_are_text(void **state)
{
    (void)state;
    struct shape_pair secrets[] = {PAIR("envvar:A", "czNjcmV0"), PAIR("filesystem:B", ""),
                                   PAIR("BARE", "czNjcmV0"), PAIR("filesystem:C", "AAE=")};
    static const char *const values[] = {"s3cret", "", "czNjcmV0", ""};
    check_plain(PAIRS(secrets), values);
    assert_int_equal(test.plain.pairs[3].value.len, 2);
    assert_true(test.arena.has_secrets);
    assert_int_equal(test.seen_count, 0);
    check_plain(&(struct shape_pairs){.count = 0}, NULL);
}

static void wrong_inline_values_are_told_without_them(void **state)
{
    (void)state;
    struct shape_pair secrets[] = {PAIR("envvar:A", "s3cret!"), PAIR("envvar:B", "AAE="),
                                   PAIR("envvar:C", "czNjcmV0"), PAIR("envvar:D", "s3cret?")};
    check_failure(PAIRS(secrets), ERR_INPUT,
                  "cannot get 3 secrets: envvar:A, envvar:D: is neither base64 nor a reference; "
                  "envvar:B: the value has a NUL byte, which only a file can hold");
    assert_string_equal(test.all.at,
                        "envvar:A: is neither base64 nor a reference\n"
                        "envvar:B: the value has a NUL byte, which only a file can hold\n"
                        "envvar:D: is neither base64 nor a reference");
}

/* The environment ----------------------------------------------------------------------------- */

static void a_variable_holds_a_json_object(void **state)
{
    (void)state;
    set("APP", "{\"user\":\"app\",\"port\":5432,\"deep\":{\"a\":1}}");
    struct shape_pair secrets[] = {PAIR("envvar:USER_NAME", "_envjson:APP:user"),
                                   PAIR("filesystem:PORT", "X2Vudmpzb246QVBQOnBvcnQ=")};
    static const char *const values[] = {"app", "5432"};
    check_plain(PAIRS(secrets), values);
    check_cause("_envjson:APP:deep", "'deep' in the secret is an object");
    check_cause("_envjson:APP:nope", "the secret has no 'nope'");
    check_cause("_envjson:NOPE:a", "the agent's environment has no such variable");
    set("APP", "s3cret");
    check_cause("_envjson:APP:a", "the variable is not a JSON object: it is no JSON");
    check_cause("_aws_iam_rds:app", "tokens for databases by IAM are not supported");
}

/* AWS ----------------------------------------------------------------------------------------- */

static const struct line aws_lines[] = {
    {"\"SecretId\":\"prod/db\"", 200,
     "{\"SecretString\":\"{\\\"user\\\":\\\"app\\\",\\\"password\\\":\\\"p\\\"}\"}", 0},
    {"\"SecretId\":\"other\"", 200, "{\"SecretBinary\":\"eyJhIjoiYiJ9\"}", 0},
    {"\"SecretId\":\"slow\"", 200, "{\"SecretString\":\"{\\\"a\\\":true}\"}", 2},
    {"\"SecretId\":\"busy\"", 200, "", 99},
    {"\"SecretId\":\"arn:aws:secretsmanager:us-east-2:1:secret:x\"", 200,
     "{\"SecretString\":\"{\\\"a\\\":\\\"of the other region\\\"}\"}", 0},
    {"\"SecretId\":\"text\"", 200, "{\"SecretString\":\"s3cret\"}", 0},
    {"\"SecretId\":\"denied\"", 400,
     "{\"__type\":\"AccessDeniedException\",\"Message\":\"User: u is not authorized\"}", 0},
    {"\"SecretId\":", 400,
     "{\"__type\":\"ResourceNotFoundException\",\"Message\":\"Secrets Manager can't find it.\"}",
     0},
};

static void each_secret_of_aws_is_asked_for_once(void **state)
{
    (void)state;
    use_aws();
    ANSWERS(aws_lines);
    set("AWS_SESSION_TOKEN", "s3cret-token");
    struct shape_pair secrets[] = {PAIR("envvar:USER_NAME", "_aws:prod/db:user"),
                                   PAIR("envvar:PASS", "X2F3czpwcm9kL2RiOnBhc3N3b3Jk"),
                                   PAIR("filesystem:A", "_aws:other:a"),
                                   PAIR("envvar:INLINE", "aW4=")};
    static const char *const values[] = {"app", "p", "b", "in"};
    check_plain(PAIRS(secrets), values);
    assert_int_equal(test.seen_count, 2);
    struct slice request = test.seen[0];
    assert_true(slice_starts_with(request, SLICE("POST / HTTP/1.1\r\n")));
    assert_true(slice_equals(http_stub_header(request, "x-amz-target"),
                             SLICE("secretsmanager.GetSecretValue")));
    assert_true(slice_equals(http_stub_header(request, "content-type"),
                             SLICE("application/x-amz-json-1.1")));
    assert_true(
        slice_equals(http_stub_header(request, "x-amz-security-token"), SLICE("s3cret-token")));
    struct slice signature = http_stub_header(request, "authorization");
    assert_true(slice_starts_with(signature, SLICE("AWS4-HMAC-SHA256 Credential=AKID/")));
    assert_true(slice_find(signature, SLICE("/eu-west-1/secretsmanager/aws4_request, "
                                            "SignedHeaders=content-type;host;x-amz-date;"
                                            "x-amz-security-token;x-amz-target")) < signature.len);
}

/* The signature of what was really sent, made anew from it. */
static void the_signature_is_that_of_what_is_sent(void **state)
{
    (void)state;
    use_aws();
    ANSWERS(aws_lines);
    struct shape_pair secrets[] = {PAIR("envvar:A", "_aws:other:a")};
    static const char *const values[] = {"b"};
    check_plain(PAIRS(secrets), values);
    static const char *const names[] = {"host", "content-type", "x-amz-target", "x-amz-date"};
    struct aws_header headers[COUNT_OF(names)];
    struct slice sent = test.seen[0];
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        headers[i] = (struct aws_header){slice_of_text(names[i]), http_stub_header(sent, names[i])};
        assert_true(headers[i].value.len > 0);
    }
    struct aws_request request = {.method = SLICE("POST"),
                                  .path = SLICE("/"),
                                  .query = SLICE(""),
                                  .body = http_stub_body(sent),
                                  .headers = headers,
                                  .header_count = COUNT_OF(names)};
    struct aws_credentials credentials = {.access_key_id = SLICE("AKID"),
                                          .secret_access_key = SLICE("s3cret-access-key")};
    struct aws_scope scope = {.region = SLICE("eu-west-1"), .service = SLICE("secretsmanager")};
    char text[AWS_TIME_SIZE];
    bool is_same = false;
    for (int64_t ago = 0; ago < 10 && !is_same; ago++) {
        scope.time = clock_now() - ago * 1000000;
        is_same = slice_equals(aws_time_format(scope.time, text), headers[3].value);
    }
    assert_true(is_same);
    struct slice wanted = aws_authorization_in(&test.arena, &request, &credentials, &scope);
    assert_true(slice_equals(http_stub_header(sent, "authorization"), wanted));
}

static void an_arn_says_its_region(void **state)
{
    (void)state;
    use_aws();
    (void)unsetenv("AWS_REGION");
    ANSWERS(aws_lines);
    struct shape_pair secrets[] = {
        PAIR("envvar:A", "_aws:arn:aws:secretsmanager:us-east-2:1:secret:x:a")};
    static const char *const values[] = {"of the other region"};
    check_plain(PAIRS(secrets), values);
    assert_true(was_seen("/us-east-2/secretsmanager/"));
    check_cause("_aws:arn:aws:secretsmanager:evil.example/:1:secret:x:a",
                "the ARN's region is no name of one");
    check_cause("_aws:other:a", "AWS_REGION is not set in the agent's environment");
    set("AWS_DEFAULT_REGION", "evil.example/");
    check_cause("_aws:other:a", "the agent's AWS region is no name of one");
}

static void what_aws_refuses_is_told_with_key_and_reference(void **state)
{
    (void)state;
    use_aws();
    ANSWERS(aws_lines);
    struct shape_pair secrets[] = {
        PAIR("envvar:OK", "_aws:prod/db:user"),
        PAIR("envvar:A", "_aws:denied:a"),
        PAIR("envvar:B", "_aws:denied:b"),
        PAIR("envvar:C", "_aws:nowhere:c"),
        PAIR("envvar:D", "X2F3czpwcm9kL2RiOm5vcGU="),
        PAIR("envvar:E", "_aws:text:a"),
    };
    check_failure(PAIRS(secrets), ERR_UNAVAILABLE,
                  "cannot get 5 secrets: envvar:A (_aws:denied:a), envvar:B (_aws:denied:b): "
                  "AccessDeniedException: User: u is not authorized; envvar:C (_aws:nowhere:c): "
                  "ResourceNotFoundException: Secrets Manager can't find it; envvar:D "
                  "(_aws:prod/db:nope): the secret has no 'nope'; and 1 more");
    assert_string_equal(
        test.all.at,
        "envvar:A (_aws:denied:a): AccessDeniedException: User: u is not authorized\n"
        "envvar:B (_aws:denied:b): AccessDeniedException: User: u is not authorized\n"
        "envvar:C (_aws:nowhere:c): ResourceNotFoundException: Secrets Manager can't find it\n"
        "envvar:D (_aws:prod/db:nope): the secret has no 'nope'\n"
        "envvar:E (_aws:text:a): the secret is not a JSON object: it is no JSON");
    assert_int_equal(test.seen_count, 4);
}

static void who_asks_for_patience_is_asked_again(void **state)
{
    (void)state;
    use_aws();
    ANSWERS(aws_lines);
    struct shape_pair secrets[] = {PAIR("envvar:A", "_aws:slow:a"),
                                   PAIR("envvar:B", "_aws:other:a")};
    static const char *const values[] = {"true", "b"};
    check_plain(PAIRS(secrets), values);
    assert_int_equal(test.seen_count, 4);
    check_cause("_aws:busy:a", "AWS answers with status 429");
    assert_int_equal(test.seen_count, 4 + LIMIT_SECRET_ATTEMPTS);
}

static void many_secrets_are_asked_for_some_at_a_time(void **state)
{
    (void)state;
    struct shape_pair secrets[40];
    use_vault();
    static const struct line lines[] = {{"GET /v1/kv/", 200, "{\"data\":{\"a\":\"b\"}}", 0}};
    ANSWERS(lines);
    for (size_t i = 0; i < COUNT_OF(secrets); i++) {
        secrets[i] =
            (struct shape_pair){.key = arena_format(&test.arena, "envvar:A%zu", i),
                                .value = arena_format(&test.arena, "_vaultkv1:kv/%zu:a", i)};
    }
    assert_int_equal(resolve(PAIRS(secrets)), ERR_NONE);
    assert_int_equal(test.seen_count, COUNT_OF(secrets));
    assert_true(http_stub_most_at_once(test.stub) > 1);
    assert_true(http_stub_most_at_once(test.stub) <= LIMIT_FETCH_AT_ONCE);
}

/* Who the agent is to AWS --------------------------------------------------------------------- */

static void write_file(const char *name, const char *text)
{
    const char *path = arena_format(&test.arena, "%s/%s", test.folder, name).at;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    (void)close(fd);
}

static void remove_file(const char *name)
{
    (void)unlink(arena_format(&test.arena, "%s/%s", test.folder, name).at);
}

static void check_credentials(const char *id, const char *key, const char *token)
{
    struct aws_credentials found;
    test.error.message[0] = '\0';
    enum err err = aws_credentials_find_in(&test.arena, &found, &test.error);
    assert_string_equal(test.error.message, "");
    assert_int_equal(err, ERR_NONE);
    assert_string_equal(arena_text(&test.arena, found.access_key_id), id);
    assert_string_equal(arena_text(&test.arena, found.secret_access_key), key);
    assert_string_equal(arena_text(&test.arena, found.session_token), token);
}

static void check_no_credentials(const char *message)
{
    struct aws_credentials found;
    assert_true(aws_credentials_find_in(&test.arena, &found, &test.error) != ERR_NONE);
    assert_string_equal(test.error.message, message);
}

static void credentials_come_from_variables_first(void **state)
{
    (void)state;
    check_no_credentials(
        "no AWS credentials in the agent's environment, files, container or machine");
    set("AWS_WEB_IDENTITY_TOKEN_FILE", "/run/token");
    check_no_credentials("AWS_WEB_IDENTITY_TOKEN_FILE is set, which is not supported: use EKS Pod "
                         "Identity");
    set("AWS_SECRET_ACCESS_KEY", "key");
    check_no_credentials("AWS_SECRET_ACCESS_KEY is set without AWS_ACCESS_KEY_ID");
    set("AWS_ACCESS_KEY_ID", "id");
    set("AWS_PROFILE", "nobody");
    check_credentials("id", "key", "");
    (void)unsetenv("AWS_SECRET_ACCESS_KEY");
    check_no_credentials("AWS_ACCESS_KEY_ID is set without AWS_SECRET_ACCESS_KEY");
}

static void credentials_and_region_come_from_the_files_of_a_profile(void **state)
{
    (void)state;
    struct slice region = SLICE_NONE;
    write_file("credentials", "[default]\naws_access_key_id=d\naws_secret_access_key=k\n"
                              "[prod]\naws_access_key_id=p\naws_secret_access_key=k\n"
                              "aws_session_token=t\n");
    write_file("config", "[default]\nregion=eu-west-1\n[profile role]\nrole_arn=arn:x\n"
                         "[profile inconfig]\naws_access_key_id=c\naws_secret_access_key=k\n");
    const char *home = test.folder;
    set("AWS_SHARED_CREDENTIALS_FILE", arena_format(&test.arena, "%s/credentials", home).at);
    set("AWS_CONFIG_FILE", arena_format(&test.arena, "%s/config", home).at);
    check_credentials("d", "k", "");
    assert_int_equal(aws_region_find_in(&test.arena, &region, NULL), ERR_NONE);
    assert_true(slice_equals(region, SLICE("eu-west-1")));
    set("AWS_PROFILE", "prod");
    check_credentials("p", "k", "t");
    set("AWS_PROFILE", "inconfig");
    check_credentials("c", "k", "");
    set("AWS_PROFILE", "role");
    check_no_credentials("the profile 'role' of AWS_PROFILE has no access key (roles, processes "
                         "and single sign-on are not supported)");
    set("AWS_PROFILE", "nobody");
    check_no_credentials("there is no profile 'nobody', as AWS_PROFILE says");
    const char *paths[SECRET_SOURCE_FILES_MAX];
    assert_int_equal(secret_source_files_in(&test.arena, paths), 2);
    set("VAULT_CACERT", "/etc/vault.pem");
    set("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "/run/token");
    assert_int_equal(secret_source_files_in(&test.arena, paths), 4);
    assert_string_equal(paths[3], "/etc/vault.pem");
    remove_file("credentials");
    remove_file("config");
}

static void a_container_has_credentials_of_its_own(void **state)
{
    (void)state;
    static const struct line lines[] = {
        {"GET /pod HTTP", 200,
         "{\"AccessKeyId\":\"id\",\"SecretAccessKey\":\"key\",\"Token\":\"t\"}", 0},
        {"GET /none HTTP", 200, "{\"Code\":\"x\"}", 0},
    };
    ANSWERS(lines);
    const char *url = http_stub_url(test.stub);
    write_file("token", "pod-token\n");
    set("AWS_CONTAINER_CREDENTIALS_FULL_URI", arena_format(&test.arena, "%s/pod", url).at);
    set("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
        arena_format(&test.arena, "%s/token", test.folder).at);
    check_credentials("id", "key", "t");
    assert_true(slice_equals(http_stub_header(test.seen[0], "authorization"), SLICE("pod-token")));
    set("AWS_CONTAINER_CREDENTIALS_FULL_URI", arena_format(&test.arena, "%s/none", url).at);
    check_no_credentials("the container's credentials answer without an access key");
    set("AWS_CONTAINER_CREDENTIALS_FULL_URI", arena_format(&test.arena, "%s/404", url).at);
    check_no_credentials("the container's credentials answer with status 404");
    static const char *const others[] = {"http://10.0.0.1/", "http://127.evil.example/",
                                         "http://169.254.170.2.evil.example/", "ftp://127.0.0.1/"};
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        set("AWS_CONTAINER_CREDENTIALS_FULL_URI", others[i]);
        check_no_credentials("AWS_CONTAINER_CREDENTIALS_FULL_URI must be https, or this machine");
    }
    remove_file("token");
}

static void a_machine_has_a_role_behind_a_token(void **state)
{
    (void)state;
    static const struct line lines[] = {
        {"PUT /latest/api/token HTTP", 200, "imds-token", 0},
        {"GET /latest/meta-data/iam/security-credentials/ HTTP", 200, "my role\n", 0},
        {"GET /latest/meta-data/iam/security-credentials/my%20role HTTP", 200,
         "{\"Code\":\"Success\",\"AccessKeyId\":\"id\",\"SecretAccessKey\":\"key\",\"Token\":"
         "\"t\"}",
         0},
        {"GET /latest/meta-data/placement/region HTTP", 200, "eu-north-1", 0},
    };
    struct slice region = SLICE_NONE;
    ANSWERS(lines);
    set("AWS_EC2_METADATA_SERVICE_ENDPOINT",
        arena_format(&test.arena, "%s/", http_stub_url(test.stub)).at);
    (void)unsetenv("AWS_EC2_METADATA_DISABLED");
    check_credentials("id", "key", "t");
    assert_true(slice_equals(http_stub_header(test.seen[0], "x-aws-ec2-metadata-token-ttl-seconds"),
                             SLICE("60")));
    assert_true(slice_equals(http_stub_header(test.seen[2], "x-aws-ec2-metadata-token"),
                             SLICE("imds-token")));
    assert_int_equal(aws_region_find_in(&test.arena, &region, NULL), ERR_NONE);
    assert_true(slice_equals(region, SLICE("eu-north-1")));
    test.line_count = 1;
    check_no_credentials("this machine of AWS has no role");
    test.line_count = 0;
    check_no_credentials("the machine's metadata service answers with status 404 to the request "
                         "for a token");
    set("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:1");
    check_no_credentials(
        "no AWS credentials in the agent's environment, files, container or machine");
    check_cause("_aws:a:b",
                "no AWS credentials in the agent's environment, files, container or machine");
}

/* Vault --------------------------------------------------------------------------------------- */

static const struct line vault_lines[] = {
    {"GET /v1/secret/data/app HTTP", 200,
     "{\"data\":{\"data\":{\"password\":\"p2\",\"port\":5432},\"metadata\":{\"version\":3}}}", 0},
    {"GET /v1/team/kv/data/app HTTP", 200,
     "{\"data\":{\"data\":{\"password\":\"team\"},\"metadata\":{}}}", 0},
    {"GET /v1/kv/a%20b/c%3Ad HTTP", 200, "{\"data\":{\"password\":\"p1\"}}", 0},
    {"GET /v1/secret/data/denied HTTP", 403, "{\"errors\":[\"permission denied\"]}", 0},
};

static void both_versions_of_vault_are_read(void **state)
{
    (void)state;
    use_vault();
    set("VAULT_NAMESPACE", "team/one");
    ANSWERS(vault_lines);
    struct shape_pair secrets[] = {
        PAIR("envvar:A", "_vaultkv2:secret/data/app:password"),
        PAIR("envvar:B", "_vaultkv2:secret/data/app:port"),
        PAIR("envvar:C", "_vaultkv1:kv/a b/c:d:password"),
        PAIR("envvar:D", "_vaultkv2:secret/app:password"),
        PAIR("envvar:E", "_vaultkv2:/team/kv/data/app:password"),
    };
    static const char *const values[] = {"p2", "5432", "p1", "p2", "team"};
    check_plain(PAIRS(secrets), values);
    assert_int_equal(test.seen_count, 4);
    for (size_t i = 0; i < test.seen_count; i++) {
        assert_true(
            slice_equals(http_stub_header(test.seen[i], "x-vault-token"), SLICE("hvs.s3cret")));
        assert_true(
            slice_equals(http_stub_header(test.seen[i], "x-vault-namespace"), SLICE("team/one")));
        assert_true(slice_equals(http_stub_header(test.seen[i], "x-vault-request"), SLICE("true")));
    }
}

static void what_vault_refuses_is_told(void **state)
{
    (void)state;
    use_vault();
    ANSWERS(vault_lines);
    check_cause("_vaultkv2:secret/denied:a", "Vault: permission denied (status 403)");
    check_cause("_vaultkv2:secret/nowhere:a", "Vault has no such secret");
    check_cause("_vaultkv2:secret/app:nope", "the secret has no 'nope'");
    check_cause("_vaultkv1:secret:a", "the path must be ENGINE/SECRET");
    check_cause("_vaultkv1:secret/:a", "the path must be ENGINE/SECRET");
    check_cause("_vaultkv1:secret/../sys/raw:a", "the path has a part that is empty, '.' or '..'");
    check_cause("_vaultkv1:secret//a:a", "the path has a part that is empty, '.' or '..'");
    static const char *const wrong[] = {"vault.example", "ftp://vault.example",
                                        "https://user@vault.example", "https://vault.example/?a"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        set("VAULT_ADDR", wrong[i]);
        check_cause("_vaultkv1:kv/a:a",
                    "VAULT_ADDR must be the address of a server, http:// or https://");
    }
    (void)unsetenv("VAULT_ADDR");
    check_cause("_vaultkv1:kv/a:a", "VAULT_ADDR is not set in the agent's environment");
    set("VAULT_ADDR", http_stub_url(test.stub));
    set("VAULT_TOKEN", "a\nb");
    check_cause("_vaultkv1:kv/a:a", "the value of X-Vault-Token has a control character");
    (void)unsetenv("VAULT_TOKEN");
    check_cause("_vaultkv1:kv/a:a",
                "neither VAULT_TOKEN nor VAULT_ROLE_ID is set in the agent's environment");
}

static void a_role_signs_in_for_one_session(void **state)
{
    (void)state;
    static const struct line lines[] = {
        {"{\"role_id\":\"role\",\"secret_id\":\"s3cret-id\"}", 200,
         "{\"auth\":{\"client_token\":\"hvs.role\"}}", 1},
        {"POST /v1/auth/token/revoke-self HTTP", 204, "", 0},
        {"GET /v1/kv/app HTTP", 200, "{\"data\":{\"a\":\"b\"}}", 0},
        {"\"role_id\":", 400, "{\"errors\":[\"invalid role or secret ID\"]}", 0},
    };
    ANSWERS(lines);
    set("VAULT_ADDR", arena_format(&test.arena, "%s/", http_stub_url(test.stub)).at);
    set("VAULT_ROLE_ID", "role");
    set("VAULT_SECRET_ID", "s3cret-id");
    struct shape_pair secrets[] = {PAIR("envvar:A", "_vaultkv1:kv/app:a")};
    static const char *const values[] = {"b"};
    check_plain(PAIRS(secrets), values);
    assert_int_equal(test.seen_count, 4); /* signed in at the second attempt */
    assert_true(slice_starts_with(test.seen[1], SLICE("POST /v1/auth/approle/login HTTP")));
    assert_int_equal(http_stub_header(test.seen[1], "x-vault-token").len, 0);
    assert_true(slice_equals(http_stub_header(test.seen[3], "x-vault-token"), SLICE("hvs.role")));
    set("VAULT_SECRET_ID", "wrong");
    check_cause("_vaultkv1:kv/app:a", "cannot sign in as VAULT_ROLE_ID: Vault: invalid role or "
                                      "secret ID (status 400)");
}

/* All together -------------------------------------------------------------------------------- */

static void failures_of_all_sources_are_in_one_error(void **state)
{
    (void)state;
    set("VAULT_ADDR", "http://127.0.0.1:1");
    set("VAULT_TOKEN", "hvs.s3cret");
    struct shape_pair secrets[] = {PAIR("envvar:A", "_vaultkv1:kv/a:a"),
                                   PAIR("envvar:B", "_aws:a:b"), PAIR("envvar:C", "_envjson:X:y"),
                                   PAIR("envvar:D", "!")};
    assert_int_equal(resolve(PAIRS(secrets)), ERR_UNAVAILABLE);
    struct slice message = slice_of_text(test.error.message);
    assert_true(slice_starts_with(
        message, SLICE("cannot get 4 secrets: envvar:A (_vaultkv1:kv/a:a): 127.0.0.1: ")));
    assert_true(slice_ends_with(message, SLICE("; and 1 more")) ||
                slice_ends_with(message, SLICE("; and 2 more")));
    assert_true(slice_ends_with(
        test.all, SLICE("\nenvvar:B (_aws:a:b): no AWS credentials in the agent's environment, "
                        "files, container or machine\nenvvar:C (_envjson:X:y): the agent's "
                        "environment has no such variable\nenvvar:D: is neither base64 nor a "
                        "reference")));
    assert_int_equal(slice_find(test.all, SLICE("s3cret")), test.all.len);
}

static void references_are_shown_safely_and_cut(void **state)
{
    (void)state;
    struct shape_pair long_one = {.key = SLICE("envvar:A")};
    char name[1000];
    memset(name, 'n', sizeof(name));
    long_one.value = arena_format(&test.arena, "_envjson:%.*s:a", (int)sizeof(name), name);
    assert_int_equal(resolve(&(struct shape_pairs){.pairs = &long_one, .count = 1}),
                     ERR_UNAVAILABLE);
    assert_true(slice_of_text(test.error.message).len < ERROR_MESSAGE_SIZE);
    assert_true(
        slice_ends_with(test.all, SLICE("nnn…): the agent's environment has no such variable")));
    struct shape_pair odd = {.key = SLICE("envvar:A")};
    odd.value = base64_encode_in(&test.arena, BASE64_STANDARD, SLICE("_envjson:A\0B:\x1b[31m"));
    assert_int_equal(resolve(&(struct shape_pairs){.pairs = &odd, .count = 1}), ERR_INPUT);
    assert_string_equal(test.error.message, "cannot get 1 secret: envvar:A "
                                            "(_envjson:A\\x00B:\\x1b[31m): the reference has a "
                                            "NUL byte");
}

static void all_of_a_full_connection_can_fail(void **state)
{
    (void)state;
    struct shape_pair secrets[SECRET_COUNT_MAX];
    for (size_t i = 0; i < COUNT_OF(secrets); i++) {
        secrets[i] = (struct shape_pair){
            .key = arena_format(&test.arena, "envvar:A%zu", i),
            .value = arena_format(&test.arena, "_envjson:NOPE%zu:a", i),
        };
    }
    assert_int_equal(resolve(PAIRS(secrets)), ERR_UNAVAILABLE);
    assert_string_equal(test.error.message,
                        "cannot get 100 secrets: envvar:A0 (_envjson:NOPE0:a), envvar:A1 "
                        "(_envjson:NOPE1:a), envvar:A2 (_envjson:NOPE2:a), envvar:A3 "
                        "(_envjson:NOPE3:a), envvar:A4 (_envjson:NOPE4:a), envvar:A5 "
                        "(_envjson:NOPE5:a), envvar:A6 (_envjson:NOPE6:a) and 93 more: the agent's "
                        "environment has no such variable");
    assert_true(slice_find(test.all, SLICE("envvar:A99 (_envjson:NOPE99:a): ")) < test.all.len);
}

static void a_keeper_that_is_silent_is_given_up(void **state)
{
    (void)state;
    static const struct line lines[] = {{"GET /v1/kv/silent", 0, "", 0},
                                        {"GET /v1/kv/good", 200, "{\"data\":{\"a\":\"b\"}}", 0}};
    ANSWERS(lines);
    use_vault();
    struct shape_pair secrets[] = {PAIR("envvar:A", "_vaultkv1:kv/silent:a"),
                                   PAIR("envvar:B", "_vaultkv1:kv/good:a")};
    int64_t start = clock_monotonic();
    assert_int_equal(resolve(PAIRS(secrets)), ERR_UNAVAILABLE);
    int64_t ms = (clock_monotonic() - start) / 1000;
    assert_true(ms >= LIMIT_SECRET_REQUEST_MS - 50 && ms < 2 * LIMIT_SECRET_REQUEST_MS);
    assert_true(slice_starts_with(
        slice_of_text(test.error.message),
        SLICE("cannot get 1 secret: envvar:A (_vaultkv1:kv/silent:a): 127.0.0.1: ")));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    fetch_start();
    json_set_seed(1);
    const struct CMUnitTest tests[] = {
        TEST(inline_values_are_decoded_and_bare_ones_are_text),
        TEST(wrong_inline_values_are_told_without_them),
        TEST(a_variable_holds_a_json_object),
        TEST(each_secret_of_aws_is_asked_for_once),
        TEST(the_signature_is_that_of_what_is_sent),
        TEST(an_arn_says_its_region),
        TEST(what_aws_refuses_is_told_with_key_and_reference),
        TEST(who_asks_for_patience_is_asked_again),
        TEST(many_secrets_are_asked_for_some_at_a_time),
        TEST(credentials_come_from_variables_first),
        TEST(credentials_and_region_come_from_the_files_of_a_profile),
        TEST(a_container_has_credentials_of_its_own),
        TEST(a_machine_has_a_role_behind_a_token),
        TEST(both_versions_of_vault_are_read),
        TEST(what_vault_refuses_is_told),
        TEST(a_role_signs_in_for_one_session),
        TEST(failures_of_all_sources_are_in_one_error),
        TEST(references_are_shown_safely_and_cut),
        TEST(all_of_a_full_connection_can_fail),
        TEST(a_keeper_that_is_silent_is_given_up),
    };
    return cmocka_run_group_tests_name("target/secret_source", tests, NULL, NULL);
}
