/* SPDX-License-Identifier: MIT */
/* Packets of the SSH file transfer protocol, version 3 (draft-ietf-secsh-filexfer-02), of clients
 * and of servers, with the extensions that OpenSSH has. Pure: bytes in, packets out, and back. What
 * a file's contents are streams by: see struct sftp_stream. */
#ifndef GH_WIRE_SFTP_H
#define GH_WIRE_SFTP_H

#include "base/buf.h"
#include "base/reader.h"

#include <stdint.h>

#define SFTP_HEAD_SIZE 5 /* a packet's length, and its type */
#define SFTP_VERSION_3 3

enum sftp_type {
    SFTP_INIT = 1,
    SFTP_VERSION = 2,
    SFTP_OPEN = 3,
    SFTP_CLOSE = 4,
    SFTP_READ = 5,
    SFTP_WRITE = 6,
    SFTP_LSTAT = 7,
    SFTP_FSTAT = 8,
    SFTP_SETSTAT = 9,
    SFTP_FSETSTAT = 10,
    SFTP_OPENDIR = 11,
    SFTP_READDIR = 12,
    SFTP_REMOVE = 13,
    SFTP_MKDIR = 14,
    SFTP_RMDIR = 15,
    SFTP_REALPATH = 16,
    SFTP_STAT = 17,
    SFTP_RENAME = 18,
    SFTP_READLINK = 19,
    SFTP_SYMLINK = 20,
    SFTP_STATUS = 101,
    SFTP_HANDLE = 102,
    SFTP_DATA = 103,
    SFTP_NAME = 104,
    SFTP_ATTRS = 105,
    SFTP_EXTENDED = 200,
    SFTP_EXTENDED_REPLY = 201,
};

enum sftp_code {
    SFTP_OK = 0,
    SFTP_EOF = 1,
    SFTP_NO_SUCH_FILE = 2,
    SFTP_PERMISSION_DENIED = 3,
    SFTP_FAILURE = 4,
    SFTP_BAD_MESSAGE = 5,
    SFTP_OP_UNSUPPORTED = 8,
};

/* Bits of SFTP_OPEN. */
#define SFTP_OPEN_READ   0x01u
#define SFTP_OPEN_WRITE  0x02u
#define SFTP_OPEN_APPEND 0x04u
#define SFTP_OPEN_CREATE 0x08u
#define SFTP_OPEN_TRUNC  0x10u
#define SFTP_OPEN_EXCL   0x20u

#define SFTP_HAS_SIZE        0x00000001u
#define SFTP_HAS_OWNER       0x00000002u
#define SFTP_HAS_PERMISSIONS 0x00000004u
#define SFTP_HAS_TIMES       0x00000008u
#define SFTP_HAS_EXTENDED    0x80000000u

struct sftp_attributes {
    uint32_t flags; /* SFTP_HAS_… */
    uint64_t size;
    uint32_t user;
    uint32_t group;
    uint32_t permissions;
    uint32_t accessed;
    uint32_t modified;
    uint32_t extended_count;
    struct slice extended; /* pairs of texts, as they are on the wire */
};

/* Of all types; which members are there goes by the type. Slices are views. */
struct sftp_packet {
    enum sftp_type type;
    uint32_t id;      /* of all but INIT and VERSION */
    uint32_t version; /* of those */
    struct slice path;
    struct slice other; /* the second path: RENAME, SYMLINK (OpenSSH: the link), hard links */
    struct slice handle;
    struct slice other_handle; /* "copy-data": what it is copied to */
    uint64_t offset;
    uint64_t other_offset;
    uint64_t length;      /* of READ, and of "copy-data" */
    uint32_t flags;       /* of OPEN */
    struct slice data;    /* of WRITE and DATA */
    uint32_t code;        /* of STATUS */
    struct slice message; /* likewise; empty: an old server has none */
    struct slice language;
    struct slice extension; /* the name of an EXTENDED */
    struct slice rest;      /* what is not taken apart here: extensions, and what they bring */
    struct sftp_attributes attributes;
    uint32_t name_count; /* of NAME */
    struct slice names;  /* for sftp_name_next() */
};

/* 'payload' is a whole packet behind its length: the type comes first. ERR_INPUT: it is none. */
enum err sftp_packet_read(struct slice payload, struct sftp_packet *ret_packet) MUST_USE;
/* With its length. ERR_LIMIT: the buffer is full. */
enum err sftp_packet_write(struct buf *buf, const struct sftp_packet *packet) MUST_USE;

/* What 'rest' of an extension that OpenSSH has says; false: it is another one, or says nothing that
 * concerns a file. ERR_INPUT of the packet: it is broken. */
enum err sftp_extension_read(struct sftp_packet *packet, bool *ret_is_known) MUST_USE;

struct sftp_name {
    struct slice name;
    struct slice long_name;
    struct sftp_attributes attributes;
};

/* False: none is left, or what is left is none, which reader_done() tells apart. */
bool sftp_name_next(struct reader *reader, struct sftp_name *ret_name);
enum err sftp_name_write(struct buf *buf, const struct sftp_name *name) MUST_USE;

/* A side's bytes as they come, in pieces of any size. What is small is collected; contents of files
 * go by as they are. */
enum sftp_piece_kind {
    SFTP_PIECE_PACKET, /* whole */
    SFTP_PIECE_HEAD,   /* of WRITE or DATA, up to where 'length' bytes of data begin */
    SFTP_PIECE_DATA,   /* some of those */
    SFTP_PIECE_CUT,    /* the first bytes of a packet that is larger than 'size_max' */
    SFTP_PIECE_REST,   /* some of what is behind those */
};

struct sftp_piece {
    enum sftp_piece_kind kind;
    struct slice bytes;        /* as they are on the wire, lengths and all */
    struct sftp_packet packet; /* of PACKET and HEAD; of HEAD without 'data' */
    bool is_last;              /* a packet ends behind it */
};

struct sftp_stream {
    struct buf held; /* of the packet that is not told of yet */
    size_t size_max; /* of what is collected */
    uint64_t left;   /* of the packet, still to come behind what was told */
    bool is_data;    /* what is left is contents */
    bool was_told;   /* 'held' was: it goes with the next call */
    bool cuts;       /* what is too large goes by, unread; else it is refused */
};

void sftp_stream_init(struct sftp_stream *stream, size_t size_max, bool cuts);
void sftp_stream_release(struct sftp_stream *stream);
/* Takes from the front of *bytes. ERR_MORE: all are taken. ERR_INPUT, ERR_LIMIT: this is no such
 * stream, and all that comes is none. The piece is valid until the next call. */
enum err sftp_stream_next(struct sftp_stream *stream, struct slice *bytes,
                          struct sftp_piece *ret_piece) MUST_USE;
/* No packet is half told, and none is half there. */
bool sftp_stream_is_between(const struct sftp_stream *stream);
/* No packet is half told: something else may be said here. */
bool sftp_stream_is_boundary(const struct sftp_stream *stream);

#endif
