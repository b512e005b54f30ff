/* SPDX-License-Identifier: MIT */
#include "protocol/ssh/ssh_forward.h"

#include "base/limits.h"
#include "base/text.h"
#include "protocol/ssh/ssh_pattern.h"

#define PORT_MAX 65535

struct forward_pattern {
    struct slice host;
    uint64_t first;
    uint64_t last;
};

static bool forward_is_host(struct slice host, bool is_pattern)
{
    bool is_good = host.len > 0 && host.len <= 255;
    for (size_t i = 0; i < host.len; i++) {
        char byte = host.at[i];
        bool is_word = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                       (byte >= '0' && byte <= '9');
        is_good = is_good && (is_word || byte == '.' || byte == '-' || byte == '_' || byte == ':' ||
                              byte == '%' || (is_pattern && byte == '*'));
    }
    return is_good;
}

static bool forward_read_ports(struct slice text, struct forward_pattern *pattern)
{
    struct slice last;
    struct slice first = slice_cut(text, '-', &last);
    bool is_range = first.len < text.len;
    *pattern = (struct forward_pattern){.host = pattern->host, .first = 1, .last = PORT_MAX};
    if (slice_equals(text, SLICE("*"))) {
        return true;
    }
    return text_parse_u64(first, &pattern->first) == ERR_NONE &&
           text_parse_u64(is_range ? last : first, &pattern->last) == ERR_NONE &&
           pattern->first >= 1 && pattern->first <= pattern->last && pattern->last <= PORT_MAX;
}

static bool forward_read(struct slice text, struct forward_pattern *pattern)
{
    size_t colon = text.len;
    bool is_bracketed = slice_starts_with(text, SLICE("["));
    while (colon > 0 && text.at[colon - 1] != ':') {
        colon--;
    }
    if (colon == 0) {
        return false;
    }
    struct slice host = slice_sub(text, 0, colon - 1);
    if (is_bracketed) {
        if (!slice_ends_with(host, SLICE("]")) || host.len < 2) {
            return false;
        }
        host = slice_sub(host, 1, host.len - 2);
    } else if (slice_find_byte(host, ':') < host.len) {
        return false; /* of IPv6: where does its port begin? */
    }
    pattern->host = host;
    return forward_is_host(host, true) && forward_read_ports(slice_from(text, colon), pattern);
}

enum err sshd_forward_check(struct slice patterns, const char *name, struct error *reterr)
{
    size_t count = 0;
    struct forward_pattern pattern;
    struct slice text = sshd_pattern_next(&patterns);
    while (text.len > 0) {
        if (!forward_read(text, &pattern)) {
            return fail(reterr, ERR_INPUT,
                        "'envvar:%s' of the connection: pattern %zu is not 'host:port'", name,
                        count + 1);
        }
        if (++count > LIMIT_SSH_FORWARDS) {
            return fail(reterr, ERR_LIMIT,
                        "'envvar:%s' of the connection has more than %d patterns", name,
                        LIMIT_SSH_FORWARDS);
        }
        text = sshd_pattern_next(&patterns);
    }
    return ERR_NONE;
}

bool sshd_forward_allows(struct slice patterns, struct slice host, uint32_t port)
{
    struct forward_pattern pattern;
    bool is_allowed = false;
    if (!forward_is_host(host, false) || port == 0 || port > PORT_MAX) {
        return false;
    }
    struct slice text = sshd_pattern_next(&patterns);
    while (text.len > 0 && !is_allowed) {
        is_allowed = forward_read(text, &pattern) && port >= pattern.first &&
                     port <= pattern.last && sshd_pattern_matches(pattern.host, host, false);
        text = sshd_pattern_next(&patterns);
    }
    return is_allowed;
}
