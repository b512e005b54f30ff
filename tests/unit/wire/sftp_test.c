/* SPDX-License-Identifier: MIT */
#include "wire/sftp.h"

#include "base/limits.h"
#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct sftp_attributes all_attributes = {
    .flags =
        SFTP_HAS_SIZE | SFTP_HAS_OWNER | SFTP_HAS_PERMISSIONS | SFTP_HAS_TIMES | SFTP_HAS_EXTENDED,
    .size = UINT64_C(0x123456789),
    .user = 1000,
    .group = 100,
    .permissions = 0100644,
    .accessed = 1700000000,
    .modified = 1700000001,
    .extended_count = 1,
    .extended = SLICE_INIT("\0\0\0\1a\0\0\0\2bc"),
};

/* One of each type. */
static const struct sftp_packet packets[] = {
    {.type = SFTP_INIT, .version = 3, .rest = SLICE_INIT("")},
    {.type = SFTP_VERSION, .version = 3, .rest = SLICE_INIT("\0\0\0\1x\0\0\0\0011")},
    {.type = SFTP_OPEN,
     .id = 7,
     .path = SLICE_INIT("/a"),
     .flags = SFTP_OPEN_WRITE | SFTP_OPEN_CREATE,
     .attributes = all_attributes},
    {.type = SFTP_CLOSE, .id = 8, .handle = SLICE_INIT("h\0\1")},
    {.type = SFTP_READ, .id = 9, .handle = SLICE_INIT("h"), .offset = 1u << 30, .length = 32768},
    {.type = SFTP_WRITE,
     .id = 10,
     .handle = SLICE_INIT("h"),
     .offset = 3,
     .data = SLICE_INIT("xyz")},
    {.type = SFTP_LSTAT, .id = 11, .path = SLICE_INIT("")},
    {.type = SFTP_FSTAT, .id = 12, .handle = SLICE_INIT("")},
    {.type = SFTP_SETSTAT, .id = 13, .path = SLICE_INIT("/p"), .attributes = all_attributes},
    {.type = SFTP_FSETSTAT, .id = 14, .handle = SLICE_INIT("h")},
    {.type = SFTP_OPENDIR, .id = 15, .path = SLICE_INIT(".")},
    {.type = SFTP_READDIR, .id = 16, .handle = SLICE_INIT("d")},
    {.type = SFTP_REMOVE, .id = 17, .path = SLICE_INIT("/etc/shadow")},
    {.type = SFTP_MKDIR, .id = 18, .path = SLICE_INIT("/n")},
    {.type = SFTP_RMDIR, .id = 19, .path = SLICE_INIT("/n")},
    {.type = SFTP_REALPATH, .id = 20, .path = SLICE_INIT("..")},
    {.type = SFTP_STAT, .id = 21, .path = SLICE_INIT("/s")},
    {.type = SFTP_RENAME, .id = 22, .path = SLICE_INIT("/a"), .other = SLICE_INIT("/b")},
    {.type = SFTP_READLINK, .id = 23, .path = SLICE_INIT("/l")},
    {.type = SFTP_SYMLINK, .id = 24, .path = SLICE_INIT("/to"), .other = SLICE_INIT("/l")},
    {.type = SFTP_STATUS,
     .id = 25,
     .code = SFTP_PERMISSION_DENIED,
     .message = SLICE_INIT("no"),
     .language = SLICE_INIT("en")},
    {.type = SFTP_HANDLE, .id = 26, .handle = SLICE_INIT("\0\0\0\1")},
    {.type = SFTP_DATA, .id = 27, .data = SLICE_INIT("contents")},
    {.type = SFTP_NAME,
     .id = 28,
     .name_count = 1,
     .names = SLICE_INIT("\0\0\0\1a\0\0\0\1A\0\0\0\0")},
    {.type = SFTP_ATTRS, .id = 29, .attributes = all_attributes},
    {.type = SFTP_EXTENDED,
     .id = 30,
     .extension = SLICE_INIT("posix-rename@openssh.com"),
     .rest = SLICE_INIT("\0\0\0\1a\0\0\0\1b")},
    {.type = SFTP_EXTENDED_REPLY, .id = 31, .rest = SLICE_INIT("abc")},
};

static void is_same(const struct sftp_packet *a, const struct sftp_packet *b)
{
    assert_int_equal(a->type, b->type);
    assert_int_equal(a->id, b->id);
    assert_int_equal(a->version, b->version);
    assert_int_equal(a->flags, b->flags);
    assert_int_equal(a->offset, b->offset);
    assert_int_equal(a->length, b->length);
    assert_int_equal(a->code, b->code);
    assert_int_equal(a->name_count, b->name_count);
    assert_int_equal(a->attributes.flags, b->attributes.flags);
    assert_int_equal(a->attributes.size, b->attributes.size);
    assert_int_equal(a->attributes.group, b->attributes.group);
    assert_int_equal(a->attributes.permissions, b->attributes.permissions);
    assert_int_equal(a->attributes.modified, b->attributes.modified);
    const struct slice of_a[] = {a->path,      a->other,   a->handle, a->data,
                                 a->message,   a->names,   a->rest,   a->attributes.extended,
                                 a->extension, a->language};
    const struct slice of_b[] = {b->path,      b->other,   b->handle, b->data,
                                 b->message,   b->names,   b->rest,   b->attributes.extended,
                                 b->extension, b->language};
    for (size_t i = 0; i < COUNT_OF(of_a); i++) {
        assert_true(slice_equals(of_a[i], of_b[i]));
    }
}

static void each_packet_is_read_as_it_was_written(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(packets); i++) {
        struct sftp_packet again;
        struct buf buf;
        buf_init(&buf, LIMIT_KIB(1));
        assert_int_equal(sftp_packet_write(&buf, &packets[i]), ERR_NONE);
        struct slice payload = slice_from(buf_view(&buf), 4);
        assert_int_equal(sftp_packet_read(payload, &again), ERR_NONE);
        is_same(&packets[i], &again);
        buf_release(&buf);
    }
}

/* Of a packet without a part that takes what is left. */
static void no_prefix_of_a_packet_is_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(packets); i++) {
        struct sftp_packet again;
        struct buf buf;
        buf_init(&buf, LIMIT_KIB(1));
        assert_int_equal(sftp_packet_write(&buf, &packets[i]), ERR_NONE);
        struct slice payload = slice_from(buf_view(&buf), 4);
        size_t least = payload.len - packets[i].rest.len;
        for (size_t len = 0; len < least; len++) {
            bool is_old_status = packets[i].type == SFTP_STATUS && (len == 9 || len == 15);
            assert_int_equal(sftp_packet_read(slice_sub(payload, 0, len), &again),
                             is_old_status ? ERR_NONE : ERR_INPUT);
        }
        buf_release(&buf);
    }
}

static void what_is_behind_a_packet_makes_it_none(void **state)
{
    struct sftp_packet packet;
    (void)state;
    assert_int_equal(sftp_packet_read(SLICE("\x04\0\0\0\1\0\0\0\1hX"), &packet), ERR_INPUT);
    assert_int_equal(sftp_packet_read(SLICE("\x15\0\0\0\1"), &packet), ERR_INPUT);
    assert_int_equal(sftp_packet_read(SLICE(""), &packet), ERR_INPUT);
    /* lengths beyond what is there, and more names than there are */
    assert_int_equal(sftp_packet_read(SLICE("\x0d\0\0\0\1\xff\xff\xff\xff/a"), &packet), ERR_INPUT);
    assert_int_equal(
        sftp_packet_read(SLICE("\x68\0\0\0\1\0\0\0\2\0\0\0\1a\0\0\0\1A\0\0\0\0"), &packet),
        ERR_INPUT);
    assert_int_equal(
        sftp_packet_read(SLICE("\x69\0\0\0\1\x80\0\0\0\xff\xff\xff\xff\0\0\0\1a"), &packet),
        ERR_INPUT);
}

static void extensions_of_openssh_say_what_they_are_about(void **state)
{
    static const struct {
        struct slice name;
        struct slice rest;
        enum err err;
        bool is_known;
        struct slice path;
        struct slice other;
    } cases[] = {
        {SLICE_INIT("posix-rename@openssh.com"), SLICE_INIT("\0\0\0\1a\0\0\0\1b"), ERR_NONE, true,
         SLICE_INIT("a"), SLICE_INIT("b")},
        {SLICE_INIT("hardlink@openssh.com"), SLICE_INIT("\0\0\0\1a\0\0\0\1b"), ERR_NONE, true,
         SLICE_INIT("a"), SLICE_INIT("b")},
        {SLICE_INIT("lsetstat@openssh.com"), SLICE_INIT("\0\0\0\1a\0\0\0\0"), ERR_NONE, true,
         SLICE_INIT("a"), SLICE_INIT("")},
        {SLICE_INIT("posix-rename@openssh.com"), SLICE_INIT("\0\0\0\1a"), ERR_INPUT, true,
         SLICE_INIT("a"), SLICE_INIT("")},
        {SLICE_INIT("limits@openssh.com"), SLICE_INIT(""), ERR_NONE, true, SLICE_INIT(""),
         SLICE_INIT("")},
        {SLICE_INIT("other@example.com"), SLICE_INIT("x"), ERR_NONE, false, SLICE_INIT(""),
         SLICE_INIT("")},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct sftp_packet packet = {
            .type = SFTP_EXTENDED, .extension = cases[i].name, .rest = cases[i].rest};
        bool is_known = false;
        assert_int_equal(sftp_extension_read(&packet, &is_known), cases[i].err);
        assert_int_equal(is_known, cases[i].is_known);
        assert_true(cases[i].err != ERR_NONE || slice_equals(packet.path, cases[i].path));
        assert_true(cases[i].err != ERR_NONE || slice_equals(packet.other, cases[i].other));
    }
    struct sftp_packet copy = {
        .type = SFTP_EXTENDED,
        .extension = SLICE("copy-data"),
        .rest = SLICE("\0\0\0\1a\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\2\0\0\0\1b\0\0\0\0\0\0\0\3")};
    bool is_known = false;
    assert_int_equal(sftp_extension_read(&copy, &is_known), ERR_NONE);
    assert_true(is_known && slice_equals(copy.other_handle, SLICE("b")));
    assert_int_equal(copy.offset, 1);
    assert_int_equal(copy.length, 2);
    assert_int_equal(copy.other_offset, 3);
}

/* Streams ------------------------------------------------------------------------------------- */

/* What came of a stream, put together again. */
struct heard {
    struct buf bytes;
    struct buf data;
    unsigned packets;
    unsigned heads;
    unsigned cuts;
    unsigned lasts;
};

static enum err hear(struct sftp_stream *stream, struct slice bytes, struct heard *heard)
{
    struct sftp_piece piece;
    enum err err = sftp_stream_next(stream, &bytes, &piece);
    while (err == ERR_NONE) {
        assert_int_equal(buf_append(&heard->bytes, piece.bytes), ERR_NONE);
        heard->packets += piece.kind == SFTP_PIECE_PACKET;
        heard->heads += piece.kind == SFTP_PIECE_HEAD;
        heard->cuts += piece.kind == SFTP_PIECE_CUT;
        heard->lasts += piece.is_last;
        if (piece.kind == SFTP_PIECE_DATA) {
            assert_int_equal(buf_append(&heard->data, piece.bytes), ERR_NONE);
        }
        assert_int_equal(piece.is_last, sftp_stream_is_boundary(stream));
        err = sftp_stream_next(stream, &bytes, &piece);
    }
    assert_true(err != ERR_MORE || bytes.len == 0);
    return err;
}

static void heard_init(struct heard *heard)
{
    *heard = (struct heard){.packets = 0};
    buf_init(&heard->bytes, LIMIT_MIB(1));
    buf_init(&heard->data, LIMIT_MIB(1));
}

static void heard_release(struct heard *heard)
{
    buf_release(&heard->bytes);
    buf_release(&heard->data);
}

static void a_stream_is_the_same_in_pieces_of_any_size(void **state)
{
    struct buf all;
    (void)state;
    buf_init(&all, LIMIT_KIB(8));
    for (size_t i = 0; i < COUNT_OF(packets); i++) {
        assert_int_equal(sftp_packet_write(&all, &packets[i]), ERR_NONE);
    }
    for (size_t size = 1; size <= all.len; size++) {
        struct sftp_stream stream;
        struct heard heard;
        heard_init(&heard);
        sftp_stream_init(&stream, LIMIT_KIB(4), false);
        for (size_t from = 0; from < all.len; from += size) {
            assert_int_equal(hear(&stream, slice_sub(buf_view(&all), from, size), &heard),
                             ERR_MORE);
        }
        assert_true(sftp_stream_is_between(&stream));
        assert_true(slice_equals(buf_view(&heard.bytes), buf_view(&all)));
        assert_true(slice_equals(buf_view(&heard.data), SLICE("xyzcontents")));
        assert_int_equal(heard.packets, COUNT_OF(packets) - 2);
        assert_int_equal(heard.heads, 2);
        assert_int_equal(heard.lasts, COUNT_OF(packets));
        heard_release(&heard);
        sftp_stream_release(&stream);
    }
    buf_release(&all);
}

static void what_is_too_large_goes_by_or_is_refused(void **state)
{
    char text[300] = {0};
    const struct sftp_packet large = {
        .type = SFTP_REMOVE, .id = 1, .path = slice_of(text, sizeof(text))};
    struct buf buf;
    (void)state;
    buf_init(&buf, LIMIT_KIB(1));
    assert_int_equal(sftp_packet_write(&buf, &large), ERR_NONE);
    assert_int_equal(sftp_packet_write(&buf, &packets[3]), ERR_NONE);
    for (int cuts = 0; cuts < 2; cuts++) {
        struct sftp_stream stream;
        struct heard heard;
        heard_init(&heard);
        sftp_stream_init(&stream, 64, cuts == 1);
        assert_int_equal(hear(&stream, buf_view(&buf), &heard), cuts == 1 ? ERR_MORE : ERR_LIMIT);
        if (cuts == 1) {
            assert_true(slice_equals(buf_view(&heard.bytes), buf_view(&buf)));
            assert_int_equal(heard.cuts, 1);
            assert_int_equal(heard.packets, 1);
        }
        heard_release(&heard);
        sftp_stream_release(&stream);
    }
    buf_release(&buf);
}

static void lengths_that_do_not_fit_end_a_stream(void **state)
{
    static const struct slice bad[] = {
        SLICE_INIT("\0\0\0\0\x03"),                               /* no type */
        SLICE_INIT("\0\0\0\1\x15"),                               /* no such type */
        SLICE_INIT("\0\0\0\5\x67\0\0\0\1\0\0\0\0"),               /* a DATA without one */
        SLICE_INIT("\0\0\0\x0a\x67\0\0\0\1\0\0\0\2x"),            /* less than it says */
        SLICE_INIT("\0\0\0\x0b\x06\0\0\0\1\xff\xff\xff\xff\0\0"), /* a handle of 4 GiB */
        SLICE_INIT("\0\0\0\x16\x06\0\0\0\1\0\0\0\1h\0\0\0\0\0\0\0\0\0\0\0\2"), /* likewise */
        SLICE_INIT("\0\0\0\x09\x04\0\0\0\1\0\0\0\2"), /* a handle beyond it */
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct sftp_stream stream;
        struct heard heard;
        heard_init(&heard);
        sftp_stream_init(&stream, LIMIT_KIB(1), false);
        assert_int_equal(hear(&stream, bad[i], &heard), ERR_INPUT);
        heard_release(&heard);
        sftp_stream_release(&stream);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_packet_is_read_as_it_was_written),
        cmocka_unit_test(no_prefix_of_a_packet_is_one),
        cmocka_unit_test(what_is_behind_a_packet_makes_it_none),
        cmocka_unit_test(extensions_of_openssh_say_what_they_are_about),
        cmocka_unit_test(a_stream_is_the_same_in_pieces_of_any_size),
        cmocka_unit_test(what_is_too_large_goes_by_or_is_refused),
        cmocka_unit_test(lengths_that_do_not_fit_end_a_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
