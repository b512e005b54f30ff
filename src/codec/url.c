/* SPDX-License-Identifier: MIT */
#include "codec/url.h"

#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"
#include "codec/hex.h"

struct url_scheme {
    struct slice name;
    uint16_t port;
    bool needs_host;
};

static const struct url_scheme url_schemes[] = {
    {SLICE_INIT("http"), 80, true},
    {SLICE_INIT("https"), 443, true},
    {SLICE_INIT("postgres"), 5432, false},
    {SLICE_INIT("postgresql"), 5432, false},
};

/* RFC 3986 section 2.3. */
static bool url_is_unreserved(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '-' || byte == '.' || byte == '_' || byte == '~';
}

/* RFC 3986 section 2.2: those that stand for themselves in names. */
static bool url_is_sub_delimiter(char byte)
{
    return byte != '\0' && strchr("!$&'()*+,;=", byte) != NULL;
}

struct slice url_encode(struct arena *arena, struct slice text)
{
    static const char digits[] = "0123456789ABCDEF";
    must(text.len <= SIZE_MAX / 3);
    char *encoded = arena_alloc(arena, text.len * 3);
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        uint8_t byte = (uint8_t)text.at[i];
        if (url_is_unreserved(text.at[i])) {
            encoded[len++] = text.at[i];
            continue;
        }
        encoded[len++] = '%';
        encoded[len++] = digits[byte >> 4];
        encoded[len++] = digits[byte & 15];
    }
    return slice_of(encoded, len);
}

static enum err url_read_escape(struct slice text, size_t index, char *ret_byte)
{
    return hex_decode(slice_sub(text, index + 1, 2), ret_byte, 1);
}

static enum err url_decode_with(struct arena *arena, struct slice text, char plus,
                                struct slice *ret_decoded)
{
    char *decoded = arena_alloc(arena, text.len);
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        char byte = text.at[i] == '+' ? plus : text.at[i];
        if (byte == '%') {
            if (url_read_escape(text, i, &byte) != ERR_NONE) {
                return ERR_INPUT;
            }
            i += 2;
        }
        if (byte == '\0') {
            return ERR_INPUT;
        }
        decoded[len++] = byte;
    }
    struct slice result = slice_of(decoded, len);
    if (!text_is_utf8(result)) {
        return ERR_INPUT;
    }
    *ret_decoded = result;
    return ERR_NONE;
}

enum err url_decode(struct arena *arena, struct slice text, struct slice *ret_decoded)
{
    return url_decode_with(arena, text, '+', ret_decoded);
}

struct url_query url_query_of(struct slice text)
{
    return (struct url_query){.rest = text};
}

enum err url_query_next(struct arena *arena, struct url_query *query, struct slice *ret_key,
                        struct slice *ret_value)
{
    struct slice part = SLICE_NONE;
    while (part.len == 0) {
        if (query->rest.len == 0) {
            return ERR_NOT_FOUND;
        }
        part = slice_cut(query->rest, '&', &query->rest);
    }
    struct slice written_value;
    struct slice written_key = slice_cut(part, '=', &written_value);
    enum err err = url_decode_with(arena, written_key, ' ', ret_key);
    return err == ERR_NONE ? url_decode_with(arena, written_value, ' ', ret_value) : err;
}

enum err url_query_find(struct arena *arena, struct slice text, struct slice key,
                        struct slice *ret_value)
{
    struct url_query query = url_query_of(text);
    struct slice found;
    struct slice value;
    enum err err = url_query_next(arena, &query, &found, &value);
    while (err == ERR_NONE && !slice_equals(found, key)) {
        err = url_query_next(arena, &query, &found, &value);
    }
    if (err == ERR_NONE) {
        *ret_value = value;
    }
    return err;
}

/* Only what a URL may consist of: unreserved, escapes, sub-delimiters and those in 'others'. */
static bool url_is_made_of(struct slice text, const char *others)
{
    for (size_t i = 0; i < text.len; i++) {
        char byte = text.at[i];
        if (byte == '%') {
            if (url_read_escape(text, i, &byte) != ERR_NONE) {
                return false;
            }
            i += 2;
        } else if (!url_is_unreserved(byte) && !url_is_sub_delimiter(byte) &&
                   (byte == '\0' || strchr(others, byte) == NULL)) {
            return false;
        }
    }
    return true;
}

static bool url_is_ipv6(struct slice host)
{
    for (size_t i = 0; i < host.len; i++) {
        if (host.at[i] == '\0' || strchr("0123456789abcdefABCDEF:.", host.at[i]) == NULL) {
            return false;
        }
    }
    return host.len >= 2 && slice_find_byte(host, ':') < host.len;
}

static enum err url_parse_port(struct slice text, uint16_t *port, struct error *error)
{
    uint64_t number;
    if (text_parse_u64(text, &number) != ERR_NONE || number < 1 || number > UINT16_MAX) {
        return fail(error, ERR_INPUT, "the port of the URL must be a number from 1 to 65535");
    }
    *port = (uint16_t)number;
    return ERR_NONE;
}

static enum err url_parse_host(struct slice text, struct url *url, struct error *error)
{
    struct slice port;
    if (slice_starts_with(text, SLICE("["))) {
        struct slice behind;
        url->host = slice_cut(slice_from(text, 1), ']', &behind);
        url->is_ipv6 = true;
        if (behind.at == NULL || !url_is_ipv6(url->host) ||
            (behind.len > 0 && behind.at[0] != ':')) {
            return fail(error, ERR_INPUT, "the host of the URL is not an IPv6 address in brackets");
        }
        port = behind.len > 0 ? slice_from(behind, 1) : SLICE_NONE;
        if (behind.len == 0) {
            return ERR_NONE;
        }
    } else {
        url->host = slice_cut(text, ':', &port);
        if (!url_is_made_of(url->host, "")) {
            return fail(error, ERR_INPUT, "the host of the URL is malformed");
        }
    }
    return port.at == NULL ? ERR_NONE : url_parse_port(port, &url->port, error);
}

/* user:password@host:port */
static enum err url_parse_authority(struct slice text, struct url *url, struct error *error)
{
    struct slice host;
    struct slice user = slice_cut(text, '@', &host);
    if (host.at == NULL) {
        return url_parse_host(text, url, error);
    }
    url->has_user = true;
    url->user = slice_cut(user, ':', &url->password);
    url->has_password = url->password.at != NULL;
    if (!url_is_made_of(url->user, "") || !url_is_made_of(url->password, ":")) {
        return fail(error, ERR_INPUT, "the user or password of the URL must be percent-encoded");
    }
    return url_parse_host(host, url, error);
}

static const struct url_scheme *url_find_scheme(struct slice name)
{
    for (size_t i = 0; i < COUNT_OF(url_schemes); i++) {
        if (slice_equals_nocase(name, url_schemes[i].name)) {
            return &url_schemes[i];
        }
    }
    return NULL;
}

static size_t url_authority_len(struct slice text)
{
    size_t len = 0;
    while (len < text.len && text.at[len] != '/' && text.at[len] != '?' && text.at[len] != '#') {
        len++;
    }
    return len;
}

enum err url_parse(struct slice text, struct url *ret_url, struct error *error)
{
    struct url url = {0};
    struct slice rest;
    url.scheme = slice_cut(text, ':', &rest);
    const struct url_scheme *scheme = url_find_scheme(url.scheme);
    if (scheme == NULL || !slice_starts_with(rest, SLICE("//"))) {
        return fail(error, ERR_INPUT,
                    "the URL must begin with http://, https://, postgres:// or postgresql://");
    }
    url.port = scheme->port;
    rest = slice_from(rest, 2);
    size_t authority_len = url_authority_len(rest);
    enum err err = url_parse_authority(slice_sub(rest, 0, authority_len), &url, error);
    if (err != ERR_NONE) {
        return err;
    }
    if (url.host.len == 0 && scheme->needs_host) {
        return fail(error, ERR_INPUT, "the URL has no host");
    }
    rest = slice_cut(slice_from(rest, authority_len), '#', &url.fragment);
    url.path = slice_cut(rest, '?', &url.query);
    if (!url_is_made_of(url.path, ":@/") || !url_is_made_of(url.query, ":@/?") ||
        !url_is_made_of(url.fragment, ":@/?")) {
        return fail(error, ERR_INPUT, "the path or query of the URL must be percent-encoded");
    }
    *ret_url = url;
    return ERR_NONE;
}
