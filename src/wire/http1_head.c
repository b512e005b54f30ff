/* SPDX-License-Identifier: MIT */
/* The head of a request: where it ends, its lines, and the headers that decide how the message is
 * framed. The request target has a file of its own. */
#include "wire/http1_internal.h"

#include "base/must.h"
#include "wire/http_bytes.h"

/* RFC 9112 2.2: an empty line before the request line is skipped; two allow for an old client that
 * ends its body with one. */
#define EMPTY_LINE_COUNT 2
/* "HTTP/1.1" */
#define VERSION_SIZE 8

/* What the headers said, to be judged together when all were seen. */
struct framing {
    size_t host_count;
    size_t length_count;
    bool coded; /* there is a Transfer-Encoding */
    bool coding_chunked;
    bool coding_unknown;
    bool connection_close;
    bool connection_keep_alive;
    bool connection_upgrade;
    bool has_upgrade;
    bool expects_continue;
};

enum err http1_refuse(struct http1_problem *reterr_problem, int status, const char *text)
{
    *reterr_problem = (struct http1_problem){.status = status, .text = text};
    switch (status) {
    case 414:
    case 431:
        return ERR_LIMIT;
    case 417:
    case 501:
    case 505:
        return ERR_UNSUPPORTED;
    default:
        return ERR_INPUT;
    }
}

/* text[from, to). A call into slice.c for each part of each line costs more than the parsing does;
 * this one is inline, and its indices are ours. */
static inline struct slice span(struct slice text, size_t from, size_t to)
{
    must(from <= to && to <= text.len);
    return (struct slice){.at = text.at + from, .len = to - from};
}

/* The index of the first such byte in text[from, to), or 'to'. */
static inline size_t find_byte(struct slice text, char byte, size_t from, size_t to)
{
    if (from == to) {
        return to; /* of an empty slice, perhaps, that points nowhere */
    }
    struct slice part = span(text, from, to);
    const char *found = memchr(part.at, byte, part.len);
    return found == NULL ? to : (size_t)(found - text.at);
}

/* The size of the empty lines before the request line. */
static size_t empty_lines_size(struct slice input)
{
    size_t size = 0;
    while (size < 2 * EMPTY_LINE_COUNT && input.len - size >= 2 && input.at[size] == '\r' &&
           input.at[size + 1] == '\n') {
        size += 2;
    }
    return size;
}

/* Whether input[from, to), without LF, may follow what is before it and be followed by LF (or, at
 * the end of the input, by more): a CR is the last byte, and not one before 'from'. */
static bool has_bare_cr(struct slice input, size_t from, size_t to)
{
    if (from == to) {
        return false;
    }
    bool pending = from > 0 && input.at[from - 1] == '\r';
    return pending || find_byte(input, '\r', from, to - 1) < to - 1;
}

/* Looks at the bytes after *scanned, line by line. ERR_NONE when the line that ends the head is
 * there: then *scanned is after it. */
static enum err scan_lines(struct slice input, size_t *scanned)
{
    size_t start = empty_lines_size(input);
    while (*scanned < input.len) {
        size_t from = *scanned;
        size_t lf = find_byte(input, '\n', from, input.len);
        if (has_bare_cr(input, from, lf)) {
            return ERR_INPUT;
        }
        if (lf == input.len) {
            *scanned = lf;
            return ERR_MORE;
        }
        if (lf == 0 || input.at[lf - 1] != '\r') {
            return ERR_INPUT;
        }
        *scanned = lf + 1;
        if (lf == start + 1) {
            return ERR_INPUT; /* one empty line too many */
        }
        if (lf > start && input.at[lf - 2] == '\n') {
            return ERR_NONE;
        }
    }
    return ERR_MORE;
}

enum err http1_head_find(struct slice input, size_t *scanned, size_t *ret_size,
                         struct http1_problem *reterr_problem)
{
    struct slice head = slice_sub(input, 0, LIMIT_HTTP_HEAD_SIZE);
    size_t from = *scanned;
    enum err err = scan_lines(head, scanned);
    if (err == ERR_INPUT || find_byte(head, '\0', from, *scanned) < *scanned) {
        return http1_refuse(reterr_problem, 400,
                            "a line of the request's head does not end in CR LF");
    }
    if (err == ERR_NONE) {
        *ret_size = *scanned;
        return ERR_NONE;
    }
    if (head.len < LIMIT_HTTP_HEAD_SIZE) {
        return ERR_MORE;
    }
    if (find_byte(head, '\n', empty_lines_size(head), head.len) == head.len) {
        return http1_refuse(reterr_problem, 414, "the request target is too long");
    }
    return http1_refuse(reterr_problem, 431, "the request's head is too large");
}

/* The line at *index without its CR LF; false when there is none. */
static bool next_line(struct slice head, size_t *index, struct slice *ret_line)
{
    size_t from = *index;
    size_t lf = find_byte(head, '\n', from, head.len);
    if (lf == head.len || lf == from || head.at[lf - 1] != '\r') {
        return false;
    }
    *index = lf + 1;
    *ret_line = span(head, from, lf - 1);
    return true;
}

static size_t token_size(struct slice text)
{
    size_t size = 0;
    while (size < text.len && http_byte_is(text.at[size], HTTP_BYTE_TOKEN)) {
        size++;
    }
    return size;
}

/* Without the SP and HTAB around it; an empty rest keeps its place. */
static struct slice trim_space(struct slice text)
{
    size_t from = 0;
    size_t to = text.len;
    while (from < to && (text.at[from] == ' ' || text.at[from] == '\t')) {
        from++;
    }
    while (to > from && (text.at[to - 1] == ' ' || text.at[to - 1] == '\t')) {
        to--;
    }
    return span(text, from, to);
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* RFC 9112 2.3; a later minor version of HTTP/1 is understood as 1.1 (RFC 9110 2.5). */
static enum err parse_version(struct slice text, struct http1_request *request,
                              struct http1_problem *reterr_problem)
{
    if (text.len != VERSION_SIZE || !slice_starts_with(text, SLICE("HTTP/")) ||
        !is_digit(text.at[5]) || text.at[6] != '.' || !is_digit(text.at[7])) {
        return http1_refuse(reterr_problem, 400, "the request line has no valid HTTP version");
    }
    if (text.at[5] != '1') {
        return http1_refuse(reterr_problem, 505, "only HTTP/1.1 and HTTP/1.0 are spoken here");
    }
    request->version_minor = text.at[7] == '0' ? 0 : 1;
    return ERR_NONE;
}

/* RFC 9112 3: exactly one space between the three parts. */
static enum err parse_request_line(struct slice line, struct http1_request *request,
                                   struct http1_problem *reterr_problem)
{
    size_t method_size = token_size(line);
    if (method_size == 0 || method_size == line.len || line.at[method_size] != ' ') {
        return http1_refuse(reterr_problem, 400, "the request line has no valid method");
    }
    request->method = slice_sub(line, 0, method_size);
    struct slice version;
    request->target = slice_cut(slice_from(line, method_size + 1), ' ', &version);
    if (request->target.len > LIMIT_HTTP_TARGET_SIZE) {
        return http1_refuse(reterr_problem, 414, "the request target is too long");
    }
    enum err err = parse_version(version, request, reterr_problem);
    if (err != ERR_NONE) {
        return err;
    }
    return http1_target_parse(request, reterr_problem);
}

/* RFC 9112 6.2 and 6.3: digits only, once. A list of equal values would be legal to accept; it is
 * refused, because nobody but an attacker sends one. */
static enum err parse_length(struct slice value, struct framing *framing,
                             struct http1_request *request, struct http1_problem *reterr_problem)
{
    uint64_t length = 0;
    framing->length_count++;
    if (framing->length_count > 1 || value.len == 0) {
        return http1_refuse(reterr_problem, 400, "content-length must stand there once");
    }
    for (size_t i = 0; i < value.len; i++) {
        if (!is_digit(value.at[i])) {
            return http1_refuse(reterr_problem, 400, "content-length is not a number");
        }
        uint64_t digit = (uint64_t)(value.at[i] - '0');
        if (length > (UINT64_MAX - digit) / 10) {
            return http1_refuse(reterr_problem, 400, "content-length is out of range");
        }
        length = length * 10 + digit;
    }
    request->content_length = length;
    return ERR_NONE;
}

/* RFC 9112 6.1. Empty list elements are refused here, unlike in other lists: an element that one
 * parser skips and another does not is a way to smuggle. */
static enum err parse_codings(struct slice value, struct framing *framing,
                              struct http1_problem *reterr_problem)
{
    struct slice rest = value;
    framing->coded = true;
    do {
        struct slice coding = trim_space(slice_cut(rest, ',', &rest));
        if (token_size(coding) == 0 || framing->coding_chunked) {
            return http1_refuse(reterr_problem, 400,
                                "chunked must be the last transfer coding, and only once");
        }
        if (slice_equals_nocase(coding, SLICE("chunked"))) {
            framing->coding_chunked = true;
        } else {
            framing->coding_unknown = true;
        }
    } while (rest.at != NULL);
    return ERR_NONE;
}

static enum err parse_connection(struct slice value, struct framing *framing,
                                 struct http1_problem *reterr_problem)
{
    struct slice rest = value;
    while (rest.at != NULL) {
        struct slice option = trim_space(slice_cut(rest, ',', &rest));
        if (token_size(option) != option.len) {
            return http1_refuse(reterr_problem, 400, "the connection header is malformed");
        }
        if (slice_equals_nocase(option, SLICE("close"))) {
            framing->connection_close = true;
        } else if (slice_equals_nocase(option, SLICE("keep-alive"))) {
            framing->connection_keep_alive = true;
        } else if (slice_equals_nocase(option, SLICE("upgrade"))) {
            framing->connection_upgrade = true;
        }
    }
    return ERR_NONE;
}

/* RFC 9112 3.2: one Host, whatever the form of the target; an absolute-form target wins. */
static enum err parse_host(struct slice value, struct framing *framing,
                           struct http1_request *request, struct http1_problem *reterr_problem)
{
    framing->host_count++;
    if (framing->host_count > 1 || !http1_is_authority(value)) {
        return http1_refuse(reterr_problem, 400, "host must stand there once and be valid");
    }
    if (request->host.len == 0) {
        request->host = value;
    }
    return ERR_NONE;
}

/* The headers that this layer itself must understand; told apart by length first. */
static enum err parse_known(const struct http_header *header, struct framing *framing,
                            struct http1_request *request, struct http1_problem *reterr_problem)
{
    struct slice name = header->name;
    struct slice value = header->value;
    if (name.len == 4 && slice_equals_nocase(name, SLICE("host"))) {
        return parse_host(value, framing, request, reterr_problem);
    }
    if (name.len == 6 && slice_equals_nocase(name, SLICE("expect"))) {
        if (!slice_equals_nocase(value, SLICE("100-continue"))) {
            return http1_refuse(reterr_problem, 417, "only 100-continue can be expected");
        }
        framing->expects_continue = true;
    } else if (name.len == 7 && slice_equals_nocase(name, SLICE("upgrade"))) {
        framing->has_upgrade = true;
    } else if (name.len == 10 && slice_equals_nocase(name, SLICE("connection"))) {
        return parse_connection(value, framing, reterr_problem);
    } else if (name.len == 14 && slice_equals_nocase(name, SLICE("content-length"))) {
        return parse_length(value, framing, request, reterr_problem);
    } else if (name.len == 17 && slice_equals_nocase(name, SLICE("transfer-encoding"))) {
        return parse_codings(value, framing, reterr_problem);
    }
    return ERR_NONE;
}

/* RFC 9112 5: no white space before the colon, no folded lines. */
static enum err parse_header(struct slice line, struct http_header *ret_header,
                             struct http1_problem *reterr_problem)
{
    size_t name_size = token_size(line);
    if (name_size == 0 || name_size == line.len || line.at[name_size] != ':') {
        bool folded = line.at[0] == ' ' || line.at[0] == '\t';
        return http1_refuse(reterr_problem, 400,
                            folded ? "a header is folded over two lines"
                                   : "a header has no valid name");
    }
    ret_header->name = span(line, 0, name_size);
    ret_header->value = trim_space(span(line, name_size + 1, line.len));
    if (!http_is_field_value(ret_header->value)) {
        return http1_refuse(reterr_problem, 400, "a header's value has a control character");
    }
    return ERR_NONE;
}

static enum err parse_headers(struct slice head, size_t *index, struct http1_request *request,
                              struct framing *framing, struct http1_problem *reterr_problem)
{
    struct slice line = SLICE_NONE;
    while (next_line(head, index, &line)) {
        if (line.len == 0) {
            return ERR_NONE;
        }
        if (request->header_count == LIMIT_HTTP_HEADER_COUNT) {
            return http1_refuse(reterr_problem, 431, "the request has too many headers");
        }
        struct http_header *header = &request->headers[request->header_count];
        enum err err = parse_header(line, header, reterr_problem);
        if (err == ERR_NONE) {
            request->header_count++;
            err = parse_known(header, framing, request, reterr_problem);
        }
        if (err != ERR_NONE) {
            return err;
        }
    }
    return http1_refuse(reterr_problem, 400, "the request's head does not end in an empty line");
}

/* How long the message is (RFC 9112 6.3), and what becomes of the connection after it. */
static enum err decide(const struct framing *framing, struct http1_request *request,
                       struct http1_problem *reterr_problem)
{
    bool modern = request->version_minor > 0;
    if (modern && framing->host_count == 0) {
        return http1_refuse(reterr_problem, 400, "host is missing");
    }
    if (framing->coded && (!modern || framing->length_count > 0)) {
        return http1_refuse(reterr_problem, 400,
                            modern ? "content-length and transfer-encoding exclude each other"
                                   : "transfer-encoding is not part of HTTP/1.0");
    }
    if (framing->coding_unknown) {
        return http1_refuse(reterr_problem, 501, "only the chunked transfer coding is known");
    }
    if (framing->coded) {
        request->body = HTTP1_BODY_CHUNKED;
    } else if (request->content_length > 0) {
        request->body = HTTP1_BODY_LENGTH;
    }
    /* RFC 9112 9.3; RFC 9110 10.1.1 and 7.8: HTTP/1.0 knows neither expectation nor upgrade. */
    request->keep_alive = !framing->connection_close && (modern || framing->connection_keep_alive);
    request->expect_continue =
        modern && framing->expects_continue && request->body != HTTP1_BODY_NONE;
    request->upgrade = modern && framing->connection_upgrade && framing->has_upgrade;
    return ERR_NONE;
}

/* All but the headers, of which only as many as are counted are ever set. */
static void clear(struct http1_request *request)
{
    request->method = SLICE_NONE;
    request->target = SLICE_NONE;
    request->path = SLICE_NONE;
    request->query = SLICE_NONE;
    request->host = SLICE_NONE;
    request->version_minor = 0;
    request->body = HTTP1_BODY_NONE;
    request->content_length = 0;
    request->keep_alive = false;
    request->expect_continue = false;
    request->upgrade = false;
    request->header_count = 0;
}

enum err http1_request_parse(struct slice head, struct http1_request *ret_request,
                             struct http1_problem *reterr_problem)
{
    size_t index = empty_lines_size(head);
    struct slice line;
    struct framing framing = {0};
    clear(ret_request);
    if (!next_line(head, &index, &line)) {
        return http1_refuse(reterr_problem, 400, "the request line is missing");
    }
    enum err err = parse_request_line(line, ret_request, reterr_problem);
    if (err == ERR_NONE) {
        err = parse_headers(head, &index, ret_request, &framing, reterr_problem);
    }
    if (err != ERR_NONE) {
        return err;
    }
    if (index != head.len) {
        return http1_refuse(reterr_problem, 400, "the request's head goes on after its end");
    }
    return decide(&framing, ret_request, reterr_problem);
}
