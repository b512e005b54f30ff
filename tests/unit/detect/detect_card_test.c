/* SPDX-License-Identifier: MIT */
/* Cards among other groups of digits. */
#include "detect_rig.h"

static void check_card_in(const char *const around[2], const char *card)
{
    char text[TEXT_SIZE], wanted[TEXT_SIZE];
    assert_true(snprintf(text, sizeof(text), "%s%s%s", around[0], card, around[1]) > 0);
    assert_true(snprintf(wanted, sizeof(wanted), "CREDIT_CARD:%s", card) > 0);
    if (strstr(found(text), wanted) == NULL) {
        fail_msg("'%s' gave %s", text, found(text));
    }
}

static void a_card_is_found_among_other_groups(void **state)
{
    (void)state;
    static const char *const cards[] = {
        "4111 1111 1111 1111", "4242 4242 4242 4242", "5555 5555 5555 4444", "3782 822463 10005",
        "6011 1111 1111 1117", "3530 1113 3330 0000", "4111111111111111",    "4242424242424242",
        "5555555555554444",    "378282246310005",     "6011111111111117",    "3530111333300000"};
    static const char *const around[][2] = {
        {"", " 12/27"}, {"", " 123"},        {"12 ", ""},      {"7, ", ", 12/27"},
        {"No 1 ", ""},  {"2024-01-02 ", ""}, {"1 ", " 12/27"}, {"", " 12/27 123"}};
    for (size_t i = 0; i < COUNT_OF(cards); i++) {
        for (size_t j = 0; j < COUNT_OF(around); j++) {
            check_card_in(around[j], cards[i]);
        }
    }
}

/* Whatever whole groups make a card: what stands before or behind is no matter. */
static void no_other_group_hides_a_card(void **state)
{
    (void)state;
    static const char *const cards[] = {"4111 1111 1111 1111", "5555-5555-5555-4444",
                                        "3782 822463 10005",   "3056-930902-5904",
                                        "601111 1111111117",   "4111111111111111"};
    static const char *const around[][2] = {{"1234 ", ""},
                                            {"id 0042-", ""},
                                            {"", " 1234"},
                                            {"", "-0042"},
                                            {"1234 1234 ", ""},
                                            {"1234-1234-1234-", "-1"},
                                            {"12 345 6 ", " 7"},
                                            {"9-", " 12/27 123"},
                                            {"1234 5678 9012 ", ""},
                                            {"1-1-1-1-1-1-1-1-", ""},
                                            {"0 0 0 0 0 0 0 0 0 ", " 0 0"},
                                            {"phone 1234 ", ""},
                                            {"+1 234 1234 ", ""},
                                            {"2024-01-02 1234-", ""}};
    for (size_t i = 0; i < COUNT_OF(cards); i++) {
        for (size_t j = 0; j < COUNT_OF(around); j++) {
            check_card_in(around[j], cards[i]);
        }
    }
    assert_string_equal(found("ORD-4111-1111-1111-1111"), "CREDIT_CARD:4111-1111-1111-1111");
    assert_string_equal(found("No.4111 1111 1111 1111."), "CREDIT_CARD:4111 1111 1111 1111");
    assert_string_equal(found("4111-1111-1111-1111/12/27"), "CREDIT_CARD:4111-1111-1111-1111");
    assert_string_equal(found("AB12 4111 1111 1111 1111"), "CREDIT_CARD:4111 1111 1111 1111");
    assert_string_equal(found("4111 1111 1111 1111 4012 8888 8888 1881"),
                        "CREDIT_CARD:4111 1111 1111 1111 CREDIT_CARD:4012 8888 8888 1881");
}

/* Of those that overlap all is one: none can be told to be the wrong one. */
static void cards_that_overlap_are_one(void **state)
{
    (void)state;
    assert_string_equal(found("4242 4111 1111 1111 1111"), "CREDIT_CARD:4111 1111 1111 1111");
    assert_string_equal(found("4242 4242 4242 4242 4242"), "CREDIT_CARD:4242 4242 4242 4242 4242");
    assert_string_equal(found("4242-4242-4242-4242-4242-4242-1"),
                        "CREDIT_CARD:4242-4242-4242-4242-4242-4242");
    enum { GROUPS = 1 << 17 };
    char *text = memory_new(GROUPS * 5);
    for (size_t i = 0; i < GROUPS; i++) {
        memcpy(text + i * 5, "4242 ", 5);
    }
    struct detect_finding findings[FINDINGS_MAX];
    struct detect_set set = all_types(60);
    size_t rest = 0;
    assert_int_equal(
        detect_scan(&set, 0, slice_of(text, GROUPS * 5), 0, findings, FINDINGS_MAX, &rest), 1);
    assert_int_equal(findings[0].len, GROUPS * 5 - 1);
    memory_free(text);
}

static void what_only_looks_like_a_card_among_groups_is_none(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "1234 4111 1111 1111 1112",                                /* the check digit is wrong */
        "1234 41111 1111 1111 111",                                /* no groups that a card has */
        "1234x4111 1111 1111 1111",                                /* not the whole of a group */
        "4111 1111 1111 1111x",     "0.4111 1111 1111 1111",       /* a fraction */
        "1234.4111111111111111",    "DE89 4111 1111 1111 1111 00", /* an IBAN that is mistyped */
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (found(texts[i])[0] != '\0') {
            fail_msg("'%s' gave %s", texts[i], found(texts[i]));
        }
    }
    assert_string_equal(found_beside("card_number", "5420 5421 5422 5423 5424 5425 5426 5427"),
                        "CREDIT_CARD:5422 5423 5424 5425");
    assert_string_equal(found("card: 1234 41111 1111 1111 111"), "");
    assert_string_equal(found("card: 41111 1111 1111 111"), "CREDIT_CARD:41111 1111 1111 111");
}

static void a_card_is_found_beside_letters_and_among_digits(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"x4111111111111111y", "CREDIT_CARD:4111111111111111"},
        {"id_4111111111111111_7", "CREDIT_CARD:4111111111111111"},
        {"ID-4111111111111111", "CREDIT_CARD:4111111111111111"},
        {"/4111111111111111.pdf", "CREDIT_CARD:4111111111111111"},
        {"4111111111111111.00", "CREDIT_CARD:4111111111111111"},
        {"4.111111111111111e+15", "CREDIT_CARD:4.111111111111111e+15"},
        {"4111.1111.1111.1111", "CREDIT_CARD:4111.1111.1111.1111"},
        {"4111/1111/1111/1111", "CREDIT_CARD:4111/1111/1111/1111"},
        {"4111_1111_1111_1111", "CREDIT_CARD:4111_1111_1111_1111"},
        {"0.4111111111111111", ""},
        {"0000000000000000", ""},
        {"x4111111111111112y", ""},
        {"4111.1111-1111.1111", ""},
        {"4.111111111111112e+15", ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_string_equal(found(cases[i][0]), cases[i][1]);
    }
    /* What chance makes more often needs a word that speaks of it, or a low threshold. */
    assert_string_equal(found("12341234567890"
                              "4111111111111111"),
                        "");
    assert_string_equal(found_beside("card", "1234567890"
                                             "4111111111111111"),
                        "CREDIT_CARD:4111111111111111");
    assert_string_equal(found_beside("card", "4111111111111111"
                                             "5500005555555559"),
                        "CREDIT_CARD:4111111111111111 CREDIT_CARD:5500005555555559");
    assert_string_equal(found_beside("card", "4111111111111111"
                                             "123"),
                        "CREDIT_CARD:4111111111111111");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_card_is_found_beside_letters_and_among_digits),
        cmocka_unit_test(a_card_is_found_among_other_groups),
        cmocka_unit_test(no_other_group_hides_a_card),
        cmocka_unit_test(cards_that_overlap_are_one),
        cmocka_unit_test(what_only_looks_like_a_card_among_groups_is_none),
    };
    return cmocka_run_group_tests_name("detect/card", tests, NULL, NULL);
}
