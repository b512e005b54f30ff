/* SPDX-License-Identifier: MIT */
#include "target/aws_credentials.h"

#include "base/limits.h"
#include "base/memory.h"
#include "codec/json.h"
#include "codec/url.h"
#include "io/fetch.h"
#include "target/aws_profile.h"
#include "target/environment.h"
#include "wire/address.h"

#define HTTP_OK        200
#define HTTP_NOT_FOUND 404

#define AWS_REGION_SIZE_MAX    32
#define AWS_METADATA_HOST      "http://169.254.169.254"
#define AWS_CONTAINER_HOST     "http://169.254.170.2"
#define AWS_METADATA_TOKEN_TTL "60" /* seconds: for one search */
#define AWS_ROLE_SIZE_MAX      128

/* Files --------------------------------------------------------------------------------------- */

/* NULL without a home. */
static const char *aws_file_in(struct arena *arena, const char *variable, const char *name)
{
    const char *path = environment_text(variable);
    const char *home = environment_text("HOME");
    if (path != NULL || home == NULL) {
        return path;
    }
    return arena_format(arena, "%s/.aws/%s", home, name).at;
}

static const char *aws_credentials_file_in(struct arena *arena)
{
    return aws_file_in(arena, "AWS_SHARED_CREDENTIALS_FILE", "credentials");
}

static const char *aws_config_file_in(struct arena *arena)
{
    return aws_file_in(arena, "AWS_CONFIG_FILE", "config");
}

size_t aws_files_in(struct arena *arena, const char *ret_paths[AWS_FILES_MAX])
{
    const char *const paths[] = {
        aws_credentials_file_in(arena),
        aws_config_file_in(arena),
        environment_text("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"),
    };
    size_t count = 0;
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        if (paths[i] != NULL) {
            ret_paths[count++] = paths[i];
        }
    }
    return count;
}

static const char *aws_profile_name(void)
{
    const char *name = environment_text("AWS_PROFILE");
    return name != NULL ? name : "default";
}

/* A file that is not there has no profiles. */
static enum err aws_read_profile_in(struct arena *arena, const char *path,
                                    enum aws_profile_form form, struct aws_profile *ret_profile,
                                    struct error *reterr)
{
    struct slice text = SLICE_NONE;
    struct error cause;
    enum err err = path == NULL ? ERR_NOT_FOUND : environment_read_in(arena, path, &text, &cause);
    if (err != ERR_NONE && err != ERR_NOT_FOUND) {
        return fail(reterr, err, "%s", cause.message);
    }
    *ret_profile = aws_profile_read(text, form, slice_of_text(aws_profile_name()));
    return ERR_NONE;
}

static enum err aws_from_files_in(struct arena *arena, struct aws_credentials *ret_credentials,
                                  struct error *reterr)
{
    struct aws_profile profile;
    bool is_found = false;
    const char *const paths[] = {aws_credentials_file_in(arena), aws_config_file_in(arena)};
    const enum aws_profile_form forms[] = {AWS_PROFILE_CREDENTIALS, AWS_PROFILE_CONFIG};
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        enum err err = aws_read_profile_in(arena, paths[i], forms[i], &profile, reterr);
        if (err != ERR_NONE) {
            return err;
        }
        is_found = is_found || profile.is_found;
        if (profile.access_key_id.len > 0 && profile.secret_access_key.len > 0) {
            *ret_credentials = (struct aws_credentials){
                .access_key_id = profile.access_key_id,
                .secret_access_key = profile.secret_access_key,
                .session_token = profile.session_token,
            };
            return ERR_NONE;
        }
    }
    if (environment_text("AWS_PROFILE") == NULL) {
        return ERR_NOT_FOUND; /* a [default] may be there for the region alone */
    }
    return fail(reterr, ERR_UNAVAILABLE,
                is_found ? "the profile '%s' of AWS_PROFILE has no access key (roles, processes "
                           "and single sign-on are not supported)"
                         : "there is no profile '%s', as AWS_PROFILE says",
                aws_profile_name());
}

/* Container and machine ----------------------------------------------------------------------- */

/* {"AccessKeyId":…,"SecretAccessKey":…,"Token":…} */
static enum err aws_read_keys_in(struct arena *arena, const char *what,
                                 const struct fetch_answer *answer,
                                 struct aws_credentials *ret_credentials, struct error *reterr)
{
    struct json document = {.arena = arena};
    struct aws_credentials found = {.session_token = SLICE("")};
    if (answer->status != HTTP_OK) {
        return fail(reterr, ERR_UNAVAILABLE, "%s answer with status %ld", what, answer->status);
    }
    if (json_parse_in(arena, answer->body, &document, NULL) != ERR_NONE ||
        json_as_text(json_member(&document, "AccessKeyId"), &found.access_key_id, NULL) !=
            ERR_NONE ||
        json_as_text(json_member(&document, "SecretAccessKey"), &found.secret_access_key, NULL) !=
            ERR_NONE) {
        return fail(reterr, ERR_UNAVAILABLE, "%s answer without an access key", what);
    }
    struct json token = json_member(&document, "Token");
    if (json_is_given(token) && json_as_text(token, &found.session_token, NULL) != ERR_NONE) {
        return fail(reterr, ERR_UNAVAILABLE, "%s answer with a token that is no text", what);
    }
    *ret_credentials = found;
    return ERR_NONE;
}

/* Without TLS, only to this machine and to the addresses that AWS keeps for it. */
static bool aws_container_is_trusted(const char *address)
{
    static const struct slice hosts[] = {
        SLICE_INIT("169.254.170.2"),
        SLICE_INIT("169.254.170.23"),
        SLICE_INIT("fd00:ec2::23"),
    };
    struct url url;
    if (url_parse(slice_of_text(address), &url, NULL) != ERR_NONE) {
        return false;
    }
    bool is_trusted =
        slice_equals_nocase(url.scheme, SLICE("https")) || address_is_loopback_host(url.host);
    for (size_t i = 0; i < COUNT_OF(hosts); i++) {
        is_trusted = is_trusted || slice_equals_nocase(url.host, hosts[i]);
    }
    return is_trusted;
}

static enum err aws_container_token_in(struct arena *arena, struct slice *ret_token,
                                       struct error *reterr)
{
    const char *path = environment_text("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    struct slice text = SLICE_NONE;
    if (path == NULL) {
        *ret_token = environment_slice("AWS_CONTAINER_AUTHORIZATION_TOKEN");
        return ERR_NONE;
    }
    enum err err = environment_read_in(arena, path, &text, reterr);
    *ret_token = slice_trim(text, " \t\r\n");
    return err;
}

static enum err aws_from_container_in(struct arena *arena, struct aws_credentials *ret_credentials,
                                      struct error *reterr)
{
    const char *relative = environment_text("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    const char *address = environment_text("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    struct slice token = SLICE_NONE;
    struct fetch_answer answer;
    if (relative != NULL) {
        address =
            arena_format(arena, AWS_CONTAINER_HOST "%s%s", relative[0] == '/' ? "" : "/", relative)
                .at;
    } else if (address == NULL) {
        return ERR_NOT_FOUND;
    }
    if (!aws_container_is_trusted(address)) {
        return fail(reterr, ERR_UNAVAILABLE,
                    "AWS_CONTAINER_CREDENTIALS_FULL_URI must be https, or this machine");
    }
    enum err err = aws_container_token_in(arena, &token, reterr);
    if (err == ERR_NONE) {
        const struct fetch_header header = {.name = "Authorization", .value = token};
        struct fetch_request request = {
            .url = address,
            .headers = &header,
            .header_count = 1,
            .timeout_ms = LIMIT_AWS_METADATA_MS,
            .is_without_proxy = true,
        };
        err = fetch_in(arena, &request, &answer, reterr);
    }
    if (err != ERR_NONE) {
        error_prefix(reterr, "the container's credentials: ");
        return err;
    }
    return aws_read_keys_in(arena, "the container's credentials", &answer, ret_credentials, reterr);
}

/* IMDSv2: a token first, which makes sure that a mere GET through somebody's proxy gets nothing. */
struct aws_metadata {
    const char *base;
    struct slice token;
};

static enum err aws_metadata_get(struct arena *arena, const struct aws_metadata *metadata,
                                 const char *path, struct fetch_answer *ret_answer,
                                 struct error *reterr)
{
    const struct fetch_header header = {.name = "X-aws-ec2-metadata-token",
                                        .value = metadata->token};
    struct fetch_request request = {
        .url = arena_format(arena, "%s/latest/meta-data/%s", metadata->base, path).at,
        .headers = &header,
        .header_count = 1,
        .timeout_ms = LIMIT_AWS_METADATA_MS,
        .is_without_proxy = true,
    };
    return fetch_in(arena, &request, ret_answer, reterr);
}

/* ERR_NOT_FOUND when this is no machine of AWS. */
static enum err aws_metadata_open(struct arena *arena, struct aws_metadata *metadata,
                                  struct error *reterr)
{
    static const struct fetch_header header = {
        .name = "X-aws-ec2-metadata-token-ttl-seconds",
        .value = SLICE_INIT(AWS_METADATA_TOKEN_TTL),
    };
    struct fetch_answer answer;
    if (slice_equals_nocase(environment_slice("AWS_EC2_METADATA_DISABLED"), SLICE("true"))) {
        return ERR_NOT_FOUND;
    }
    const char *base = environment_text("AWS_EC2_METADATA_SERVICE_ENDPOINT");
    base = base == NULL ? AWS_METADATA_HOST : base;
    size_t len = slice_of_text(base).len;
    metadata->base = arena_text(arena, slice_of(base, base[len - 1] == '/' ? len - 1 : len));
    struct fetch_request request = {
        .url = arena_format(arena, "%s/latest/api/token", metadata->base).at,
        .method = "PUT",
        .headers = &header,
        .header_count = 1,
        .timeout_ms = LIMIT_AWS_METADATA_MS,
        .is_without_proxy = true,
    };
    if (fetch_in(arena, &request, &answer, NULL) != ERR_NONE) {
        return ERR_NOT_FOUND;
    }
    if (answer.status != HTTP_OK) {
        return fail(reterr, ERR_UNAVAILABLE,
                    "the machine's metadata service answers with status "
                    "%ld to the request for a token",
                    answer.status);
    }
    metadata->token = slice_trim(answer.body, " \r\n");
    return ERR_NONE;
}

static enum err aws_from_machine_in(struct arena *arena, struct aws_credentials *ret_credentials,
                                    struct error *reterr)
{
    struct aws_metadata metadata = {.base = NULL};
    struct fetch_answer answer;
    enum err err = aws_metadata_open(arena, &metadata, reterr);
    if (err == ERR_NONE) {
        err = aws_metadata_get(arena, &metadata, "iam/security-credentials/", &answer, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct slice rest = SLICE_NONE;
    struct slice role = slice_trim(slice_cut(answer.body, '\n', &rest), " \r");
    if (answer.status == HTTP_NOT_FOUND || role.len == 0 || role.len > AWS_ROLE_SIZE_MAX) {
        return fail(reterr, ERR_UNAVAILABLE, "this machine of AWS has no role");
    }
    struct slice escaped = url_encode(arena, role);
    const char *path = arena_format(arena, "iam/security-credentials/%.*s", SLICE_ARG(escaped)).at;
    err = aws_metadata_get(arena, &metadata, path, &answer, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    return aws_read_keys_in(arena, "the machine's credentials", &answer, ret_credentials, reterr);
}

/* All places --------------------------------------------------------------------------------- */

static enum err aws_from_variables(struct aws_credentials *ret_credentials, struct error *reterr)
{
    struct aws_credentials found = {
        .access_key_id = environment_slice("AWS_ACCESS_KEY_ID"),
        .secret_access_key = environment_slice("AWS_SECRET_ACCESS_KEY"),
        .session_token = environment_slice("AWS_SESSION_TOKEN"),
    };
    if (found.access_key_id.len == 0 && found.secret_access_key.len == 0) {
        return ERR_NOT_FOUND;
    }
    if (found.access_key_id.len == 0 || found.secret_access_key.len == 0) {
        return fail(reterr, ERR_UNAVAILABLE, "%s is set without %s",
                    found.access_key_id.len == 0 ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID",
                    found.access_key_id.len == 0 ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY");
    }
    *ret_credentials = found;
    return ERR_NONE;
}

enum err aws_credentials_find_in(struct arena *arena, struct aws_credentials *ret_credentials,
                                 struct error *reterr)
{
    enum err err = aws_from_variables(ret_credentials, reterr);
    if (err == ERR_NOT_FOUND) {
        err = aws_from_files_in(arena, ret_credentials, reterr);
    }
    if (err == ERR_NOT_FOUND) {
        err = aws_from_container_in(arena, ret_credentials, reterr);
    }
    if (err == ERR_NOT_FOUND) {
        err = aws_from_machine_in(arena, ret_credentials, reterr);
    }
    if (err == ERR_NOT_FOUND) {
        if (environment_text("AWS_WEB_IDENTITY_TOKEN_FILE") != NULL) {
            return fail(reterr, ERR_UNSUPPORTED,
                        "AWS_WEB_IDENTITY_TOKEN_FILE is set, which is not supported: use EKS Pod "
                        "Identity");
        }
        return fail(reterr, ERR_NOT_FOUND,
                    "no AWS credentials in the agent's environment, files, container or machine");
    }
    return err;
}

bool aws_region_is_valid(struct slice region)
{
    for (size_t i = 0; i < region.len; i++) {
        char byte = region.at[i];
        bool is_letter = byte >= 'a' && byte <= 'z';
        bool is_digit = byte >= '0' && byte <= '9';
        if (!is_letter && !is_digit && !(byte == '-' && i > 0)) {
            return false;
        }
    }
    return region.len > 0 && region.len <= AWS_REGION_SIZE_MAX;
}

static enum err aws_region_from_files_in(struct arena *arena, struct slice *ret_region,
                                         struct error *reterr)
{
    struct aws_profile config = {.is_found = false};
    struct aws_profile credentials = {.is_found = false};
    enum err err =
        aws_read_profile_in(arena, aws_config_file_in(arena), AWS_PROFILE_CONFIG, &config, reterr);
    if (err == ERR_NONE && config.region.len == 0) {
        err = aws_read_profile_in(arena, aws_credentials_file_in(arena), AWS_PROFILE_CREDENTIALS,
                                  &credentials, reterr);
    }
    *ret_region = config.region.len > 0 ? config.region : credentials.region;
    return err;
}

/* Empty when the machine does not say; what it fails for is then no matter. */
static struct slice aws_region_from_machine_in(struct arena *arena)
{
    struct aws_metadata metadata = {.base = NULL};
    struct fetch_answer answer = {.status = 0};
    enum err err = aws_metadata_open(arena, &metadata, NULL);
    if (err == ERR_NONE) {
        err = aws_metadata_get(arena, &metadata, "placement/region", &answer, NULL);
    }
    bool is_known = err == ERR_NONE && answer.status == HTTP_OK;
    return is_known ? slice_trim(answer.body, " \r\n") : SLICE("");
}

enum err aws_region_find_in(struct arena *arena, struct slice *ret_region, struct error *reterr)
{
    struct slice region = environment_slice("AWS_REGION");
    enum err err = ERR_NONE;
    if (region.len == 0) {
        region = environment_slice("AWS_DEFAULT_REGION");
    }
    if (region.len == 0) {
        err = aws_region_from_files_in(arena, &region, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    if (region.len == 0) {
        region = aws_region_from_machine_in(arena);
    }
    if (region.len == 0) {
        return fail(reterr, ERR_NOT_FOUND, "AWS_REGION is not set in the agent's environment");
    }
    if (!aws_region_is_valid(region)) {
        return fail(reterr, ERR_UNAVAILABLE, "the agent's AWS region is no name of one");
    }
    *ret_region = region;
    return ERR_NONE;
}
