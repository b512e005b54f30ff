/* SPDX-License-Identifier: MIT */
#include "identity/login_redirect.h"

#include "codec/url.h"

/* Browsers read a backslash as a slash, and pass over white space. */
static bool login_redirect_is_plain(struct slice redirect)
{
    for (size_t i = 0; i < redirect.len; i++) {
        unsigned char byte = (unsigned char)redirect.at[i];
        if (byte <= ' ' || byte >= 0x7f || byte == '\\') {
            return false;
        }
    }
    return redirect.len > 0;
}

/* The port stands there: a program that waits for its token knows it. */
static bool login_redirect_has_port(struct slice redirect)
{
    struct slice rest = slice_from(redirect, slice_find(redirect, SLICE("://")) + 3);
    struct slice authority = slice_sub(rest, 0, slice_find_byte(rest, '/'));
    size_t end = authority.len;
    while (end > 0 && authority.at[end - 1] >= '0' && authority.at[end - 1] <= '9') {
        end--;
    }
    return end > 1 && end < authority.len && authority.at[end - 1] == ':' &&
           (authority.at[0] != '[' || authority.at[end - 2] == ']');
}

static bool login_redirect_is_loopback(const struct url *url)
{
    bool is_here = slice_equals(url->host, SLICE("127.0.0.1")) ||
                   slice_equals_nocase(url->host, SLICE("localhost")) ||
                   (url->is_ipv6 && slice_equals(url->host, SLICE("::1")));
    return is_here && url->port != 0 && slice_equals_nocase(url->scheme, SLICE("http")) &&
           slice_equals(url->path, SLICE("/callback")) && url->query.len == 0;
}

/* "." or "..", where each dot may be written as "%2e": a browser takes such steps itself, and may
 * then be somewhere else than below the gateway's own path. */
static bool login_redirect_is_step(struct slice segment)
{
    size_t dot_count = 0;
    for (; segment.len > 0; dot_count++) {
        bool is_escaped = slice_equals_nocase(slice_sub(segment, 0, 3), SLICE("%2e"));
        if (!is_escaped && segment.at[0] != '.') {
            return false;
        }
        segment = slice_from(segment, is_escaped ? 3 : 1);
    }
    return dot_count == 1 || dot_count == 2;
}

static bool login_redirect_has_steps(struct slice path)
{
    while (path.len > 0) {
        if (login_redirect_is_step(slice_cut(path, '/', &path))) {
            return true;
        }
    }
    return false;
}

static bool login_redirect_is_page(const struct url *url, const struct url *own)
{
    bool is_below = slice_starts_with(url->path, own->path);
    struct slice rest = slice_from(url->path, own->path.len);
    bool is_path = rest.len == 0 || rest.at[0] == '/' || slice_ends_with(own->path, SLICE("/"));
    return slice_equals_nocase(url->scheme, own->scheme) &&
           slice_equals_nocase(url->host, own->host) && url->port == own->port &&
           url->is_ipv6 == own->is_ipv6 && is_below && is_path &&
           !login_redirect_has_steps(url->path);
}

enum login_redirect login_redirect_kind(struct slice redirect, struct slice public_url)
{
    struct url url = {0};
    struct url own = {0};
    if (!login_redirect_is_plain(redirect) || url_parse(redirect, &url, NULL) != ERR_NONE ||
        url.has_user || url.fragment.at != NULL || slice_find_byte(redirect, '#') < redirect.len) {
        return LOGIN_REDIRECT_REFUSED;
    }
    if (url_parse(public_url, &own, NULL) == ERR_NONE && login_redirect_is_page(&url, &own)) {
        return LOGIN_REDIRECT_PAGE;
    }
    return login_redirect_is_loopback(&url) && login_redirect_has_port(redirect)
               ? LOGIN_REDIRECT_LOOPBACK
               : LOGIN_REDIRECT_REFUSED;
}

struct slice login_redirect_with_in(struct arena *arena, struct slice redirect, const char *key,
                                    struct slice value)
{
    bool has_query = slice_find_byte(redirect, '?') < redirect.len;
    struct slice encoded = url_encode(arena, value);
    return arena_format(arena, "%.*s%s%s=%.*s", SLICE_ARG(redirect), has_query ? "&" : "?", key,
                        SLICE_ARG(encoded));
}
