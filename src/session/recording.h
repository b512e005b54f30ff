/* SPDX-License-Identifier: MIT */
/* Reads a recording, record by record, in constant memory, while it is being written or afterwards.
 * Every byte is checked: a record that comes out is one that the recorder put in, in its place.
 * Blocks cut off at the end leave a whole file without RECORD_CLOSE; only the head that the store
 * keeps tells that from a gateway that was killed. */
#ifndef GH_SESSION_RECORDING_H
#define GH_SESSION_RECORDING_H

#include "session/record.h"
#include "store/seal.h"

struct recording;

/* ERR_NOT_FOUND; ERR_INPUT: no recording, or of another version; ERR_CONFLICT: its head was
 * changed; ERR_INTERNAL: the keys do not open it. */
enum err recording_open(const char *path, struct seal_keys *keys, struct recording **ret_recording,
                        struct error *reterr) MUST_USE;
/* One that is no file here. */
struct recording_source {
    /* Up to 'size' bytes from there on; none at the end. */
    enum err (*read)(void *context, uint64_t at, char *bytes, size_t size, size_t *ret_len,
                     struct error *reterr);
    /* What was read behind there may be something else by now. Whether more may still come. */
    bool (*look)(void *context, uint64_t at);
    void (*free)(void *context);
    void *context;
};

/* The source is taken in any case. As recording_open(). */
enum err recording_open_source(const struct recording_source *take_source, struct seal_keys *keys,
                               struct recording **ret_recording, struct error *reterr) MUST_USE;
/* A piece of the file as it lies there, for such a source elsewhere: up to 'size' bytes from there
 * on. ERR_NOT_FOUND. */
struct recording_piece {
    size_t len;
    uint64_t size;      /* of the file */
    bool is_written_to; /* before it was read */
};
enum err recording_read_piece(const char *path, uint64_t from, struct buf *buf, size_t size,
                              struct recording_piece *ret_piece, struct error *reterr) MUST_USE;
void recording_free(struct recording *recording);

/* The next record, valid until the next call. ERR_CLOSED at the end (see recording_state);
 * ERR_CONFLICT: something was changed, and where; ERR_IO. */
enum err recording_next(struct recording *recording, struct record *ret_record,
                        struct error *reterr) MUST_USE;

/* Of what was read so far. */
struct recording_state {
    unsigned char head[RECORD_CHAIN_SIZE];
    uint64_t record_count;
    uint64_t block_count;
    uint64_t size;      /* of the blocks that were read, and of what is before them */
    bool is_closed;     /* RECORD_CLOSE was read, and nothing is behind it */
    bool is_cut;        /* the last block is not whole: its writer was killed */
    bool is_written_to; /* a recorder had it open when this was asked */
};

/* After the end (ERR_CLOSED) of one that is not closed: recording_next() goes on with what has been
 * written since. */
void recording_look_again(struct recording *recording);

struct recording_state recording_state(const struct recording *recording);
/* 36 characters, as long as the recording. */
struct slice recording_session_id(const struct recording *recording);
int64_t recording_started_at(const struct recording *recording);

/* What is wrong with it, of what was read to its end; NULL: nothing, or it is being written. */
const char *recording_fault(const struct recording_state *state);

/* How one that was left open is closed: what the RECORD_CLOSE says. */
struct recording_close {
    int64_t time;
    struct slice reason;
};

/* Reads one that may be left open: what is there, and what would be if it were closed so.
 * ERR_INPUT: not even its head is there, so that it holds nothing. Else as recording_next(). */
struct recording_outlook {
    struct recording_state state;
    unsigned char closed_head[RECORD_CHAIN_SIZE];
    uint64_t closed_size;
};

enum err recording_look_ahead(const char *path, struct seal_keys *keys,
                              const struct recording_close *how,
                              struct recording_outlook *ret_outlook, struct error *reterr) MUST_USE;

/* Ends a recording whose gateway was killed, or whose disk was full: takes the torn block off its
 * end, adds the RECORD_CLOSE and syncs. One that is closed stays as it is. ERR_LIMIT: the disk is
 * (still) full. ERR_BUSY: a recorder has it open. ERR_CONFLICT: it was changed; nothing is touched,
 * and *ret_state tells of what is before. ERR_INPUT: not even its head is there (the machine lost
 * its power), so that it holds nothing. */
enum err recording_recover(const char *path, struct seal_keys *keys,
                           const struct recording_close *how, struct recording_state *ret_state,
                           struct error *reterr) MUST_USE;

/* Closes the file's own key with the keys' current one, if another closed it; *ret_is_resealed says
 * so. Also while it is being written. */
enum err recording_reseal(const char *path, struct seal_keys *keys, bool *ret_is_resealed,
                          struct error *reterr) MUST_USE;

#endif
