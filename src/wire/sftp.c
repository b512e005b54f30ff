/* SPDX-License-Identifier: MIT */
#include "wire/sftp.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/writer.h"

/* Packets by their fields, one letter each, in their order: see sftp_field_read(). */
static const struct {
    enum sftp_type type;
    const char *fields;
} sftp_types[] = {
    {SFTP_INIT, "VR"},      {SFTP_VERSION, "VR"},   {SFTP_OPEN, "IPFA"},
    {SFTP_CLOSE, "IH"},     {SFTP_READ, "IHOL"},    {SFTP_WRITE, "IHOD"},
    {SFTP_LSTAT, "IP"},     {SFTP_FSTAT, "IH"},     {SFTP_SETSTAT, "IPA"},
    {SFTP_FSETSTAT, "IHA"}, {SFTP_OPENDIR, "IP"},   {SFTP_READDIR, "IH"},
    {SFTP_REMOVE, "IP"},    {SFTP_MKDIR, "IPA"},    {SFTP_RMDIR, "IP"},
    {SFTP_REALPATH, "IP"},  {SFTP_STAT, "IP"},      {SFTP_RENAME, "IPT"},
    {SFTP_READLINK, "IP"},  {SFTP_SYMLINK, "IPT"},  {SFTP_STATUS, "ICMG"},
    {SFTP_HANDLE, "IH"},    {SFTP_DATA, "ID"},      {SFTP_NAME, "IN"},
    {SFTP_ATTRS, "IA"},     {SFTP_EXTENDED, "IXR"}, {SFTP_EXTENDED_REPLY, "IR"},
};

/* What 'rest' of those is (OpenSSH: PROTOCOL, 4). */
static const struct {
    struct slice name;
    const char *fields;
} sftp_extensions[] = {
    {SLICE_INIT("posix-rename@openssh.com"), "PT"},
    {SLICE_INIT("hardlink@openssh.com"), "PT"},
    {SLICE_INIT("lsetstat@openssh.com"), "PA"},
    {SLICE_INIT("statvfs@openssh.com"), "P"},
    {SLICE_INIT("expand-path@openssh.com"), "P"},
    {SLICE_INIT("fstatvfs@openssh.com"), "H"},
    {SLICE_INIT("fsync@openssh.com"), "H"},
    {SLICE_INIT("limits@openssh.com"), ""},
    {SLICE_INIT("copy-data"), "HOKho"},
};

static const char *sftp_fields_of(uint8_t type)
{
    for (size_t i = 0; i < COUNT_OF(sftp_types); i++) {
        if ((uint8_t)sftp_types[i].type == type) {
            return sftp_types[i].fields;
        }
    }
    return NULL;
}

/* Texts and attributes ------------------------------------------------------------------------ */

static struct slice sftp_text_read(struct reader *reader)
{
    size_t len = reader_u32(reader);
    return reader_view(reader, len);
}

static void sftp_text_write(struct writer *writer, struct slice text)
{
    writer_u32(writer, (uint32_t)text.len);
    writer_bytes(writer, text);
}

static void sftp_attributes_read(struct reader *reader, struct sftp_attributes *attributes)
{
    *attributes = (struct sftp_attributes){.flags = reader_u32(reader)};
    attributes->size = (attributes->flags & SFTP_HAS_SIZE) != 0 ? reader_u64(reader) : 0;
    if ((attributes->flags & SFTP_HAS_OWNER) != 0) {
        attributes->user = reader_u32(reader);
        attributes->group = reader_u32(reader);
    }
    if ((attributes->flags & SFTP_HAS_PERMISSIONS) != 0) {
        attributes->permissions = reader_u32(reader);
    }
    if ((attributes->flags & SFTP_HAS_TIMES) != 0) {
        attributes->accessed = reader_u32(reader);
        attributes->modified = reader_u32(reader);
    }
    attributes->extended = SLICE("");
    if ((attributes->flags & SFTP_HAS_EXTENDED) != 0) {
        attributes->extended_count = reader_u32(reader);
        struct slice before = slice_from(reader->input, reader->index);
        size_t from = reader->index;
        for (uint32_t i = 0; i < attributes->extended_count && !reader->failed; i++) {
            (void)sftp_text_read(reader);
            (void)sftp_text_read(reader);
        }
        attributes->extended = slice_sub(before, 0, reader->index - from);
    }
}

static void sftp_attributes_write(struct writer *writer, const struct sftp_attributes *attributes)
{
    writer_u32(writer, attributes->flags);
    if ((attributes->flags & SFTP_HAS_SIZE) != 0) {
        writer_u64(writer, attributes->size);
    }
    if ((attributes->flags & SFTP_HAS_OWNER) != 0) {
        writer_u32(writer, attributes->user);
        writer_u32(writer, attributes->group);
    }
    if ((attributes->flags & SFTP_HAS_PERMISSIONS) != 0) {
        writer_u32(writer, attributes->permissions);
    }
    if ((attributes->flags & SFTP_HAS_TIMES) != 0) {
        writer_u32(writer, attributes->accessed);
        writer_u32(writer, attributes->modified);
    }
    if ((attributes->flags & SFTP_HAS_EXTENDED) != 0) {
        writer_u32(writer, attributes->extended_count);
        writer_bytes(writer, attributes->extended);
    }
}

/* Names --------------------------------------------------------------------------------------- */

bool sftp_name_next(struct reader *reader, struct sftp_name *ret_name)
{
    if (reader_left(reader) == 0) {
        return false;
    }
    ret_name->name = sftp_text_read(reader);
    ret_name->long_name = sftp_text_read(reader);
    sftp_attributes_read(reader, &ret_name->attributes);
    return !reader->failed;
}

enum err sftp_name_write(struct buf *buf, const struct sftp_name *name)
{
    struct writer writer = writer_to(buf);
    sftp_text_write(&writer, name->name);
    sftp_text_write(&writer, name->long_name);
    sftp_attributes_write(&writer, &name->attributes);
    return writer_done(&writer);
}

static void sftp_names_read(struct reader *reader, struct sftp_packet *packet)
{
    struct sftp_name name;
    uint32_t count = 0;
    packet->name_count = reader_u32(reader);
    packet->names = reader_view_rest(reader);
    struct reader names = reader_of(packet->names);
    while (sftp_name_next(&names, &name)) {
        count++;
    }
    reader->failed =
        reader->failed || reader_done(&names) != ERR_NONE || count != packet->name_count;
}

/* Fields -------------------------------------------------------------------------------------- */

/* Old servers end behind the code. */
static struct slice sftp_last_text_read(struct reader *reader)
{
    return reader_left(reader) == 0 ? SLICE("") : sftp_text_read(reader);
}

static void sftp_number_read(struct reader *reader, char field, struct sftp_packet *packet)
{
    switch (field) {
    case 'I':
        packet->id = reader_u32(reader);
        break;
    case 'V':
        packet->version = reader_u32(reader);
        break;
    case 'F':
        packet->flags = reader_u32(reader);
        break;
    case 'C':
        packet->code = reader_u32(reader);
        break;
    case 'L':
        packet->length = reader_u32(reader);
        break;
    case 'K':
        packet->length = reader_u64(reader);
        break;
    case 'O':
        packet->offset = reader_u64(reader);
        break;
    default:
        packet->other_offset = reader_u64(reader);
        break;
    }
}

static void sftp_field_read(struct reader *reader, char field, struct sftp_packet *packet)
{
    switch (field) {
    case 'P':
        packet->path = sftp_text_read(reader);
        break;
    case 'T':
        packet->other = sftp_text_read(reader);
        break;
    case 'H':
        packet->handle = sftp_text_read(reader);
        break;
    case 'h':
        packet->other_handle = sftp_text_read(reader);
        break;
    case 'D':
        packet->data = sftp_text_read(reader);
        break;
    case 'M':
        packet->message = sftp_last_text_read(reader);
        break;
    case 'G':
        packet->language = sftp_last_text_read(reader);
        break;
    case 'X':
        packet->extension = sftp_text_read(reader);
        break;
    case 'A':
        sftp_attributes_read(reader, &packet->attributes);
        break;
    case 'N':
        sftp_names_read(reader, packet);
        break;
    case 'R':
        packet->rest = reader_view_rest(reader);
        break;
    default:
        sftp_number_read(reader, field, packet);
        break;
    }
}

enum err sftp_packet_read(struct slice payload, struct sftp_packet *ret_packet)
{
    struct reader reader = reader_of(payload);
    uint8_t type = reader_u8(&reader);
    const char *fields = sftp_fields_of(type);
    if (fields == NULL) {
        return ERR_INPUT;
    }
    *ret_packet = (struct sftp_packet){.type = (enum sftp_type)type};
    for (; *fields != '\0'; fields++) {
        sftp_field_read(&reader, *fields, ret_packet);
    }
    return reader_done(&reader);
}

enum err sftp_extension_read(struct sftp_packet *packet, bool *ret_is_known)
{
    *ret_is_known = false;
    for (size_t i = 0; i < COUNT_OF(sftp_extensions); i++) {
        if (!slice_equals(sftp_extensions[i].name, packet->extension)) {
            continue;
        }
        struct reader reader = reader_of(packet->rest);
        for (const char *field = sftp_extensions[i].fields; *field != '\0'; field++) {
            sftp_field_read(&reader, *field, packet);
        }
        *ret_is_known = true;
        return reader_done(&reader);
    }
    return ERR_NONE;
}

static void sftp_field_write(struct writer *writer, char field, const struct sftp_packet *packet)
{
    switch (field) {
    case 'I':
        writer_u32(writer, packet->id);
        break;
    case 'V':
        writer_u32(writer, packet->version);
        break;
    case 'F':
        writer_u32(writer, packet->flags);
        break;
    case 'C':
        writer_u32(writer, packet->code);
        break;
    case 'L':
        writer_u32(writer, (uint32_t)packet->length);
        break;
    case 'O':
        writer_u64(writer, packet->offset);
        break;
    case 'P':
        sftp_text_write(writer, packet->path);
        break;
    case 'T':
        sftp_text_write(writer, packet->other);
        break;
    case 'H':
        sftp_text_write(writer, packet->handle);
        break;
    case 'D':
        sftp_text_write(writer, packet->data);
        break;
    case 'M':
        sftp_text_write(writer, packet->message);
        break;
    case 'G':
        sftp_text_write(writer, packet->language);
        break;
    case 'X':
        sftp_text_write(writer, packet->extension);
        break;
    case 'A':
        sftp_attributes_write(writer, &packet->attributes);
        break;
    case 'N':
        writer_u32(writer, packet->name_count);
        writer_bytes(writer, packet->names);
        break;
    default:
        writer_bytes(writer, packet->rest);
        break;
    }
}

enum err sftp_packet_write(struct buf *buf, const struct sftp_packet *packet)
{
    struct writer writer = writer_to(buf);
    size_t before = buf->len;
    const char *fields = sftp_fields_of((uint8_t)packet->type);
    if (fields == NULL) {
        return ERR_INPUT;
    }
    writer_u32(&writer, 0);
    writer_u8(&writer, (uint8_t)packet->type);
    for (; *fields != '\0'; fields++) {
        sftp_field_write(&writer, *fields, packet);
    }
    if (writer_done(&writer) != ERR_NONE) {
        buf_truncate(buf, before);
        return ERR_LIMIT;
    }
    writer_u32_at(&writer, before, (uint32_t)(buf->len - before - 4));
    return ERR_NONE;
}

/* Streams ------------------------------------------------------------------------------------- */

void sftp_stream_init(struct sftp_stream *stream, size_t size_max, bool cuts)
{
    *stream = (struct sftp_stream){.size_max = size_max, .cuts = cuts};
    buf_init(&stream->held, size_max);
}

void sftp_stream_release(struct sftp_stream *stream)
{
    buf_release(&stream->held);
}

bool sftp_stream_is_boundary(const struct sftp_stream *stream)
{
    return stream->left == 0;
}

bool sftp_stream_is_between(const struct sftp_stream *stream)
{
    return stream->left == 0 && (stream->was_told || stream->held.len == 0);
}

/* What goes by. */
static enum err sftp_stream_rest(struct sftp_stream *stream, struct slice *bytes,
                                 struct sftp_piece *ret_piece)
{
    struct slice some =
        slice_sub(*bytes, 0, stream->left < bytes->len ? (size_t)stream->left : bytes->len);
    if (some.len == 0) {
        return ERR_MORE;
    }
    *bytes = slice_from(*bytes, some.len);
    stream->left -= some.len;
    *ret_piece = (struct sftp_piece){
        .kind = stream->is_data ? SFTP_PIECE_DATA : SFTP_PIECE_REST,
        .bytes = some,
        .is_last = stream->left == 0,
    };
    return ERR_NONE;
}

/* The first 'wanted' bytes of a packet are held; ERR_MORE: they are not there yet. */
static enum err sftp_stream_hold(struct sftp_stream *stream, struct slice *bytes, size_t wanted)
{
    size_t missing = wanted > stream->held.len ? wanted - stream->held.len : 0;
    struct slice some = slice_sub(*bytes, 0, missing);
    enum err err = buf_append(&stream->held, some);
    *bytes = slice_from(*bytes, some.len);
    return err != ERR_NONE ? err : some.len < missing ? ERR_MORE : ERR_NONE;
}

/* Where the data of a WRITE or a DATA begins: behind a text of which the length must be known. */
static enum err sftp_stream_data_head(struct sftp_stream *stream, struct slice *bytes,
                                      enum sftp_type type, size_t size,
                                      struct sftp_piece *ret_piece)
{
    size_t wanted = SFTP_HEAD_SIZE + 4 + 4; /* id, and the length of the handle or of the data */
    struct sftp_packet packet = {.type = type};
    enum err err = size < wanted ? ERR_INPUT : sftp_stream_hold(stream, bytes, wanted);
    if (err == ERR_NONE && type == SFTP_WRITE) {
        struct reader reader = reader_of(slice_from(buf_view(&stream->held), wanted - 4));
        wanted += (size_t)reader_u32(&reader) + 8 + 4;
        err = size < wanted               ? ERR_INPUT
              : wanted > stream->size_max ? ERR_LIMIT
                                          : sftp_stream_hold(stream, bytes, wanted);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct reader reader = reader_of(slice_from(buf_view(&stream->held), SFTP_HEAD_SIZE));
    packet.id = reader_u32(&reader);
    if (type == SFTP_WRITE) {
        packet.handle = sftp_text_read(&reader);
        packet.offset = reader_u64(&reader);
    }
    packet.length = reader_u32(&reader);
    stream->left = size - wanted;
    stream->is_data = true;
    stream->was_told = true;
    *ret_piece = (struct sftp_piece){.kind = SFTP_PIECE_HEAD,
                                     .bytes = buf_view(&stream->held),
                                     .packet = packet,
                                     .is_last = stream->left == 0};
    return stream->left == packet.length ? ERR_NONE : ERR_INPUT;
}

static enum err sftp_stream_cut(struct sftp_stream *stream, struct slice *bytes, size_t size,
                                struct sftp_piece *ret_piece)
{
    enum err err = stream->cuts ? sftp_stream_hold(stream, bytes, stream->size_max) : ERR_LIMIT;
    if (err == ERR_NONE) {
        stream->left = size - stream->size_max;
        stream->is_data = false;
        stream->was_told = true;
        *ret_piece = (struct sftp_piece){.kind = SFTP_PIECE_CUT, .bytes = buf_view(&stream->held)};
    }
    return err;
}

enum err sftp_stream_next(struct sftp_stream *stream, struct slice *bytes,
                          struct sftp_piece *ret_piece)
{
    if (stream->was_told) {
        buf_truncate(&stream->held, 0);
        stream->was_told = false;
    }
    if (stream->left > 0) {
        return sftp_stream_rest(stream, bytes, ret_piece);
    }
    enum err err = sftp_stream_hold(stream, bytes, SFTP_HEAD_SIZE);
    if (err != ERR_NONE) {
        return err;
    }
    struct reader reader = reader_of(buf_view(&stream->held));
    size_t size = (size_t)reader_u32(&reader) + 4;
    uint8_t type = reader_u8(&reader);
    if (size < SFTP_HEAD_SIZE || sftp_fields_of(type) == NULL) {
        return ERR_INPUT;
    }
    if (type == SFTP_WRITE || type == SFTP_DATA) {
        return sftp_stream_data_head(stream, bytes, (enum sftp_type)type, size, ret_piece);
    }
    if (size > stream->size_max) {
        return sftp_stream_cut(stream, bytes, size, ret_piece);
    }
    err = sftp_stream_hold(stream, bytes, size);
    if (err != ERR_NONE) {
        return err;
    }
    stream->was_told = true;
    *ret_piece = (struct sftp_piece){
        .kind = SFTP_PIECE_PACKET, .bytes = buf_view(&stream->held), .is_last = true};
    return sftp_packet_read(slice_from(buf_view(&stream->held), 4), &ret_piece->packet);
}
