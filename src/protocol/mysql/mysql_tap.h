/* SPDX-License-Identifier: MIT */
/* Follows what passes in an open session of MySQL's protocol: cuts both directions into packets,
 * once, for itself and for the rules, and puts on record what clients ask and what comes of it, not
 * what the protocol says of its own. */
#ifndef GH_MYSQL_MYSQL_TAP_H
#define GH_MYSQL_MYSQL_TAP_H

#include "protocol/passage.h"
#include "wire/mysqlwire_frame.h"
#include "wire/mysqlwire_state.h"

/* What stands on record, by the type of its message; the body is the packet's. Packets of several
 * pieces are as many messages. */
enum mysql_record {
    MYSQL_RECORD_COMMAND = 'C',
    MYSQL_RECORD_FILE = 'L', /* of a file that the client sends; a row, as what follows of them */
    MYSQL_RECORD_MORE = '+', /* the next piece of that side's message before */
    MYSQL_RECORD_OK = 'O',
    MYSQL_RECORD_EOF = 'F',
    MYSQL_RECORD_ERROR = 'E',
    MYSQL_RECORD_COLUMN = 'D',
    MYSQL_RECORD_TEXT_ROW = 'T',
    MYSQL_RECORD_BINARY_ROW = 'B',
    MYSQL_RECORD_PREPARED = 'P',
    MYSQL_RECORD_INFILE = 'I',
    MYSQL_RECORD_TEXT = 'S',
};

struct mysql_tap;

struct mysql_tap_settings {
    struct recorder *recorder;
    uint64_t row_limit; /* bytes of rows recorded of each statement and side */
    uint32_t capabilities;
    uint16_t status;
};

struct mysql_tap *mysql_tap_new(const struct mysql_tap_settings *settings);
void mysql_tap_free(struct mysql_tap *tap);

/* The next bytes of the target, which pass as they are. ERR_INPUT, ERR_LIMIT: it breaks the
 * protocol. */
enum err mysql_tap_pass(struct mysql_tap *tap, struct slice bytes, struct error *reterr) MUST_USE;

/* The same in steps, of either side, for who decides what passes of it. */
/* Bytes of the target come. */
void mysql_tap_begin_turn(struct mysql_tap *tap);
/* The next event of what the side says, off *rest. ERR_MORE: that was all. */
enum err mysql_tap_next(struct mysql_tap *tap, enum pump_side side, struct slice *rest,
                        struct mysqlwire_event *ret_event) MUST_USE;
/* The side said all of a packet, and not of the next one. */
bool mysql_tap_is_between(const struct mysql_tap *tap, enum pump_side side);
/* An event passes, in the order of the side's packets. ERR_INPUT, ERR_LIMIT as above. */
enum err mysql_tap_take(struct mysql_tap *tap, enum pump_side side,
                        const struct mysqlwire_event *event, struct error *reterr) MUST_USE;
/* Likewise all of a packet, which the gateway may say in the place of the target. */
enum err mysql_tap_take_packet(struct mysql_tap *tap, enum pump_side side,
                               const struct mysqlwire_packet *packet,
                               struct error *reterr) MUST_USE;
/* The packet that is whole at the beginning of *rest, which has no events then. */
bool mysql_tap_view_packet(const struct mysql_tap *tap, enum pump_side side, struct slice rest,
                           struct mysqlwire_packet *ret_packet);
/* A client's command that does not pass, and what the gateway says to it: a packet. */
void mysql_tap_answered(struct mysql_tap *tap, struct slice command, enum mysql_record type,
                        struct slice answer);
/* What was followed goes to the recorder: at the end of each turn. */
void mysql_tap_flush(struct mysql_tap *tap);
/* The session is over. */
void mysql_tap_end(struct mysql_tap *tap);

const struct mysqlwire_state *mysql_tap_state(const struct mysql_tap *tap);
/* What the last command prepared; NULL: nothing. */
const struct mysqlwire_prepared *mysql_tap_prepared(const struct mysql_tap *tap);
const struct passage_counts *mysql_tap_counts(const struct mysql_tap *tap);
/* The server went without being asked. */
bool mysql_tap_has_left(const struct mysql_tap *tap);
/* Whether a packet of the gateway's own can follow the server's, and with which number;
 * 'is_before': as it was before the server's last bytes. */
bool mysql_tap_may_speak(const struct mysql_tap *tap, bool is_before, uint8_t *ret_sequence);

#endif
