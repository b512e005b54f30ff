/* SPDX-License-Identifier: MIT */
#include "protocol/mysql/mysql_packing.h"

#include "base/memory.h"
#include "base/must.h"

#include <zlib.h>
#include <zstd.h>

#define WORTH_SIZE 50 /* shorter ones are not compressed, as servers do it */
#define ZSTD_LEVEL 3

enum mysql_packing mysql_packing_of(uint32_t capabilities)
{
    if ((capabilities & MYSQLWIRE_COMPRESS) != 0) {
        return MYSQL_ZLIB;
    }
    return (capabilities & MYSQLWIRE_ZSTD) != 0 ? MYSQL_ZSTANDARD : MYSQL_UNPACKED;
}

/* Exactly 'size' bytes, or it is malformed. */
static bool expand(enum mysql_packing method, struct slice packed, char *at, size_t size)
{
    if (method == MYSQL_ZSTANDARD) {
        return ZSTD_decompress(at, size, packed.at, packed.len) == size;
    }
    uLongf len = size;
    return uncompress((Bytef *)at, &len, (const Bytef *)packed.at, packed.len) == Z_OK &&
           len == size;
}

enum err mysql_packing_read(enum mysql_packing method, struct slice bytes, size_t *ret_taken,
                            uint8_t *ret_sequence, struct buf *plain)
{
    struct reader reader = reader_of(bytes);
    char *at = NULL;
    size_t packed_size = mysqlwire_read_u24(&reader);
    uint8_t sequence = reader_u8(&reader);
    size_t size = mysqlwire_read_u24(&reader);
    struct slice packed = reader_view(&reader, packed_size);
    if (reader.failed) {
        return ERR_MORE;
    }
    if (size == 0) {
        enum err err = buf_append(plain, packed);
        must(err == ERR_NONE);
    } else if (buf_reserve(plain, size, &at) != ERR_NONE || !expand(method, packed, at, size)) {
        return ERR_INPUT;
    } else {
        buf_commit(plain, size);
    }
    *ret_taken = MYSQL_PACKING_HEADER_SIZE + packed_size;
    *ret_sequence = sequence;
    return ERR_NONE;
}

static size_t bound_of(enum mysql_packing method, size_t size)
{
    return method == MYSQL_ZSTANDARD ? ZSTD_compressBound(size) : compressBound(size);
}

/* 0: it is not to be had. */
static size_t pack(enum mysql_packing method, struct slice plain, char *at, size_t size)
{
    if (method == MYSQL_ZSTANDARD) {
        size_t len = ZSTD_compress(at, size, plain.at, plain.len, ZSTD_LEVEL);
        return ZSTD_isError(len) != 0 ? 0 : len;
    }
    uLongf len = size;
    return compress2((Bytef *)at, &len, (const Bytef *)plain.at, plain.len, Z_BEST_SPEED) == Z_OK
               ? len
               : 0;
}

static void write_header(struct writer *writer, size_t packed, uint8_t sequence, size_t plain)
{
    mysqlwire_write_u24(writer, (uint32_t)packed);
    writer_u8(writer, sequence);
    mysqlwire_write_u24(writer, (uint32_t)plain);
}

enum err mysql_packing_write(enum mysql_packing method, uint8_t sequence, struct slice plain,
                             struct buf *buf)
{
    struct buf packed CLEANUP(buf_wipe);
    size_t bound = bound_of(method, plain.len);
    char *at = NULL;
    must(plain.len < MYSQLWIRE_PIECE_MAX);
    buf_init(&packed, bound);
    if (plain.len >= WORTH_SIZE) {
        enum err err = buf_reserve(&packed, bound, &at);
        must(err == ERR_NONE);
        buf_commit(&packed, pack(method, plain, at, bound));
    }
    bool is_worth = packed.len > 0 && packed.len < plain.len;
    struct slice body = is_worth ? buf_view(&packed) : plain;
    struct writer writer = writer_to(buf);
    write_header(&writer, body.len, sequence, is_worth ? plain.len : 0);
    writer_bytes(&writer, body);
    return writer_done(&writer);
}
