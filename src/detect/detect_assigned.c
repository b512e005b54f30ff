/* SPDX-License-Identifier: MIT */
/* Secrets that only their name gives away: "password=…", "aws_secret_access_key": "…", or all of a
 * value whose column has such a name. The name says what to look for, the value's form decides. */
#include "detect/detect_internal.h"

#include "base/limits.h"

#include <string.h>

#define BIT(type)   (UINT64_C(1) << DETECT_##type)
#define BITS_SECRET (BIT(PASSWORD) | BIT(AWS_KEY) | BIT(AZURE_KEY) | BIT(GCP_KEY))

enum {
    PASSWORD_SIZE_MIN = 4,
    AWS_SECRET_SIZE = 40,
    AZURE_KEY_SIZE = 88, /* 64 bytes in base64 */
    GCP_KEY_ID_SIZE = 40,
};

static bool is_base64(struct slice value)
{
    size_t len = value.len;
    while (len > 0 && value.len - len < 2 && value.at[len - 1] == '=') {
        len--;
    }
    for (size_t i = 0; i < len; i++) {
        if (!is_word(value.at[i]) && value.at[i] != '+' && value.at[i] != '/') {
            return false;
        }
    }
    return len > 0;
}

static bool is_all_hex(struct slice value)
{
    for (size_t i = 0; i < value.len; i++) {
        if (!is_hex(value.at[i])) {
            return false;
        }
    }
    return true;
}

/* "sig=" of a shared access signature: 32 bytes in base64, with escapes or without. */
static bool is_signature(struct slice value)
{
    for (size_t i = 0; i < value.len && value.len <= 70; i++) {
        if (!is_word(value.at[i]) && !is_one_of(value.at[i], "%+/=")) {
            return false;
        }
    }
    return value.len >= 43 && value.len <= 70;
}

/* Words that stand where a secret would: names of types, empty ones. */
static bool is_placeholder(struct slice value)
{
    static const struct slice words[] = {
        SLICE_INIT("null"), SLICE_INIT("none"),   SLICE_INIT("true"),   SLICE_INIT("false"),
        SLICE_INIT("text"), SLICE_INIT("string"), SLICE_INIT("varchar")};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (slice_equals_nocase(value, words[i])) {
            return true;
        }
    }
    return value.len < PASSWORD_SIZE_MIN;
}

static void offer_secret(struct detect_scan *scan, uint64_t bits, size_t at, size_t end)
{
    struct slice value = slice_sub(scan->text, at, end - at);
    if ((bits & BIT(AWS_KEY)) != 0 && value.len == AWS_SECRET_SIZE && is_base64(value)) {
        detect_offer(scan, DETECT_AWS_KEY, at, end, 85);
    }
    bool is_account_key = value.len == AZURE_KEY_SIZE && is_base64(value);
    bool is_shared_key = value.len == 44 && value.at[43] == '=' && is_base64(value);
    if ((bits & BIT(AZURE_KEY)) != 0 && (is_account_key || is_shared_key || is_signature(value))) {
        detect_offer(scan, DETECT_AZURE_KEY, at, end, 86);
    }
    if ((bits & BIT(GCP_KEY)) != 0 && value.len == GCP_KEY_ID_SIZE && is_all_hex(value)) {
        detect_offer(scan, DETECT_GCP_KEY, at, end, 80);
    }
    if ((bits & BIT(PASSWORD)) != 0 && !is_placeholder(value)) {
        detect_offer(scan, DETECT_PASSWORD, at, end, 80);
    }
}

/* The last letters of the words that say it: a quick no. */
static bool could_name(char last)
{
    return is_one_of(last, "dtesyaglDTESYAGL");
}

/* The word or words joined by _ and - that end at 'end'. */
static struct slice name_before(const struct detect_scan *scan, size_t end)
{
    size_t start = end;
    while (end - start < LIMIT_DETECT_CONTEXT_SIZE && start > 0 &&
           (is_word(byte_before(scan, start, 1)) || byte_before(scan, start, 1) == '_' ||
            byte_before(scan, start, 1) == '-' || byte_before(scan, start, 1) == '.')) {
        start--;
    }
    return slice_sub(scan->text, start, end - start);
}

static size_t end_of_quoted(const struct detect_scan *scan, size_t start, char quote)
{
    size_t end = start;
    while (end < scan->text.len && end - start < LIMIT_DETECT_VALUE_SIZE &&
           byte_at(scan, end) != quote && byte_at(scan, end) != '\n') {
        end++;
    }
    return end;
}

/* What was gone over once is not looked at again: "key=key=key=" is one value after the other. */
static size_t end_of_bare(struct detect_scan *scan, size_t start)
{
    size_t end = start;
    if (start >= scan->value_at && start <= scan->value_end) {
        end = scan->value_end;
    } else {
        scan->value_at = start;
    }
    while (end < scan->text.len && end - start < LIMIT_DETECT_VALUE_SIZE &&
           (unsigned char)byte_at(scan, end) > ' ' &&
           strchr(",;&\"'<>}", byte_at(scan, end)) == NULL) {
        end++;
    }
    scan->value_end = end;
    return end - start < LIMIT_DETECT_VALUE_SIZE ? end : start + LIMIT_DETECT_VALUE_SIZE;
}

void detect_find_assigned(struct detect_scan *scan, size_t at)
{
    size_t end = at;
    if (scan->pending.len > 0 && at < scan->pending.offset + scan->pending.len) {
        return; /* who goes on behind it does not come by here */
    }
    while (end > 0 && at - end < 3 &&
           (byte_before(scan, end, 1) == ' ' || byte_before(scan, end, 1) == '"' ||
            byte_before(scan, end, 1) == '\'')) {
        end--;
    }
    if (!could_name(byte_before(scan, end, 1))) {
        return;
    }
    uint64_t bits = detect_bits_of_words(name_before(scan, end));
    if ((bits & BITS_SECRET) == 0) {
        return;
    }
    size_t start = at + 1;
    while (start - at <= 3 && (byte_at(scan, start) == ' ' || byte_at(scan, start) == '=')) {
        start++;
    }
    char quote = byte_at(scan, start);
    bool is_quoted = quote == '"' || quote == '\'';
    start += is_quoted;
    end = is_quoted ? end_of_quoted(scan, start, quote) : end_of_bare(scan, start);
    offer_secret(scan, bits, start, end);
}

bool detect_is_secret_name(uint64_t context)
{
    return (context & BITS_SECRET) != 0;
}

void detect_find_named(struct detect_scan *scan)
{
    uint64_t bits = scan->context;
    size_t start = 0, end = scan->text.len;
    if ((bits & BITS_SECRET) == 0 || end > LIMIT_DETECT_VALUE_SIZE) {
        return;
    }
    while (start < end && (unsigned char)byte_at(scan, start) <= ' ') {
        start++;
    }
    while (end > start && (unsigned char)byte_before(scan, end, 1) <= ' ') {
        end--;
    }
    if (start < end && !is_one_of(byte_at(scan, start), "{[\"")) {
        offer_secret(scan, bits, start, end);
    }
}
