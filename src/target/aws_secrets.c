/* SPDX-License-Identifier: MIT */
/* Secrets out of AWS Secrets Manager. A secret that is named by its ARN is asked for in the ARN's
 * region. */
#include "target/secret_document.h"

#include "base/must.h"
#include "codec/json_writer.h"
#include "codec/url.h"
#include "io/clock.h"
#include "target/aws_credentials.h"
#include "target/environment.h"
#include "target/secret_answer.h"

#define AWS_SERVICE      "secretsmanager"
#define AWS_NAME_MAX     2048 /* of a secret, as GetSecretValue has it */
#define AWS_HEADER_COUNT 5

struct aws_secrets {
    struct aws_credentials credentials;
    struct slice region; /* empty: there is none, and why is the error */
    struct error region_error;
    const char *endpoint; /* NULL: AWS's own, by region */
};

/* arn:aws:secretsmanager:REGION:ACCOUNT:secret:NAME; empty when it is no ARN. */
static struct slice aws_arn_region(struct slice name)
{
    struct slice rest = name;
    if (!slice_starts_with(name, SLICE("arn:"))) {
        return SLICE("");
    }
    for (int i = 0; i < 3; i++) {
        (void)slice_cut(rest, ':', &rest);
    }
    struct slice after = SLICE_NONE;
    return slice_cut(rest, ':', &after);
}

static enum err aws_secret_region(const struct aws_secrets *self, struct slice name,
                                  struct slice *ret_region, struct error *reterr)
{
    struct slice region = aws_arn_region(name);
    if (region.len > 0) {
        *ret_region = region;
        return aws_region_is_valid(region)
                   ? ERR_NONE
                   : fail(reterr, ERR_INPUT, "the ARN's region is no name of one");
    }
    if (self->region.len == 0) {
        *reterr = self->region_error;
        return self->region_error.code;
    }
    *ret_region = self->region;
    return ERR_NONE;
}

static const char *aws_endpoint_in(struct arena *arena, const struct aws_secrets *self,
                                   struct slice region)
{
    if (self->endpoint != NULL) {
        return self->endpoint;
    }
    const char *end = slice_starts_with(region, SLICE("cn-")) ? ".cn" : "";
    return arena_format(arena, "https://" AWS_SERVICE ".%.*s.amazonaws.com%s/", SLICE_ARG(region),
                        end)
        .at;
}

/* As libcurl writes it: the port only where it is not the scheme's. */
static struct slice aws_host_in(struct arena *arena, const struct url *url)
{
    bool is_https = slice_equals_nocase(url->scheme, SLICE("https"));
    const char *open = url->is_ipv6 ? "[" : "";
    const char *close = url->is_ipv6 ? "]" : "";
    if (url->port == (is_https ? 443 : 80)) {
        return arena_format(arena, "%s%.*s%s", open, SLICE_ARG(url->host), close);
    }
    return arena_format(arena, "%s%.*s%s:%u", open, SLICE_ARG(url->host), close, url->port);
}

static struct slice aws_body_in(struct arena *arena, struct slice name)
{
    struct buf buf;
    buf_init(&buf, (size_t)AWS_NAME_MAX * 8);
    struct json_writer json = json_writer_to(&buf);
    json_begin_object(&json);
    json_member_text(&json, "SecretId", name);
    json_end_object(&json);
    must(json_writer_done(&json) == ERR_NONE);
    struct slice body = arena_copy(arena, buf_view(&buf));
    buf_release(&buf);
    return body;
}

/* The headers that are sent: the signed ones but Host, which libcurl sends by itself, and the
 * signature. */
static void aws_sign(struct arena *arena, const struct aws_secrets *self,
                     struct aws_request *request, struct slice region,
                     struct fetch_request *ret_request)
{
    static const char *const names[] = {"Content-Type", "X-Amz-Target", "X-Amz-Date",
                                        "X-Amz-Security-Token"};
    char time_text[AWS_TIME_SIZE];
    struct aws_scope scope = {.region = region, .service = SLICE(AWS_SERVICE), .time = clock_now()};
    struct aws_header *headers = arena_alloc_array(arena, AWS_HEADER_COUNT, sizeof(*headers));
    struct fetch_header *sent = arena_alloc_array(arena, AWS_HEADER_COUNT, sizeof(*sent));
    const struct slice values[] = {
        SLICE("application/x-amz-json-1.1"), SLICE(AWS_SERVICE ".GetSecretValue"),
        arena_copy(arena, aws_time_format(scope.time, time_text)), self->credentials.session_token};
    size_t count = self->credentials.session_token.len > 0 ? 4 : 3;
    headers[0] = request->headers[0];
    for (size_t i = 0; i < count; i++) {
        headers[i + 1] = (struct aws_header){slice_of_text(names[i]), values[i]};
        sent[i] = (struct fetch_header){names[i], values[i]};
    }
    request->headers = headers;
    request->header_count = count + 1;
    sent[count] = (struct fetch_header){
        "Authorization", aws_authorization_in(arena, request, &self->credentials, &scope)};
    ret_request->headers = sent;
    ret_request->header_count = count + 1;
}

static enum err aws_prepare(void *context, struct arena *arena,
                            const struct secret_document *document,
                            struct fetch_request *ret_request, struct error *reterr)
{
    const struct aws_secrets *self = context;
    struct slice region = SLICE_NONE;
    struct url url;
    if (document->name.len > AWS_NAME_MAX) {
        return fail(reterr, ERR_INPUT, "the name has more than %d bytes", AWS_NAME_MAX);
    }
    enum err err = aws_secret_region(self, document->name, &region, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    const char *endpoint = aws_endpoint_in(arena, self, region);
    struct slice path = SLICE("/");
    if (url_parse(slice_of_text(endpoint), &url, NULL) != ERR_NONE || url.query.len > 0 ||
        (url.path.len > 0 && url_decode(arena, url.path, &path) != ERR_NONE)) {
        return fail(reterr, ERR_UNAVAILABLE, "AWS_ENDPOINT_URL is not the address of a server");
    }
    const struct aws_header host = {SLICE("Host"), aws_host_in(arena, &url)};
    struct aws_request request = {
        .method = SLICE("POST"),
        .path = path,
        .query = SLICE(""),
        .body = aws_body_in(arena, document->name),
        .headers = &host,
        .header_count = 1,
    };
    ret_request->url = endpoint;
    ret_request->body = request.body;
    aws_sign(arena, self, &request, region, ret_request);
    return ERR_NONE;
}

static enum err aws_take(void *context, struct arena *arena, const struct secret_document *document,
                         const struct fetch_answer *answer, struct json *ret_object,
                         struct error *reterr)
{
    (void)context;
    (void)document;
    return secret_answer_aws_in(arena, answer->status, answer->body, ret_object, reterr);
}

static bool aws_needs_region(const struct secret_documents *documents)
{
    for (size_t i = 0; i < documents->count; i++) {
        const struct secret_document *document = &documents->items[i];
        if (document->source == SECRET_SOURCE_AWS && aws_arn_region(document->name).len == 0) {
            return true;
        }
    }
    return false;
}

void aws_secrets_fetch(struct arena *arena, struct secret_documents *documents)
{
    struct aws_secrets self = {.endpoint = environment_text("AWS_ENDPOINT_URL_SECRETS_MANAGER")};
    struct secret_keeper keeper = {.prepare = aws_prepare, .take = aws_take, .context = &self};
    struct error error;
    if (!secret_documents_wanted(documents, SECRET_SOURCE_AWS)) {
        return;
    }
    if (self.endpoint == NULL) {
        self.endpoint = environment_text("AWS_ENDPOINT_URL");
    }
    if (aws_credentials_find_in(arena, &self.credentials, &error) != ERR_NONE) {
        secret_documents_fail(documents, SECRET_SOURCE_AWS, &error);
        return;
    }
    if (aws_needs_region(documents) &&
        aws_region_find_in(arena, &self.region, &self.region_error) != ERR_NONE) {
        self.region = SLICE("");
    }
    secret_documents_fetch(arena, documents, SECRET_SOURCE_AWS, &keeper);
}
