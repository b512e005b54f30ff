/* SPDX-License-Identifier: MIT */
/* What the files of the PostgreSQL codec have in common and nobody else needs: the end of a
 * reading, and the writing of one message, whose length is put in when it is known. */
#ifndef GH_WIRE_PGWIRE_INTERNAL_H
#define GH_WIRE_PGWIRE_INTERNAL_H

#include "base/error.h"
#include "base/reader.h"
#include "base/writer.h"

/* ERR_INPUT with "malformed <what>" unless all of it was read. */
enum err pgwire_read_done(const struct reader *reader, const char *what,
                          struct error *reterr_error) MUST_USE;

struct pgwire_out {
    struct writer writer;
    size_t start;     /* what the buffer held before */
    size_t length_at; /* where the length stands */
    bool is_refused;
};

/* A type of 0 is none: a packet of the start. */
struct pgwire_out pgwire_out_begin(struct buf *buf, char type);
/* With a NUL behind it; one inside makes the message refused, because it would end the text early
 * and let the rest pass for other fields. */
void pgwire_out_text(struct pgwire_out *out, struct slice text);
/* A length of 32 bits and the bytes; at == NULL: the length -1 alone. */
void pgwire_out_value(struct pgwire_out *out, struct slice bytes);
void pgwire_out_count(struct pgwire_out *out, size_t count);
/* ERR_NONE, ERR_INPUT when the message was refused or ERR_LIMIT; then the buffer is as it was. */
enum err pgwire_out_end(struct pgwire_out *out) MUST_USE;

/* A message of a type alone. */
enum err pgwire_out_empty(struct buf *buf, char type) MUST_USE;

#endif
