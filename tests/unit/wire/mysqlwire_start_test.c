/* SPDX-License-Identifier: MIT */
#include "wire/mysqlwire_start.h"

#include "mysqlwire_help.h"

static const struct mysqlwire_greeting greeting = {
    .version = SLICE_INIT("8.0.1-x"),
    .connection_id = 0x01020304,
    .capabilities = MYSQLWIRE_PROTOCOL_41 | MYSQLWIRE_PLUGIN_AUTH | MYSQLWIRE_SECURE_CONNECTION |
                    MYSQLWIRE_DEPRECATE_EOF,
    .charset = MYSQLWIRE_UTF8MB4,
    .status = MYSQLWIRE_STATUS_AUTOCOMMIT,
    .scramble = SLICE_INIT("abcdefghijklmnopqrst"),
    .plugin = SLICE_INIT(MYSQLWIRE_PLUGIN_SHA2),
};

static enum err read_greeting(struct slice body)
{
    struct mysqlwire_greeting read;
    struct error error;
    return mysqlwire_greeting_read(body, &read, &error);
}

static void a_greeting_is_read_as_it_was_written(void **state)
{
    (void)state;
    struct mysqlwire_greeting read;
    struct error error;
    struct buf buf;
    buf_init(&buf, 512);
    assert_int_equal(mysqlwire_greeting_write(&buf, &greeting), ERR_NONE);
    struct slice body = body_of(&buf, 0);
    assert_int_equal(mysqlwire_greeting_read(body, &read, &error), ERR_NONE);
    assert_true(slice_equals(read.version, greeting.version));
    assert_int_equal(read.connection_id, greeting.connection_id);
    assert_int_equal(read.capabilities, greeting.capabilities);
    assert_int_equal(read.charset, greeting.charset);
    assert_int_equal(read.status, greeting.status);
    assert_true(slice_equals(read.scramble, greeting.scramble));
    assert_true(slice_equals(read.plugin, greeting.plugin));
    check_prefixes(read_greeting, body, body.len - sizeof(MYSQLWIRE_PLUGIN_SHA2));
    buf_release(&buf);
}

static void a_greeting_that_is_none_is_told_apart(void **state)
{
    (void)state;
    assert_int_equal(read_greeting(SLICE("\xff\x10\x04Too many connections")), ERR_DENIED);
    assert_int_equal(read_greeting(SLICE("\x09"
                                         "5.0\0")),
                     ERR_UNSUPPORTED);
    assert_int_equal(read_greeting(SLICE("SSH-2.0-x\r\n")), ERR_UNSUPPORTED);
    assert_int_equal(read_greeting(SLICE("\x0a"
                                         "4.0\0\1\0\0\0abcdefgh\0\0\0")),
                     ERR_UNSUPPORTED);
}

static const struct mysqlwire_response response = {
    .capabilities = MYSQLWIRE_PROTOCOL_41 | MYSQLWIRE_PLUGIN_AUTH | MYSQLWIRE_CONNECT_WITH_DB |
                    MYSQLWIRE_CONNECT_ATTRS | MYSQLWIRE_PLUGIN_AUTH_LENENC |
                    MYSQLWIRE_SECURE_CONNECTION,
    .packet_max = 1 << 24,
    .charset = 255,
    .user = SLICE_INIT("shop"),
    .proof = SLICE_INIT("01234567890123456789"),
    .database = SLICE_INIT("db"),
    .plugin = SLICE_INIT(MYSQLWIRE_PLUGIN_NATIVE),
    .attributes = SLICE_INIT("\x04_pid\x02"
                             "42\x01"
                             "a\0"),
};

static enum err read_response(struct slice body)
{
    struct mysqlwire_response read;
    struct error error;
    return mysqlwire_response_read(body, &read, &error);
}

static void check_response(uint32_t capabilities)
{
    struct mysqlwire_response given = response;
    struct mysqlwire_response read;
    struct error error;
    struct buf buf;
    given.capabilities = capabilities;
    buf_init(&buf, 512);
    assert_int_equal(mysqlwire_response_write(&buf, 3, &given), ERR_NONE);
    struct slice body = body_of(&buf, 3);
    assert_int_equal(mysqlwire_response_read(body, &read, &error), ERR_NONE);
    assert_false(read.is_ssl_request);
    assert_int_equal(read.capabilities, capabilities);
    assert_int_equal(read.packet_max, given.packet_max);
    assert_int_equal(read.charset, given.charset);
    assert_true(slice_equals(read.user, given.user));
    assert_true(slice_equals(read.proof, given.proof));
    assert_true(slice_equals(read.database, (capabilities & MYSQLWIRE_CONNECT_WITH_DB) != 0
                                                ? given.database
                                                : SLICE("")));
    assert_true(slice_equals(read.plugin, (capabilities & MYSQLWIRE_PLUGIN_AUTH) != 0 ? given.plugin
                                                                                      : SLICE("")));
    check_prefixes(read_response, body, 32 + sizeof("shop") + 1 + given.proof.len);
    buf_release(&buf);
}

static void an_answer_is_read_as_it_was_written(void **state)
{
    (void)state;
    check_response(response.capabilities);
    check_response(MYSQLWIRE_PROTOCOL_41 | MYSQLWIRE_SECURE_CONNECTION);
    check_response(MYSQLWIRE_PROTOCOL_41 | MYSQLWIRE_SECURE_CONNECTION | MYSQLWIRE_CONNECT_WITH_DB);
    check_response(MYSQLWIRE_PROTOCOL_41 | MYSQLWIRE_SECURE_CONNECTION | MYSQLWIRE_PLUGIN_AUTH);
}

static void a_request_for_tls_is_an_answer_that_ends_early(void **state)
{
    (void)state;
    struct mysqlwire_response given = response;
    struct mysqlwire_response read;
    struct error error;
    struct buf buf;
    given.capabilities |= MYSQLWIRE_SSL;
    buf_init(&buf, 512);
    assert_int_equal(mysqlwire_ssl_request_write(&buf, 1, &given), ERR_NONE);
    struct slice body = body_of(&buf, 1);
    assert_int_equal(body.len, MYSQLWIRE_SSL_REQUEST_SIZE);
    assert_int_equal(mysqlwire_response_read(body, &read, &error), ERR_NONE);
    assert_true(read.is_ssl_request);
    buf_release(&buf);
}

static void clients_before_4_1_are_told_apart(void **state)
{
    (void)state;
    assert_int_equal(read_response(SLICE("\x05\0\0\0\0root\0proof")), ERR_UNSUPPORTED);
}

static void attributes_come_one_by_one(void **state)
{
    (void)state;
    struct slice rest = response.attributes;
    struct slice name;
    struct slice value;
    assert_true(mysqlwire_attribute_next(&rest, &name, &value));
    assert_slice(name, "_pid");
    assert_slice(value, "42");
    assert_true(mysqlwire_attribute_next(&rest, &name, &value));
    assert_slice(name, "a");
    assert_slice(value, "");
    assert_false(mysqlwire_attribute_next(&rest, &name, &value));
    rest = SLICE("\x04_pi");
    assert_false(mysqlwire_attribute_next(&rest, &name, &value));
    assert_int_equal(rest.len, 0);
}

static void a_switch_is_read_as_it_was_written(void **state)
{
    (void)state;
    const struct mysqlwire_switch asked = {.plugin = SLICE(MYSQLWIRE_PLUGIN_NATIVE),
                                           .data = SLICE("abcdefghijklmnopqrst\0")};
    struct mysqlwire_switch read;
    struct error error;
    struct buf buf;
    buf_init(&buf, 512);
    assert_int_equal(mysqlwire_switch_write(&buf, 2, &asked), ERR_NONE);
    struct slice body = body_of(&buf, 2);
    assert_int_equal(mysqlwire_switch_read(body, &read, &error), ERR_NONE);
    assert_true(slice_equals(read.plugin, asked.plugin));
    assert_slice(mysqlwire_scramble_of(read.data), "abcdefghijklmnopqrst");
    assert_int_equal(mysqlwire_switch_read(SLICE("\xfe"), &read, &error), ERR_UNSUPPORTED);
    assert_int_equal(mysqlwire_switch_read(SLICE("\xfename"), &read, &error), ERR_INPUT);
    assert_int_equal(mysqlwire_switch_read(SLICE(""), &read, &error), ERR_INPUT);
    buf_release(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_greeting_is_read_as_it_was_written),
        cmocka_unit_test(a_greeting_that_is_none_is_told_apart),
        cmocka_unit_test(an_answer_is_read_as_it_was_written),
        cmocka_unit_test(a_request_for_tls_is_an_answer_that_ends_early),
        cmocka_unit_test(clients_before_4_1_are_told_apart),
        cmocka_unit_test(attributes_come_one_by_one),
        cmocka_unit_test(a_switch_is_read_as_it_was_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
