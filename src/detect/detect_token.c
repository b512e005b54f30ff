/* SPDX-License-Identifier: MIT */
/* Secrets that say what they are: tokens and keys with a prefix, JWTs, PEM. */
#include "detect/detect_internal.h"

#include "base/limits.h"
#include "codec/base64.h"

#include <string.h>

static size_t end_of_token(const struct detect_scan *scan, size_t at)
{
    while (is_token(byte_at(scan, at))) {
        at++;
    }
    return at;
}

/* Only letters and digits, and no longer. */
static bool is_all_word(const struct detect_scan *scan, size_t at, size_t end)
{
    while (at < end && is_word(byte_at(scan, at))) {
        at++;
    }
    return at == end;
}

/* An object with the member that each JOSE header has. */
static bool is_jwt_header(struct slice part)
{
    char header[LIMIT_DETECT_HEADER_SIZE];
    size_t size = 0;
    if (part.len > LIMIT_DETECT_HEADER_SIZE ||
        base64_decode(BASE64_URL, part, header, sizeof(header), &size) != ERR_NONE || size < 2) {
        return false;
    }
    struct slice text = slice_of(header, size);
    return header[0] == '{' && header[size - 1] == '}' &&
           slice_find(text, SLICE("\"alg\"")) < text.len;
}

static void find_jwt(struct detect_scan *scan, size_t at, size_t end)
{
    size_t body = end_of_token(scan, end + 1), signature;
    if (byte_at(scan, end) != '.' || body == end + 1 || byte_at(scan, body) != '.' ||
        !is_jwt_header(slice_sub(scan->text, at, end - at))) {
        return;
    }
    signature = end_of_token(scan, body + 1);
    detect_offer(scan, DETECT_JWT, at, signature, 98);
}

/* CRC-32 of the 30 characters, in base 62, in six. */
static bool check_github(const char *at)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < 30; i++) {
        crc ^= (unsigned char)at[i];
        for (unsigned bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (UINT32_C(0xedb88320) & (0U - (crc & 1)));
        }
    }
    crc = ~crc;
    for (size_t i = 36; i > 30; i--) {
        if (at[i - 1] != digits[crc % 62]) {
            return false;
        }
        crc /= 62;
    }
    return true;
}

static void find_github(struct detect_scan *scan, size_t at, size_t end)
{
    struct slice token = slice_sub(scan->text, at, end - at);
    if (token.len == 40 && token.at[3] == '_' && strchr("pousr", token.at[2]) != NULL &&
        is_all_word(scan, at + 4, end)) {
        detect_offer(scan, DETECT_GITHUB_TOKEN, at, end, check_github(token.at + 4) ? 100 : 70);
    } else if (slice_starts_with(token, SLICE("github_pat_")) && token.len >= 82) {
        detect_offer(scan, DETECT_GITHUB_TOKEN, at, end, 95);
    }
}

static void find_stripe(struct detect_scan *scan, size_t at, size_t end)
{
    struct slice token = slice_sub(scan->text, at, end - at);
    struct slice kind = slice_sub(token, 3, 5);
    bool is_key =
        (slice_starts_with(token, SLICE("sk_")) || slice_starts_with(token, SLICE("rk_"))) &&
        (slice_equals(kind, SLICE("live_")) || slice_equals(kind, SLICE("test_")));
    bool is_webhook = slice_starts_with(token, SLICE("whsec_")) && token.len >= 30;
    if ((is_key && token.len >= 18 && is_all_word(scan, at + 8, end)) || is_webhook) {
        detect_offer(scan, DETECT_STRIPE_KEY, at, end, 95);
    }
}

static void find_slack(struct detect_scan *scan, size_t at, size_t end)
{
    struct slice token = slice_sub(scan->text, at, end - at);
    bool is_key = token.len >= 20 && memcmp(token.at, "xox", 3) == 0 && token.at[4] == '-' &&
                  strchr("abposrec", token.at[3]) != NULL;
    if (is_key || slice_starts_with(token, SLICE("xapp-1-"))) {
        detect_offer(scan, DETECT_SLACK_TOKEN, at, end, 95);
    }
}

static void find_aws_id(struct detect_scan *scan, size_t at, size_t end)
{
    struct slice token = slice_sub(scan->text, at, end - at);
    if (token.len != 20 || token.at[0] != 'A' || !(token.at[1] == 'K' || token.at[1] == 'S') ||
        token.at[2] != 'I' || token.at[3] != 'A') {
        return;
    }
    for (size_t i = 4; i < token.len; i++) {
        if (!is_upper(token.at[i]) && !is_digit(token.at[i])) {
            return;
        }
    }
    detect_offer(scan, DETECT_AWS_KEY, at, end, 95);
}

static void find_google(struct detect_scan *scan, size_t at, size_t end)
{
    struct slice token = slice_sub(scan->text, at, end - at);
    if ((token.len == 39 && slice_starts_with(token, SLICE("AIza"))) ||
        (token.len == 35 && slice_starts_with(token, SLICE("GOCSPX-")))) {
        detect_offer(scan, DETECT_GCP_KEY, at, end, 95);
    } else if (at >= 5 && memcmp(scan->text.at + at - 5, "ya29.", 5) == 0 && token.len >= 30) {
        detect_offer(scan, DETECT_GCP_KEY, at - 5, end, 95);
    }
}

/* A client secret: three signs and a digit, "Q~", and 31 to 34 signs. */
static void find_azure(struct detect_scan *scan, size_t at)
{
    size_t end = at;
    if (at < 6 || byte_before(scan, at, 1) != '~' || byte_before(scan, at, 2) != 'Q' ||
        !is_digit(byte_before(scan, at, 3))) {
        return;
    }
    while (end - at <= 34 && (is_token(byte_at(scan, end)) || byte_at(scan, end) == '~' ||
                              (byte_at(scan, end) == '.' && is_token(byte_at(scan, end + 1))))) {
        end++;
    }
    if (end - at >= 31 && end - at <= 34 && detect_is_start(scan, at - 6)) {
        detect_offer(scan, DETECT_AZURE_KEY, at - 6, end, 95);
    }
}

static void find_prefixed(struct detect_scan *scan, size_t at, size_t end)
{
    switch (byte_at(scan, at)) {
    case 'e':
        if (byte_at(scan, at + 1) == 'y' && is_wanted(scan, DETECT_JWT, 98)) {
            find_jwt(scan, at, end);
        }
        break;
    case 'g':
        if (byte_at(scan, at + 1) == 'h' || byte_at(scan, at + 1) == 'i') {
            find_github(scan, at, end);
        }
        break;
    case 's':
    case 'r':
    case 'w':
        find_stripe(scan, at, end);
        break;
    case 'x':
        find_slack(scan, at, end);
        break;
    case 'A':
        find_aws_id(scan, at, end);
        find_google(scan, at, end);
        break;
    case 'G':
        find_google(scan, at, end);
        break;
    default:
        break;
    }
}

void detect_find_token(struct detect_scan *scan, size_t at)
{
    size_t end = end_of_token(scan, at);
    char before = byte_before(scan, at, 1);
    if (before == '~') {
        find_azure(scan, at);
    } else if (before == '.') {
        find_google(scan, at, end);
    }
    find_prefixed(scan, at, end);
    size_t size = end - at;
    if (size == 17 && byte_at(scan, at + 2) == '-') {
        detect_find_mac_dashed(scan, at);
    }
    if (size <= 16) {
        detect_find_code(scan, at, end);
    }
    if (size >= 26 && size <= 90) {
        detect_find_crypto(scan, at, end);
    }
}

/* The line that a PEM block begins or ends with; what stands behind it, 0 when it is none. */
static size_t end_of_pem_line(const struct detect_scan *scan, size_t at, struct slice begins)
{
    struct slice line = slice_sub(scan->text, at, 80);
    size_t found = slice_find(line, SLICE("PRIVATE KEY"));
    if (!slice_starts_with(line, begins) || found >= line.len) {
        return 0;
    }
    struct slice rest = slice_from(line, found);
    size_t end = slice_find(rest, SLICE("-----"));
    return end < rest.len ? at + found + end + 5 : 0;
}

/* Up to and with its last line; without one, as far as it looks like a key. A backslash is there in
 * JSON; "Proc-Type: 4,ENCRYPTED" and "Version: …" in the headers of old ones. */
void detect_find_pem(struct detect_scan *scan, size_t at)
{
    size_t end = end_of_pem_line(scan, at, SLICE("-----BEGIN "));
    if (end == 0) {
        return;
    }
    for (; end < scan->text.len; end++) {
        char byte = byte_at(scan, end);
        size_t last = byte == '-' ? end_of_pem_line(scan, end, SLICE("-----END ")) : 0;
        if (last != 0) {
            end = last;
            break;
        }
        if (!is_word(byte) && (byte == '\0' || strchr("+/=\r\n\\ :,.-", byte) == NULL)) {
            break;
        }
    }
    detect_offer(scan, DETECT_PRIVATE_KEY, at, end, 100);
}
