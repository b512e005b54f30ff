/* SPDX-License-Identifier: MIT */
#include "wire/pgwire_auth.h"

#include "pgwire_help.h"

static enum err read_auth(struct slice body)
{
    struct pgwire_auth auth;
    return pgwire_auth_read(body, &auth, NULL);
}

static enum err read_password(struct slice body)
{
    struct slice password;
    return pgwire_password_read(body, &password, NULL);
}

static enum err read_initial(struct slice body)
{
    struct pgwire_sasl_initial initial;
    return pgwire_sasl_initial_read(body, &initial, NULL);
}

static void each_kind_of_request_is_read_and_written(void **state)
{
    (void)state;
    static const struct {
        struct slice body;
        enum pgwire_auth_kind kind;
        bool asks;
        bool is_open;
    } cases[] = {
        {SLICE_INIT("\0\0\0\0"), PGWIRE_AUTH_OK, false, false},
        {SLICE_INIT("\0\0\0\2"), PGWIRE_AUTH_KERBEROS, true, false},
        {SLICE_INIT("\0\0\0\3"), PGWIRE_AUTH_CLEARTEXT, true, false},
        {SLICE_INIT("\0\0\0\5salt"), PGWIRE_AUTH_MD5, true, false},
        {SLICE_INIT("\0\0\0\7"), PGWIRE_AUTH_GSS, true, false},
        {SLICE_INIT("\0\0\0\x08token"), PGWIRE_AUTH_GSS_CONTINUE, true, true},
        {SLICE_INIT("\0\0\0\x09"), PGWIRE_AUTH_SSPI, true, false},
        {SLICE_INIT("\0\0\0\x0br=x"), PGWIRE_AUTH_SASL_CONTINUE, true, true},
        {SLICE_INIT("\0\0\0\x0cv=x"), PGWIRE_AUTH_SASL_FINAL, false, true},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct pgwire_auth auth;
        struct buf buf;
        check_prefixes(read_auth, cases[i].body, cases[i].is_open);
        assert_int_equal(pgwire_auth_read(cases[i].body, &auth, NULL), ERR_NONE);
        assert_int_equal(auth.kind, cases[i].kind);
        assert_int_equal(pgwire_auth_asks(auth.kind), cases[i].asks);
        assert_true(slice_equals(auth.data, slice_from(cases[i].body, 4)));
        buf_init(&buf, 100);
        assert_int_equal(pgwire_auth_write(&buf, &auth), ERR_NONE);
        struct slice body = body_of(buf_view(&buf), PGWIRE_FROM_SERVER, 'R');
        assert_true(slice_equals(body, cases[i].body));
        buf_release(&buf);
    }
    assert_int_equal(read_auth(SLICE("\0\0\0\x0d")), ERR_UNSUPPORTED);
    assert_int_equal(read_auth(SLICE("\xff\xff\xff\xff")), ERR_UNSUPPORTED);
}

static void mechanisms_are_listed(void **state)
{
    (void)state;
    struct pgwire_auth auth;
    struct slice name;
    struct buf buf;
    const struct slice names[] = {SLICE("SCRAM-SHA-256-PLUS"), SLICE("SCRAM-SHA-256")};
    buf_init(&buf, 100);
    assert_int_equal(pgwire_auth_sasl_write(&buf, names, 2), ERR_NONE);
    struct slice body = body_of(buf_view(&buf), PGWIRE_FROM_SERVER, 'R');
    assert_bytes(body, "\0\0\0\x0aSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0");
    check_prefixes(read_auth, body, false);
    assert_int_equal(pgwire_auth_read(body, &auth, NULL), ERR_NONE);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        assert_true(pgwire_mechanism_next(&auth.data, &name));
        assert_true(slice_equals(name, names[i]));
    }
    assert_false(pgwire_mechanism_next(&auth.data, &name));
    assert_int_equal(read_auth(SLICE("\0\0\0\x0a\0")), ERR_INPUT);
    buf_release(&buf);
}

static void answers_are_read_and_written(void **state)
{
    (void)state;
    struct buf buf;
    struct slice password;
    struct pgwire_sasl_initial initial;
    buf_init(&buf, 100);
    assert_int_equal(pgwire_password_write(&buf, SLICE("secret")), ERR_NONE);
    assert_bytes(buf_view(&buf), "p\0\0\0\x0bsecret\0");
    struct slice body = body_of(buf_view(&buf), PGWIRE_FROM_CLIENT, 'p');
    check_prefixes(read_password, body, false);
    assert_int_equal(pgwire_password_read(body, &password, NULL), ERR_NONE);
    assert_slice(password, "secret");
    buf_truncate(&buf, 0);
    initial = (struct pgwire_sasl_initial){SLICE("M"), SLICE("n,,")};
    assert_int_equal(pgwire_sasl_initial_write(&buf, &initial), ERR_NONE);
    assert_bytes(buf_view(&buf), "p\0\0\0\x0dM\0\0\0\0\3n,,");
    check_prefixes(read_initial, body_of(buf_view(&buf), PGWIRE_FROM_CLIENT, 'p'), false);
    buf_truncate(&buf, 0);
    initial.response = SLICE_NONE;
    assert_int_equal(pgwire_sasl_initial_write(&buf, &initial), ERR_NONE);
    body = body_of(buf_view(&buf), PGWIRE_FROM_CLIENT, 'p');
    assert_bytes(body, "M\0\xff\xff\xff\xff");
    assert_int_equal(pgwire_sasl_initial_read(body, &initial, NULL), ERR_NONE);
    assert_null(initial.response.at);
    assert_int_equal(pgwire_sasl_initial_read(SLICE("M\0\0\0\0\0"), &initial, NULL), ERR_NONE);
    assert_non_null(initial.response.at);
    assert_int_equal(read_initial(SLICE("\0\0\0\0\0")), ERR_INPUT);
    assert_int_equal(read_initial(SLICE("M\0\xff\xff\xff\xfe")), ERR_INPUT);
    buf_truncate(&buf, 0);
    assert_int_equal(pgwire_sasl_response_write(&buf, SLICE("c=\0")), ERR_NONE);
    assert_bytes(buf_view(&buf), "p\0\0\0\x07"
                                 "c=\0");
    buf_release(&buf);
}

static void what_cannot_be_said_is_refused(void **state)
{
    (void)state;
    static const char zeros[LIMIT_PGWIRE_TOKEN_SIZE + 1];
    struct buf buf;
    const struct pgwire_auth bad[] = {{PGWIRE_AUTH_MD5, SLICE("sal")},
                                      {PGWIRE_AUTH_OK, SLICE("x")},
                                      {PGWIRE_AUTH_SASL, SLICE("M\0\0")}};
    const struct slice names[] = {SLICE("M\0N"), SLICE("")};
    const struct pgwire_sasl_initial none = {SLICE(""), SLICE("")};
    buf_init(&buf, LIMIT_KIB(100));
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_int_equal(pgwire_auth_write(&buf, &bad[i]), ERR_INPUT);
    }
    assert_int_equal(pgwire_auth_sasl_write(&buf, names, 0), ERR_INPUT);
    assert_int_equal(pgwire_auth_sasl_write(&buf, names, 1), ERR_INPUT);
    assert_int_equal(pgwire_auth_sasl_write(&buf, names + 1, 1), ERR_INPUT);
    assert_int_equal(pgwire_sasl_initial_write(&buf, &none), ERR_INPUT);
    assert_int_equal(pgwire_password_write(&buf, SLICE("a\0b")), ERR_INPUT);
    struct slice token = slice_of(zeros, sizeof(zeros));
    assert_int_equal(pgwire_sasl_response_write(&buf, token), ERR_INPUT);
    assert_int_equal(buf_view(&buf).len, 0);
    buf_release(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_of_request_is_read_and_written),
        cmocka_unit_test(mechanisms_are_listed),
        cmocka_unit_test(answers_are_read_and_written),
        cmocka_unit_test(what_cannot_be_said_is_refused),
    };
    return cmocka_run_group_tests_name("wire/pgwire_auth", tests, NULL, NULL);
}
