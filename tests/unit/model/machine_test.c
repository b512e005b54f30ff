/* SPDX-License-Identifier: MIT */
#include "model/machine.h"

#include "base/limits.h"
#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct arena arena;
static struct error error;

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena);
    error = (struct error){0};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

static enum err read_in(const struct shape *shape, struct slice text, void *target)
{
    struct json json;
    enum err err = json_parse_in(&arena, text, &json, &error);
    return err == ERR_NONE ? shape_read(shape, SHAPE_WHOLE, &json, target, &error) : err;
}

static enum err read_account(const struct shape *shape, struct slice text)
{
    struct service_account account = {0};
    return read_in(shape, text, &account);
}

static enum err read_subject(const char *character, size_t count)
{
    struct slice subject = SLICE("");
    for (size_t i = 0; i < count; i++) {
        subject = arena_format(&arena, "%.*s%s", SLICE_ARG(subject), character);
    }
    return read_account(
        &service_account_shape,
        arena_format(&arena, "{\"subject\":\"%.*s\",\"status\":\"active\"}", SLICE_ARG(subject)));
}

static void a_subject_is_as_long_as_that_of_a_token(void **state)
{
    (void)state;
    assert_int_equal(read_subject("a", 1), ERR_NONE);
    assert_int_equal(read_subject("a", LIMIT_JWT_SUBJECT_SIZE), ERR_NONE);
    assert_int_equal(read_subject("a", LIMIT_JWT_SUBJECT_SIZE + 1), ERR_INPUT);
    assert_int_equal(read_subject("é", LIMIT_JWT_SUBJECT_SIZE / 2), ERR_NONE);
    assert_int_equal(read_subject("é", LIMIT_JWT_SUBJECT_SIZE / 2 + 1), ERR_INPUT);
    assert_string_equal(error.message, "'subject' must not be longer than 255 bytes");
    assert_int_equal(read_subject("a", 0), ERR_INPUT);
    assert_int_equal(read_subject("\\n", 1), ERR_INPUT);
}

static void only_a_replacement_may_leave_the_subject_out(void **state)
{
    (void)state;
    struct slice text = SLICE("{\"status\":\"inactive\"}");
    assert_int_equal(read_account(&service_account_update_shape, text), ERR_NONE);
    assert_int_equal(read_account(&service_account_shape, text), ERR_INPUT);
    assert_string_equal(error.message, "'subject' is required");
    text = SLICE("{\"subject\":\"a\"}");
    assert_int_equal(read_account(&service_account_update_shape, text), ERR_INPUT);
    assert_string_equal(error.message, "'status' is required");
}

static void an_identity_takes_no_groups_and_no_credentials(void **state)
{
    (void)state;
    struct machine_identity identity = {0};
    assert_int_equal(read_in(&machine_identity_shape,
                             SLICE("{\"name\":\"robot\",\"groups\":[\"admin\"],"
                                   "\"credentials\":[{\"a\":1}],\"new_credentials\":5}"),
                             &identity),
                     ERR_NONE);
    assert_false(identity.credentials.is_given || identity.new_credentials.is_given);
    assert_false(identity.connection_names.is_given || identity.attributes.is_given);
}

static void credentials_are_shown_where_they_are_given(void **state)
{
    (void)state;
    struct machine_identity identity = {.name = SLICE("robot")};
    struct buf buf;
    buf_init(&buf, LIMIT_KIB(4));
    struct json_writer json = json_writer_to(&buf);
    json_begin_array(&json);
    shape_write(&machine_identity_shape, &identity, &json);
    identity.credentials.is_given = true;
    shape_write(&machine_identity_shape, &identity, &json);
    json_end_array(&json);
    assert_int_equal(json_writer_done(&json), ERR_NONE);
    struct slice text = buf_view(&buf);
    size_t at = slice_find(text, SLICE("\"credentials\":[]"));
    assert_true(at < text.len);
    struct slice first = slice_sub(text, 0, slice_find_byte(text, '}'));
    assert_int_equal(slice_find(first, SLICE("credentials")), first.len);
    assert_int_equal(slice_find(text, SLICE("new_credentials")), text.len);
    buf_release(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_subject_is_as_long_as_that_of_a_token, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_a_replacement_may_leave_the_subject_out, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_identity_takes_no_groups_and_no_credentials, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(credentials_are_shown_where_they_are_given, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests_name("model/machine", tests, NULL, NULL);
}
