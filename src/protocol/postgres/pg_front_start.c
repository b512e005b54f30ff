/* SPDX-License-Identifier: MIT */
#include "base/limits.h"
#include "io/tls_stream.h"
#include "protocol/postgres/pg_front_internal.h"

#define TLS_HANDSHAKE_RECORD 0x16 /* RFC 8446, 5.1; no length of a packet begins so */

/* Encryption ---------------------------------------------------------------------------------- */

bool pg_front_is_tls_hello(const struct pg_front *front)
{
    const struct pgwire_framer *framer = &front->framer;
    bool is_first = front->state == PG_FRONT_AT_START && framer->header_len == 0 &&
                    !framer->has_asked_ssl && !framer->has_asked_gssenc && framer->left == 0 &&
                    !stream_is_encrypted(front->stream);
    return is_first && front->input.len > 0 &&
           buf_view(&front->input).at[0] == TLS_HANDSHAKE_RECORD;
}

void pg_front_start_tls(struct pg_front *front)
{
    struct stream *stream = NULL;
    front->is_direct = front->state == PG_FRONT_AT_START;
    if (front->config.tls == NULL) {
        pg_front_drop(front, ERR_UNSUPPORTED, "client speaks TLS, which is not set up");
        return;
    }
    stream_watch(front->stream, 0);
    enum err err =
        tls_stream_new_behind(front->config.tls, front->stream, buf_view(&front->input), &stream);
    front->stream = stream;
    if (err != ERR_NONE) {
        pg_front_drop(front, err, "TLS is out of memory");
        return;
    }
    buf_clear(&front->input);
    front->state = PG_FRONT_AT_START;
    pg_front_own_stream(front);
}

/* What a third party put behind the request would pass for the client's, said under encryption
 * (CVE-2021-23214): such bytes end the connection, whatever the answer would have been. */
static void start_encryption(struct pg_front *front, bool is_accepted)
{
    if (front->input.len > 0) {
        pg_front_note(front, ERR_INPUT, "received unencrypted data after a request for encryption");
        pg_front_refuse(front, PG_FRONT_PROTOCOL_VIOLATION,
                        SLICE("This is a bug of the client, or somebody in between."));
        return;
    }
    if (stream_is_encrypted(front->stream) && !front->config.is_guest) {
        pg_front_note(front, ERR_INPUT, "encryption was asked for inside TLS");
        pg_front_refuse(front, PG_FRONT_PROTOCOL_VIOLATION, SLICE_NONE);
        return;
    }
    pgwire_framer_resume(&front->framer);
    if (buf_append(&front->output, is_accepted ? SLICE("S") : SLICE("N")) != ERR_NONE) {
        pg_front_drop(front, ERR_LIMIT, "too much to say");
        return;
    }
    if (is_accepted) {
        front->state = PG_FRONT_AT_TLS;
    }
}

/* Packets ------------------------------------------------------------------------------------- */

/* TLS that is not asked for says by its protocol what comes inside: else bytes of another protocol
 * could be led here (protocol-flow of 17, "SSL Session Encryption"). */
static bool start_is_misled(const struct pg_front *front)
{
    return front->is_direct && !slice_equals(stream_protocol(front->stream), SLICE("postgresql"));
}

void pg_front_start_header(struct pg_front *front)
{
    if (start_is_misled(front)) {
        pg_front_note(front, ERR_INPUT, "direct TLS without the application protocol 'postgresql'");
        pg_front_refuse(front, PG_FRONT_PROTOCOL_VIOLATION, SLICE_NONE);
        return;
    }
    switch (front->framer.frame.packet) {
    case PGWIRE_SSL_REQUEST:
        start_encryption(front, front->config.tls != NULL);
        return;
    case PGWIRE_GSSENC_REQUEST:
        start_encryption(front, false);
        return;
    case PGWIRE_STARTUP:
    case PGWIRE_CANCEL_REQUEST:
    case PGWIRE_MESSAGE: /* does not come here */
        pg_front_collect(front, LIMIT_PGWIRE_STARTUP_SIZE);
        return;
    }
}

static void start_cancel(struct pg_front *front, struct slice body)
{
    struct pgwire_key key;
    if (pgwire_key_read(body, &key, &front->reason) != ERR_NONE) {
        pg_front_end(front); /* nobody listens for an answer */
        return;
    }
    pg_front_note(front, ERR_NONE, "cancel request");
    front->state = PG_FRONT_AT_CANCEL;
    const struct cancel_key cancel = {.number = key.process, .secret = key.secret};
    front->events->on_cancel(front->owner, &cancel);
}

/* What PostgreSQL reads as false, where it is written out (config-setting-names). */
static bool start_is_false(struct slice value)
{
    static const struct slice words[] = {SLICE_INIT("false"), SLICE_INIT("off"), SLICE_INIT("no"),
                                         SLICE_INIT("0"),     SLICE_INIT("f"),   SLICE_INIT("n")};
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (slice_equals_nocase(value, words[i])) {
            return true;
        }
    }
    return false;
}

static bool start_is_refused(struct pg_front *front)
{
    if (front->config.needs_tls && !stream_is_encrypted(front->stream)) {
        pg_front_note(front, ERR_DENIED, "this gateway takes connections with TLS only");
        pg_front_refuse(front, PG_FRONT_REFUSED,
                        SLICE("Connect with sslmode=require or stronger."));
        return true;
    }
    struct slice replication = pgwire_startup_find(front->startup, SLICE("replication"));
    if (replication.at != NULL && !start_is_false(replication)) {
        pg_front_note(front, ERR_UNSUPPORTED, "replication does not go through this gateway");
        pg_front_refuse(front, PG_FRONT_UNSUPPORTED, SLICE_NONE);
        return true;
    }
    return false;
}

/* None of the protocol's own options is known here yet. */
static enum err start_negotiate(struct pg_front *front)
{
    struct pgwire_startup *startup = front->startup;
    struct slice unknown[LIMIT_START_PARAMETERS];
    size_t count = 0;
    for (size_t i = 0; i < startup->parameter_count; i++) {
        if (pgwire_is_protocol_option(startup->parameters[i].name)) {
            unknown[count++] = startup->parameters[i].name;
        }
    }
    bool is_newer = startup->version > PG_FRONT_VERSION_MAX;
    startup->version = is_newer ? PG_FRONT_VERSION_MAX : startup->version;
    if (!is_newer && count == 0) {
        return ERR_NONE;
    }
    return pgwire_negotiation_write(&front->output, startup->version, unknown, count);
}

static void start_session(struct pg_front *front, struct slice body)
{
    struct pgwire_startup *startup = arena_alloc(&front->arena, sizeof(*startup));
    enum err err = pgwire_startup_read(front->framer.frame.version, arena_copy(&front->arena, body),
                                       startup, &front->reason);
    if (err != ERR_NONE) {
        bool is_nobody = err == ERR_UNAUTHENTICATED;
        pg_front_refuse(front, is_nobody ? PG_FRONT_REFUSED : PG_FRONT_PROTOCOL_VIOLATION,
                        SLICE_NONE);
        return;
    }
    front->startup = startup;
    if (start_is_refused(front)) {
        return;
    }
    if (start_negotiate(front) != ERR_NONE) {
        pg_front_drop(front, ERR_LIMIT, "too much to say");
        return;
    }
    if (front->config.is_inside) {
        pg_front_auth_skip(front);
    } else {
        pg_front_ask_sasl(front);
    }
}

void pg_front_start_body(struct pg_front *front, struct slice body)
{
    if (front->framer.frame.packet == PGWIRE_CANCEL_REQUEST) {
        start_cancel(front, body);
    } else {
        start_session(front, body);
    }
}

/* Failures ------------------------------------------------------------------------------------ */

/* Version 2 had errors of one text (the protocol's description in releases before 7.4). */
static void start_refuse_in_version_2(struct pg_front *front)
{
    struct slice words = slice_of_text(front->reason.message);
    struct slice parts[] = {SLICE("EFATAL:  "), words, SLICE("\n\0")};
    if (buf_append_parts(&front->output, parts, COUNT_OF(parts)) == ERR_NONE) {
        pg_front_end(front);
    } else {
        pg_front_drop(front, ERR_LIMIT, "too much to say");
    }
}

static void start_refuse_version(struct pg_front *front)
{
    uint32_t version = front->framer.frame.version;
    pg_front_note(front, ERR_UNSUPPORTED,
                  "unsupported frontend protocol %u.%u: this gateway supports 3.0 to 3.%u",
                  PGWIRE_VERSION_MAJOR(version), PGWIRE_VERSION_MINOR(version),
                  PGWIRE_VERSION_MINOR(PG_FRONT_VERSION_MAX));
    if (PGWIRE_VERSION_MAJOR(version) < 3) {
        start_refuse_in_version_2(front);
    } else {
        pg_front_refuse(front, PG_FRONT_UNSUPPORTED, SLICE_NONE);
    }
}

void pg_front_start_failed(struct pg_front *front, const struct error *error)
{
    if (front->state == PG_FRONT_AT_START && error->code == ERR_UNSUPPORTED) {
        start_refuse_version(front);
        return;
    }
    front->reason = *error;
    if (front->state == PG_FRONT_AT_START) {
        pg_front_end(front); /* as servers do: what has such a length is no client of theirs */
    } else {
        pg_front_refuse(front, PG_FRONT_PROTOCOL_VIOLATION, SLICE_NONE);
    }
}
