/* SPDX-License-Identifier: MIT */
#include "tunnel/upgrade.h"

#include "base/memory.h"
#include "base/text.h"
#include "base/writer.h"
#include "tunnel/hello.h"
#include "wire/http.h"

#include <stdio.h>

#define UPGRADE_SHOWN_MAX 120

static bool upgrade_is_line(struct slice value)
{
    return http_is_field_value(value);
}

enum err upgrade_write(const struct upgrade_request *request, struct buf *buf)
{
    if (!upgrade_is_line(request->authority) || !upgrade_is_line(request->prefix) ||
        !upgrade_is_line(request->name) || !upgrade_is_line(request->secret) ||
        slice_find_byte(request->prefix, ' ') != request->prefix.len) {
        return ERR_INPUT;
    }
    struct writer writer = writer_to(buf);
    writer_bytes(&writer, SLICE("GET "));
    writer_bytes(&writer, request->prefix);
    writer_bytes(&writer, SLICE(HELLO_PATH " HTTP/1.1\r\nHost: "));
    writer_bytes(&writer, request->authority);
    writer_bytes(&writer, SLICE("\r\nConnection: Upgrade\r\nUpgrade: " HELLO_PROTOCOL
                                "\r\nAuthorization: Bearer "));
    writer_bytes(&writer, request->secret);
    if (request->name.len > 0) {
        writer_bytes(&writer, SLICE("\r\nGatehouse-Agent: "));
        writer_bytes(&writer, request->name);
    }
    char number[24];
    (void)snprintf(number, sizeof(number), "%zu", request->link);
    writer_bytes(&writer, SLICE("\r\n" UPGRADE_LINK_HEADER ": "));
    writer_bytes(&writer, slice_of_text(number));
    writer_bytes(&writer, SLICE("\r\n\r\n"));
    return writer_done(&writer);
}

/* Something for a person, of what is not ours. */
static enum err upgrade_refuse(struct slice head, uint64_t status, struct error *reterr)
{
    if (status == 401 || status == 403) {
        return fail(reterr, ERR_UNAUTHENTICATED,
                    "the gateway does not know this token: the agent was deleted, or it is of "
                    "another gateway");
    }
    if (status == 503 || status == 429 || status == 502 || status == 504) {
        return fail(reterr, ERR_UNAVAILABLE, "the gateway is not available right now (%d)",
                    (int)status);
    }
    if (status > 0) {
        return fail(reterr, ERR_UNSUPPORTED,
                    "what answers there is no gateway that agents can link to (status %d)",
                    (int)status);
    }
    struct buf shown CLEANUP(buf_release);
    buf_init(&shown, LIMIT_KIB(1));
    struct writer writer = writer_to(&shown);
    text_show(&writer, slice_sub(head, 0, UPGRADE_SHOWN_MAX));
    return fail(reterr, ERR_INPUT, "what answers there does not speak HTTP: '%.*s'",
                SLICE_ARG(buf_view(&shown)));
}

static bool upgrade_has(struct slice lines, struct slice wanted_name, struct slice wanted_value)
{
    while (lines.len > 0) {
        struct slice value = SLICE_NONE;
        struct slice line = slice_trim(slice_cut(lines, '\n', &lines), "\r");
        struct slice name = slice_cut(line, ':', &value);
        if (slice_equals_nocase(name, wanted_name) &&
            slice_equals_nocase(slice_trim(value, " \t"), wanted_value)) {
            return true;
        }
    }
    return false;
}

enum err upgrade_read(struct slice bytes, size_t *ret_size, struct error *reterr)
{
    struct slice wanted = SLICE("HTTP/1.1 ");
    struct slice seen = slice_sub(bytes, 0, LIMIT_TUNNEL_ANSWER_SIZE);
    struct slice start = slice_sub(seen, 0, wanted.len);
    if (!slice_starts_with(wanted, start)) {
        return upgrade_refuse(seen, 0, reterr);
    }
    size_t end = slice_find(seen, SLICE("\r\n\r\n"));
    if (end == seen.len) {
        return seen.len < LIMIT_TUNNEL_ANSWER_SIZE
                   ? ERR_MORE
                   : fail(reterr, ERR_LIMIT, "the answer has too many headers");
    }
    struct slice lines = slice_sub(seen, 0, end);
    struct slice first = slice_cut(lines, '\n', &lines);
    uint64_t status = 0;
    if (text_parse_u64(slice_sub(first, wanted.len, 3), &status) != ERR_NONE) {
        return upgrade_refuse(seen, 0, reterr);
    }
    if (status != 101) {
        return upgrade_refuse(seen, status, reterr);
    }
    if (!upgrade_has(lines, SLICE("Upgrade"), SLICE(HELLO_PROTOCOL))) {
        return fail(reterr, ERR_UNSUPPORTED, "the gateway speaks another protocol than this agent");
    }
    *ret_size = end + 4;
    return ERR_NONE;
}
