/* SPDX-License-Identifier: MIT */
/* A channel of "scp -t" or "scp -f": lines are read, contents hashed as they pass. Lines of an
 * upload are judged before the server has them. */
#include "wire/scp.h"

#include "base/limits.h"
#include "base/memory.h"
#include "protocol/ssh/ssh_contents.h"
#include "protocol/ssh/ssh_passage.h"

struct sshd_scp {
    bool is_upload;
    bool is_lost;        /* it is not understood any more */
    struct buf path;     /* as the command names it */
    struct buf folder;   /* where it is by now */
    struct buf lines[2]; /* by side: what is no whole line yet */
    struct buf name;     /* of the file under way */
    bool has_file;
    bool was_sent; /* its contents were, and the line behind them */
    uint64_t left; /* of its contents */
    struct sshd_contents contents;
};

struct sshd_scp *sshd_scp_new(const struct slice *words, size_t count)
{
    bool has_to = false;
    bool has_from = false;
    bool is_known = count >= 3 && (slice_equals(words[0], SLICE("scp")) ||
                                   slice_equals(words[0], SLICE("/usr/bin/scp")));
    for (size_t i = 1; i + 1 < count && is_known; i++) {
        is_known = words[i].len >= 2 && words[i].at[0] == '-';
        for (size_t j = 1; j < words[i].len && is_known; j++) {
            has_to = has_to || words[i].at[j] == 't';
            has_from = has_from || words[i].at[j] == 'f';
            is_known = slice_find_byte(SLICE("tfrpdvq-"), words[i].at[j]) < 8;
        }
    }
    if (!is_known || has_to == has_from || words[count - 1].len > LIMIT_SFTP_PATH_SIZE) {
        return NULL;
    }
    struct sshd_scp *scp = memory_new(sizeof(*scp));
    scp->is_upload = has_to;
    buf_init(&scp->path, LIMIT_SFTP_PATH_SIZE);
    buf_init(&scp->folder, LIMIT_SFTP_PATH_SIZE * 4);
    buf_init(&scp->name, LIMIT_SFTP_PATH_SIZE * 8);
    for (int i = 0; i < 2; i++) {
        buf_init(&scp->lines[i], LIMIT_SCP_LINE_SIZE + LIMIT_SSH_FRAME_SIZE);
    }
    /* it has room: see above */
    (void)!buf_append(&scp->path, words[count - 1]);
    (void)!buf_append(&scp->folder, words[count - 1]);
    return scp;
}

void sshd_scp_free(struct sshd_scp *scp)
{
    if (scp != NULL) {
        buf_release(&scp->path);
        buf_release(&scp->folder);
        buf_release(&scp->name);
        buf_release(&scp->lines[0]);
        buf_release(&scp->lines[1]);
        sshd_contents_release(&scp->contents);
        memory_free(scp);
    }
}

bool sshd_scp_is_upload(const struct sshd_scp *scp)
{
    return scp->is_upload;
}

struct slice sshd_scp_path(const struct sshd_scp *scp)
{
    return buf_view(&scp->path);
}

/* One file is over ---------------------------------------------------------------------------- */

static void scp_record(struct sshd_passage *self, struct sshd_scp *scp, struct slice result)
{
    struct arena arena;
    if (!scp->has_file) {
        return;
    }
    arena_init(&arena);
    const struct sshd_entry entry = {
        .type = SSHD_ENTRY_FILE,
        .item = ++self->items,
        .file = {.operation = scp->is_upload ? SLICE("scp write") : SLICE("scp read"),
                 .path = buf_view(&scp->name),
                 .other = SLICE(""),
                 .bytes = scp->contents.bytes,
                 .hash = sshd_contents_hash(&scp->contents, &arena),
                 .is_whole = scp->left == 0,
                 .result = result},
    };
    self->counts.statements++;
    self->counts.errors += slice_equals(result, SLICE("ok")) ? 0 : 1;
    sshd_record(self, RECORD_FROM_CLIENT, &entry);
    scp->has_file = false;
    arena_release(&arena);
}

/* Lines --------------------------------------------------------------------------------------- */

static enum err scp_name_file(struct sshd_scp *scp, struct slice name)
{
    const struct slice parts[] = {buf_view(&scp->folder), SLICE("/"), name};
    bool is_same = slice_equals(name, buf_view(&scp->folder)) ||
                   (slice_ends_with(buf_view(&scp->folder), name) &&
                    buf_view(&scp->folder).at[scp->folder.len - name.len - 1] == '/');
    buf_truncate(&scp->name, 0);
    /* Of one file the command names it, or the folder that it comes to: both are said. */
    return is_same ? buf_append(&scp->name, buf_view(&scp->folder))
                   : buf_append_parts(&scp->name, parts, 3);
}

static enum err scp_take_line(struct sshd_passage *self, struct sshd_scp *scp,
                              const struct scp_line *line)
{
    enum err err = ERR_NONE;
    switch (line->kind) {
    case SCP_FILE:
        err = scp_name_file(scp, line->name);
        scp->has_file = true;
        scp->was_sent = false;
        scp->left = line->size;
        sshd_contents_release(&scp->contents);
        break;
    case SCP_FOLDER:
        err = scp_name_file(scp, line->name);
        buf_truncate(&scp->folder, 0);
        err = err == ERR_NONE ? buf_append(&scp->folder, buf_view(&scp->name)) : err;
        break;
    case SCP_END: {
        struct slice folder = buf_view(&scp->folder);
        size_t len = folder.len;
        while (len > 0 && folder.at[len - 1] != '/') {
            len--;
        }
        buf_truncate(&scp->folder, len > 0 ? len - 1 : 0);
        break;
    }
    case SCP_OK:
        scp->was_sent = scp->has_file;
        break;
    case SCP_WARNING:
    case SCP_FATAL:
        scp_record(self, scp, line->text);
        break;
    case SCP_TIMES:
        break;
    }
    return err;
}

/* True: the line must not pass. */
static bool scp_blocks(struct sshd_passage *self, struct sshd_scp *scp, const struct scp_line *line,
                       struct buf *words)
{
    struct buf path;
    struct buf text;
    bool is_blocked = false;
    if ((line->kind != SCP_FILE && line->kind != SCP_FOLDER) || !sshd_judges_input(self)) {
        return false;
    }
    buf_init(&path, LIMIT_SFTP_PATH_SIZE * 8);
    buf_init(&text, LIMIT_SFTP_PATH_SIZE * 8 + 32);
    (void)sshd_path_normal(&path, SLICE(""), buf_view(&scp->name));
    const struct slice parts[] = {SLICE("scp write "), buf_view(&path)};
    if (buf_append_parts(&text, parts, 2) == ERR_NONE) {
        const struct slice texts[] = {buf_view(&text), buf_view(&path)};
        is_blocked = sshd_judge_texts(self, texts, 2, words);
    }
    buf_release(&path);
    buf_release(&text);
    return is_blocked;
}

static enum err scp_lose(struct sshd_passage *self, struct sshd_followed *channel)
{
    struct buf words;
    enum err err = ERR_NONE;
    channel->scp->is_lost = true;
    SSHD_WORDS_INIT(&words);
    if (channel->scp->is_upload && (sshd_stops_input(self) || sshd_is_read_only(self))) {
        sshd_refuse(self, &words, "what is copied is not as scp copies");
        err = sshd_cut(self, channel, buf_view(&words));
    }
    buf_release(&words);
    return err;
}

/* Takes what is whole of the sender's; *ret_size is what may pass. */
static enum err scp_take_sender(struct sshd_passage *self, struct sshd_followed *channel,
                                struct slice bytes, size_t *ret_size)
{
    struct sshd_scp *scp = channel->scp;
    size_t taken = 0;
    enum err err = ERR_NONE;
    *ret_size = 0;
    while (err == ERR_NONE && *ret_size < bytes.len && !channel->is_cut) {
        struct slice rest = slice_from(bytes, *ret_size);
        struct scp_line line;
        if (scp->left > 0) {
            struct slice data =
                slice_sub(rest, 0, scp->left < rest.len ? (size_t)scp->left : rest.len);
            sshd_contents_add(&scp->contents, data);
            scp->left -= data.len;
            *ret_size += data.len;
            continue;
        }
        err = scp_line_read(rest, &taken, &line);
        err = err == ERR_NONE ? scp_take_line(self, scp, &line) : err;
        if (err == ERR_NONE && scp->is_upload) {
            struct buf words;
            SSHD_WORDS_INIT(&words);
            if (scp_blocks(self, scp, &line, &words)) {
                scp_record(self, scp, buf_view(&words));
                err = sshd_cut(self, channel, buf_view(&words));
            }
            buf_release(&words);
        }
        *ret_size += err == ERR_NONE && !channel->is_cut ? taken : 0;
    }
    return err;
}

/* What the other side says of what it got. */
static void scp_take_receiver(struct sshd_passage *self, struct sshd_scp *scp, struct slice data)
{
    struct buf *lines = &scp->lines[scp->is_upload ? PUMP_TARGET : PUMP_CLIENT];
    struct scp_line line;
    size_t taken = 0;
    enum err err = buf_append(lines, data);
    while (err == ERR_NONE) {
        err = scp_line_read(buf_view(lines), &taken, &line);
        if (err != ERR_NONE) {
            break;
        }
        if (line.kind == SCP_WARNING || line.kind == SCP_FATAL) {
            scp->left = 0;
            scp_record(self, scp, line.text);
        } else if (line.kind == SCP_OK && scp->was_sent) {
            scp_record(self, scp, SLICE("ok"));
            scp->was_sent = false;
        }
        buf_consume(lines, taken);
    }
    if (err != ERR_MORE) {
        buf_clear(lines);
        scp->is_lost = true;
    }
}

static enum err scp_pass_sender(struct sshd_passage *self, struct sshd_followed *channel,
                                enum pump_side side, struct slice data, struct slice frame)
{
    struct buf *lines = &channel->scp->lines[side];
    bool was_whole = lines->len == 0; /* then nothing has to be put together */
    size_t size = 0;
    enum err err = was_whole ? ERR_NONE : buf_append(lines, data);
    struct slice bytes = was_whole ? data : buf_view(lines);
    err = err == ERR_NONE ? scp_take_sender(self, channel, bytes, &size) : err;
    if (err == ERR_INPUT || err == ERR_LIMIT) {
        err = scp_lose(self, channel);
        size = bytes.len;
    }
    err = err == ERR_MORE ? ERR_NONE : err;
    if (err != ERR_NONE || channel->is_cut) {
        return err;
    }
    if (was_whole && size == data.len) {
        return buf_append(&self->out[side], frame);
    }
    err = sshd_say_data(self, channel, sshd_other(side), 0, slice_sub(bytes, 0, size));
    if (was_whole) {
        return err == ERR_NONE ? buf_append(lines, slice_from(data, size)) : err;
    }
    buf_consume(lines, size);
    return err;
}

enum err sshd_scp_pass(struct sshd_passage *self, struct sshd_followed *channel,
                       enum pump_side side, struct slice data, struct slice frame)
{
    struct sshd_scp *scp = channel->scp;
    bool is_sender = scp->is_upload == (side == PUMP_CLIENT);
    if (is_sender && !scp->is_lost) {
        return scp_pass_sender(self, channel, side, data, frame);
    }
    if (!scp->is_lost) {
        scp_take_receiver(self, scp, data);
    }
    return buf_append(&self->out[side], frame);
}
