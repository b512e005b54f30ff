/* SPDX-License-Identifier: MIT */
/* The packets around compressed ones: seven bytes of header, then bytes of the protocol, which may
 * be cut anywhere. Small ones go as they are. */
#ifndef GH_MYSQL_MYSQL_PACKING_H
#define GH_MYSQL_MYSQL_PACKING_H

#include "wire/mysqlwire.h"

#define MYSQL_PACKING_HEADER_SIZE 7

enum mysql_packing {
    MYSQL_UNPACKED,
    MYSQL_ZLIB,
    MYSQL_ZSTANDARD,
};

/* What both sides speak behind the sign-in, by the client's capabilities: zlib where it asks for
 * both, as servers do. */
enum mysql_packing mysql_packing_of(uint32_t capabilities);

/* Appends what the first packet in 'bytes' holds, at most MYSQLWIRE_PIECE_MAX bytes. ERR_MORE: it
 * is not there whole. ERR_INPUT: it does not hold what it says. */
enum err mysql_packing_read(enum mysql_packing method, struct slice bytes, size_t *ret_taken,
                            uint8_t *ret_sequence, struct buf *plain) MUST_USE;
/* Appends one packet with all of 'plain', which is shorter than MYSQLWIRE_PIECE_MAX. */
enum err mysql_packing_write(enum mysql_packing method, uint8_t sequence, struct slice plain,
                             struct buf *buf) MUST_USE;

#endif
