/* SPDX-License-Identifier: MIT */
/* A first line "SOURCE STATUS KEY", then what a keeper of secrets answers; or an AWS profile file.
 * Whatever it is, there is a value that is UTF-8, the same each time, or one line that is safe to
 * print. */
#include "fuzz.h"

#include "base/must.h"
#include "base/text.h"
#include "target/aws_profile.h"
#include "target/secret_answer.h"

static void check_message(enum err err, const struct error *error)
{
    struct slice message = slice_of_text(error->message);
    must(err == ERR_INPUT || err == ERR_UNAVAILABLE || err == ERR_BUSY);
    must(message.len > 0 && text_is_utf8(message));
    for (size_t i = 0; i < message.len; i++) {
        must((unsigned char)message.at[i] >= ' ');
    }
}

static void check_value(struct arena *arena, const struct json *object, struct slice key)
{
    struct slice value = SLICE_NONE;
    struct error error = {.code = ERR_NONE};
    enum err err = secret_answer_value_in(arena, object, key, &value, &error);
    if (err == ERR_NONE) {
        must(value.at != NULL && text_is_utf8(value));
        struct slice again = SLICE_NONE;
        must(secret_answer_value_in(arena, object, key, &again, NULL) == ERR_NONE);
        must(slice_equals(value, again));
    } else {
        check_message(err, &error);
    }
}

static void check_answer(struct arena *arena, char source, long status, struct slice key,
                         struct slice body)
{
    struct json object = {.arena = arena};
    struct slice token = SLICE_NONE;
    struct error error = {.code = ERR_NONE};
    enum err err = ERR_NONE;
    switch (source) {
    case 'a':
        err = secret_answer_aws_in(arena, status, body, &object, &error);
        break;
    case '1':
        err = secret_answer_vault_in(arena, VAULT_KV1, status, body, &object, &error);
        break;
    case '2':
        err = secret_answer_vault_in(arena, VAULT_KV2, status, body, &object, &error);
        break;
    case 'l':
        err = secret_answer_vault_login_in(arena, status, body, &token, &error);
        must(err != ERR_NONE || token.len > 0);
        break;
    default:
        err = secret_answer_object_in(arena, "the secret", body, &object, &error);
        must(err == ERR_NONE || err == ERR_INPUT);
        break;
    }
    if (err != ERR_NONE) {
        check_message(err, &error);
    } else if (source != 'l') {
        must(json_as_object(object, NULL) == ERR_NONE);
        check_value(arena, &object, key);
    }
}

static void check_profile(struct slice text, struct slice name)
{
    const enum aws_profile_form forms[] = {AWS_PROFILE_CREDENTIALS, AWS_PROFILE_CONFIG};
    for (size_t i = 0; i < 2; i++) {
        struct aws_profile profile = aws_profile_read(text, forms[i], name);
        bool has_any = profile.access_key_id.len > 0 || profile.secret_access_key.len > 0 ||
                       profile.session_token.len > 0 || profile.region.len > 0;
        must(profile.is_found || !has_any);
        must(profile.region.len <= text.len);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct arena arena;
    struct slice body = SLICE_NONE;
    struct slice head = slice_cut(slice_of(bytes, size), '\n', &body);
    uint64_t status = 0;
    struct slice key = SLICE_NONE;
    struct slice source = slice_cut(head, ' ', &key);
    struct slice number = slice_cut(key, ' ', &key);
    if (source.len != 1 || text_parse_u64(number, &status) != ERR_NONE || status > 999 ||
        key.at == NULL || body.at == NULL) {
        return 0;
    }
    arena_init(&arena);
    if (source.at[0] == 'p') {
        check_profile(body, key);
    } else {
        check_answer(&arena, source.at[0], (long)status, key, body);
    }
    arena_release(&arena);
    return 0;
}
