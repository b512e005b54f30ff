/* SPDX-License-Identifier: MIT */
#include "gate/session_head.h"

#include "base/memory.h"
#include "base/must.h"
#include "codec/json.h"
#include "recording_help.h"
#include "session/recording.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

static struct help help;

static int set_up(void **state)
{
    (void)state;
    help_start(&help, false);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    help_end(&help);
    return 0;
}

static const struct session written = {
    .id = SLICE_INIT(HELP_SESSION_ID),
    .organization_id = SLICE_INIT("organization"),
    .credential_id = SLICE_INIT(""),
    .connection_id = SLICE_INIT("connection"),
    .connection_name = SLICE_INIT("shop \"1\""),
    .connection_type = SLICE_INIT("database"),
    .connection_subtype = SLICE_INIT("postgres"),
    .resource_name = SLICE_INIT("box"),
    .user_id = SLICE_INIT("user"),
    .user_email = SLICE_INIT("ann@example.com"),
    .user_name = SLICE_INIT("Ann"),
    .identity_type = SLICE_INIT("user"),
    .verb = SLICE_INIT("connect"),
    .status = SLICE_INIT("open"),
    .client_ip = SLICE_INIT("192.0.2.1"),
    .application_name = SLICE_INIT("psql"),
    .metadata = SLICE_INIT("{\"ticket\":\"A-1\",\"why\":\"\\\"it\\\" is\"}"),
    .guardrails_info = SLICE_INIT("[]"),
    .started_at = HELP_STARTED_AT,
    .recording_days = 12,
};

static enum err read_back(struct session *ret_session)
{
    const struct session_head_file file = {help.path, help.keys};
    return session_head_read_in(&help.arena, &file, ret_session, &help.error);
}

static void what_was_written_is_read(void **state)
{
    (void)state;
    struct session found;
    struct recorder *recorder = help_open(&help);
    session_head_record(recorder, &written, SLICE(""));
    must(recorder_flush(recorder, NULL) == ERR_NONE);
    assert_int_equal(read_back(&found), ERR_NONE);
    assert_true(slice_equals(found.id, written.id));
    assert_true(slice_equals(found.organization_id, written.organization_id));
    assert_true(slice_equals(found.connection_name, written.connection_name));
    assert_true(slice_equals(found.user_email, written.user_email));
    assert_true(slice_equals(found.client_ip, written.client_ip));
    assert_true(slice_equals(found.metadata, written.metadata));
    assert_true(found.started_at == HELP_STARTED_AT && found.recording_days == 12);
    (void)help_close(&help, recorder);
}

static void assert_refused(enum record_kind kind, const char *text, enum err wanted)
{
    struct session found;
    struct recorder *recorder = help_open(&help);
    help_add(recorder, kind, RECORD_FROM_GATEWAY, slice_of_text(text));
    (void)help_close(&help, recorder);
    assert_int_equal(read_back(&found), wanted);
    must(unlink(help.path) == 0);
}

static void what_is_no_head_is_refused(void **state)
{
    (void)state;
    struct session found;
    assert_refused(RECORD_NOTE, "{}", ERR_INPUT);
    assert_refused(RECORD_OPEN, "{}", ERR_INPUT);
    assert_refused(RECORD_OPEN, "{\"id\":", ERR_INPUT);
    assert_refused(RECORD_OPEN, "[]", ERR_INPUT);
    assert_int_equal(read_back(&found), ERR_NOT_FOUND);
    struct session other = written;
    struct recorder *recorder = help_open(&help);
    other.id = SLICE("01890000-0000-7000-8000-00000000ffff");
    session_head_record(recorder, &other, SLICE(""));
    must(recorder_flush(recorder, NULL) == ERR_NONE);
    assert_int_equal(read_back(&found), ERR_INPUT);
    (void)help_close(&help, recorder);
}

static void an_empty_recording_has_none(void **state)
{
    (void)state;
    struct session found;
    struct recorder *recorder = help_open(&help);
    assert_int_equal(read_back(&found), ERR_NOT_FOUND);
    (void)help_close(&help, recorder);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    json_set_seed(1);
    const struct CMUnitTest tests[] = {
        TEST(what_was_written_is_read),
        TEST(what_is_no_head_is_refused),
        TEST(an_empty_recording_has_none),
    };
    return cmocka_run_group_tests_name("gate/session_head", tests, NULL, NULL);
}
