/* SPDX-License-Identifier: MIT */
/* What the parts of a file channel share. */
#ifndef GH_SSH_SFTP_INTERNAL_H
#define GH_SSH_SFTP_INTERNAL_H

#include "protocol/ssh/ssh_contents.h"
#include "protocol/ssh/ssh_passage.h"
#include "wire/sftp.h"

/* Contents that passed, one way. */
struct sftp_contents {
    struct sshd_contents passed;
    uint64_t next; /* the offset behind what passed last */
    bool is_whole; /* all of it came in order */
};

struct sftp_open {
    struct sftp_open *next;
    struct slice handle; /* owned, as the others are */
    struct slice path;
    bool is_folder;
    struct sftp_contents contents[2]; /* by the side that they come from */
};

/* A request without an answer. */
struct sftp_owed {
    struct sftp_owed *next;
    uint32_t id;
    enum sftp_type type;
    uint32_t flags; /* of an OPEN */
    uint64_t offset;
    struct sftp_open *open; /* that it is about; NULL: none */
    struct slice operation; /* literal */
    struct slice path;      /* owned; likewise */
    struct slice other;
};

struct sshd_sftp {
    struct sftp_stream streams[2];
    struct sftp_open *opens;
    size_t open_count;
    struct sftp_owed *first; /* in the order of the requests */
    struct sftp_owed *last;
    size_t owed_count;
    struct buf answers;     /* of the gateway, that wait for a place and for room */
    struct buf home;        /* as the server said; empty: it did not */
    bool drops;             /* contents of a WRITE that is refused */
    bool is_lost;           /* the server says what is not understood */
    struct sftp_owed *data; /* the READ whose contents pass */
    struct sftp_open *written;
    uint64_t written_at;
};

struct sftp_open *sftp_open_find(struct sshd_sftp *sftp, struct slice handle);
void sftp_open_free(struct sftp_open *open);
void sftp_owed_free(struct sftp_owed *owed);
void sftp_contents_add(struct sftp_contents *contents, uint64_t offset, struct slice data);
void sftp_record_open(struct sshd_passage *self, const struct sftp_open *open, struct slice result);
void sftp_record(struct sshd_passage *self, struct slice operation, struct slice path,
                 struct slice other, struct slice result);

/* ssh_sftp_rules.c: whether the request may pass; else 'words' say why not. It has its paths, as
 * they were asked for. */
bool sftp_may_pass(struct sshd_passage *self, struct sshd_sftp *sftp,
                   const struct sftp_packet *packet, struct slice operation, struct buf *words);
/* "sftp read" and so on; empty: it is about no file by name. */
struct slice sftp_operation(const struct sftp_packet *packet);
bool sftp_writes(const struct sftp_packet *packet);

#endif
