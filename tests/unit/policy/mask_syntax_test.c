/* SPDX-License-Identifier: MIT */
#include "mask_rig.h"

#include <jansson.h>

#define MAIL "[EMAIL_ADDRESS]"
#define CARD "[CREDIT_CARD]"

/* What is JSON stays JSON; both are read back. */
static void check_json(const char *text, const char *expected)
{
    json_t *before = json_loads(text, JSON_DECODE_ANY, NULL);
    assert_non_null(before);
    json_decref(before);
    const char *masked = rig_mask(text);
    if (strcmp(masked, "SAME") != 0) {
        json_t *after = json_loads(masked, JSON_DECODE_ANY, NULL);
        assert_non_null(after);
        json_decref(after);
    }
    assert_string_equal(masked, expected);
}

static void json_stays_json(void **state)
{
    (void)state;
    rig_rules(RIG_REDACT);
    check_json("{\"a\": \"ann@example.com\", \"b\": [1, \"x\", {\"c\": \"to ann@example.com!\"}]}",
               "{\"a\": \"" MAIL "\", \"b\": [1, \"x\", {\"c\": \"to " MAIL "!\"}]}");
    check_json("[4012888888881881, -0.5e+3, true, null, \"\"]",
               "[\"" CARD "\", -0.5e+3, true, null, \"\"]");
    check_json("{\"n\":4012888888881881}", "{\"n\":\"" CARD "\"}");
    check_json(" {\"ann@example.com\": {\"bob@example.com\": []}} ",
               " {\"" MAIL "\": {\"" MAIL "\": []}} ");
    check_json("\"ann@example.com\"", "\"" MAIL "\"");
    check_json("[\"4012888888881881\",\"4012-8888-8888-1881\"]", "[\"" CARD "\",\"" CARD "\"]");
    check_json("{}", "SAME");
    check_json("[[], {}, [[{\"a\": 0}]]]", "SAME");
    rig.plan.form = MASK_FORM_JSON;
    check_json("4012888888881881", "\"" CARD "\"");
    check_json("{\"a\":\"ann@example.com\"}", "{\"a\":\"" MAIL "\"}");
    assert_int_equal(rig.counts.errors, 0);
}

static void json_escapes_hide_nothing(void **state)
{
    (void)state;
    rig_rules(RIG_REDACT);
    check_json("{\"a\":\"ann\\u0040example.com\"}", "{\"a\":\"" MAIL "\"}");
    check_json("[\"\\u0061nn@example\\u002Ecom\"]", "[\"" MAIL "\"]");
    check_json("[\"say \\\"hi\\\" to ann@example.com\\n\\u0001\\t\\\\\"]",
               "[\"say \\\"hi\\\" to " MAIL "\\u000a\\u0001\\u0009\\\\\"]");
    check_json("[\"\\u00fcn\\ud83d\\ude00 ann\\u0040example.com\"]",
               "[\"\xc3\xbcn\xf0\x9f\x98\x80 " MAIL "\"]");
    check_json("{\"ann\\u0040example.com\":1}", "{\"" MAIL "\":1}");
    check_json("[\"\\u0041\\n\\/\"]", "SAME");
    /* JSON in a string of JSON. */
    check_json("{\"a\":\"{\\\"b\\\":\\\"ann\\\\u0040example.com\\\",\\\"c\\\":4012888888881881}\"}",
               "{\"a\":\"{\\\"b\\\":\\\"" MAIL "\\\",\\\"c\\\":\\\"" CARD "\\\"}\"}");
    assert_int_equal(rig.counts.errors, 0);
}

static void escapes_that_are_too_deep_are_not_passed(void **state)
{
    (void)state;
    rig_rules(RIG_REDACT);
    rig.plan.form = MASK_FORM_JSON;
    struct slice text = SLICE("x\n");
    for (size_t i = 0; i < 6; i++) {
        json_t *wrapped = json_pack("[s#]", text.at, text.len);
        char *dumped = json_dumps(wrapped, JSON_COMPACT);
        text = arena_copy(&rig.arena, slice_of_text(dumped));
        free(dumped);
        json_decref(wrapped);
        const char *masked = rig_mask_slice(text);
        assert_string_equal(masked, i < 3 ? "SAME" : "\"[REDACTED]\"");
    }
    assert_int_equal(rig.counts.errors, 3);
}

static void json_that_is_too_deep_is_not_passed(void **state)
{
    (void)state;
    rig_rules(RIG_REDACT);
    char text[2 * (LIMIT_MASK_JSON_DEPTH + 1) + 1] = "";
    for (size_t depth = LIMIT_MASK_JSON_DEPTH; depth <= LIMIT_MASK_JSON_DEPTH + 1; depth++) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        const char *masked = rig_mask_slice(slice_of(text, 2 * depth));
        assert_string_equal(masked, depth > LIMIT_MASK_JSON_DEPTH ? "[REDACTED]" : "SAME");
    }
}

static void names_of_members_say_what_their_values_are(void **state)
{
    (void)state;
    rig_rules(RIG_TYPES("\"type\":\"redact\"", "\"PHONE_NUMBER\""));
    check_json("{\"phone\":\"2025550143\"}", "{\"phone\":\"[PHONE_NUMBER]\"}");
    check_json("{\"phone\":2025550143}", "{\"phone\":\"[PHONE_NUMBER]\"}");
    check_json("{\"order\":\"2025550143\"}", "SAME");
    check_json("{\"phone\":[\"some twenty characters and more\", 2025550143],\"order\":2025550143,"
               "\"x\": \"some twenty characters and more\", \"order\":[2025550143]}",
               "{\"phone\":[\"some twenty characters and more\", \"[PHONE_NUMBER]\"],\"order\":"
               "2025550143,\"x\": \"some twenty characters and more\", \"order\":[2025550143]}");
    check_json("{\"phone\":{\"some twenty characters and more\":{\"n\":2025550143}}}",
               "{\"phone\":{\"some twenty characters and more\":{\"n\":\"[PHONE_NUMBER]\"}}}");
    check_json("{\"phone\":\"\\u0032025550143\"}", "{\"phone\":\"[PHONE_NUMBER]\"}");
}

static void the_name_of_a_column_speaks_of_what_is_inside(void **state)
{
    (void)state;
    rig_rules(RIG_TYPES("\"type\":\"redact\"", "\"PASSWORD\""));
    struct mask_origin origin = {0};
    rig.plan = mask_plan_of(rig.rules, &origin, SLICE("password"));
    rig_check("Tr0ub4dor&3", "[PASSWORD]");
    check_json("[\"Tr0ub4dor&3\", {\"a\": \"Tr0ub4dor\\u00263\"}]",
               "[\"[PASSWORD]\", {\"a\": \"[PASSWORD]\"}]");
    rig_check("{Tr0ub4dor&3,\"x Tr0ub4dor&3\"}", "{[PASSWORD],\"[PASSWORD]\"}");
    rig_check("(Tr0ub4dor&3,)", "([PASSWORD],)");
    rig.plan = mask_plan_of(rig.rules, &origin, SLICE("x"));
    check_json("{\"password\": [\"Tr0ub4dor&3\"]}", "{\"password\": [\"[PASSWORD]\"]}");
}

static void a_pattern_across_values_masks_each_of_them(void **state)
{
    (void)state;
    rig_rules(RIG_CUSTOM("\"type\":\"partial\"", "\"regex\":\"\\\"ssn\\\":.*[0-9]{3}\""));
    check_json("{\"ssn\":\"123\",\"b\":[1,345]}",
               "{\"[OWN]\":\"[OWN]\",\"[OWN]\":[\"[OWN]\",\"[OWN]\"]}");
    rig_rules(RIG_CUSTOM("\"type\":\"partial\",\"keep_last\":2", "\"regex\":\"1234\""));
    check_json("[1234, 12345, \"a 1234\"]", "[\"**34\", \"[OWN]\", \"a **34\"]");
    rig_rules(RIG_CUSTOM("\"type\":\"redact\"", "\"regex\":\"[:,{}]\""));
    check_json("{\"a\":[1,2],\"b\":\",\"}", "{\"a\":[1,2],\"b\":\"[OWN]\"}");
}

static void what_only_looks_like_json_is_text(void **state)
{
    (void)state;
    rig_rules(RIG_REDACT);
    static const char *const texts[] = {
        "{\"a\": ann@example.com}", "[1,] ann@example.com",     "{\"a\":\"ann@example.com}",
        "\"ann@example.com",        "[01, ann@example.com]",    "{\"a\":\"\\x\"} ann@example.com",
        "{} ann@example.com",       "[tru, \"ann@example.com]", "[1.] ann@example.com"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        const char *masked = rig_mask(texts[i]);
        assert_non_null(strstr(masked, MAIL));
        assert_null(strstr(masked, "ann"));
    }
    rig.plan.form = MASK_FORM_JSON;
    rig_check("{\"a\": ann@example.com}", "\"[REDACTED]\"");
    assert_int_equal(rig.counts.errors, 1);
    assert_int_equal(rig.counts.by_type[DETECT_EMAIL_ADDRESS], COUNT_OF(texts) + 1);
}

static void arrays_stay_arrays(void **state)
{
    (void)state;
    rig_rules(RIG_REDACT);
    rig_check("{ann@example.com,\"to ann@example.com\",NULL}", "{" MAIL ",\"to " MAIL "\",NULL}");
    rig_check("[0:1]={4012888888881881,x}", "[0:1]={" CARD ",x}");
    rig_check("{{a,ann@example.com},{b,c}}", "{{a," MAIL "},{b,c}}");
    rig_check("{\"a \\\"b\\\" ann@example.com\",x}", "{\"a \\\"b\\\" " MAIL "\",x}");
    rig_check("{}", "SAME");
    rig_check("{a,b}", "SAME");
    rig_check("{\"a\\\\b\"}", "SAME");
    /* composites in an array, JSON in a composite in an array */
    rig_check("{\"(1,ann@example.com,\\\"a b\\\")\",\"(2,,\\\"x\\\"\\\"y\\\")\"}",
              "{\"(1," MAIL ",\\\"a b\\\")\",\"(2,,\\\"x\\\"\\\"y\\\")\"}");
    rig_check("{\"(\\\"{\\\"\\\"n\\\"\\\": 4012888888881881}\\\")\"}",
              "{\"(\\\"{\\\"\\\"n\\\"\\\": \\\"\\\"" CARD "\\\"\\\"}\\\")\"}");
    rig_rules(RIG_CUSTOM("\"type\":\"redact\"", "\"regex\":\"b.*d\""));
    rig_check("{a,b,\"c\",d,e}", "{a,[OWN],\"[OWN]\",[OWN],e}");
    rig_check("{a\\,b\\,d,e}", "{\"a,[OWN]\",e}");
}

static void composites_stay_composites(void **state)
{
    (void)state;
    rig_rules(RIG_REDACT);
    rig_check("(1,ann@example.com,\"a \"\"b\"\" ann@example.com\",)",
              "(1," MAIL ",\"a \"\"b\"\" " MAIL "\",)");
    rig_check("(\"a\\\\ann@example.com\")", "(\"a\\\\" MAIL "\")");
    rig_check("(1,,)", "SAME");
    rig_check("(mail ann@example.com, or (call))", "(mail " MAIL ", or (call))");
    rig_check("(\"\\\\\",ann@example.com)", "(\"\\\\\"," MAIL ")");
    rig_rules(RIG_CUSTOM("\"type\":\"redact\"", "\"regex\":\"b.*d\""));
    rig_check("(a,b,\"c\",d)", "(a,[OWN],\"[OWN]\",[OWN])");
}

static void xml_stays_xml(void **state)
{
    (void)state;
    rig_rules(RIG_REDACT);
    rig_check("<a b=\"ann@example.com\">to ann@example.com<c/></a>",
              "<a b=\"" MAIL "\">to " MAIL "<c/></a>");
    rig_check("<a>ann&#64;example.com</a>", "<a>" MAIL "</a>");
    rig_check("<a b='x&#x40;example.com &amp; y'>1 &lt; 2</a>",
              "<a b='" MAIL " &amp; y'>1 &lt; 2</a>");
    rig_check("ann&#x40;example.com", MAIL);
    rig_check("a &amp; b &unknown; &#; &#xzz; &#99999999; &", "SAME");
    rig_check("<![CDATA[ann@example.com]]><!-- ann@example.com --><?p ann@example.com?>",
              "<![CDATA[" MAIL "]]><!-- " MAIL " --><?p " MAIL "?>");
    rig_check("<a <b> ann@example.com", "<a <b> " MAIL);
    rig_check("<a b=\"ann@example.com", "<a b=\"" MAIL);
    rig_check("<!-- ann@example.com", "<!-- " MAIL);
    rig_rules(RIG_CUSTOM("\"type\":\"redact\"", "\"regex\":\"<ssn>[0-9]+</ssn>|secret\""));
    rig_check("<x><ssn>123</ssn><secret/></x>", "<x><ssn>[OWN]</ssn><[OWN]/></x>");
}

/* Nothing is read behind the end, and no part of a value that is found passes. */
static void every_prefix_is_masked(void **state)
{
    (void)state;
    rig_rules("[{\"name\":\"r\",\"supported_entity_types\":[{\"name\":\"T\",\"entity_types\":["
              "\"EMAIL_ADDRESS\",\"CREDIT_CARD\"]}],\"custom_entity_types\":[{\"name\":\"OWN\","
              "\"score\":1,\"regex\":\"E[0-9]{3}\",\"deny_list\":[\"bob\"]}]}]");
    static const char *const texts[] = {
        "{\"a\\u0062\":[\"ann@example.com\\n\",-1.5e3,4012888888881881],\"b\":{\"c\":true}}",
        "{\"a \\\"ann@example.com\\\"\",{bob,E123},4012888888881881}",
        "(1,\"a \"\"E123\"\" \\\\ ann@example.com\",bob)",
        "<a b=\"E123\"><!-- bob --><![CDATA[E123]]>ann&#64;example.com &amp; </a>"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        size_t len = strlen(texts[i]);
        for (size_t size = 0; size <= len; size++) {
            char *exact = memory_new(size + 1);
            memcpy(exact, texts[i], size);
            struct slice prefix = slice_of(exact, size);
            const char *masked = rig_mask_slice(prefix);
            assert_true(strstr(masked, "E123") == NULL && strstr(masked, "bob") == NULL);
            assert_null(strstr(masked, "ann@example.com"));
            memory_free(exact);
        }
    }
    assert_int_equal(rig.counts.errors, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(json_stays_json),
        RIG_TEST(json_escapes_hide_nothing),
        RIG_TEST(escapes_that_are_too_deep_are_not_passed),
        RIG_TEST(json_that_is_too_deep_is_not_passed),
        RIG_TEST(names_of_members_say_what_their_values_are),
        RIG_TEST(the_name_of_a_column_speaks_of_what_is_inside),
        RIG_TEST(a_pattern_across_values_masks_each_of_them),
        RIG_TEST(what_only_looks_like_json_is_text),
        RIG_TEST(arrays_stay_arrays),
        RIG_TEST(composites_stay_composites),
        RIG_TEST(xml_stays_xml),
        RIG_TEST(every_prefix_is_masked),
    };
    return cmocka_run_group_tests_name("policy/mask_syntax", tests, NULL, NULL);
}
