/* SPDX-License-Identifier: MIT */
#include "base/limits.h"
#include "base/memory.h"
#include "io/clock.h"
#include "io/fetch.h"
#include "source_help.h"
#include "target/aws_credentials.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

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

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    fetch_start();
    json_set_seed(1);
    const struct CMUnitTest tests[] = {
        TEST(each_secret_of_aws_is_asked_for_once),
        TEST(the_signature_is_that_of_what_is_sent),
        TEST(an_arn_says_its_region),
        TEST(what_aws_refuses_is_told_with_key_and_reference),
        TEST(who_asks_for_patience_is_asked_again),
        TEST(credentials_come_from_variables_first),
        TEST(credentials_and_region_come_from_the_files_of_a_profile),
        TEST(a_container_has_credentials_of_its_own),
        TEST(a_machine_has_a_role_behind_a_token),
    };
    return cmocka_run_group_tests_name("target/aws_secrets", tests, NULL, NULL);
}
