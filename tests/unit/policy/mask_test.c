/* SPDX-License-Identifier: MIT */
#include "mask_rig.h"

#define EMAIL(strategy) RIG_TYPES(strategy, "\"EMAIL_ADDRESS\"")
#define CARD(strategy)  RIG_TYPES(strategy, "\"CREDIT_CARD\"")

static void what_is_found_is_replaced_and_the_rest_stays(void **state)
{
    (void)state;
    rig_rules(RIG_REDACT);
    rig_check("write to ann@example.com, or pay by 4012 8888 8888 1881!",
              "write to [EMAIL_ADDRESS], or pay by [CREDIT_CARD]!");
    rig_check("ann@example.com", "[EMAIL_ADDRESS]");
    rig_check("nothing here", "SAME");
    rig_check("", "SAME");
    assert_int_equal(rig.counts.by_type[DETECT_EMAIL_ADDRESS], 2);
    assert_int_equal(rig.counts.by_type[DETECT_CREDIT_CARD], 1);
    assert_int_equal(rig.counts.bytes, 15 + 15 + 19);
    assert_int_equal(rig.counts.bytes_by_type[DETECT_EMAIL_ADDRESS], 15 + 15);
    assert_int_equal(rig.counts.bytes_by_type[DETECT_CREDIT_CARD], 19);
    assert_int_equal(rig.counts.errors + rig.counts.columns + rig.counts.custom, 0);
}

static void what_is_appended_leaves_what_was_there(void **state)
{
    (void)state;
    rig_rules(RIG_REDACT);
    must(buf_append(&rig.buf, SLICE("before ")) == ERR_NONE);
    rig_check("a@b.com {", "before [EMAIL_ADDRESS] {");
    must(buf_append(&rig.buf, SLICE("before ")) == ERR_NONE);
    rig_check("{\"a\": \"a@b.com\"}", "before {\"a\": \"[EMAIL_ADDRESS]\"}");
}

static void what_replaces_may_be_chosen(void **state)
{
    (void)state;
    rig_rules(EMAIL("\"type\":\"redact\",\"replacement\":\"[no]\""));
    rig_check("to ann@example.com", "to [no]");
}

static void the_last_characters_stay_and_so_do_separators(void **state)
{
    (void)state;
    rig_rules(CARD("\"type\":\"partial\""));
    rig_check("4012-8888-8888-1881", "****-****-****-1881");
    rig_check("card 4012888888881881.", "card ************1881.");
    rig_rules(CARD("\"type\":\"partial\",\"keep_last\":0"));
    rig_check("4012-8888-8888-1881", "****-****-****-****");
    rig_rules(EMAIL("\"type\":\"partial\",\"keep_last\":3"));
    rig_check("ann@example.com", "***@*******.com");
    /* Of what is short no more than half stays. */
    rig_rules(EMAIL("\"type\":\"partial\",\"keep_last\":64"));
    rig_check("ab@cd.ef", "**@*d.ef");
}

static void characters_are_not_bytes(void **state)
{
    (void)state;
    rig_rules("[{\"name\":\"r\",\"columns\":[{\"name\":\"x\",\"strategy\":{\"type\":\"partial\","
              "\"keep_last\":2}}]}]");
    rig_check("M\xc3\xbcller \xe2\x82\xac\xf0\x9f\x98\x80", "****** \xe2\x82\xac\xf0\x9f\x98\x80");
    rig_check("\xff\xfe\xc3\xbcx", "**\xc3\xbcx");
    rig_check("\xc3", "*");
    rig_check("--", "--");
}

static void a_hash_is_the_same_for_the_same_value_and_key(void **state)
{
    (void)state;
    rig_rules(EMAIL("\"type\":\"hash\""));
    const char *first = rig_mask("ann@example.com");
    assert_int_equal(strlen(first), 16);
    assert_int_equal(strspn(first, "0123456789abcdef"), 16);
    rig_check("ann@example.com", first);
    assert_string_equal(rig_mask("to ann@example.com"),
                        arena_text(&rig.arena, arena_format(&rig.arena, "to %s", first)));
    assert_string_not_equal(rig_mask("bob@example.com"), first);

    struct mask_rules *other = NULL;
    struct masking_rule rule = {.name = SLICE("r")};
    struct masking_strategy strategy = {.type = SLICE("hash")};
    struct masking_column column = {.name = SLICE("x"), .strategy = &strategy};
    rule.columns = (struct shape_objects){.items = &column, .count = 1, .is_given = true};
    must(mask_rules_new(&rule, 1, SLICE("another key, also thirty-two by."), &other, NULL) ==
         ERR_NONE);
    struct mask_rules *kept = rig.rules;
    rig.rules = other;
    rig.plan = mask_plan_of(other, &(struct mask_origin){0}, SLICE("x"));
    assert_string_not_equal(rig_mask("ann@example.com"), first);
    rig.rules = kept;
    mask_rules_unref(other);
    /* Columns and findings have the same, so that they still can be joined. */
    rig_rules("[{\"name\":\"r\",\"columns\":[{\"name\":\"x\",\"strategy\":{\"type\":\"hash\"}}]}]");
    rig_check("ann@example.com", first);
}

static void null_is_for_the_whole_value_alone(void **state)
{
    (void)state;
    rig_rules(EMAIL("\"type\":\"null\""));
    rig_check("ann@example.com", "NULL");
    rig_check("  ann@example.com\n", "NULL");
    rig_check("to ann@example.com", "to [EMAIL_ADDRESS]");
    rig_check("{\"a\":\"ann@example.com\"}", "{\"a\":\"[EMAIL_ADDRESS]\"}");
    assert_int_equal(rig.counts.by_type[DETECT_EMAIL_ADDRESS], 4);
}

static void a_column_goes_whole_whatever_it_holds(void **state)
{
    (void)state;
    rig_rules("[{\"name\":\"r\",\"columns\":[{\"name\":\"x\"}]}]");
    rig_check("anything", "[REDACTED]");
    rig_check("", "[REDACTED]");
    rig_check("{\"a\":1}", "[REDACTED]");
    rig.plan.form = MASK_FORM_JSON;
    rig_check("{\"a\":1}", "\"[REDACTED]\"");
    rig.plan.form = MASK_FORM_LITERAL;
    rig_check("{a,b}", "NULL");
    rig.plan.form = MASK_FORM_OTHER;
    rig_check("5", "NULL");
    assert_int_equal(rig.counts.columns, 6);
    assert_int_equal(rig.counts.bytes, 8 + 0 + 7 + 7 + 5 + 1);
    assert_int_equal(rig.counts.column_bytes, rig.counts.bytes);

    rig_rules("[{\"name\":\"r\",\"strategy\":{\"type\":\"null\"},\"columns\":[{\"name\":\"x\"}]}]");
    rig_check("anything", "NULL");
    rig_rules(
        "[{\"name\":\"r\",\"columns\":[{\"name\":\"x\",\"strategy\":{\"type\":\"partial\"}}]}]");
    rig.plan.form = MASK_FORM_JSON;
    rig_check("{\"a\":1}", "\"[REDACTED]\"");
}

static void what_can_only_be_null_becomes_null(void **state)
{
    (void)state;
    rig_rules(RIG_REDACT);
    rig.plan.form = MASK_FORM_OTHER;
    rig_check("4012888888881881", "NULL");
    rig_check("4012888888881882x", "SAME");
    rig.plan.form = MASK_FORM_LITERAL;
    rig_check("{4012888888881881}", "{[CREDIT_CARD]}");
    rig_check("[4012888888881881,)", "NULL"); /* a range is not taken apart */
    assert_int_equal(rig.counts.errors, 1);
}

static void what_meets_becomes_one_by_the_strictest(void **state)
{
    (void)state;
    rig_rules("[{\"name\":\"a\",\"strategy\":{\"type\":\"partial\",\"keep_last\":3},"
              "\"custom_entity_types\":[{\"name\":\"LONG\",\"score\":1,\"regex\":\"mail .*end\"}]},"
              "{\"name\":\"b\",\"supported_entity_types\":[{\"name\":\"T\",\"entity_types\":["
              "\"EMAIL_ADDRESS\"]}]}]");
    rig_check("a mail to ann@example.com, the end.", "a [EMAIL_ADDRESS].");
    rig_check("a mail to nobody, the end.", "a **** ** ******, *** end.");
    assert_int_equal(rig.counts.by_type[DETECT_EMAIL_ADDRESS], 1);
    assert_int_equal(rig.counts.custom, 1);
}

static void what_is_left_beside_a_finding_is_looked_at(void **state)
{
    (void)state;
    rig_rules(RIG_REDACT);
    static const char *const texts[] = {"ann@example.com_bob@example.com",
                                        "ann@example.com.bob@example.com@ann@example.com",
                                        "x nn@e.insee_coX@e0x.com y"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        const char *masked = rig_mask(texts[i]);
        assert_null(strchr(masked, '@'));
    }
}

static void addresses_that_run_into_each_other_go_whole(void **state)
{
    (void)state;
    rig_rules(RIG_REDACT);
    rig_check("to a@b.com.c@d.com", "to [EMAIL_ADDRESS]");
    rig_check("to ann@example.com@proxy.org.", "to [EMAIL_ADDRESS].");
    rig_check("ann@example.com.bob@example.com@ann@example.com", "[EMAIL_ADDRESS]");
    rig_check("ann@example.com/bob@example.com", "[EMAIL_ADDRESS]/[EMAIL_ADDRESS]");
    rig_check("ann@example.com&bob@example.com", "[EMAIL_ADDRESS]&[EMAIL_ADDRESS]");
    rig_check("4012888888881881'ann@example.com", "[CREDIT_CARD]'[EMAIL_ADDRESS]");
    rig_check("git@b.com:git@b.com:git@b.com:git@b.com:git@b.com:git@b.com:a@b.com",
              "[EMAIL_ADDRESS]:[EMAIL_ADDRESS]:[EMAIL_ADDRESS]:[EMAIL_ADDRESS]:"
              "[EMAIL_ADDRESS]:[EMAIL_ADDRESS]:[EMAIL_ADDRESS]");
}

static void a_card_among_other_groups_is_hidden(void **state)
{
    (void)state;
    rig_rules(RIG_REDACT);
    rig_check("1234 4111 1111 1111 1111", "1234 [CREDIT_CARD]");
    rig_check("id 0042-4111-1111-1111-1111-7", "id 0042-[CREDIT_CARD]-7");
    rig_check("{\"id\":\"7-4012888888881881\"}", "{\"id\":\"7-[CREDIT_CARD]\"}");
    rig_check("4242 4242 4242 4242 4242", "[CREDIT_CARD]");
    rig_check("1234 4111 1111 1111 1112", "SAME");
}

static void own_patterns_are_found_with_all_of_their_matches(void **state)
{
    (void)state;
    rig_rules(RIG_CUSTOM("\"type\":\"redact\"", "\"regex\":\"E[0-9]+\""));
    rig_check("E1, E12 and E123", "[OWN], [OWN] and [OWN]");
    rig_check("X1", "SAME");
    assert_int_equal(rig.counts.custom, 3);
    rig_rules(RIG_CUSTOM("\"type\":\"redact\"", "\"regex\":\"^Z\\u00fc.{3}$\""));
    rig_check("Z\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc", "[OWN]");
    rig_check("Z\xc3\xbc\xc3\xa4\xc3\xb6", "SAME");
}

static void own_words_stand_alone_in_any_case_of_letters(void **state)
{
    (void)state;
    rig_rules(
        RIG_CUSTOM("\"type\":\"redact\"", "\"deny_list\":[\"Bob\",\"a.b+c\",\"\\u00c4rger\"]"));
    rig_check("bob, BOB and Bobby; a.b+c, axb+c", "[OWN], [OWN] and Bobby; [OWN], axb+c");
    rig_check("\xc3\xa4rger \xc3\x84RGER", "[OWN] [OWN]");
    rig_check("_bob bob1 \xc3\xa4"
              "bob",
              "SAME");
}

static void what_is_no_text_cannot_be_examined_for_patterns(void **state)
{
    (void)state;
    rig_rules(RIG_CUSTOM("\"type\":\"redact\"", "\"regex\":\"E[0-9]+\""));
    rig_check("caf\xe9", "[REDACTED]");
    assert_int_equal(rig.counts.errors, 1);
    rig_rules(RIG_REDACT);
    rig_check("caf\xe9 a@b.com", "caf\xe9 [EMAIL_ADDRESS]");
}

static void what_is_too_large_is_masked_or_refused_and_never_passed(void **state)
{
    (void)state;
    rig_rules(RIG_REDACT);
    char *large = memory_new(LIMIT_MASK_VALUE_SIZE + 1);
    memset(large, 'x', LIMIT_MASK_VALUE_SIZE + 1);
    assert_string_equal(rig_mask_slice(slice_of(large, LIMIT_MASK_VALUE_SIZE)), "SAME");
    assert_string_equal(rig_mask_slice(slice_of(large, LIMIT_MASK_VALUE_SIZE + 1)), "[REDACTED]");
    rig.plan.form = MASK_FORM_OTHER;
    assert_string_equal(rig_mask_slice(slice_of(large, LIMIT_MASK_VALUE_SIZE + 1)), "NULL");
    rig_rules("[{\"name\":\"r\",\"on_unexaminable\":\"refuse\",\"supported_entity_types\":[{"
              "\"name\":\"T\",\"entity_types\":[\"EMAIL_ADDRESS\"]}]}]");
    assert_string_equal(rig_mask_slice(slice_of(large, LIMIT_MASK_VALUE_SIZE + 1)), "REFUSED");
    assert_int_equal(rig.counts.errors, 3);
    memory_free(large);
}

static void a_buffer_that_is_full_lets_nothing_pass(void **state)
{
    (void)state;
    rig_rules(RIG_REDACT);
    static const char *const texts[] = {"a@b.com and more", "{\"a\":\"a@b.com\"}", "{a@b.com}"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        for (size_t size = 0; size < 40; size++) {
            struct buf buf;
            buf_init(&buf, size);
            enum mask_outcome outcome = mask_text(rig.rules, &rig.plan, rig.scratch,
                                                  slice_of_text(texts[i]), &buf, &rig.counts);
            assert_int_not_equal(outcome, MASK_SAME);
            assert_true(slice_find(buf_view(&buf), SLICE("a@b")) == buf.len);
            assert_true(outcome == MASK_CHANGED || buf.len == 0);
            buf_release(&buf);
        }
    }
}

static void very_many_findings_become_few(void **state)
{
    (void)state;
    rig_rules(RIG_CUSTOM("\"type\":\"redact\"", "\"regex\":\"[0-9]\""));
    size_t size = 2 * (LIMIT_MASK_SPANS + 10);
    char *text = memory_new(size);
    for (size_t i = 0; i < size; i++) {
        text[i] = i % 2 == 0 ? '7' : ' ';
    }
    const char *masked = rig_mask_slice(slice_of(text, size));
    assert_null(strchr(masked, '7'));
    assert_int_equal(rig.counts.custom, LIMIT_MASK_SPANS);
    memory_free(text);
}

static void nothing_is_looked_for_without_types(void **state)
{
    (void)state;
    rig_rules("[{\"name\":\"r\",\"columns\":[{\"name\":\"other\"}]}]");
    assert_false(rig.plan.is_examined);
    rig_check("ann@example.com", "SAME");
    rig_rules("[]");
    rig_check("ann@example.com", "SAME");
    assert_null(mask_rules_strictest(rig.rules));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(what_is_found_is_replaced_and_the_rest_stays),
        RIG_TEST(what_is_appended_leaves_what_was_there),
        RIG_TEST(what_replaces_may_be_chosen),
        RIG_TEST(the_last_characters_stay_and_so_do_separators),
        RIG_TEST(characters_are_not_bytes),
        RIG_TEST(a_hash_is_the_same_for_the_same_value_and_key),
        RIG_TEST(null_is_for_the_whole_value_alone),
        RIG_TEST(a_column_goes_whole_whatever_it_holds),
        RIG_TEST(what_can_only_be_null_becomes_null),
        RIG_TEST(what_meets_becomes_one_by_the_strictest),
        RIG_TEST(what_is_left_beside_a_finding_is_looked_at),
        RIG_TEST(addresses_that_run_into_each_other_go_whole),
        RIG_TEST(a_card_among_other_groups_is_hidden),
        RIG_TEST(own_patterns_are_found_with_all_of_their_matches),
        RIG_TEST(own_words_stand_alone_in_any_case_of_letters),
        RIG_TEST(what_is_no_text_cannot_be_examined_for_patterns),
        RIG_TEST(what_is_too_large_is_masked_or_refused_and_never_passed),
        RIG_TEST(a_buffer_that_is_full_lets_nothing_pass),
        RIG_TEST(very_many_findings_become_few),
        RIG_TEST(nothing_is_looked_for_without_types),
    };
    return cmocka_run_group_tests_name("policy/mask", tests, NULL, NULL);
}
