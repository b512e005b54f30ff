/* SPDX-License-Identifier: MIT */
#include "detect_rig.h"

static const struct {
    const char *name; /* of the column; "" where none is needed */
    enum detect_type type;
    const char *value;
} values[] = {
    {"", DETECT_EMAIL_ADDRESS, "anna.schmidt+news@mail.example.co.uk"},
    {"", DETECT_EMAIL_ADDRESS,
     "j\xc3\xbcrgen@b\xc3\xbc"
     "cher.example"},
    {"", DETECT_PHONE_NUMBER, "+14155552671"},
    {"", DETECT_PHONE_NUMBER, "+49 30 901820"},
    {"", DETECT_PHONE_NUMBER, "(415) 555-2671"},
    {"", DETECT_PHONE_NUMBER, "01 23 45 67 89"},
    {"phone", DETECT_PHONE_NUMBER, "030 901820"},
    {"mobile", DETECT_PHONE_NUMBER, "4155552671"},
    {"", DETECT_CREDIT_CARD, "4111 1111 1111 1111"},
    {"", DETECT_CREDIT_CARD, "5555-5555-5555-4444"},
    {"", DETECT_CREDIT_CARD, "378282246310005"},
    {"", DETECT_CREDIT_CARD, "3782 822463 10005"},
    {"", DETECT_CRYPTO, "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"},
    {"", DETECT_CRYPTO, "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq"},
    {"", DETECT_CRYPTO, "0xde0b295669a9fd93d5f28d9ec85e40f4cb697bae"},
    {"", DETECT_IP_ADDRESS, "192.168.0.1"},
    {"", DETECT_IP_ADDRESS, "2001:db8:85a3:0:0:8a2e:370:7334"},
    {"", DETECT_IP_ADDRESS, "fe80::1"},
    {"", DETECT_MAC_ADDRESS, "00:1b:44:11:3a:b7"},
    {"", DETECT_MAC_ADDRESS, "00-1B-44-11-3A-B7"},
    {"", DETECT_URL, "https://example.com/a?b=c"},
    {"", DETECT_URL, "www.example.com"},
    {"", DETECT_URL, "WWW.example.co.uk:8080/a?b=c"},
    {"", DETECT_DATE_TIME, "2024-01-15"},
    {"", DETECT_DATE_TIME, "2024-01-15T10:22:33.123Z"},
    {"", DETECT_DATE_TIME, "15.01.2024"},
    {"dob", DETECT_DATE_OF_BIRTH, "1985-02-13"},
    {"birth_date", DETECT_DATE_OF_BIRTH, "19850213"},
    {"", DETECT_IBAN_CODE, "DE89370400440532013000"},
    {"", DETECT_IBAN_CODE, "GB29 NWBK 6016 1331 9268 19"},
    {"", DETECT_IBAN_CODE, "NO9386011117947"},
    {"routing_number", DETECT_ABA_ROUTING, "021000021"},
    {"account_number", DETECT_US_BANK_NUMBER, "761093441836"},
    {"", DETECT_US_SSN, "219-09-9999"},
    {"ssn", DETECT_US_SSN, "219099999"},
    {"", DETECT_US_ITIN, "911-70-1234"},
    {"passport", DETECT_US_PASSPORT, "B67947541"},
    {"driver_license", DETECT_US_DRIVER_LICENSE, "S3109869"},
    {"dea_number", DETECT_MEDICAL_LICENSE, "FH4223690"},
    {"sin", DETECT_CA_SIN, "130 692 544"},
    {"nhs_number", DETECT_UK_NHS, "943 476 5919"},
    {"", DETECT_UK_NINO, "AB123456C"},
    {"", DETECT_UK_NINO, "AB 12 34 56 C"},
    {"tfn", DETECT_AU_TFN, "876 543 210"},
    {"", DETECT_AU_ABN, "51 824 753 556"},
    {"acn", DETECT_AU_ACN, "004 085 616"},
    {"", DETECT_AU_MEDICARE, "2123 45670 1"},
    {"", DETECT_IN_AADHAAR, "2341 2341 2346"},
    {"", DETECT_IN_PAN, "ABCPE1234F"},
    {"passport", DETECT_IN_PASSPORT, "A1234567"},
    {"", DETECT_IN_VEHICLE_REGISTRATION, "KA01AB1234"},
    {"voter_id", DETECT_IN_VOTER, "CAT4584248"},
    {"", DETECT_IN_GSTIN, "27AAPFU0939F1ZV"},
    {"", DETECT_IT_FISCAL_CODE, "RSSMRA85T10A562S"},
    {"partita_iva", DETECT_IT_VAT_CODE, "00743110157"},
    {"", DETECT_IT_VAT_CODE, "IT00743110157"},
    {"", DETECT_IT_IDENTITY_CARD, "CA12345AA"},
    {"patente", DETECT_IT_DRIVER_LICENSE, "AB1234567C"},
    {"passaporto", DETECT_IT_PASSPORT, "YA1234567"},
    {"", DETECT_ES_NIF, "12345678Z"},
    {"", DETECT_ES_NIF, "12345678-Z"},
    {"", DETECT_ES_NIE, "X1234567L"},
    {"", DETECT_SG_FIN, "S1234567D"},
    {"", DETECT_SG_UEN, "T09LL0001B"},
    {"", DETECT_BR_CPF, "529.982.247-25"},
    {"cpf", DETECT_BR_CPF, "52998224725"},
    {"", DETECT_BR_CNPJ, "11.222.333/0001-81"},
    {"", DETECT_BR_RG, "21.372.256-5"},
    {"cnh", DETECT_BR_CNH, "02650306461"},
    {"pis", DETECT_BR_PIS, "17033259504"},
    {"pesel", DETECT_PL_PESEL, "44051401359"},
    {"", DETECT_KR_RRN, "820701-2409181"},
    {"", DETECT_FI_PERSONAL_IDENTITY_CODE, "131052-308T"},
    {"", DETECT_FI_PERSONAL_IDENTITY_CODE, "131052A308T"},
    {"tnin", DETECT_TH_TNIN, "1101700230708"},
    {"steuer_id", DETECT_DE_TAX_ID, "86095742719"},
    {"", DETECT_FR_NIR, "2 55 08 14 168 025 38"},
    {"bsn", DETECT_NL_BSN, "111222333"},
    {"", DETECT_SE_PERSONNUMMER, "811228-9874"},
    {"", DETECT_JWT,
     "ey"
     "JhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dGhpcyBpcyBub3QgYSBzaWduYXR1cmU"},
    {"", DETECT_AWS_KEY,
     "AK"
     "IAIOSFODNN7EXAMPLE"},
    {"", DETECT_GCP_KEY,
     "AI"
     "za6zb2nAwXN8nejZRxV688rYT97un-ORdkqjx"},
    {"", DETECT_AZURE_KEY,
     "ELI7Q"
     "~kmmpvePTe8ppLlNQcV5mAeI7tNQjN6BfVx"},
    {"", DETECT_GITHUB_TOKEN,
     "gh"
     "p_zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq17"},
    {"", DETECT_SLACK_TOKEN,
     "xo"
     "xb-120196438659-113967692315-twosPcwxmVMP2I3pmDdnLNBc"},
    {"", DETECT_STRIPE_KEY,
     "sk"
     "_live_mGd81maDKZjtzQQ933WPzc3h"},
    {"", DETECT_PRIVATE_KEY,
     "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIIm\n-----END EC PRIVATE KEY-----"},
};

enum {
    VALUE_COUNT = sizeof(values) / sizeof(values[0]),
};

static void must_be_found(size_t index, const char *before, const char *after)
{
    char text[TEXT_SIZE];
    struct detect_finding findings[FINDINGS_MAX];
    struct detect_set set = all_types(60);
    size_t offset = strlen(before);
    assert_true(snprintf(text, sizeof(text), "%s%s%s", before, values[index].value, after) > 0);
    size_t count = scan(&set, values[index].name, slice_of_text(text), findings);
    if (count != 1 || findings[0].type != values[index].type || findings[0].offset != offset ||
        findings[0].len != strlen(values[index].value)) {
        fail_msg("'%s' gave %s", text, found_beside(values[index].name, text));
    }
}

static void a_value_is_found_whole_wherever_it_stands(void **state)
{
    (void)state;
    static const char *const around[][2] = {
        {"", ""},         {"", " is it"},        {"it is ", ""},  {"it is ", ", they say."},
        {"(", ")"},       {"\"", "\""},          {"\n", "\n"},    {"a\t", "\tb"},
        {"[\"", "\",1]"}, {"{\"x\": \"", "\"}"}, {"<v>", "</v>"}, {"{", "}"},
        {"'", "'"},       {"x=", ";"},           {"a,", ", b"},   {"|", "|"},
    };
    for (size_t i = 0; i < VALUE_COUNT; i++) {
        for (size_t j = 0; j < sizeof(around) / sizeof(around[0]); j++) {
            must_be_found(i, around[j][0], around[j][1]);
        }
    }
}

static void a_key_of_a_pair_speaks_of_its_value(void **state)
{
    (void)state;
    assert_string_equal(found("\"ssn\"=>\"219099999\", \"a\"=>\"219099998\""), "US_SSN:219099999");
    assert_string_equal(found("\"a\"=>\"219099999\""), "");
}

static void each_element_of_an_array_has_its_key(void **state)
{
    (void)state;
    assert_string_equal(found("{\"ssn\": [\"219099999\", \"x\", \"219099998\"], \"a\": 1}"),
                        "US_SSN:219099999 US_SSN:219099998");
    assert_string_equal(found("{\"ssn\":[219099999,219099998]}"),
                        "US_SSN:219099999 US_SSN:219099998");
    assert_string_equal(found("{\"ssn\": [1], \"a\": [\"b\", \"219099998\"]}"), "");
}

static void a_value_is_found_at_every_offset(void **state)
{
    (void)state;
    char before[200];
    for (size_t i = 0; i < VALUE_COUNT; i++) {
        for (size_t len = 1; len < sizeof(before) - 1; len++) {
            memset(before, 'a', len);
            before[len - 1] = ' ';
            before[len] = '\0';
            must_be_found(i, before, "");
        }
    }
}

/* Letters and digits around it make it a part of something else, but for what its check and its
 * length tell apart: see detect_card_test. */
static void a_value_inside_a_longer_run_is_not_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < VALUE_COUNT; i++) {
        enum detect_type type = values[i].type;
        if (type == DETECT_URL || type == DETECT_PRIVATE_KEY || type == DETECT_EMAIL_ADDRESS) {
            continue; /* which begin or end with any letters */
        }
        static const char *const around[][2] = {{"7", ""},  {"x", ""},  {"", "7"}, {"", "x"},
                                                {"7", "7"}, {"x_", ""}, {"", "_x"}};
        for (size_t j = 0; j < sizeof(around) / sizeof(around[0]); j++) {
            char text[TEXT_SIZE], wanted[TEXT_SIZE];
            assert_true(snprintf(text, sizeof(text), "%s%s%s", around[j][0], values[i].value,
                                 around[j][1]) > 0);
            assert_true(snprintf(wanted, sizeof(wanted), "%s:%s", detect_type_word(type),
                                 values[i].value) > 0);
            bool is_checked = type == DETECT_CREDIT_CARD || type == DETECT_IBAN_CODE;
            if (!is_checked && strcmp(found_beside("", text), wanted) == 0) {
                fail_msg("'%s' gave %s", text, found_beside("", text));
            }
        }
    }
}

/* Where one in ten or eleven passes all the same, nine of ten wrong ones must not. */
static void a_wrong_checksum_is_no_finding(void **state)
{
    (void)state;
    for (size_t i = 0; i < VALUE_COUNT; i++) {
        char text[TEXT_SIZE];
        size_t tried = 0, passed = 0, len = strlen(values[i].value);
        for (size_t at = 0; at < len && detect_type_has_checksum(values[i].type); at++) {
            for (int by = 1; by < 10; by++) {
                char digit = values[i].value[at];
                memcpy(text, values[i].value, len + 1);
                if (digit < '0' || digit > '9') {
                    break;
                }
                text[at] = (char)('0' + (digit - '0' + by) % 10);
                tried++;
                const char *type = detect_type_word(values[i].type);
                const char *shown = found_beside(values[i].name, text);
                passed += strncmp(shown, type, strlen(type)) == 0;
            }
        }
        /* of Ethereum's addresses only the form is known */
        if (passed * 8 > tried && strncmp(values[i].value, "0x", 2) != 0) {
            fail_msg("%s: %zu of %zu passed", values[i].value, passed, tried);
        }
    }
}

static void every_prefix_of_a_value_stays_within_the_text(void **state)
{
    (void)state;
    struct detect_set set = all_types(0);
    for (size_t i = 0; i < VALUE_COUNT; i++) {
        for (size_t len = 0; len <= strlen(values[i].value); len++) {
            struct detect_finding findings[FINDINGS_MAX];
            size_t count = scan(&set, values[i].name, slice_of(values[i].value, len), findings);
            for (size_t j = 0; j < count; j++) {
                assert_true(findings[j].offset + findings[j].len <= len);
            }
        }
    }
}

static void look_alikes_are_not_found(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "550e8400-e29b-41d4-a716-446655440000",
        "d670460b4b4aece5915caf5c68d12f560a9fe3e4",
        "ORD-2024-0012345678",
        "1705314153123",
        "1705314153",
        "1234567.89",
        "-122.4194155",
        "3.14159265358979",
        "1.2.3-rc4",
        "v10.0.19041.1",
        "version 10.0.1.7",
        "4111 1111 1111 1112",
        "1234567812345678",
        "DE88370400440532013000",
        "icon@2x.png",
        "lodash@4.17.21",
        "@angular/core@17.0.1",
        "git@github.com:org/repo.git",
        "'git@github.com:org/repo.git'",
        "po/en@shaw.po",
        "user@localhost",
        "@media (max-width: 600px)",
        "std::vector<int>::iterator",
        "'2024'::text",
        "10:22:33.123456",
        "978-3-16-148410-0",
        "555-123-4567",
        "5f4dcc3b5aa765d61d8327deb882cf99",
        "SGVsbG8gd29ybGQsIHRoaXMgaXMgYSBibG9i",
        "eyJub3QiOiJhIGp3dCJ9",
        "12345678A",
        "+-----+------------+",
        "0x1234",
        "arn:aws:iam::123456789012:role/x",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (found(texts[i])[0] != '\0') {
            fail_msg("'%s' gave %s", texts[i], found(texts[i]));
        }
    }
}

static void words_before_a_value_count(void **state)
{
    (void)state;
    assert_string_equal(found("021000021"), "");
    assert_string_equal(found("the routing number is 021000021"), "ABA_ROUTING:021000021");
    assert_string_equal(found("{\"routing_no\":\"021000021\"}"), "ABA_ROUTING:021000021");
    assert_string_equal(found("{\"routing_no\": 021000021}"), "ABA_ROUTING:021000021");
    assert_string_equal(found("{\"routing_no\":\"x\",\"id\":\"021000021\"}"), "");
    assert_string_equal(found("routing 021000021\n021000021"), "ABA_ROUTING:021000021");
    assert_string_equal(found("born on 15.1.85"), "DATE_OF_BIRTH:15.1.85");
    assert_string_equal(found("shipped on 15.1.85"), "");
    assert_string_equal(found_beside("created_at", "2024-01-15"), "DATE_TIME:2024-01-15");
}

static void credentials_are_found_without_their_url(void **state)
{
    (void)state;
    assert_string_equal(found("postgres://app:s3cret@db.example.com/x"),
                        "URL_WITH_CREDENTIALS:app:s3cret");
    assert_string_equal(found("https://example.com/a:b@c"), "URL:https://example.com/a:b@c");
    assert_string_equal(found("see https://example.com/."), "URL:https://example.com/");
}

static void secrets_are_known_by_their_names(void **state)
{
    (void)state;
    assert_string_equal(found("password=hunter22 x"), "PASSWORD:hunter22");
    assert_string_equal(found("{\"password\": \"a b\\\\c\", \"x\": 1}"), "PASSWORD:a b\\\\c");
    assert_string_equal(found("DB_PASSWORD='x y z'"), "PASSWORD:x y z");
    assert_string_equal(found_beside("password", "correct horse"), "PASSWORD:correct horse");
    assert_string_equal(found("password: null"), "");
    assert_string_equal(found("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
                        "AWS_KEY:wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY");
    assert_string_equal(found("the password is long enough"), "");
}

static void the_better_of_two_that_overlap_stays(void **state)
{
    (void)state;
    assert_string_equal(found_beside("cpf", "52998224725"), "BR_CPF:52998224725");
    assert_string_equal(found("https://example.com/?a@example.com"), "EMAIL_ADDRESS:a@example.com");
}

static void what_is_not_wanted_is_not_looked_for(void **state)
{
    (void)state;
    struct detect_finding findings[FINDINGS_MAX];
    struct slice text = SLICE("a@example.com 4111 1111 1111 1111 +14155552671");
    for (size_t i = 0; i < DETECT_TYPE_COUNT; i++) {
        struct detect_set set = {0};
        set.is_wanted[i] = true;
        set.score_min[i] = 60;
        detect_set_prepare(&set);
        size_t count = scan(&set, "", text, findings);
        bool is_there =
            i == DETECT_EMAIL_ADDRESS || i == DETECT_CREDIT_CARD || i == DETECT_PHONE_NUMBER;
        assert_int_equal(count, is_there ? 1 : 0);
    }
    struct detect_set none = {0};
    detect_set_prepare(&none);
    assert_int_equal(scan(&none, "", text, findings), 0);
}

/* A slash between numbers is no path. */
static void each_number_of_a_list_is_found(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *type;
        const char *first;
        const char *second;
    } lists[] = {
        {"", "US_SSN", "219-09-9999", "219-09-9998"},
        {"", "BR_CPF", "529.982.247-25", "529.982.247-25"},
        {"cpf", "BR_CPF", "52998224725", "52998224725"},
        {"", "BR_CNPJ", "11.222.333/0001-81", "11.222.333/0001-81"},
        {"aadhaar", "IN_AADHAAR", "2341 2341 2346", "2341 2341 2346"},
        {"phone", "PHONE_NUMBER", "030 901820", "030 901821"},
        {"phone", "PHONE_NUMBER", "4155552671", "4155552672"},
        {"", "CREDIT_CARD", "4111111111111111", "4012888888881881"},
        {"", "IBAN_CODE", "DE89370400440532013000", "GB29NWBK60161331926819"},
        {"", "EMAIL_ADDRESS", "ann@example.com", "bob@example.com"},
    };
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        char text[TEXT_SIZE], wanted[TEXT_SIZE];
        assert_true(snprintf(text, sizeof(text), "%s/%s", lists[i].first, lists[i].second) > 0);
        assert_true(snprintf(wanted, sizeof(wanted), "%s:%s %s:%s", lists[i].type, lists[i].first,
                             lists[i].type, lists[i].second) > 0);
        assert_string_equal(found_beside(lists[i].name, text), wanted);
    }
    assert_string_equal(found("DE89370400440532013000/COBADEFF"),
                        "IBAN_CODE:DE89370400440532013000");
    assert_string_equal(found("REF-DE89370400440532013000-1"), "IBAN_CODE:DE89370400440532013000");
    assert_string_equal(found("4111111111111111/1227"), "CREDIT_CARD:4111111111111111");
    assert_string_equal(found("/var/x/219-09-9999"), "");
    assert_string_equal(found("7de89370400440532013000"), "");
    assert_string_equal(found("xDE89370400440532013000"), "");
    assert_string_equal(found("7DE89370400440532013000"), "IBAN_CODE:DE89370400440532013000");
    assert_string_equal(found("DE89370400440532013000_1"), "IBAN_CODE:DE89370400440532013000");
}

static void a_full_array_is_gone_on_from(void **state)
{
    (void)state;
    char text[TEXT_SIZE];
    size_t len = 0;
    for (size_t i = 0; i < 50; i++) {
        len += (size_t)snprintf(text + len, sizeof(text) - len, "a%zu@example.com, ", i);
    }
    struct detect_set set = all_types(60);
    for (size_t capacity = 1; capacity < 60; capacity++) {
        struct detect_finding findings[60];
        size_t total = 0, rest = 0;
        while (rest < len) {
            size_t count =
                detect_scan(&set, 0, slice_of(text, len), rest, findings, capacity, &rest);
            assert_true(count <= capacity && (count == capacity || rest == len));
            total += count;
        }
        assert_int_equal(total, 50);
    }
}

/* A megabyte of what could begin something again and again; milliseconds each, or the test would
 * not end in its time. */
static void the_time_is_linear(void **state)
{
    (void)state;
    static const char *const parts[] = {"http://",
                                        "a://",
                                        "eyJhbGciOiJIUzI1NiJ9.",
                                        "eyJhbGciOiJIUzI1NiJ9",
                                        "a@",
                                        "a@b.c@",
                                        "1 ",
                                        "1-",
                                        "12 ",
                                        "1234 ",
                                        "4242-",
                                        "4111 1111 1111 1111 ",
                                        "1.1.1.1.",
                                        "-----BEGIN PRIVATE KEY-----",
                                        "-----BEGIN ",
                                        "-----",
                                        "1234a",
                                        "12345678A ",
                                        "a1234",
                                        ":",
                                        "1:",
                                        "::",
                                        "a:b:",
                                        "password=",
                                        "key=",
                                        "aws:=",
                                        "1:key:",
                                        "www.",
                                        "[1234567,",
                                        ",\"1234567\"",
                                        "=",
                                        "DE89 ",
                                        "4242 ",
                                        "1234567/",
                                        "219-09-9999/",
                                        "4242-",
                                        "4242-42-",
                                        "4242 4242 42 ",
                                        "4111 1111 1111 1111 1111 ",
                                        "4111111111111111-",
                                        "0",
                                        "a",
                                        "(1) ",
                                        "+1 ",
                                        "Q~",
                                        "\"a\":",
                                        "\xc3\xbc@"};
    enum { MEGABYTE = 1 << 20 };
    char *text = memory_new(MEGABYTE);
    struct detect_set sets[] = {all_types(0), all_types(60), all_types(100)};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) * 3; i++) {
        const char *part = parts[i / 3];
        size_t size = strlen(part);
        for (size_t at = 0; at < MEGABYTE; at++) {
            text[at] = part[at % size];
        }
        for (size_t rest = 0; rest < MEGABYTE;) {
            struct detect_finding findings[FINDINGS_MAX];
            (void)detect_scan(&sets[i % 3], 0, slice_of(text, MEGABYTE), rest, findings,
                              FINDINGS_MAX, &rest);
        }
    }
    memory_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_is_found_whole_wherever_it_stands),
        cmocka_unit_test(a_key_of_a_pair_speaks_of_its_value),
        cmocka_unit_test(each_element_of_an_array_has_its_key),
        cmocka_unit_test(a_value_is_found_at_every_offset),
        cmocka_unit_test(a_value_inside_a_longer_run_is_not_found),
        cmocka_unit_test(a_wrong_checksum_is_no_finding),
        cmocka_unit_test(every_prefix_of_a_value_stays_within_the_text),
        cmocka_unit_test(look_alikes_are_not_found),
        cmocka_unit_test(words_before_a_value_count),
        cmocka_unit_test(credentials_are_found_without_their_url),
        cmocka_unit_test(secrets_are_known_by_their_names),
        cmocka_unit_test(the_better_of_two_that_overlap_stays),
        cmocka_unit_test(what_is_not_wanted_is_not_looked_for),
        cmocka_unit_test(each_number_of_a_list_is_found),
        cmocka_unit_test(a_full_array_is_gone_on_from),
        cmocka_unit_test(the_time_is_linear),
    };
    return cmocka_run_group_tests_name("detect/detect", tests, NULL, NULL);
}
