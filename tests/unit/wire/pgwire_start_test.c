/* SPDX-License-Identifier: MIT */
#include "wire/pgwire_start.h"

#include "pgwire_help.h"

#include "base/writer.h"

static struct pgwire_startup startup;

static enum err read_startup(struct slice body)
{
    return pgwire_startup_read(PGWIRE_VERSION(3, 0), body, &startup, NULL);
}

static enum err read_key(struct slice body)
{
    struct pgwire_key key;
    return pgwire_key_read(body, &key, NULL);
}

static enum err read_status(struct slice body)
{
    struct pgwire_parameter parameter;
    return pgwire_parameter_status_read(body, &parameter, NULL);
}

static enum err read_negotiation(struct slice body)
{
    struct pgwire_negotiation negotiation;
    return pgwire_negotiation_read(body, &negotiation, NULL);
}

static void a_startup_has_parameters_in_pairs(void **state)
{
    (void)state;
    struct slice body = SLICE("user\0an\xff\0database\0db\0options\0\0_pq_.x\0on\0\0");
    check_prefixes(read_startup, body, false);
    assert_int_equal(pgwire_startup_read(PGWIRE_VERSION(3, 2), body, &startup, NULL), ERR_NONE);
    assert_int_equal(PGWIRE_VERSION_MINOR(startup.version), 2);
    assert_slice(startup.user, "an\xff");
    assert_slice(startup.database, "db");
    assert_int_equal(startup.parameter_count, 4);
    assert_slice(startup.parameters[3].name, "_pq_.x");
    assert_true(pgwire_is_protocol_option(startup.parameters[3].name));
    assert_false(pgwire_is_protocol_option(startup.parameters[2].name));
    struct slice options = pgwire_startup_find(&startup, SLICE("options"));
    assert_true(options.at != NULL && options.len == 0);
    assert_null(pgwire_startup_find(&startup, SLICE("replication")).at);
}

static void the_database_is_the_users_when_none_is_named(void **state)
{
    (void)state;
    assert_int_equal(read_startup(SLICE("user\0ann\0\0")), ERR_NONE);
    assert_slice(startup.database, "ann");
    assert_int_equal(read_startup(SLICE("database\0\0user\0ann\0\0")), ERR_NONE);
    assert_slice(startup.database, "ann");
}

static void startups_that_can_be_read_in_two_ways_are_refused(void **state)
{
    (void)state;
    static const struct slice bodies[] = {
        SLICE_INIT(""),
        SLICE_INIT("user\0ann\0user\0bob\0\0"),
        SLICE_INIT("user\0ann\0a\0\0a\0\0\0"),
        SLICE_INIT("user\0ann\0\0x"),
        SLICE_INIT("user\0ann\0\0\0"),
        SLICE_INIT("user\0ann\0database"),
        SLICE_INIT("user\0ann\0database\0\0"),
    };
    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        assert_int_equal(read_startup(bodies[i]), ERR_INPUT);
    }
}

static void a_startup_of_nobody_is_refused(void **state)
{
    (void)state;
    static const struct slice bodies[] = {SLICE_INIT("\0"), SLICE_INIT("user\0\0\0"),
                                          SLICE_INIT("database\0db\0\0")};
    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        assert_int_equal(read_startup(bodies[i]), ERR_UNAUTHENTICATED);
    }
}

static void parameters_of_a_startup_are_limited(void **state)
{
    (void)state;
    for (size_t count = LIMIT_START_PARAMETERS; count <= LIMIT_START_PARAMETERS + 1; count++) {
        struct buf buf;
        buf_init(&buf, LIMIT_KIB(10));
        struct writer writer = writer_to(&buf);
        writer_bytes(&writer, SLICE("user\0ann\0"));
        for (size_t i = 1; i < count; i++) {
            writer_format(&writer, "p%zu", i);
            writer_bytes(&writer, SLICE("\0v\0"));
        }
        writer_u8(&writer, 0);
        assert_int_equal(read_startup(buf_view(&buf)),
                         count > LIMIT_START_PARAMETERS ? ERR_LIMIT : ERR_NONE);
        buf_release(&buf);
    }
}

static void what_is_written_is_as_the_manual_has_it(void **state)
{
    (void)state;
    struct buf buf;
    const struct pgwire_parameter parameters[] = {{SLICE("user"), SLICE("ann")},
                                                  {SLICE("database"), SLICE("db")}};
    const struct pgwire_key key = {0x01020304, SLICE("SECRETS")};
    const struct slice unknown[] = {SLICE("_pq_.a"), SLICE("_pq_.b")};
    buf_init(&buf, LIMIT_KIB(1));
    assert_int_equal(pgwire_startup_write(&buf, PGWIRE_VERSION(3, 2), parameters, 2), ERR_NONE);
    assert_bytes(buf_view(&buf), "\0\0\0\x1e\0\x03\0\x02user\0ann\0database\0db\0\0");
    buf_truncate(&buf, 0);
    assert_int_equal(pgwire_encryption_request_write(&buf, PGWIRE_SSL_REQUEST), ERR_NONE);
    assert_int_equal(pgwire_encryption_request_write(&buf, PGWIRE_GSSENC_REQUEST), ERR_NONE);
    assert_bytes(buf_view(&buf), "\0\0\0\x08\x04\xd2\x16\x2f\0\0\0\x08\x04\xd2\x16\x30");
    buf_truncate(&buf, 0);
    assert_int_equal(pgwire_cancel_write(&buf, &key), ERR_NONE);
    assert_int_equal(pgwire_key_write(&buf, &key), ERR_NONE);
    assert_bytes(buf_view(&buf), "\0\0\0\x13\x04\xd2\x16\x2e\1\2\3\4SECRETS"
                                 "K\0\0\0\x0f\1\2\3\4SECRETS");
    buf_truncate(&buf, 0);
    assert_int_equal(pgwire_parameter_status_write(&buf, &parameters[0]), ERR_NONE);
    assert_bytes(buf_view(&buf), "S\0\0\0\x0duser\0ann\0");
    buf_truncate(&buf, 0);
    assert_int_equal(pgwire_negotiation_write(&buf, PGWIRE_VERSION(3, 0), unknown, 2), ERR_NONE);
    assert_bytes(buf_view(&buf), "v\0\0\0\x1a\0\3\0\0\0\0\0\2_pq_.a\0_pq_.b\0");
    buf_release(&buf);
}

static void what_cannot_be_said_is_refused_and_leaves_nothing(void **state)
{
    (void)state;
    static char long_value[LIMIT_PGWIRE_STARTUP_SIZE];
    memset(long_value, 'a', sizeof(long_value));
    struct buf buf;
    struct slice nul = SLICE("a\0b");
    const struct pgwire_parameter bad[] = {{nul, SLICE("v")},
                                           {SLICE("n"), nul},
                                           {SLICE(""), SLICE("v")},
                                           {SLICE("n"), {long_value, sizeof(long_value)}}};
    struct pgwire_key key = {1, SLICE("abc")};
    buf_init(&buf, LIMIT_KIB(64));
    assert_int_equal(buf_append(&buf, SLICE("before")), ERR_NONE);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_int_equal(pgwire_startup_write(&buf, PGWIRE_VERSION(3, 0), &bad[i], 1), ERR_INPUT);
    }
    assert_int_equal(pgwire_parameter_status_write(&buf, &bad[0]), ERR_INPUT);
    assert_int_equal(pgwire_key_write(&buf, &key), ERR_INPUT);
    key.secret = slice_of(long_value, LIMIT_CANCEL_KEY_SIZE + 1);
    assert_int_equal(pgwire_cancel_write(&buf, &key), ERR_INPUT);
    assert_int_equal(pgwire_negotiation_write(&buf, PGWIRE_VERSION(3, 0), &nul, 1), ERR_INPUT);
    assert_int_equal(pgwire_negotiation_write(&buf, 2, &nul, 0), ERR_INPUT);
    assert_slice(buf_view(&buf), "before");
    buf_release(&buf);
    buf_init(&buf, 15);
    assert_int_equal(buf_append(&buf, SLICE("before")), ERR_NONE);
    key.secret = SLICE("abcd");
    assert_int_equal(pgwire_key_write(&buf, &key), ERR_LIMIT);
    assert_slice(buf_view(&buf), "before");
    buf_release(&buf);
}

static void keys_have_4_to_256_bytes(void **state)
{
    (void)state;
    static const char zeros[4 + LIMIT_CANCEL_KEY_SIZE + 1];
    for (size_t size = 0; size <= sizeof(zeros); size++) {
        bool is_key = size >= 8 && size <= 4 + LIMIT_CANCEL_KEY_SIZE;
        assert_int_equal(read_key(slice_of(zeros, size)), is_key ? ERR_NONE : ERR_INPUT);
    }
    struct pgwire_key key;
    assert_int_equal(pgwire_key_read(SLICE("\0\0\1\0SECR"), &key, NULL), ERR_NONE);
    assert_int_equal(key.process, 256);
    assert_slice(key.secret, "SECR");
}

static void a_parameter_status_is_a_name_and_a_value(void **state)
{
    (void)state;
    struct pgwire_parameter parameter;
    struct slice body = SLICE("TimeZone\0Etc/UTC\0");
    check_prefixes(read_status, body, false);
    assert_int_equal(pgwire_parameter_status_read(body, &parameter, NULL), ERR_NONE);
    assert_slice(parameter.name, "TimeZone");
    assert_slice(parameter.value, "Etc/UTC");
}

static void negotiation_names_what_is_unknown(void **state)
{
    (void)state;
    struct pgwire_negotiation got;
    struct slice name;
    struct slice body = SLICE("\0\3\0\2\0\0\0\2_pq_.a\0_pq_.b\0");
    check_prefixes(read_negotiation, body, false);
    assert_int_equal(pgwire_negotiation_read(body, &got, NULL), ERR_NONE);
    assert_int_equal(got.version, PGWIRE_VERSION(3, 2));
    assert_true(pgwire_name_next(&got.unknown, &name));
    assert_slice(name, "_pq_.a");
    assert_true(pgwire_name_next(&got.unknown, &name));
    assert_slice(name, "_pq_.b");
    assert_false(pgwire_name_next(&got.unknown, &name));
    assert_int_equal(pgwire_negotiation_read(SLICE("\0\0\0\1\0\0\0\0"), &got, NULL), ERR_NONE);
    assert_int_equal(got.version, PGWIRE_VERSION(3, 1));
    assert_int_equal(read_negotiation(SLICE("\0\2\0\0\0\0\0\0")), ERR_INPUT);
    assert_int_equal(read_negotiation(SLICE("\0\3\0\0\xff\xff\xff\xff")), ERR_INPUT);
}

static void one_byte_answers_a_request_for_encryption(void **state)
{
    (void)state;
    bool is_accepted = false;
    for (unsigned byte = 0; byte < 256; byte++) {
        enum err err =
            pgwire_encryption_answer_read(PGWIRE_SSL_REQUEST, (char)byte, &is_accepted, NULL);
        assert_int_equal(err, byte == 'S' || byte == 'N' ? ERR_NONE
                              : byte == 'E'              ? ERR_UNSUPPORTED
                                                         : ERR_INPUT);
        assert_true(err != ERR_NONE || is_accepted == (byte == 'S'));
    }
    assert_int_equal(pgwire_encryption_answer_read(PGWIRE_GSSENC_REQUEST, 'G', &is_accepted, NULL),
                     ERR_NONE);
    assert_true(is_accepted);
    assert_int_equal(pgwire_encryption_answer_read(PGWIRE_GSSENC_REQUEST, 'S', &is_accepted, NULL),
                     ERR_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_startup_has_parameters_in_pairs),
        cmocka_unit_test(the_database_is_the_users_when_none_is_named),
        cmocka_unit_test(startups_that_can_be_read_in_two_ways_are_refused),
        cmocka_unit_test(a_startup_of_nobody_is_refused),
        cmocka_unit_test(parameters_of_a_startup_are_limited),
        cmocka_unit_test(what_is_written_is_as_the_manual_has_it),
        cmocka_unit_test(what_cannot_be_said_is_refused_and_leaves_nothing),
        cmocka_unit_test(keys_have_4_to_256_bytes),
        cmocka_unit_test(a_parameter_status_is_a_name_and_a_value),
        cmocka_unit_test(negotiation_names_what_is_unknown),
        cmocka_unit_test(one_byte_answers_a_request_for_encryption),
    };
    return cmocka_run_group_tests_name("wire/pgwire_start", tests, NULL, NULL);
}
