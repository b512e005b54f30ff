/* SPDX-License-Identifier: MIT */
/* The four forms of a request target, RFC 9112 3.2, and the host in them. */
#include "wire/http1_internal.h"
#include "wire/http_bytes.h"

#define PORT_MAX 65535

/* The size of "[…]" with an IPv6 address in it, or 0. Whether the address makes sense is asked by
 * who uses it; later forms of IP literals (RFC 3986 3.2.2, IPvFuture) do not exist. */
static size_t ip_literal_size(struct slice text)
{
    size_t end = slice_find_byte(text, ']');
    if (end == text.len || end < 3) {
        return 0;
    }
    for (size_t i = 1; i < end; i++) {
        if (!http_byte_is(text.at[i], HTTP_BYTE_HEX) && text.at[i] != ':' && text.at[i] != '.') {
            return 0;
        }
    }
    return end + 1;
}

/* The size of the reg-name or IPv4 address that 'text' begins with. */
static size_t name_size(struct slice text)
{
    size_t i = 0;
    while (i < text.len) {
        if (http_byte_is(text.at[i], HTTP_BYTE_HOST)) {
            i++;
        } else if (text.at[i] == '%' && text.len - i > 2 &&
                   http_byte_is(text.at[i + 1], HTTP_BYTE_HEX) &&
                   http_byte_is(text.at[i + 2], HTTP_BYTE_HEX)) {
            i += 3;
        } else {
            break;
        }
    }
    return i;
}

/* ":" and a number; the number may be missing (RFC 3986 3.2.3). */
static bool is_port(struct slice text)
{
    unsigned port = 0;
    if (text.len == 0 || text.at[0] != ':') {
        return false;
    }
    for (size_t i = 1; i < text.len; i++) {
        if (text.at[i] < '0' || text.at[i] > '9') {
            return false;
        }
        port = port * 10 + (unsigned)(text.at[i] - '0');
        if (port > PORT_MAX) {
            return false;
        }
    }
    return true;
}

static size_t host_size(struct slice text)
{
    bool literal = text.len > 0 && text.at[0] == '[';
    return literal ? ip_literal_size(text) : name_size(text);
}

bool http1_is_authority(struct slice text)
{
    size_t size = host_size(text);
    return size > 0 && (size == text.len || is_port(slice_from(text, size)));
}

static bool is_target(struct slice target)
{
    for (size_t i = 0; i < target.len; i++) {
        if (!http_byte_is(target.at[i], HTTP_BYTE_TARGET)) {
            return false;
        }
    }
    return target.len > 0;
}

static struct slice without_scheme(struct slice target)
{
    if (slice_equals_nocase(slice_sub(target, 0, 7), SLICE("http://"))) {
        return slice_from(target, 7);
    }
    if (slice_equals_nocase(slice_sub(target, 0, 8), SLICE("https://"))) {
        return slice_from(target, 8);
    }
    return SLICE_NONE;
}

/* RFC 9112 3.2.2 */
static bool parse_absolute(struct http1_request *request)
{
    struct slice rest = without_scheme(request->target);
    size_t end = slice_find_byte(rest, '/');
    size_t question = slice_find_byte(rest, '?');
    end = question < end ? question : end;
    request->host = slice_sub(rest, 0, end);
    if (!http1_is_authority(request->host)) {
        return false;
    }
    request->path = slice_cut(slice_from(rest, end), '?', &request->query);
    if (request->path.len == 0) {
        request->path = SLICE("/");
    }
    return true;
}

/* RFC 9112 3.2.3: only CONNECT, and the port is not optional (RFC 9110 9.3.6). */
static bool parse_authority(struct http1_request *request)
{
    struct slice port = slice_from(request->target, host_size(request->target));
    request->host = request->target;
    return http1_is_authority(request->target) && port.len > 1;
}

static bool parse_form(struct http1_request *request)
{
    if (slice_equals(request->method, SLICE("CONNECT"))) {
        return parse_authority(request);
    }
    if (request->target.at[0] == '/') {
        request->path = slice_cut(request->target, '?', &request->query);
        return true;
    }
    if (slice_equals(request->target, SLICE("*"))) {
        request->path = request->target;
        return slice_equals(request->method, SLICE("OPTIONS"));
    }
    return parse_absolute(request);
}

enum err http1_target_parse(struct http1_request *request, struct http1_problem *reterr_problem)
{
    if (!is_target(request->target) || !parse_form(request)) {
        return http1_refuse(reterr_problem, 400, "the request target is not valid");
    }
    return ERR_NONE;
}
