/* SPDX-License-Identifier: MIT */
#include "target/aws_signature.h"

#include "base/must.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "base/writer.h"
#include "codec/hex.h"
#include "codec/url.h"

#include <sodium.h>

#define AWS_ALGORITHM     "AWS4-HMAC-SHA256"
#define AWS_CANONICAL_MAX ((size_t)1 << 24) /* far above what limits elsewhere let in */
#define AWS_DATE_SIZE     8
#define AWS_KEY_SIZE      crypto_auth_hmacsha256_BYTES

struct slice aws_time_format(int64_t time, char *text)
{
    char dashed[TIMESTAMP_TEXT_SIZE];
    struct slice from = timestamp_format(time, dashed); /* 2015-08-30T12:36:00.000000Z */
    size_t len = 0;
    for (size_t i = 0; i < from.len && from.at[i] != '.'; i++) {
        if (from.at[i] != '-' && from.at[i] != ':') {
            text[len++] = from.at[i];
        }
    }
    text[len++] = 'Z';
    text[len] = '\0';
    must(len == AWS_TIME_SIZE - 1);
    return slice_of(text, len);
}

static struct slice aws_hash_in(struct arena *arena, struct slice bytes)
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    (void)crypto_hash_sha256(hash, (const unsigned char *)bytes.at, bytes.len);
    return hex_encode(arena, slice_of(hash, sizeof(hash)));
}

/* 'mac' may be the key. */
static void aws_mac(struct slice key, struct slice text, unsigned char mac[AWS_KEY_SIZE])
{
    crypto_auth_hmacsha256_state state;
    (void)crypto_auth_hmacsha256_init(&state, (const unsigned char *)key.at, key.len);
    (void)crypto_auth_hmacsha256_update(&state, (const unsigned char *)text.at, text.len);
    (void)crypto_auth_hmacsha256_final(&state, mac);
    sodium_memzero(&state, sizeof(state));
}

/* By name, then by value: "a=2" comes before "a-b=1", though '-' is less than '='. */
static int aws_compare_parts(const void *a, const void *b)
{
    struct slice first = SLICE_NONE;
    struct slice second = SLICE_NONE;
    int order = slice_compare(slice_cut(*(const struct slice *)a, '=', &first),
                              slice_cut(*(const struct slice *)b, '=', &second));
    return order != 0 ? order : slice_compare(first, second);
}

/* The parts in the order of their bytes; one without '=' gets it. */
static void aws_write_query(struct writer *writer, struct arena *arena, struct slice query)
{
    struct slice *parts = arena_alloc_array(arena, query.len + 1, sizeof(*parts));
    size_t count = 0;
    for (struct slice rest = query; rest.len > 0;) {
        struct slice part = slice_cut(rest, '&', &rest);
        bool has_value = slice_find_byte(part, '=') < part.len;
        if (part.len > 0) {
            parts[count++] = has_value ? part : arena_format(arena, "%.*s=", SLICE_ARG(part));
        }
    }
    qsort(parts, count, sizeof(*parts), aws_compare_parts);
    for (size_t i = 0; i < count; i++) {
        writer_bytes(writer, i == 0 ? SLICE("") : SLICE("&"));
        writer_bytes(writer, parts[i]);
    }
}

static void aws_write_path(struct writer *writer, struct arena *arena, struct slice path)
{
    for (struct slice rest = slice_from(path, 1); rest.at != NULL;) {
        struct slice part = slice_cut(rest, '/', &rest);
        writer_bytes(writer, SLICE("/"));
        writer_bytes(writer, url_encode(arena, part));
    }
}

/* By name; headers of one name stay in the order in which they came. */
static int aws_compare_headers(const void *a, const void *b)
{
    const struct aws_header *first = a;
    const struct aws_header *second = b;
    int order = slice_compare(first->name, second->name);
    bool is_before = first->value.at < second->value.at;
    return order != 0 ? order : (is_before ? -1 : 1);
}

/* White space at the ends goes, within it becomes one space. */
static struct slice aws_squeeze_in(struct arena *arena, struct slice value)
{
    value = slice_trim(value, " \t\r\n");
    char *text = arena_alloc(arena, value.len + 1);
    size_t len = 0;
    for (size_t i = 0; i < value.len; i++) {
        bool is_space = value.at[i] == ' ' || value.at[i] == '\t';
        if (!is_space || text[len - 1] != ' ') {
            text[len++] = is_space ? ' ' : value.at[i];
        }
    }
    return slice_of(text, len);
}

/* Names in lower case, values without needless blanks, sorted. The values lie one behind the other
 * in the arena, which is what keeps headers of one name in order. */
static struct aws_header *aws_headers_in(struct arena *arena, const struct aws_request *request)
{
    struct aws_header *headers = arena_alloc_array(arena, request->header_count, sizeof(*headers));
    size_t size = 0;
    for (size_t i = 0; i < request->header_count; i++) {
        size += request->headers[i].value.len + 1;
    }
    char *at = arena_alloc(arena, size + 1);
    for (size_t i = 0; i < request->header_count; i++) {
        struct slice value = aws_squeeze_in(arena, request->headers[i].value);
        memcpy(at, value.at, value.len);
        headers[i].name = text_lower_in(arena, request->headers[i].name);
        headers[i].value = slice_of(at, value.len);
        at += value.len + 1;
    }
    qsort(headers, request->header_count, sizeof(*headers), aws_compare_headers);
    return headers;
}

static bool aws_repeats(const struct aws_header *headers, size_t index)
{
    return index > 0 && slice_equals(headers[index].name, headers[index - 1].name);
}

/* "host;x-amz-date" */
static struct slice aws_signed_in(struct arena *arena, const struct aws_header *headers,
                                  size_t count)
{
    struct slice names = SLICE("");
    for (size_t i = 0; i < count; i++) {
        if (!aws_repeats(headers, i)) {
            names = arena_format(arena, "%.*s%s%.*s", SLICE_ARG(names), i == 0 ? "" : ";",
                                 SLICE_ARG(headers[i].name));
        }
    }
    return names;
}

static void aws_write_headers(struct writer *writer, const struct aws_header *headers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (aws_repeats(headers, i)) {
            writer_bytes(writer, SLICE(","));
        } else {
            writer_bytes(writer, i == 0 ? SLICE("") : SLICE("\n"));
            writer_bytes(writer, headers[i].name);
            writer_bytes(writer, SLICE(":"));
        }
        writer_bytes(writer, headers[i].value);
    }
    writer_bytes(writer, SLICE("\n\n"));
}

/* The hash of the request in its canonical form. */
static struct slice aws_canonical_in(struct arena *arena, const struct aws_request *request,
                                     const struct aws_header *headers, struct slice names)
{
    struct buf canonical;
    buf_init(&canonical, AWS_CANONICAL_MAX);
    struct writer writer = writer_to(&canonical);
    writer_bytes(&writer, request->method);
    writer_bytes(&writer, SLICE("\n"));
    aws_write_path(&writer, arena, request->path);
    writer_bytes(&writer, SLICE("\n"));
    aws_write_query(&writer, arena, request->query);
    writer_bytes(&writer, SLICE("\n"));
    aws_write_headers(&writer, headers, request->header_count);
    writer_bytes(&writer, names);
    writer_bytes(&writer, SLICE("\n"));
    writer_bytes(&writer, aws_hash_in(arena, request->body));
    must(writer_done(&writer) == ERR_NONE);
    struct slice hash = aws_hash_in(arena, buf_view(&canonical));
    buf_wipe(&canonical); /* it has the session token */
    return hash;
}

static void aws_derive_key(const struct aws_credentials *credentials, const struct aws_scope *scope,
                           struct slice date, unsigned char key[AWS_KEY_SIZE])
{
    struct arena arena;
    arena_init(&arena);
    arena_hold_secrets(&arena);
    struct slice start =
        arena_format(&arena, "AWS4%.*s", SLICE_ARG(credentials->secret_access_key));
    struct slice derived = slice_of(key, AWS_KEY_SIZE);
    aws_mac(start, date, key);
    aws_mac(derived, scope->region, key);
    aws_mac(derived, scope->service, key);
    aws_mac(derived, SLICE("aws4_request"), key);
    arena_release(&arena);
}

struct slice aws_authorization_in(struct arena *arena, const struct aws_request *request,
                                  const struct aws_credentials *credentials,
                                  const struct aws_scope *scope)
{
    char time_text[AWS_TIME_SIZE];
    unsigned char key[AWS_KEY_SIZE];
    unsigned char signature[AWS_KEY_SIZE];
    must(slice_starts_with(request->path, SLICE("/")));
    struct slice time = aws_time_format(scope->time, time_text);
    struct slice date = slice_sub(time, 0, AWS_DATE_SIZE);
    const struct aws_header *headers = aws_headers_in(arena, request);
    struct slice names = aws_signed_in(arena, headers, request->header_count);
    struct slice credential = arena_format(arena, "%.*s/%.*s/%.*s/aws4_request", SLICE_ARG(date),
                                           SLICE_ARG(scope->region), SLICE_ARG(scope->service));
    struct slice hash = aws_canonical_in(arena, request, headers, names);
    struct slice text = arena_format(arena, AWS_ALGORITHM "\n%.*s\n%.*s\n%.*s", SLICE_ARG(time),
                                     SLICE_ARG(credential), SLICE_ARG(hash));
    aws_derive_key(credentials, scope, date, key);
    aws_mac(slice_of(key, sizeof(key)), text, signature);
    sodium_memzero(key, sizeof(key));
    struct slice hex = hex_encode(arena, slice_of(signature, sizeof(signature)));
    return arena_format(arena,
                        AWS_ALGORITHM " Credential=%.*s/%.*s, SignedHeaders=%.*s, Signature=%.*s",
                        SLICE_ARG(credentials->access_key_id), SLICE_ARG(credential),
                        SLICE_ARG(names), SLICE_ARG(hex));
}
