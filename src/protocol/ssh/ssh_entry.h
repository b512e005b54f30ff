/* SPDX-License-Identifier: MIT */
/* What a recording of SSH is made of: messages of our own, each with the number of what it belongs
 * to (a command, a shell, an operation on a file, a tunnel), which is that of a statement. Pure. */
#ifndef GH_SSH_ENTRY_H
#define GH_SSH_ENTRY_H

#include "base/buf.h"
#include "session/record.h"

#define SSHD_ENTRY_TEXT_MAX LIMIT_KIB(48) /* of one text in an entry; what is longer is cut */

/* The values are those in the file. */
enum sshd_entry_type {
    SSHD_ENTRY_COMMAND = 'C',   /* text: the command; "": a shell */
    SSHD_ENTRY_SUBSYSTEM = 'U', /* text: its name */
    SSHD_ENTRY_TUNNEL = 'T',    /* text: to where, and from where */
    SSHD_ENTRY_FILE = 'F',      /* an operation that is over: struct sshd_file */
    SSHD_ENTRY_INPUT = 'I',     /* text, of programs without a terminal */
    SSHD_ENTRY_OUTPUT = 'O',
    SSHD_ENTRY_ERRORS = 'E',
    SSHD_ENTRY_SHOWN = 'o', /* text, of a terminal */
    SSHD_ENTRY_TYPED = 'i', /* text that the terminal showed */
    SSHD_ENTRY_HIDDEN = 'h',
    SSHD_ENTRY_SIZE = 'z',    /* number: columns and rows */
    SSHD_ENTRY_DONE = 'X',    /* text: how it ended; number: 0 if well */
    SSHD_ENTRY_COUNT = 'N',   /* number: bytes of output in all, of which some were not kept */
    SSHD_ENTRY_REFUSED = 'R', /* text: why the gateway did not let it pass */
};

struct sshd_file {
    struct slice operation; /* "sftp read", "scp write" … */
    struct slice path;
    struct slice other; /* of two */
    uint64_t bytes;     /* of contents that passed */
    struct slice hash;  /* their SHA-256, in hexadecimal; empty: there were none */
    bool is_whole;      /* they came in order, from the beginning */
    struct slice result;
};

struct sshd_entry {
    enum sshd_entry_type type;
    uint32_t item;
    uint64_t number;
    struct slice text;
    struct sshd_file file;
};

/* A whole message with its head, as recorder_add_messages() takes it. */
enum err sshd_entry_write(struct buf *buf, const struct sshd_entry *entry) MUST_USE;
/* 'body' of a message of that type. */
enum err sshd_entry_read(char type, struct slice body, struct sshd_entry *ret_entry) MUST_USE;

#endif
