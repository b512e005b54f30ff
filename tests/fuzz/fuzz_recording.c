/* SPDX-License-Identifier: MIT */
/* The content of a recording, which a target and a client chose: sealed as it is, read and exported
 * in a format that the first byte names, and as a protocol that it names. Records are the same when
 * they are written again, JSON is JSON, text holds nothing that a terminal obeys; and a file of
 * which a byte is changed afterwards is never read without an error. */
#include "fuzz.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "codec/json.h"
#include "protocol/postgres/pg_replay.h"
#include "session/block.h"
#include "session/recording_export.h"
#include "session/recording_internal.h"

#include <sys/mman.h>
#include <unistd.h>

#define DAMAGE       0x80
#define UNREAD       0x40 /* its protocol is not read */
#define FORMATS      4
#define SIZE_MAX_IN  LIMIT_KIB(64)
#define OUT_SIZE_MAX LIMIT_MIB(64)

static struct seal_keys *keys;
static struct block_codec *codec;

static void start(void)
{
    char folder[] = "/tmp/fuzz-recording-XXXXXX";
    char path[64];
    bool is_new = false;
    must(mkdtemp(folder) != NULL);
    (void)snprintf(path, sizeof(path), "%s/key", folder);
    must(seal_keys_open(path, &keys, &is_new, NULL) == ERR_NONE);
    must(unlink(path) == 0 && rmdir(folder) == 0);
    codec = block_codec_new();
}

/* Records that are whole are chained as the recorder does; others end the reading. */
static void chain(struct block_place *place, struct slice records)
{
    struct record record;
    size_t taken = 0;
    while (record_read(records, &taken, &record) == ERR_NONE) {
        struct buf again;
        buf_init(&again, RECORD_SIZE_MAX);
        must(record_write(&again, &record) == ERR_NONE);
        must(slice_equals(buf_view(&again), slice_sub(records, 0, taken)));
        buf_release(&again);
        block_chain(place->chain, slice_sub(records, 0, taken));
        records = slice_from(records, taken);
    }
    place->number++;
}

/* A file of two blocks, the second the last. */
static struct buf make_file(struct slice records)
{
    static const struct block_file_head head = {
        .session_id = SLICE_INIT("01890000-0000-7000-8000-00000000000a"),
        .started_at = INT64_C(1714566600000000),
    };
    struct block_key key;
    struct buf file;
    char bytes[BLOCK_FILE_HEAD_SIZE];
    struct block_place place = block_place_first(&head);
    size_t half = records.len / 2;
    struct record record;
    size_t taken = 0;
    size_t cut = 0; /* between two records, if it can be found */
    while (cut < half && record_read(slice_from(records, cut), &taken, &record) == ERR_NONE) {
        cut += taken;
    }
    buf_init(&file, LIMIT_MIB(1));
    block_file_start(keys, &head, &key, bytes);
    must(buf_append(&file, slice_of(bytes, sizeof(bytes))) == ERR_NONE);
    if (cut > 0) {
        struct slice first = slice_sub(records, 0, cut);
        must(buf_append(&file, block_seal(codec, &key, &place, 0, first)) == ERR_NONE);
        chain(&place, first);
        records = slice_from(records, cut);
    }
    if (records.len > 0) {
        must(buf_append(&file, block_seal(codec, &key, &place, BLOCK_HAS_SALT | BLOCK_IS_LAST,
                                          records)) == ERR_NONE);
    }
    block_key_wipe(&key);
    return file;
}

static enum err take(void *context, struct slice bytes, struct error *reterr)
{
    return buf_append(context, bytes) == ERR_NONE ? ERR_NONE
                                                  : fail(reterr, ERR_LIMIT, "too much came out");
}

static const struct replay_ops *find_one(struct slice subtype)
{
    (void)subtype;
    return &pg_replay_ops;
}

static const struct replay_ops *find_none(struct slice subtype)
{
    (void)subtype;
    return NULL;
}

static enum err run(struct slice file, replay_find_fn find, enum recording_format format,
                    struct buf *out)
{
    struct recording *recording = NULL;
    struct error error = {0};
    int fd = memfd_create("recording", MFD_CLOEXEC);
    must(fd >= 0 && write(fd, file.at, file.len) == (ssize_t)file.len);
    must(lseek(fd, 0, SEEK_SET) == 0);
    enum err err = recording_open_fd(fd, keys, &recording, &error);
    if (err == ERR_NONE) {
        err = recording_export(recording, find, format, take, out, &error);
        struct recording_state state = recording_state(recording);
        must(state.size <= file.len);
        must(err == ERR_NONE || err == ERR_CONFLICT || err == ERR_LIMIT);
        recording_free(recording);
    }
    must(err == ERR_NONE || error.message[0] != '\0');
    return err;
}

static void check_json(struct slice lines)
{
    while (lines.len > 0) {
        struct arena arena;
        struct json document;
        struct slice line = slice_cut(lines, '\n', &lines);
        arena_init(&arena);
        must(lines.at != NULL);
        must(json_parse_in(&arena, line, &document, NULL) == ERR_NONE ||
             slice_find(line, SLICE("\\u0000")) < line.len); /* which our reader refuses */
        arena_release(&arena);
    }
}

/* Nothing that a terminal would obey: no control character but the ends of lines and tabs. */
static void check_text(struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.at[i];
        must(byte >= 0x20 || byte == '\n' || byte == '\t');
        must(byte != 0x7f);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct buf whole;
    struct buf part;
    if (size < 4 || size > SIZE_MAX_IN) {
        return 0;
    }
    if (keys == NULL) {
        start();
    }
    enum recording_format format = (enum recording_format)(bytes[0] % FORMATS);
    replay_find_fn find = (bytes[0] & UNREAD) != 0 ? find_none : find_one;
    struct buf file = make_file(slice_of(bytes + 4, size - 4));
    buf_init(&whole, OUT_SIZE_MAX);
    buf_init(&part, OUT_SIZE_MAX);
    enum err err = run(buf_view(&file), find, format, &whole);
    if (err == ERR_NONE && (format == RECORDING_JSONL || format == RECORDING_ASCIICAST)) {
        check_json(buf_view(&whole));
    } else if (format == RECORDING_TEXT) {
        check_text(buf_view(&whole));
    }
    if ((bytes[0] & DAMAGE) != 0 && file.len > BLOCK_FILE_HEAD_SIZE) {
        size_t at = (size_t)(bytes[1] << 8 | bytes[2]) % file.len;
        char change = (char)(bytes[3] | 1);
        file.memory[file.start + at] = (char)(file.memory[file.start + at] ^ change);
        must(run(buf_view(&file), find, format, &part) != ERR_NONE);
    }
    buf_release(&file);
    buf_release(&whole);
    buf_release(&part);
    return 0;
}
