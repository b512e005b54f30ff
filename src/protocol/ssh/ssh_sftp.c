/* SPDX-License-Identifier: MIT */
/* A channel of file transfer: each request is judged before the server has it and recorded with
 * what came of it; a refused one is answered here, and its bytes never reach the server. Contents
 * are hashed as they pass and held nowhere. */
#include "base/limits.h"
#include "base/memory.h"
#include "protocol/ssh/ssh_sftp_internal.h"

#define ANSWERS_SIZE_MAX LIMIT_KIB(64)

static struct slice sftp_keep(struct slice text)
{
    char *kept = text.len == 0 ? NULL : memory_new(text.len);
    if (kept != NULL) {
        memcpy(kept, text.at, text.len);
    }
    return slice_of(kept, text.len);
}

static void sftp_forget(struct slice text)
{
    memory_free((void *)(uintptr_t)text.at);
}

struct sshd_sftp *sshd_sftp_new(void)
{
    struct sshd_sftp *sftp = memory_new(sizeof(*sftp));
    sftp_stream_init(&sftp->streams[PUMP_CLIENT], LIMIT_SFTP_REQUEST_SIZE, false);
    sftp_stream_init(&sftp->streams[PUMP_TARGET], LIMIT_SFTP_ANSWER_SIZE, true);
    buf_init(&sftp->answers, ANSWERS_SIZE_MAX);
    buf_init(&sftp->home, LIMIT_SFTP_PATH_SIZE);
    return sftp;
}

void sftp_open_free(struct sftp_open *open)
{
    sftp_forget(open->handle);
    sftp_forget(open->path);
    sshd_contents_release(&open->contents[0].passed);
    sshd_contents_release(&open->contents[1].passed);
    memory_free(open);
}

void sftp_owed_free(struct sftp_owed *owed)
{
    sftp_forget(owed->path);
    sftp_forget(owed->other);
    memory_free(owed);
}

void sshd_sftp_free(struct sshd_sftp *sftp)
{
    if (sftp == NULL) {
        return;
    }
    while (sftp->opens != NULL) {
        struct sftp_open *open = sftp->opens;
        sftp->opens = open->next;
        sftp_open_free(open);
    }
    while (sftp->first != NULL) {
        struct sftp_owed *owed = sftp->first;
        sftp->first = owed->next;
        sftp_owed_free(owed);
    }
    sftp_stream_release(&sftp->streams[0]);
    sftp_stream_release(&sftp->streams[1]);
    buf_release(&sftp->answers);
    buf_release(&sftp->home);
    memory_free(sftp);
}

struct sftp_open *sftp_open_find(struct sshd_sftp *sftp, struct slice handle)
{
    struct sftp_open *open = sftp->opens;
    while (open != NULL && !slice_equals(open->handle, handle)) {
        open = open->next;
    }
    return open;
}

/* On record ----------------------------------------------------------------------------------- */

void sftp_contents_add(struct sftp_contents *contents, uint64_t offset, struct slice data)
{
    contents->is_whole =
        (contents->is_whole || contents->passed.hash == NULL) && offset == contents->next;
    contents->next = offset + data.len;
    sshd_contents_add(&contents->passed, data);
}

static void sftp_record_file(struct sshd_passage *self, const struct sshd_file *file)
{
    const struct sshd_entry entry = {.type = SSHD_ENTRY_FILE, .item = ++self->items, .file = *file};
    self->counts.statements++;
    self->counts.errors += slice_equals(file->result, SLICE("ok")) ? 0 : 1;
    sshd_record(self, RECORD_FROM_CLIENT, &entry);
}

void sftp_record(struct sshd_passage *self, struct slice operation, struct slice path,
                 struct slice other, struct slice result)
{
    const struct sshd_file file = {
        .operation = operation, .path = path, .other = other, .hash = SLICE(""), .result = result};
    if (operation.len > 0) {
        sftp_record_file(self, &file);
    }
}

/* What was read of it, and what was written to it; nothing at all is a read of nothing. */
void sftp_record_open(struct sshd_passage *self, const struct sftp_open *open, struct slice result)
{
    struct arena arena;
    arena_init(&arena);
    for (int side = 0; side < 2; side++) {
        const struct sftp_contents *contents = &open->contents[side];
        bool has_any = open->contents[0].passed.bytes > 0 || open->contents[1].passed.bytes > 0;
        struct sshd_file file = {.path = open->path,
                                 .other = SLICE(""),
                                 .bytes = contents->passed.bytes,
                                 .is_whole = contents->is_whole,
                                 .hash = SLICE(""),
                                 .result = result};
        file.operation = open->is_folder              ? SLICE("sftp list")
                         : side == PUMP_CLIENT        ? SLICE("sftp written")
                         : contents->passed.bytes > 0 ? SLICE("sftp read")
                                                      : SLICE("sftp opened");
        if (contents->passed.bytes > 0) {
            file.hash = sshd_contents_hash(&contents->passed, &arena);
        } else if (has_any || side == PUMP_CLIENT) {
            continue;
        }
        sftp_record_file(self, &file);
    }
    arena_release(&arena);
}

void sshd_sftp_end(struct sshd_passage *self, struct sshd_followed *channel)
{
    struct sshd_sftp *sftp = channel->sftp;
    while (sftp != NULL && sftp->opens != NULL) {
        struct sftp_open *open = sftp->opens;
        sftp->opens = open->next;
        sftp_record_open(self, open, SLICE("not closed"));
        sftp_open_free(open);
    }
    if (sftp != NULL) {
        sftp->open_count = 0;
        sftp->written = NULL;
        if (sftp->data != NULL) {
            sftp->data->open = NULL;
        }
        for (struct sftp_owed *owed = sftp->first; owed != NULL; owed = owed->next) {
            owed->open = NULL;
        }
    }
}

/* Requests ------------------------------------------------------------------------------------ */

static enum err sftp_owe(struct sshd_sftp *sftp, const struct sftp_packet *packet,
                         struct slice operation)
{
    if (sftp->owed_count == LIMIT_SFTP_OWED) {
        return ERR_LIMIT;
    }
    struct sftp_owed *owed = memory_new(sizeof(*owed));
    *owed = (struct sftp_owed){
        .id = packet->id,
        .type = packet->type,
        .flags = packet->flags,
        .offset = packet->offset,
        .operation = operation,
        .path = sftp_keep(slice_sub(packet->path, 0, LIMIT_SFTP_PATH_SIZE)),
        .other = sftp_keep(slice_sub(packet->other, 0, LIMIT_SFTP_PATH_SIZE)),
        .open = packet->handle.at == NULL ? NULL : sftp_open_find(sftp, packet->handle)};
    if (sftp->last != NULL) {
        sftp->last->next = owed;
    } else {
        sftp->first = owed;
    }
    sftp->last = owed;
    sftp->owed_count++;
    return ERR_NONE;
}

/* The answer waits for a place between two of the server's. */
static enum err sftp_refuse(struct sshd_passage *self, struct sshd_sftp *sftp,
                            const struct sftp_packet *packet, struct slice operation,
                            struct slice words)
{
    const struct sftp_packet status = {.type = SFTP_STATUS,
                                       .id = packet->id,
                                       .code = SFTP_PERMISSION_DENIED,
                                       .message = slice_sub(words, 0, 300),
                                       .language = SLICE("")};
    if (packet->type != SFTP_WRITE) {
        sftp_record(self, operation, packet->path, packet->other, words);
    }
    return sftp_packet_write(&sftp->answers, &status);
}

static enum err sftp_take_request(struct sshd_passage *self, struct sshd_followed *channel,
                                  struct sftp_piece *piece, bool *ret_passes)
{
    struct sshd_sftp *sftp = channel->sftp;
    struct sftp_packet *packet = &piece->packet;
    struct buf words;
    bool is_known = false;
    enum err err =
        packet->type == SFTP_EXTENDED ? sftp_extension_read(packet, &is_known) : ERR_NONE;
    *ret_passes = true;
    if (err != ERR_NONE || packet->type == SFTP_INIT) {
        return err;
    }
    struct slice operation = sftp_operation(packet);
    SSHD_WORDS_INIT(&words);
    *ret_passes = sftp_may_pass(self, sftp, packet, operation, &words);
    err = *ret_passes ? sftp_owe(sftp, packet, operation)
                      : sftp_refuse(self, sftp, packet, operation, buf_view(&words));
    buf_release(&words);
    return err;
}

/* What goes on to the server: 'same' bytes as they came, or a copy once something is left out. */
struct sftp_forward {
    struct slice data;
    size_t same;
    bool is_copy;
    struct buf copy;
    size_t dropped;
};

static enum err sftp_forward_differs(struct sftp_forward *forward)
{
    if (forward->is_copy) {
        return ERR_NONE;
    }
    forward->is_copy = true;
    return buf_append(&forward->copy, slice_sub(forward->data, 0, forward->same));
}

static enum err sftp_forward_add(struct sftp_forward *forward, struct slice bytes)
{
    if (!forward->is_copy) {
        forward->same += bytes.len;
        return ERR_NONE;
    }
    return buf_append(&forward->copy, bytes);
}

/* A version that both sides here know: higher ones have other packets. */
static enum err sftp_say_init(struct sftp_forward *forward, const struct sftp_packet *packet)
{
    struct sftp_packet init = *packet;
    init.version = init.version > SFTP_VERSION_3 ? SFTP_VERSION_3 : init.version;
    enum err err = sftp_forward_differs(forward);
    return err == ERR_NONE ? sftp_packet_write(&forward->copy, &init) : err;
}

static enum err sftp_take_client(struct sshd_passage *self, struct sshd_followed *channel,
                                 struct sftp_piece *piece, struct sftp_forward *forward)
{
    struct sshd_sftp *sftp = channel->sftp;
    bool passes = true;
    enum err err = ERR_NONE;
    if (piece->kind == SFTP_PIECE_PACKET && piece->packet.type == SFTP_INIT) {
        return sftp_say_init(forward, &piece->packet);
    }
    if (piece->kind == SFTP_PIECE_PACKET) {
        err = piece->packet.type >= SFTP_STATUS && piece->packet.type < SFTP_EXTENDED
                  ? ERR_INPUT
                  : sftp_take_request(self, channel, piece, &passes);
    } else if (piece->kind == SFTP_PIECE_HEAD) {
        err = piece->packet.type == SFTP_WRITE ? sftp_take_request(self, channel, piece, &passes)
                                               : ERR_INPUT;
        sftp->drops = !passes;
        sftp->written = sftp_open_find(sftp, piece->packet.handle);
        sftp->written_at = piece->packet.offset;
    } else {
        passes = !sftp->drops;
        if (passes && sftp->written != NULL) {
            sftp_contents_add(&sftp->written->contents[PUMP_CLIENT], sftp->written_at,
                              piece->bytes);
        }
        sftp->written_at += piece->bytes.len;
    }
    if (err != ERR_NONE || passes) {
        return err == ERR_NONE ? sftp_forward_add(forward, piece->bytes) : err;
    }
    forward->dropped += piece->bytes.len;
    return sftp_forward_differs(forward);
}

/* Answers ------------------------------------------------------------------------------------- */

static struct slice sftp_result(const struct sftp_packet *packet)
{
    static const struct slice words[] = {SLICE_INIT("ok"),
                                         SLICE_INIT("end of file"),
                                         SLICE_INIT("no such file"),
                                         SLICE_INIT("permission denied"),
                                         SLICE_INIT("failure"),
                                         SLICE_INIT("bad message"),
                                         SLICE_INIT("no connection"),
                                         SLICE_INIT("connection lost"),
                                         SLICE_INIT("unsupported")};
    return packet->type != SFTP_STATUS      ? SLICE("ok")
           : packet->code < COUNT_OF(words) ? words[packet->code]
                                            : SLICE("failure");
}

/* NULL: nobody asked. */
static struct sftp_owed *sftp_settle(struct sshd_sftp *sftp, uint32_t id)
{
    struct sftp_owed *before = NULL;
    struct sftp_owed *owed = sftp->first;
    while (owed != NULL && owed->id != id) {
        before = owed;
        owed = owed->next;
    }
    if (owed == NULL) {
        return NULL;
    }
    if (before != NULL) {
        before->next = owed->next;
    } else {
        sftp->first = owed->next;
    }
    sftp->last = sftp->last == owed ? before : sftp->last;
    sftp->owed_count--;
    return owed;
}

static void sftp_close(struct sshd_passage *self, struct sshd_sftp *sftp, struct sftp_open *open,
                       struct slice result)
{
    struct sftp_open **at = &sftp->opens;
    while (*at != NULL && *at != open) {
        at = &(*at)->next;
    }
    if (*at == NULL) {
        return;
    }
    *at = open->next;
    sftp->open_count--;
    sftp->written = sftp->written == open ? NULL : sftp->written;
    for (struct sftp_owed *owed = sftp->first; owed != NULL; owed = owed->next) {
        owed->open = owed->open == open ? NULL : owed->open;
    }
    if (sftp->data != NULL && sftp->data->open == open) {
        sftp->data->open = NULL;
    }
    sftp_record_open(self, open, result);
    sftp_open_free(open);
}

static enum err sftp_opened(struct sshd_passage *self, struct sshd_sftp *sftp,
                            const struct sftp_owed *owed, struct slice handle)
{
    struct sftp_open *open = sftp_open_find(sftp, handle);
    if (open != NULL) { /* the server has given it again */
        sftp_close(self, sftp, open, SLICE("not closed"));
    }
    if (sftp->open_count == LIMIT_SFTP_HANDLES) {
        return ERR_LIMIT;
    }
    open = memory_new(sizeof(*open));
    open->handle = sftp_keep(handle);
    open->path = sftp_keep(owed->path);
    open->is_folder = owed->type == SFTP_OPENDIR;
    open->next = sftp->opens;
    sftp->opens = open;
    sftp->open_count++;
    return ERR_NONE;
}

/* Where paths begin: what "." is. */
static void sftp_learn_home(struct sshd_sftp *sftp, const struct sftp_owed *owed,
                            const struct sftp_packet *packet)
{
    struct reader names = reader_of(packet->names);
    struct sftp_name name;
    bool asks_home = owed->path.len == 0 || slice_equals(owed->path, SLICE("."));
    if (owed->type == SFTP_REALPATH && asks_home && packet->type == SFTP_NAME &&
        sftp_name_next(&names, &name) && slice_starts_with(name.name, SLICE("/"))) {
        buf_truncate(&sftp->home, 0);
        (void)!buf_append(&sftp->home, name.name); /* a longer one is as good as none */
    }
}

static enum err sftp_take_answer(struct sshd_passage *self, struct sshd_sftp *sftp,
                                 const struct sftp_packet *packet)
{
    enum err err = ERR_NONE;
    struct sftp_owed *owed = packet->type == SFTP_VERSION ? NULL : sftp_settle(sftp, packet->id);
    if (owed == NULL) {
        return ERR_NONE;
    }
    bool is_open = owed->type == SFTP_OPEN || owed->type == SFTP_OPENDIR;
    sftp_learn_home(sftp, owed, packet);
    if (is_open && packet->type == SFTP_HANDLE) {
        err = sftp_opened(self, sftp, owed, packet->handle);
    } else if (owed->type == SFTP_CLOSE && owed->open != NULL) {
        sftp_close(self, sftp, owed->open, sftp_result(packet));
    } else if (owed->operation.len > 0) {
        struct slice path =
            owed->path.len == 0 && owed->open != NULL ? owed->open->path : owed->path;
        sftp_record(self, owed->operation, path, owed->other, sftp_result(packet));
    }
    sftp_owed_free(owed);
    return err;
}

static void sftp_end_data(struct sshd_sftp *sftp)
{
    if (sftp->data != NULL) {
        sftp_owed_free(sftp->data);
        sftp->data = NULL;
    }
}

static enum err sftp_take_target(struct sshd_passage *self, struct sshd_sftp *sftp,
                                 const struct sftp_piece *piece)
{
    switch (piece->kind) {
    case SFTP_PIECE_PACKET:
        return sftp_take_answer(self, sftp, &piece->packet);
    case SFTP_PIECE_HEAD:
        sftp_end_data(sftp);
        sftp->data = sftp_settle(sftp, piece->packet.id);
        break;
    case SFTP_PIECE_DATA:
        if (sftp->data != NULL && sftp->data->open != NULL) {
            sftp_contents_add(&sftp->data->open->contents[PUMP_TARGET], sftp->data->offset,
                              piece->bytes);
            sftp->data->offset += piece->bytes.len;
        }
        break;
    case SFTP_PIECE_CUT: { /* names of a folder; or a server's own extension */
        struct reader reader = reader_of(slice_from(piece->bytes, SFTP_HEAD_SIZE));
        struct sftp_owed *owed = sftp_settle(sftp, reader_u32(&reader));
        if (owed != NULL) {
            sftp_owed_free(owed);
        }
        break;
    }
    case SFTP_PIECE_REST:
        break;
    }
    if (piece->is_last) {
        sftp_end_data(sftp);
    }
    return ERR_NONE;
}

/* Both sides ---------------------------------------------------------------------------------- */

/* As much of what waits as there is room for. */
static enum err sftp_put_answers(struct sshd_followed *channel, struct buf *forward)
{
    struct sshd_sftp *sftp = channel->sftp;
    enum err err = ERR_NONE;
    while (sftp->answers.len > 0 && err == ERR_NONE) {
        struct reader reader = reader_of(buf_view(&sftp->answers));
        size_t size = (size_t)reader_u32(&reader) + 4;
        if (channel->reserve - channel->spent < size) {
            break;
        }
        channel->spent += (uint32_t)size;
        err = buf_append(forward, slice_sub(buf_view(&sftp->answers), 0, size));
        buf_consume(&sftp->answers, size);
    }
    return err;
}

enum err sshd_sftp_answer(struct sshd_passage *self, struct sshd_followed *channel)
{
    struct buf answers;
    if (channel->sftp->answers.len == 0 ||
        !(channel->sftp->is_lost ||
          sftp_stream_is_boundary(&channel->sftp->streams[PUMP_TARGET]))) {
        return ERR_NONE;
    }
    buf_init(&answers, ANSWERS_SIZE_MAX);
    enum err err = sftp_put_answers(channel, &answers);
    err = err == ERR_NONE ? sshd_say_data(self, channel, PUMP_CLIENT, 0, buf_view(&answers)) : err;
    buf_release(&answers);
    return err;
}

static enum err sftp_pass_client(struct sshd_passage *self, struct sshd_followed *channel,
                                 struct slice data, struct slice frame)
{
    struct sftp_stream *stream = &channel->sftp->streams[PUMP_CLIENT];
    struct sftp_forward forward = {.data = data,
                                   .is_copy = stream->held.len > 0 && !stream->was_told};
    struct sftp_piece piece;
    buf_init(&forward.copy, LIMIT_SFTP_REQUEST_SIZE + LIMIT_SSH_FRAME_SIZE);
    enum err err = sftp_stream_next(stream, &data, &piece);
    while (err == ERR_NONE) {
        err = sftp_take_client(self, channel, &piece, &forward);
        err = err == ERR_NONE ? sftp_stream_next(stream, &data, &piece) : err;
    }
    err = err == ERR_MORE ? ERR_NONE : err;
    struct slice bytes =
        forward.is_copy ? buf_view(&forward.copy) : slice_sub(forward.data, 0, forward.same);
    if (err == ERR_NONE && !forward.is_copy && forward.same == forward.data.len) {
        err = buf_append(&self->out[PUMP_CLIENT], frame);
    } else if (err == ERR_NONE) {
        err = sshd_say_data(self, channel, PUMP_TARGET, 0, bytes);
    }
    err = err == ERR_NONE ? sshd_say_window(self, channel, PUMP_CLIENT, forward.dropped) : err;
    buf_release(&forward.copy);
    return err == ERR_NONE ? sshd_sftp_answer(self, channel) : err;
}

/* What a server says is only looked at: a broken one is the client's matter. */
static enum err sftp_look(struct sshd_passage *self, struct sshd_sftp *sftp, struct slice *data)
{
    struct sftp_piece piece;
    enum err err = sftp_stream_next(&sftp->streams[PUMP_TARGET], data, &piece);
    sftp->is_lost = err == ERR_INPUT || err == ERR_LIMIT;
    return err == ERR_NONE ? sftp_take_target(self, sftp, &piece) : err;
}

/* With answers of the gateway between those of the server. */
static enum err sftp_pass_among(struct sshd_passage *self, struct sshd_followed *channel,
                                struct slice data)
{
    struct sshd_sftp *sftp = channel->sftp;
    struct buf forward;
    struct slice all = data;
    enum err err = ERR_NONE;
    size_t told = 0;
    buf_init(&forward, LIMIT_SSH_FRAME_SIZE + ANSWERS_SIZE_MAX);
    while (err == ERR_NONE && !sftp->is_lost) {
        err = sftp_look(self, sftp, &data);
        if (err == ERR_NONE && sftp_stream_is_boundary(&sftp->streams[PUMP_TARGET])) {
            size_t behind = all.len - data.len;
            err = buf_append(&forward, slice_sub(all, told, behind - told));
            told = behind;
            err = err == ERR_NONE ? sftp_put_answers(channel, &forward) : err;
        }
    }
    bool is_fine = err == ERR_MORE || sftp->is_lost;
    err = is_fine ? buf_append(&forward, slice_from(all, told)) : err;
    err = err == ERR_NONE ? sshd_say_data(self, channel, PUMP_CLIENT, 0, buf_view(&forward)) : err;
    buf_release(&forward);
    return err;
}

static enum err sftp_pass_target(struct sshd_passage *self, struct sshd_followed *channel,
                                 struct slice data, struct slice frame)
{
    struct sshd_sftp *sftp = channel->sftp;
    enum err err = ERR_NONE;
    if (sftp->answers.len > 0) {
        return sftp_pass_among(self, channel, data);
    }
    while (err == ERR_NONE && !sftp->is_lost) {
        err = sftp_look(self, sftp, &data);
    }
    return err == ERR_NONE || err == ERR_MORE || sftp->is_lost
               ? buf_append(&self->out[PUMP_TARGET], frame)
               : err;
}

enum err sshd_sftp_pass(struct sshd_passage *self, struct sshd_followed *channel,
                        enum pump_side side, struct slice data, struct slice frame)
{
    return side == PUMP_CLIENT ? sftp_pass_client(self, channel, data, frame)
                               : sftp_pass_target(self, channel, data, frame);
}
