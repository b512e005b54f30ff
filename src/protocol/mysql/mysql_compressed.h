/* SPDX-License-Identifier: MIT */
/* A client that asked for compression, behind its sign-in: a stream above its own, so that all else
 * sees the protocol's bytes as they are. The target is never asked for it. */
#ifndef GH_MYSQL_MYSQL_COMPRESSED_H
#define GH_MYSQL_MYSQL_COMPRESSED_H

#include "io/stream.h"
#include "protocol/mysql/mysql_packing.h"

/* 'first' was read of it already; copied. A packet that is malformed is the end: ERR_IO. */
struct stream *mysql_compressed_new(struct stream *take_below, enum mysql_packing method,
                                    struct slice first);

#endif
