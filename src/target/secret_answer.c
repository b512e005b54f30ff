/* SPDX-License-Identifier: MIT */
#include "target/secret_answer.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"
#include "codec/base64.h"

#include <float.h>
#include <inttypes.h>

#define HTTP_OK        200
#define HTTP_NOT_FOUND 404

#define NUMBER_DIGITS_MAX 17 /* that any double is told apart by */

/* What somebody else says, for people: its first line, cut, safe to print. */
static struct slice secret_cause_in(struct arena *arena, struct slice text)
{
    struct slice rest = SLICE_NONE;
    text = slice_trim(slice_cut(text, '\n', &rest), " \t\r.");
    size_t len = text.len < LIMIT_SECRET_CAUSE_SIZE ? text.len : LIMIT_SECRET_CAUSE_SIZE;
    while (len > 0 && len < text.len && ((unsigned char)text.at[len] & 0xc0) == 0x80) {
        len--;
    }
    struct buf escaped;
    buf_init(&escaped, (size_t)LIMIT_SECRET_CAUSE_SIZE * 10);
    struct writer writer = writer_to(&escaped);
    text_show(&writer, slice_sub(text, 0, len));
    must(writer_done(&writer) == ERR_NONE);
    struct slice cause =
        arena_format(arena, "%.*s%s", SLICE_ARG(buf_view(&escaped)), len < text.len ? "…" : "");
    buf_release(&escaped);
    return cause;
}

/* The text of a member; empty when there is none. */
static struct slice secret_text(const struct json *object, const char *name)
{
    struct slice text = SLICE("");
    enum err err = json_as_text(json_member(object, name), &text, NULL);
    return err == ERR_NONE ? text : SLICE("");
}

enum err secret_answer_object_in(struct arena *arena, const char *what, struct slice text,
                                 struct json *ret_object, struct error *reterr)
{
    struct json document = {.arena = arena};
    struct error reason = {.code = ERR_NONE};
    enum err err = json_parse_in(arena, text, &document, &reason);
    if (err != ERR_NONE) {
        /* Where it went wrong would show names out of the secret. */
        return fail(reterr, ERR_INPUT, "%s is not a JSON object: it is no JSON", what);
    }
    if (json_as_object(document, NULL) != ERR_NONE) {
        return fail(reterr, ERR_INPUT, "%s is not a JSON object", what);
    }
    *ret_object = document;
    return ERR_NONE;
}

/* AWS ----------------------------------------------------------------------------------------- */

static bool secret_aws_is_busy(long status, struct slice type)
{
    static const struct slice types[] = {
        SLICE_INIT("ThrottlingException"),
        SLICE_INIT("Throttling"),
        SLICE_INIT("ThrottledException"),
        SLICE_INIT("TooManyRequestsException"),
        SLICE_INIT("RequestThrottled"),
        SLICE_INIT("RequestThrottledException"),
        SLICE_INIT("RequestLimitExceeded"),
        SLICE_INIT("SlowDown"),
        SLICE_INIT("InternalServiceError"),
        SLICE_INIT("InternalFailure"),
        SLICE_INIT("ServiceUnavailable"),
        SLICE_INIT("InternalServiceErrorException"),
        SLICE_INIT("ProvisionedThroughputExceededException"),
    };
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        if (slice_equals(type, types[i])) {
            return true;
        }
    }
    return status == 429 || status >= 500;
}

/* "com.amazonaws.secretsmanager#ResourceNotFoundException" and "…Exception:http://…" are names,
 * too.
 */
static struct slice secret_aws_type_in(struct arena *arena, const struct json *answer)
{
    struct slice type = secret_text(answer, "__type");
    struct slice rest = SLICE_NONE;
    size_t hash = slice_find_byte(type, '#');
    type = hash < type.len ? slice_from(type, hash + 1) : type;
    return secret_cause_in(arena, slice_cut(type, ':', &rest));
}

static enum err secret_aws_fail(struct arena *arena, long status, const struct json *answer,
                                struct error *reterr)
{
    struct slice type = secret_aws_type_in(arena, answer);
    struct slice message = secret_text(answer, "message");
    message = message.len == 0 ? secret_text(answer, "Message") : message;
    bool is_busy = secret_aws_is_busy(status, type);
    enum err err = is_busy ? ERR_BUSY : ERR_UNAVAILABLE;
    if (type.len == 0) {
        return fail(reterr, err, "AWS answers with status %ld", status);
    }
    /* What is said of a signature repeats the request, with its session token. */
    if (slice_equals(type, SLICE("InvalidSignatureException")) ||
        slice_equals(type, SLICE("SignatureDoesNotMatch"))) {
        return fail(reterr, err, "%.*s: the secret access key is wrong, or the clock is",
                    SLICE_ARG(type));
    }
    message = secret_cause_in(arena, message);
    return fail(reterr, err, "%.*s%s%.*s", SLICE_ARG(type), message.len == 0 ? "" : ": ",
                SLICE_ARG(message));
}

enum err secret_answer_aws_in(struct arena *arena, long status, struct slice body,
                              struct json *ret_object, struct error *reterr)
{
    struct json answer = {.arena = arena};
    struct slice secret = SLICE_NONE;
    bool is_json = json_parse_in(arena, body, &answer, NULL) == ERR_NONE;
    if (status != HTTP_OK) {
        return secret_aws_fail(arena, status, &answer, reterr);
    }
    if (!is_json) {
        return fail(reterr, ERR_UNAVAILABLE, "AWS answers with something that is no JSON");
    }
    if (json_is_given(json_member(&answer, "SecretString"))) {
        if (json_as_text(json_member(&answer, "SecretString"), &secret, NULL) != ERR_NONE) {
            return fail(reterr, ERR_UNAVAILABLE, "AWS answers with a SecretString that is no text");
        }
        return secret_answer_object_in(arena, "the secret", secret, ret_object, reterr);
    }
    struct slice encoded = secret_text(&answer, "SecretBinary");
    if (encoded.len == 0) {
        return fail(reterr, ERR_UNAVAILABLE, "AWS answers without a value");
    }
    if (base64_decode_in(arena, BASE64_STANDARD, encoded, &secret) != ERR_NONE) {
        return fail(reterr, ERR_UNAVAILABLE, "AWS answers with a SecretBinary that is no base64");
    }
    return secret_answer_object_in(arena, "the secret", secret, ret_object, reterr);
}

/* Vault --------------------------------------------------------------------------------------- */

static bool secret_vault_is_busy(long status)
{
    /* 412: a replica has not seen yet what the token saw; 503 is sealed or in maintenance. */
    return status == 412 || status == 429 || status == 500 || status == 502 || status == 504;
}

/* {"errors":["permission denied"]} */
static enum err secret_vault_fail(struct arena *arena, long status, const struct json *answer,
                                  struct error *reterr)
{
    size_t count = 0;
    struct json errors = json_member(answer, "errors");
    struct slice message = SLICE("");
    if (json_as_array(errors, &count, NULL) == ERR_NONE && count > 0 &&
        json_as_text(json_item(&errors, 0), &message, NULL) != ERR_NONE) {
        message = SLICE("");
    }
    /* Of several lines, the first says that there are some: "1 error occurred:". */
    size_t star = slice_find(message, SLICE("* "));
    message = star < message.len ? slice_from(message, star + 2) : message;
    message = secret_cause_in(arena, message);
    enum err err = secret_vault_is_busy(status) ? ERR_BUSY : ERR_UNAVAILABLE;
    if (status >= 300 && status < 400) {
        return fail(reterr, err,
                    "Vault sends to another address (status %ld): VAULT_ADDR should "
                    "be that of the active node",
                    status);
    }
    if (status == HTTP_NOT_FOUND && message.len == 0) {
        return fail(reterr, err, "Vault has no such secret");
    }
    return message.len == 0
               ? fail(reterr, err, "Vault answers with status %ld", status)
               : fail(reterr, err, "Vault: %.*s (status %ld)", SLICE_ARG(message), status);
}

/* A version that was deleted is a 404 with its metadata. */
static bool secret_vault_is_deleted(enum vault_version version, const struct json *data)
{
    struct json metadata = json_member(data, "metadata");
    return version == VAULT_KV2 && json_as_object(metadata, NULL) == ERR_NONE &&
           !json_is_given(json_member(data, "data"));
}

enum err secret_answer_vault_in(struct arena *arena, enum vault_version version, long status,
                                struct slice body, struct json *ret_object, struct error *reterr)
{
    struct json answer = {.arena = arena};
    bool is_json = json_parse_in(arena, body, &answer, NULL) == ERR_NONE;
    struct json data = json_member(&answer, "data");
    if ((status == HTTP_OK || status == HTTP_NOT_FOUND) && is_json &&
        secret_vault_is_deleted(version, &data)) {
        return fail(reterr, ERR_UNAVAILABLE, "the newest version of the secret is deleted");
    }
    if (status != HTTP_OK) {
        return secret_vault_fail(arena, status, &answer, reterr);
    }
    struct json object = version == VAULT_KV2 ? json_member(&data, "data") : data;
    if (!is_json || json_as_object(data, NULL) != ERR_NONE) {
        return fail(reterr, ERR_UNAVAILABLE, "Vault answers with something that is no secret");
    }
    if (json_as_object(object, NULL) != ERR_NONE) {
        return fail(reterr, ERR_INPUT,
                    "what Vault has there is no version 2 secret: is the engine version 1?");
    }
    *ret_object = object;
    return ERR_NONE;
}

enum err secret_answer_vault_login_in(struct arena *arena, long status, struct slice body,
                                      struct slice *ret_token, struct error *reterr)
{
    struct json answer = {.arena = arena};
    bool is_json = json_parse_in(arena, body, &answer, NULL) == ERR_NONE;
    if (status != HTTP_OK) {
        return secret_vault_fail(arena, status, &answer, reterr);
    }
    struct json auth = json_member(&answer, "auth");
    struct slice token = secret_text(&auth, "client_token");
    if (!is_json || token.len == 0) {
        return fail(reterr, ERR_UNAVAILABLE, "Vault answers without a token");
    }
    *ret_token = token;
    return ERR_NONE;
}

/* Values -------------------------------------------------------------------------------------- */

static struct slice secret_number_in(struct arena *arena, double number)
{
    char text[64] = "";
    for (int digits = 1; digits <= NUMBER_DIGITS_MAX; digits++) {
        (void)snprintf(text, sizeof(text), "%.*g", digits, number);
        double again = strtod(text, NULL);
        if (again <= number && again >= number) {
            break;
        }
    }
    return arena_copy(arena, slice_of_text(text));
}

enum err secret_answer_value_in(struct arena *arena, const struct json *object, struct slice key,
                                struct slice *ret_value, struct error *reterr)
{
    int64_t whole = 0;
    double number = 0;
    bool flag = false;
    if (memchr(key.at, '\0', key.len) != NULL) {
        return fail(reterr, ERR_INPUT, "no key holds a NUL byte");
    }
    struct json value = json_member(object, arena_text(arena, key));
    if (json_as_text(value, ret_value, NULL) == ERR_NONE) {
        return ERR_NONE;
    }
    struct slice shown = json_path_shown_in(arena, key);
    if (json_is_absent(value)) {
        return fail(reterr, ERR_INPUT, "the secret has no '%.*s'", SLICE_ARG(shown));
    }
    if (json_as_int(value, INT64_MIN, INT64_MAX, &whole, NULL) == ERR_NONE) {
        *ret_value = arena_format(arena, "%" PRId64, whole);
    } else if (json_as_number(value, -DBL_MAX, DBL_MAX, &number, NULL) == ERR_NONE) {
        *ret_value = secret_number_in(arena, number);
    } else if (json_as_bool(value, &flag, NULL) == ERR_NONE) {
        *ret_value = flag ? SLICE("true") : SLICE("false");
    } else {
        size_t count = 0;
        const char *kind = json_as_object(value, NULL) == ERR_NONE          ? "an object"
                           : json_as_array(value, &count, NULL) == ERR_NONE ? "an array"
                                                                            : "null";
        return fail(reterr, ERR_INPUT, "'%.*s' in the secret is %s", SLICE_ARG(shown), kind);
    }
    return ERR_NONE;
}
