/* SPDX-License-Identifier: MIT */
#include "http1_help.h"

static void a_response_head_is_written(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 1024);
    struct writer writer = writer_to(&buf);
    http1_response_begin(&writer, 100);
    http1_response_end(&writer);
    http1_response_begin(&writer, 404);
    http1_response_header(&writer, SLICE("content-length"), SLICE("0"));
    http1_response_header(&writer, SLICE("x-empty"), SLICE(""));
    http1_response_header(&writer, SLICE("x-text"), SLICE("a\tb \xc3\xa4"));
    http1_response_end(&writer);
    http1_response_begin(&writer, 599);
    assert_int_equal(writer_done(&writer), ERR_NONE);
    assert_slice(buf_view(&buf), "HTTP/1.1 100 Continue\r\n\r\n"
                                 "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nx-empty: \r\n"
                                 "x-text: a\tb \xc3\xa4\r\n\r\n"
                                 "HTTP/1.1 599 Status\r\n");
    buf_release(&buf);
}

static void no_value_can_add_a_header_of_its_own(void **state)
{
    (void)state;
    static const struct http_header bad[] = {
        {SLICE_INIT("location"), SLICE_INIT("/\r\nset-cookie: a=b")},
        {SLICE_INIT("location"), SLICE_INIT("/\n")},
        {SLICE_INIT("location"), SLICE_INIT("\r")},
        {SLICE_INIT("location"), SLICE_INIT("a\0b")},
        {SLICE_INIT("location"), SLICE_INIT("\x7f")},
        {SLICE_INIT("location"), SLICE_INIT("0123456789abcdef0123456789abcdef\n")},
        {SLICE_INIT("a b"), SLICE_INIT("c")},
        {SLICE_INIT("a\r\nb"), SLICE_INIT("c")},
        {SLICE_INIT("a:"), SLICE_INIT("c")},
        {SLICE_INIT(""), SLICE_INIT("c")},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct buf buf;
        buf_init(&buf, 1024);
        struct writer writer = writer_to(&buf);
        http1_response_header(&writer, bad[i].name, bad[i].value);
        http1_response_header(&writer, SLICE("x"), SLICE("y"));
        assert_int_equal(writer_done(&writer), ERR_LIMIT);
        assert_int_equal(buf_view(&buf).len, 0);
        buf_release(&buf);
    }
}

static void every_byte_is_in_the_classes_of_the_specification(void **state)
{
    (void)state;
    struct slice marks = SLICE("!#$%&'*+-.^_`|~");
    for (unsigned value = 0; value < 256; value++) {
        char byte = (char)(unsigned char)value;
        unsigned letter = value | 0x20;
        bool alphanumeric =
            (value >= '0' && value <= '9') || (value < 128 && letter >= 'a' && letter <= 'z');
        bool token = alphanumeric || slice_find_byte(marks, byte) < marks.len;
        bool field = value == '\t' || (value >= ' ' && value != 0x7f);
        assert_int_equal(http_is_token(slice_of(&byte, 1)), token);
        assert_int_equal(http_is_field_value(slice_of(&byte, 1)), field);
    }
    assert_false(http_is_token(SLICE_NONE));
    assert_true(http_is_field_value(SLICE_NONE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_response_head_is_written),
        cmocka_unit_test(no_value_can_add_a_header_of_its_own),
        cmocka_unit_test(every_byte_is_in_the_classes_of_the_specification),
    };
    return cmocka_run_group_tests_name("wire/http1_response", tests, NULL, NULL);
}
