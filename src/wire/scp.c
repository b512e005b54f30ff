/* SPDX-License-Identifier: MIT */
#include "wire/scp.h"

#include "base/limits.h"
#include "base/text.h"
#include "base/writer.h"

#include <inttypes.h>

#define SCP_MODE_SIZE 4
#define SCP_MODE_MAX  07777

/* Four octal digits and a blank: "0644 ". */
static enum err scp_mode_read(struct slice *rest, uint32_t *ret_mode)
{
    struct slice digits = slice_cut(*rest, ' ', rest);
    uint32_t mode = 0;
    for (size_t i = 0; i < digits.len; i++) {
        if (digits.at[i] < '0' || digits.at[i] > '7') {
            return ERR_INPUT;
        }
        mode = mode * 8 + (uint32_t)(digits.at[i] - '0');
    }
    *ret_mode = mode;
    return digits.len == SCP_MODE_SIZE && mode <= SCP_MODE_MAX && rest->at != NULL ? ERR_NONE
                                                                                   : ERR_INPUT;
}

static bool scp_is_name(struct slice name)
{
    return name.len > 0 && slice_find_byte(name, '/') == name.len &&
           slice_find_byte(name, '\0') == name.len && !slice_equals(name, SLICE(".")) &&
           !slice_equals(name, SLICE(".."));
}

static enum err scp_entry_read(struct slice rest, struct scp_line *line)
{
    enum err err = scp_mode_read(&rest, &line->mode);
    if (err != ERR_NONE) {
        return err;
    }
    struct slice size = slice_cut(rest, ' ', &line->name);
    return text_parse_u64(size, &line->size) == ERR_NONE && line->size <= INT64_MAX &&
                   line->name.at != NULL && scp_is_name(line->name)
               ? ERR_NONE
               : ERR_INPUT;
}

/* "1700000000 0 1700000000 0": seconds and microseconds, twice. */
static enum err scp_times_read(struct slice rest, struct scp_line *line)
{
    uint64_t numbers[4] = {0};
    for (size_t i = 0; i < 4; i++) {
        struct slice word = slice_cut(rest, ' ', &rest);
        if (text_parse_u64(word, &numbers[i]) != ERR_NONE || (rest.at == NULL) != (i == 3)) {
            return ERR_INPUT;
        }
    }
    line->modified = numbers[0];
    line->accessed = numbers[2];
    return ERR_NONE;
}

enum err scp_line_read(struct slice bytes, size_t *ret_taken, struct scp_line *ret_line)
{
    static const char kinds[] = {
        [SCP_OK] = '\0',    [SCP_WARNING] = 1, [SCP_FATAL] = 2,  [SCP_FILE] = 'C',
        [SCP_FOLDER] = 'D', [SCP_END] = 'E',   [SCP_TIMES] = 'T'};
    if (bytes.len == 0) {
        return ERR_MORE;
    }
    size_t kind = slice_find_byte(slice_of(kinds, sizeof(kinds)), bytes.at[0]);
    if (kind == sizeof(kinds)) {
        return ERR_INPUT;
    }
    *ret_line =
        (struct scp_line){.kind = (enum scp_kind)kind, .name = SLICE(""), .text = SLICE("")};
    *ret_taken = 1;
    if (ret_line->kind == SCP_OK) {
        return ERR_NONE;
    }
    struct slice line = slice_sub(bytes, 0, slice_find_byte(bytes, '\n'));
    if (line.len > LIMIT_SCP_LINE_SIZE) {
        return ERR_LIMIT;
    }
    if (line.len == bytes.len) {
        return ERR_MORE;
    }
    *ret_taken = line.len + 1;
    struct slice rest = slice_from(line, 1);
    switch (ret_line->kind) {
    case SCP_WARNING:
    case SCP_FATAL:
        ret_line->text = rest;
        return ERR_NONE;
    case SCP_FILE:
    case SCP_FOLDER:
        return scp_entry_read(rest, ret_line);
    case SCP_TIMES:
        return scp_times_read(rest, ret_line);
    case SCP_END:
    case SCP_OK:
        break;
    }
    return rest.len == 0 ? ERR_NONE : ERR_INPUT;
}

enum err scp_line_write(struct buf *buf, const struct scp_line *line)
{
    struct writer writer = writer_to(buf);
    switch (line->kind) {
    case SCP_OK:
        writer_u8(&writer, 0);
        return writer_done(&writer);
    case SCP_WARNING:
    case SCP_FATAL:
        writer_u8(&writer, line->kind == SCP_WARNING ? 1 : 2);
        writer_bytes(&writer, line->text);
        break;
    case SCP_FILE:
    case SCP_FOLDER:
        writer_format(&writer, "%c%04" PRIo32 " %" PRIu64 " ", line->kind == SCP_FILE ? 'C' : 'D',
                      line->mode, line->size);
        writer_bytes(&writer, line->name);
        break;
    case SCP_END:
        writer_u8(&writer, 'E');
        break;
    case SCP_TIMES:
        writer_format(&writer, "T%" PRIu64 " 0 %" PRIu64 " 0", line->modified, line->accessed);
        break;
    }
    writer_u8(&writer, '\n');
    return writer_done(&writer);
}
