/* SPDX-License-Identifier: MIT */
/* What passes in an open connection of MySQL's protocol: which packets of the server answer which
 * command of the client. Follows both sides from the first command on, by the first byte of each
 * packet and the bodies of those that decide how it goes on. */
#ifndef GH_WIRE_MYSQLWIRE_STATE_H
#define GH_WIRE_MYSQLWIRE_STATE_H

#include "base/limits.h"
#include "wire/mysqlwire_answer.h"

/* How a command is answered. */
enum mysqlwire_answers {
    MYSQLWIRE_NOT_SERVED, /* it does not pass */
    MYSQLWIRE_SILENT,     /* not at all */
    MYSQLWIRE_SIMPLE,     /* OK, EOF or ERR */
    MYSQLWIRE_RESULTS,    /* results, of text */
    MYSQLWIRE_BINARY_RESULTS,
    MYSQLWIRE_ROWS,    /* of a cursor: no head comes before them */
    MYSQLWIRE_COLUMNS, /* no rows come behind them */
    MYSQLWIRE_STATEMENT,
    MYSQLWIRE_TEXT,
};

enum mysqlwire_answers mysqlwire_answers_of(uint8_t command);

/* What a packet of the server is. */
enum mysqlwire_kind {
    MYSQLWIRE_KIND_OK,      /* also as the end of rows */
    MYSQLWIRE_KIND_EOF,     /* as the end of rows, before OK took its place */
    MYSQLWIRE_KIND_BETWEEN, /* EOF behind columns: nothing ends */
    MYSQLWIRE_KIND_ERROR,
    MYSQLWIRE_KIND_COLUMN_COUNT,
    MYSQLWIRE_KIND_COLUMN,
    MYSQLWIRE_KIND_PREPARED,
    MYSQLWIRE_KIND_DESCRIBED, /* a parameter or a column of a prepared statement */
    MYSQLWIRE_KIND_TEXT_ROW,
    MYSQLWIRE_KIND_BINARY_ROW,
    MYSQLWIRE_KIND_INFILE,
    MYSQLWIRE_KIND_TEXT,
};

enum mysqlwire_phase {
    MYSQLWIRE_AT_FIRST,
    MYSQLWIRE_AT_PARAMETERS,
    MYSQLWIRE_AT_PARAMETERS_END,
    MYSQLWIRE_AT_COLUMNS,
    MYSQLWIRE_AT_COLUMNS_END,
    MYSQLWIRE_AT_ROWS,
    MYSQLWIRE_AT_FILE_END, /* what came of the file */
};

#define MYSQLWIRE_NOBODY 0 /* a number that no command has */

/* Eight bytes: each session has a ring of them. */
struct mysqlwire_request {
    uint64_t command : 8;
    uint64_t number : 56; /* of the client's command, counted from 1 */
};

struct mysqlwire_state {
    uint32_t capabilities;
    struct mysqlwire_request owed[LIMIT_MYSQLWIRE_OWED]; /* a ring */
    size_t first;
    size_t count;
    uint64_t last_number;
    enum mysqlwire_phase phase; /* of the answer to the first */
    uint32_t columns_left;
    uint32_t parameters_left;
    uint16_t status;        /* as the server last said */
    bool client_sends_file; /* until an empty packet */
    bool has_quit;
};

void mysqlwire_state_init(struct mysqlwire_state *state, uint32_t capabilities, uint16_t status);

/* A command goes to the server; not while the client sends a file. ERR_LIMIT: too many have no
 * answer yet. */
enum err mysqlwire_state_command(struct mysqlwire_state *state, uint8_t command,
                                 uint64_t *ret_number, struct error *reterr) MUST_USE;
/* The file that was asked for is at its end. */
void mysqlwire_state_file_sent(struct mysqlwire_state *state);

/* What the packet that begins is: of this size, which is its first piece's, and with this first
 * byte, which is anything when the size is 0. *ret_number: whose answer it is. */
enum err mysqlwire_state_begin(const struct mysqlwire_state *state, uint32_t size, uint8_t first,
                               enum mysqlwire_kind *ret_kind, uint64_t *ret_number,
                               struct error *reterr) MUST_USE;
/* Whether a packet of one piece is a row of the result that is under way: then nothing changes by
 * it. */
bool mysqlwire_state_is_row(const struct mysqlwire_state *state, struct slice body,
                            enum mysqlwire_kind *ret_kind);
/* Whether the body decides, so that it has to be whole. */
bool mysqlwire_kind_decides(enum mysqlwire_kind kind);
/* The packet is over; its body, if that decides. *ret_is_last: the command is answered. */
enum err mysqlwire_state_end(struct mysqlwire_state *state, enum mysqlwire_kind kind,
                             struct slice body, bool *ret_is_last, struct error *reterr) MUST_USE;

/* The command that is being answered; NULL: none is. */
const struct mysqlwire_request *mysqlwire_state_current(const struct mysqlwire_state *state);

#endif
