/* SPDX-License-Identifier: MIT */
/* Words of the gateway's own as ERR packets. The code of an ending is MySQL's number for it, in
 * five digits. */
#ifndef GH_MYSQL_MYSQL_ENDING_H
#define GH_MYSQL_MYSQL_ENDING_H

#include "protocol/protocol.h"
#include "wire/mysqlwire_answer.h"

#define MYSQL_ERROR_HANDSHAKE   1043
#define MYSQL_ERROR_DATABASE    1044
#define MYSQL_ERROR_ACCESS      1045
#define MYSQL_ERROR_UNKNOWN     1105
#define MYSQL_ERROR_NO_THREAD   1094
#define MYSQL_ERROR_BLOCKED     1227 /* access denied, a privilege is needed */
#define MYSQL_ERROR_REFUSED     1235 /* not supported yet */
#define MYSQL_ERROR_INTERRUPTED 1317
#define MYSQL_ERROR_NEEDS_TLS   3159

/* The number and SQLSTATE of an ending. */
uint16_t mysql_ending_number(const struct ending_words *words);
struct slice mysql_state_of(uint16_t number);

/* Of a command that is not served: why not. */
const char *mysql_words_for(uint8_t command);

/* An ERR packet with this number; the hint stands behind the message. */
enum err mysql_ending_write(uint16_t number, uint8_t sequence, const struct ending_words *words,
                            struct buf *buf) MUST_USE;

/* Of an answer of the target, see struct target_ops. */
bool mysql_answer_read(struct slice answer, struct ending_words *ret_words);
enum err mysql_answer_write(const struct ending_words *words, char code[TARGET_CODE_SIZE],
                            struct buf *buf) MUST_USE;

/* What an agent elsewhere passes on of a target's start: its OK packet, and nothing behind. */
enum err mysql_arrival_check(const struct arrival *arrival, struct error *reterr) MUST_USE;

#endif
