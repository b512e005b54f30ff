/* SPDX-License-Identifier: MIT */
#include "protocol/ssh/ssh_entry.h"
#include "base/limits.h"

#include "base/reader.h"
#include "base/writer.h"

static void entry_text_write(struct writer *writer, struct slice text)
{
    struct slice kept = slice_sub(text, 0, SSHD_ENTRY_TEXT_MAX);
    writer_u32(writer, (uint32_t)kept.len);
    writer_bytes(writer, kept);
}

static struct slice entry_text_read(struct reader *reader)
{
    size_t len = reader_u32(reader);
    return reader_view(reader, len);
}

static void entry_file_write(struct writer *writer, const struct sshd_file *file)
{
    entry_text_write(writer, file->operation);
    entry_text_write(writer, slice_sub(file->path, 0, LIMIT_SFTP_PATH_SIZE));
    entry_text_write(writer, slice_sub(file->other, 0, LIMIT_SFTP_PATH_SIZE));
    writer_u64(writer, file->bytes);
    entry_text_write(writer, file->hash);
    writer_u8(writer, file->is_whole ? 1 : 0);
    entry_text_write(writer, slice_sub(file->result, 0, LIMIT_SSH_WORDS_SIZE));
}

enum err sshd_entry_write(struct buf *buf, const struct sshd_entry *entry)
{
    char head[RECORD_MESSAGE_HEAD];
    struct buf body;
    buf_init(&body, RECORD_PAYLOAD_MAX - RECORD_MESSAGE_HEAD);
    struct writer writer = writer_to(&body);
    writer_u32(&writer, entry->item);
    if (entry->type == SSHD_ENTRY_FILE) {
        entry_file_write(&writer, &entry->file);
    } else {
        writer_u64(&writer, entry->number);
        entry_text_write(&writer, entry->text);
    }
    enum err err = writer_done(&writer);
    if (err == ERR_NONE) {
        const struct slice parts[] = {
            record_message_head((char)entry->type, (uint32_t)body.len, head), buf_view(&body)};
        err = buf_append_parts(buf, parts, 2);
    }
    buf_release(&body);
    return err;
}

enum err sshd_entry_read(char type, struct slice body, struct sshd_entry *ret_entry)
{
    static const char types[] = "CUTFIOEoihzXNR";
    struct reader reader = reader_of(body);
    if (type == '\0' || slice_find_byte(slice_of_text(types), type) == sizeof(types) - 1) {
        return ERR_INPUT;
    }
    *ret_entry = (struct sshd_entry){
        .type = (enum sshd_entry_type)type, .item = reader_u32(&reader), .text = SLICE("")};
    if (ret_entry->type == SSHD_ENTRY_FILE) {
        struct sshd_file *file = &ret_entry->file;
        file->operation = entry_text_read(&reader);
        file->path = entry_text_read(&reader);
        file->other = entry_text_read(&reader);
        file->bytes = reader_u64(&reader);
        file->hash = entry_text_read(&reader);
        file->is_whole = reader_u8(&reader) == 1;
        file->result = entry_text_read(&reader);
    } else {
        ret_entry->number = reader_u64(&reader);
        ret_entry->text = entry_text_read(&reader);
    }
    return reader_done(&reader);
}
