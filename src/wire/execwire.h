/* SPDX-License-Identifier: MIT */
/* Frames between whoever has a command run and whoever keeps it: a type, a size, a payload. They
 * are the same in this process, through an agent, and at the helper that starts commands; which
 * side may send which is for the reader to hold. Pure. */
#ifndef GH_WIRE_EXECWIRE_H
#define GH_WIRE_EXECWIRE_H

#include "base/buf.h"
#include "base/limits.h"
#include "base/reader.h"

#define EXECWIRE_HEAD_SIZE 5

enum execwire_type {
    EXECWIRE_HELLO = 'H',     /* of a client to its front: items */
    EXECWIRE_ACCEPT = 'A',    /* the front's answer; of no bytes */
    EXECWIRE_START = 'S',     /* to the keeper, once: items */
    EXECWIRE_INPUT = 'I',     /* of the command; the first, or the end, starts it */
    EXECWIRE_INPUT_END = 'E', /* of no bytes */
    EXECWIRE_OUTPUT = 'O',
    EXECWIRE_ERRORS = 'R', /* what it writes to standard error */
    EXECWIRE_EXIT = 'X',   /* the last of all */
    /* Of terminals alone: */
    EXECWIRE_RESIZE = 'W', /* to the keeper: columns, rows */
    EXECWIRE_ECHO = 'Q',   /* of the keeper: whether what is typed is shown */
    EXECWIRE_HIDDEN = 'N', /* on record alone, of no bytes: something was typed that is not shown */
};

struct execwire_frame {
    enum execwire_type type;
    struct slice payload; /* a view */
};

/* Takes the frame that 'bytes' begin with. ERR_MORE: it is not whole; ERR_INPUT: there is none of
 * that type and size. */
enum err execwire_read(struct slice bytes, size_t *ret_taken,
                       struct execwire_frame *ret_frame) MUST_USE;
/* ERR_LIMIT: the buffer is full, or the payload too long for its type. */
enum err execwire_write(struct buf *buf, enum execwire_type type, struct slice payload) MUST_USE;
/* Of any size, as frames of EXECWIRE_INPUT, OUTPUT or ERRORS. */
enum err execwire_write_data(struct buf *buf, enum execwire_type type, struct slice data) MUST_USE;

/* What START and HELLO are made of. */
enum execwire_kind {
    EXECWIRE_ARGUMENT = 'a',    /* value; the first is the program */
    EXECWIRE_VARIABLE = 'v',    /* name, value: of the environment */
    EXECWIRE_FILE = 'f',        /* likewise: a file; its path is in the environment */
    EXECWIRE_NAME = 'n',        /* value: of the connection */
    EXECWIRE_APPLICATION = 'p', /* value */
    EXECWIRE_METADATA = 'm',    /* name, value */
    EXECWIRE_TERMINAL = 't',    /* name: its kind, as TERM has it; value: as that of RESIZE */
};

struct execwire_item {
    enum execwire_kind kind;
    struct slice name; /* views */
    struct slice value;
};

enum err execwire_item_write(struct buf *buf, const struct execwire_item *item) MUST_USE;
/* False: none is left, or what is left is none, which reader_done() tells apart. */
bool execwire_item_next(struct reader *reader, struct execwire_item *ret_item);

/* Of a terminal, in characters. */
struct execwire_size {
    uint16_t columns;
    uint16_t rows;
};

#define EXECWIRE_SIZE_SIZE 4

/* A view of 'text'. */
struct slice execwire_size_write(const struct execwire_size *size, char text[EXECWIRE_SIZE_SIZE]);
/* ERR_INPUT: it is none, or has no room for a character. */
enum err execwire_size_read(struct slice payload, struct execwire_size *ret_size) MUST_USE;

enum execwire_end {
    EXECWIRE_EXITED = 1, /* code: of the command */
    EXECWIRE_SIGNALLED,  /* code: the signal */
    EXECWIRE_STOPPED,    /* by a limit: words */
    EXECWIRE_NOT_RUN,    /* words */
    EXECWIRE_REFUSED,    /* by the gateway: words */
    EXECWIRE_BLOCKED,    /* by a guard rail: words */
};

struct execwire_exit {
    enum execwire_end end;
    uint32_t code;
    struct slice words; /* for people, in UTF-8; a view */
};

/* Words beyond LIMIT_EXEC_WORDS_SIZE are cut. */
enum err execwire_exit_write(struct buf *buf, const struct execwire_exit *exit) MUST_USE;
enum err execwire_exit_read(struct slice payload, struct execwire_exit *ret_exit) MUST_USE;

#endif
