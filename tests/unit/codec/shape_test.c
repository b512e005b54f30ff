/* SPDX-License-Identifier: MIT */
#include "codec/shape.h"

#include "base/must.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#undef fail /* cmocka's; the project's is meant */

/* A shape with a field of every kind. */
struct member {
    struct slice name;
    struct shape_int age;
    struct shape_texts nicks;
};

struct team {
    struct slice id;
    struct slice name;
    struct slice color;
    struct slice note;
    struct slice password;
    struct shape_int size;
    struct shape_bool is_open;
    int64_t made_at;
    struct shape_texts words;
    struct shape_pairs tags;
    struct member *head;
    struct shape_objects members;
    struct slice extra;
};

static enum err check_lower(struct slice text, struct error *reterr)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] >= 'A' && text.at[i] <= 'Z') {
            return fail(reterr, ERR_INPUT, "must be in lower case");
        }
    }
    return ERR_NONE;
}

static const char *const colors[] = {"red", "green", "blue", NULL};

#define FIELD(holder, member, of_kind, of_flags)                                                   \
    .name = #member, .kind = SHAPE_##of_kind, .flags = (of_flags),                                 \
    .offset = offsetof(struct holder, member)

static const struct shape_field member_fields[] = {
    {FIELD(member, name, TEXT, SHAPE_REQUIRED), .min = 2, .max = 5, .check = check_lower},
    {FIELD(member, age, INT, SHAPE_NULLABLE), .min = 1, .max = 150},
    {FIELD(member, nicks, TEXTS, SHAPE_OMITTED), .max = 2, .item_max = 4},
};
static const struct shape member_shape = {
    .name = "Member", .size = sizeof(struct member), SHAPE_FIELDS(member_fields)};

#define KEPT_NULL (SHAPE_NULL_IN | SHAPE_KEPT)

static const struct shape_field team_fields[] = {
    {FIELD(team, id, TEXT, SHAPE_READ_ONLY)},
    {FIELD(team, name, TEXT, SHAPE_REQUIRED | SHAPE_KEPT), .min = 3, .max = 6,
     .check = check_lower},
    {FIELD(team, color, TEXT, KEPT_NULL), .choices = colors},
    {FIELD(team, note, TEXT, SHAPE_NULLABLE), .max = 8},
    {FIELD(team, password, TEXT, SHAPE_WRITE_ONLY)},
    {FIELD(team, size, INT, SHAPE_NULLABLE | SHAPE_KEPT), .min = -5, .max = 100},
    {FIELD(team, is_open, BOOL, SHAPE_KEPT)},
    {FIELD(team, made_at, TIME, SHAPE_READ_ONLY | SHAPE_NULL_OUT)},
    {FIELD(team, words, TEXTS, KEPT_NULL), .max = 3, .item_max = 4, .check = check_lower},
    {FIELD(team, tags, PAIRS, KEPT_NULL | SHAPE_NULL_ITEMS), .max = 2, .item_max = 4, .key_max = 3,
     .check = check_lower, .check_key = check_lower},
    {FIELD(team, head, OBJECT, SHAPE_NULLABLE), .object = &member_shape},
    {FIELD(team, members, OBJECTS, SHAPE_OMITTED), .max = 2, .object = &member_shape},
    {FIELD(team, extra, RAW, SHAPE_READ_ONLY | SHAPE_OMITTED)},
};
static const struct shape team_shape = {
    .name = "Team", .size = sizeof(struct team), SHAPE_FIELDS(team_fields)};

/* Help ---------------------------------------------------------------------------------------- */

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

static enum err try_read(enum shape_mode mode, const char *text, struct team *ret_team)
{
    struct json document;
    must(json_parse_in(&arena, slice_of_text(text), &document, NULL) == ERR_NONE);
    *ret_team = (struct team){0};
    error = (struct error){0};
    return shape_read(&team_shape, mode, &document, ret_team, &error);
}

static struct team read_team(enum shape_mode mode, const char *text)
{
    struct team team;
    enum err err = try_read(mode, text, &team);
    assert_string_equal(error.message, "");
    assert_int_equal(err, ERR_NONE);
    return team;
}

static void check_refused(const char *text, const char *message)
{
    struct team team;
    assert_int_equal(try_read(SHAPE_PARTIAL, text, &team), ERR_INPUT);
    assert_int_equal(error.code, ERR_INPUT);
    assert_string_equal(error.message, message);
}

static void check_text(struct slice text, const char *expected)
{
    assert_string_equal(arena_text(&arena, text), expected);
}

static struct slice written(const struct team *team, unsigned with, unsigned without)
{
    struct buf buf;
    buf_init(&buf, LIMIT_MIB(1));
    struct json_writer json = json_writer_to(&buf);
    json_begin_object(&json);
    shape_write_members(&team_shape, with, without, team, &json);
    json_end_object(&json);
    must(json_writer_done(&json) == ERR_NONE);
    struct slice text = arena_copy(&arena, buf_view(&buf));
    buf_release(&buf);
    return text;
}

static const char *answer(const struct team *team)
{
    struct buf buf;
    buf_init(&buf, LIMIT_MIB(1));
    struct json_writer json = json_writer_to(&buf);
    shape_write(&team_shape, team, &json);
    must(json_writer_done(&json) == ERR_NONE);
    const char *text = arena_text(&arena, buf_view(&buf));
    buf_release(&buf);
    return text;
}

/* Reading ------------------------------------------------------------------------------------- */

static const char full_team[] =
    "{\"name\": \"blues\", \"color\": \"blue\", \"note\": \"\xc3\xa9t\xc3\xa9\", "
    "\"password\": \"x\", \"size\": -5, \"is_open\": true, \"words\": [\"a\", \"bcde\"], "
    "\"tags\": {\"k\": \"v\", \"n\": null}, \"head\": {\"name\": \"ann\", \"age\": 150}, "
    "\"members\": [{\"name\": \"bob\"}, {\"name\": \"carl\", \"nicks\": [\"c\"]}]}";

static void every_kind_is_read_in_both_modes(void **state)
{
    (void)state;
    for (int mode = 0; mode < 2; mode++) {
        struct team team = read_team(mode == 0 ? SHAPE_WHOLE : SHAPE_PARTIAL, full_team);
        check_text(team.name, "blues");
        check_text(team.color, "blue");
        check_text(team.note, "\xc3\xa9t\xc3\xa9");
        check_text(team.password, "x");
        assert_true(team.size.is_given && !team.size.is_null && team.size.value == -5);
        assert_true(team.is_open.is_given && team.is_open.value);
        assert_true(team.words.is_given && team.words.count == 2);
        check_text(team.words.items[1], "bcde");
        assert_true(team.tags.is_given && team.tags.count == 2);
        check_text(team.tags.pairs[0].key, "k");
        check_text(team.tags.pairs[0].value, "v");
        assert_false(team.tags.pairs[0].is_null);
        assert_true(team.tags.pairs[1].is_null && team.tags.pairs[1].value.len == 0);
        assert_non_null(team.head);
        assert_true(team.head->age.value == 150);
        const struct member *members = team.members.items;
        assert_true(team.members.is_given && team.members.count == 2);
        check_text(members[0].name, "bob");
        assert_false(members[0].nicks.is_given);
        check_text(members[1].nicks.items[0], "c");
    }
}

static void what_is_not_sent_is_not_given(void **state)
{
    (void)state;
    const struct team nothing = {0};
    struct team team = read_team(SHAPE_PARTIAL, "{}");
    assert_memory_equal(&team, &nothing, sizeof(team));
    team = read_team(SHAPE_WHOLE, "{\"name\": \"abc\"}");
    assert_true(team.color.at == NULL && !team.size.is_given && !team.is_open.is_given);
    assert_true(!team.words.is_given && !team.tags.is_given && !team.members.is_given);
    assert_null(team.head);
}

static void what_is_read_only_or_unknown_is_left_aside(void **state)
{
    (void)state;
    const struct team nothing = {0};
    struct team team = read_team(
        SHAPE_PARTIAL, "{\"id\": 5, \"made_at\": [], \"extra\": {}, \"nobody\": {\"name\": 1}}");
    assert_memory_equal(&team, &nothing, sizeof(team));
}

static void what_is_required_must_be_there_in_a_whole_one_alone(void **state)
{
    (void)state;
    struct team team;
    assert_int_equal(try_read(SHAPE_WHOLE, "{}", &team), ERR_INPUT);
    assert_string_equal(error.message, "'name' is required");
    assert_int_equal(try_read(SHAPE_WHOLE, "{\"name\": null}", &team), ERR_INPUT);
    assert_string_equal(error.message, "'name' must not be null");
    assert_int_equal(try_read(SHAPE_WHOLE, "{\"name\": \"abc\", \"head\": {}}", &team), ERR_INPUT);
    assert_string_equal(error.message, "'head.name' is required");
    assert_int_equal(
        try_read(SHAPE_WHOLE, "{\"name\": \"abc\", \"members\": [{\"name\": \"bob\"}, {}]}", &team),
        ERR_INPUT);
    assert_string_equal(error.message, "'members[1].name' is required");
    (void)read_team(SHAPE_PARTIAL, "{\"head\": {}, \"members\": [{}]}");
    check_refused("{\"name\": null}", "'name' must not be null");
}

static void null_takes_away_in_a_part_and_is_as_good_as_absent_in_a_whole(void **state)
{
    (void)state;
    static const char nulls[] =
        "{\"name\": \"abc\", \"color\": null, \"note\": null, \"size\": null, \"words\": null, "
        "\"tags\": null, \"head\": null}";
    struct team part = read_team(SHAPE_PARTIAL, nulls);
    assert_true(part.color.at != NULL && part.color.len == 0);
    assert_true(part.note.at != NULL && part.note.len == 0);
    assert_true(part.size.is_given && part.size.is_null);
    assert_true(part.words.is_given && part.words.count == 0);
    assert_true(part.tags.is_given && part.tags.count == 0);
    assert_null(part.head);
    struct team whole = read_team(SHAPE_WHOLE, nulls);
    assert_true(whole.color.at == NULL && !whole.size.is_given && !whole.words.is_given);
    check_refused("{\"is_open\": null}", "'is_open' must not be null");
    check_refused("{\"members\": null}", "'members' must not be null");
    check_refused("{\"head\": {\"nicks\": null}}", "'head.nicks' must not be null");
}

static void a_value_of_the_wrong_kind_is_named_by_its_path(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"[]", "the document must be an object"},
        {"\"name\"", "the document must be an object"},
        {"null", "the document must be an object"},
        {"{\"name\": 5}", "'name' must be a string"},
        {"{\"name\": [\"abc\"]}", "'name' must be a string"},
        {"{\"size\": \"5\"}", "'size' must be an integer from -5 to 100"},
        {"{\"size\": 5.5}", "'size' must be an integer from -5 to 100"},
        {"{\"size\": 101}", "'size' must be an integer from -5 to 100"},
        {"{\"size\": -6}", "'size' must be an integer from -5 to 100"},
        {"{\"is_open\": 1}", "'is_open' must be true or false"},
        {"{\"is_open\": \"true\"}", "'is_open' must be true or false"},
        {"{\"words\": \"a\"}", "'words' must be an array"},
        {"{\"words\": {}}", "'words' must be an array"},
        {"{\"words\": [\"a\", 1]}", "'words[1]' must be a string"},
        {"{\"words\": [null]}", "'words[0]' must be a string"},
        {"{\"tags\": []}", "'tags' must be an object"},
        {"{\"tags\": {\"a\": 1}}", "'tags.a' must be a string"},
        {"{\"head\": []}", "'head' must be an object"},
        {"{\"head\": {\"age\": 0}}", "'head.age' must be an integer from 1 to 150"},
        {"{\"head\": {\"nicks\": [\"a\", {}]}}", "'head.nicks[1]' must be a string"},
        {"{\"members\": {}}", "'members' must be an array"},
        {"{\"members\": [{}, 5]}", "'members[1]' must be an object"},
        {"{\"members\": [null]}", "'members[0]' must be an object"},
        {"{\"members\": [{}, {\"name\": true}]}", "'members[1].name' must be a string"},
        {"{\"members\": [{}, {\"name\": \"ANN\"}]}", "'members[1].name' must be in lower case"},
        {"{\"members\": [{\"nicks\": [\"a\", \"abcde\"]}]}",
         "'members[0].nicks[1]' must have 1 to 4 characters"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        check_refused(cases[i].text, cases[i].message);
    }
}

static void bounds_and_choices_and_checks_are_kept(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"{\"name\": \"\"}", "'name' must not be empty"},
        {"{\"name\": \"ab\"}", "'name' must have 3 to 6 characters"},
        {"{\"name\": \"abcdefg\"}", "'name' must have 3 to 6 characters"},
        {"{\"name\": \"Abc\"}", "'name' must be in lower case"},
        {"{\"color\": \"Red\"}", "'color' must be one of 'red', 'green', 'blue'"},
        {"{\"note\": \"123456789\"}", "'note' must have 0 to 8 characters"},
        {"{\"words\": [\"a\", \"b\", \"c\", \"d\"]}", "'words' must have at most 3 items"},
        {"{\"words\": [\"a\", \"\"]}", "'words[1]' must not be empty"},
        {"{\"words\": [\"abcde\"]}", "'words[0]' must have 1 to 4 characters"},
        {"{\"words\": [\"A\"]}", "'words[0]' must be in lower case"},
        {"{\"tags\": {\"a\": \"\", \"b\": \"\", \"c\": \"\"}}",
         "'tags' must have at most 2 members"},
        {"{\"tags\": {\"\": \"v\"}}", "'tags.' must not be empty"},
        {"{\"tags\": {\"abcd\": \"v\"}}", "'tags.abcd' must have 1 to 3 characters"},
        {"{\"tags\": {\"a\": \"abcde\"}}", "'tags.a' must have 0 to 4 characters"},
        {"{\"tags\": {\"A\": \"v\"}}", "'tags.A' must be in lower case"},
        {"{\"tags\": {\"a\": \"V\"}}", "'tags.a' must be in lower case"},
        {"{\"tags\": {\"A\": null}}", "'tags.A' must be in lower case"},
        {"{\"members\": [{}, {}, {}]}", "'members' must have at most 2 items"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        check_refused(cases[i].text, cases[i].message);
    }
    (void)read_team(SHAPE_PARTIAL,
                    "{\"note\": \"12345678\", \"name\": \"abcdef\", \"color\": \"\", "
                    "\"size\": 100, \"words\": [], \"tags\": {}, \"members\": []}");
}

static void lengths_count_characters(void **state)
{
    (void)state;
    (void)read_team(SHAPE_WHOLE,
                    "{\"name\": \"\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\"}");
    (void)read_team(SHAPE_WHOLE,
                    "{\"name\": \"\xf0\x9f\x94\x91\xf0\x9f\x94\x91\xf0\x9f\x94\x91\"}");
    check_refused("{\"name\": \"\xc3\xa9\xc3\xa9\"}", "'name' must have 3 to 6 characters");
    check_refused("{\"name\": \"a\xc3\xa9\"}", "'name' must have 3 to 6 characters");
    check_refused("{\"name\": \"\xe2\x82\xac\"}", "'name' must have 3 to 6 characters");
    check_refused("{\"name\": \"\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9x\"}",
                  "'name' must have 3 to 6 characters");
}

static void a_key_of_others_is_shown_safely_in_a_message(void **state)
{
    (void)state;
    check_refused("{\"tags\": {\"a\\nb\\u202ec\": \"v\"}}",
                  "'tags.a\\nb\\u{202e}c' must have 1 to 3 characters");
    char text[3000] = "{\"tags\": {\"";
    size_t len = strlen(text);
    memset(text + len, 'k', 2000);
    (void)snprintf(text + len + 2000, sizeof(text) - len - 2000, "\": \"v\"}}");
    struct team team;
    assert_int_equal(try_read(SHAPE_WHOLE, text, &team), ERR_INPUT);
    assert_int_equal(try_read(SHAPE_PARTIAL, text, &team), ERR_INPUT);
    assert_non_null(strstr(error.message, "…' must have 1 to 3 characters"));
}

static void a_uuid_is_checked_in_its_written_form(void **state)
{
    (void)state;
    assert_int_equal(shape_check_uuid(SLICE("5b3f2c1e-0d4a-4b6c-8e7f-9a0b1c2d3e4f"), &error),
                     ERR_NONE);
    assert_int_equal(shape_check_uuid(SLICE("5b3f2c1e0d4a4b6c8e7f9a0b1c2d3e4f"), &error),
                     ERR_INPUT);
    assert_string_equal(error.message, "must be a UUID");
    assert_int_equal(shape_check_uuid(SLICE(""), NULL), ERR_INPUT);
}

/* Queries ------------------------------------------------------------------------------------- */

struct search {
    struct slice name;
    struct slice color;
    struct shape_int limit;
    struct shape_bool all;
};

static const struct shape_field search_fields[] = {
    {FIELD(search, name, TEXT, 0), .max = 4, .check = check_lower},
    {FIELD(search, color, TEXT, 0), .choices = colors},
    {FIELD(search, limit, INT, 0), .min = -1, .max = 100},
    {FIELD(search, all, BOOL, 0)},
};
static const struct shape search_shape = {
    .name = "Search", .size = sizeof(struct search), SHAPE_FIELDS(search_fields)};

static enum err search(const char *query, struct search *ret_search)
{
    *ret_search = (struct search){0};
    return shape_read_query(&search_shape, &arena, slice_of_text(query), ret_search, &error);
}

static void a_query_is_read_by_its_names(void **state)
{
    (void)state;
    struct search found;
    assert_int_equal(search("limit=7&name=a+%C3%A9&all=true&color=red", &found), ERR_NONE);
    check_text(found.name, "a \xc3\xa9");
    check_text(found.color, "red");
    assert_true(found.limit.is_given && found.limit.value == 7);
    assert_true(found.all.is_given && found.all.value);
    assert_int_equal(search("all=false&limit=-1", &found), ERR_NONE);
    assert_true(found.all.is_given && !found.all.value && found.limit.value == -1);
}

static void what_a_query_lacks_is_not_given_and_the_rest_is_left_aside(void **state)
{
    (void)state;
    const struct search nothing = {0};
    struct search found;
    assert_int_equal(search("", &found), ERR_NONE);
    assert_memory_equal(&found, &nothing, sizeof(found));
    assert_int_equal(search("limits=1&&=2&NAME=x&x", &found), ERR_NONE);
    assert_memory_equal(&found, &nothing, sizeof(found));
    assert_int_equal(search("name", &found), ERR_NONE);
    assert_true(found.name.at != NULL && found.name.len == 0);
    assert_int_equal(search("limit=1&limit=x", &found), ERR_NONE);
    assert_true(found.limit.value == 1);
}

static void a_wrong_query_is_refused_by_its_name(void **state)
{
    (void)state;
    static const struct {
        const char *query;
        const char *message;
    } cases[] = {
        {"name=abcde", "'name' must have 0 to 4 characters"},
        {"name=A", "'name' must be in lower case"},
        {"name=a%00", "'name' is not percent-encoded UTF-8 without NUL"},
        {"color=pink", "'color' must be one of 'red', 'green', 'blue'"},
        {"limit=", "'limit' must be a number from -1 to 100"},
        {"limit=x", "'limit' must be a number from -1 to 100"},
        {"limit=101", "'limit' must be a number from -1 to 100"},
        {"limit=-2", "'limit' must be a number from -1 to 100"},
        {"limit=+1", "'limit' must be a number from -1 to 100"},
        {"limit=1.0", "'limit' must be a number from -1 to 100"},
        {"limit=99999999999999999999", "'limit' must be a number from -1 to 100"},
        {"all=1", "'all' must be 'true' or 'false'"},
        {"all", "'all' must be 'true' or 'false'"},
        {"all=TRUE", "'all' must be 'true' or 'false'"},
        {"name=%zz", "'name' is not percent-encoded UTF-8 without NUL"},
        {"name=%ff", "'name' is not percent-encoded UTF-8 without NUL"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct search found;
        assert_int_equal(search(cases[i].query, &found), ERR_INPUT);
        assert_string_equal(error.message, cases[i].message);
    }
}

/* Writing ------------------------------------------------------------------------------------- */

static void an_answer_of_nothing_says_null_or_empty_or_leaves_out(void **state)
{
    (void)state;
    const struct team nothing = {0};
    assert_string_equal(
        answer(&nothing),
        "{\"id\":\"\",\"name\":\"\",\"color\":\"\",\"note\":null,\"size\":null,\"is_open\":false,"
        "\"made_at\":null,\"words\":[],\"tags\":{},\"head\":null}");
}

static void an_answer_has_everything_but_what_is_for_requests_only(void **state)
{
    (void)state;
    struct team team = read_team(SHAPE_WHOLE, full_team);
    team.id = SLICE("7");
    team.made_at = 1000000;
    team.extra = SLICE("[1,{}]");
    assert_string_equal(
        answer(&team),
        "{\"id\":\"7\",\"name\":\"blues\",\"color\":\"blue\",\"note\":\"\xc3\xa9t\xc3\xa9\","
        "\"size\":-5,\"is_open\":true,\"made_at\":\"1970-01-01T00:00:01.000000Z\","
        "\"words\":[\"a\",\"bcde\"],\"tags\":{\"k\":\"v\",\"n\":null},"
        "\"head\":{\"name\":\"ann\",\"age\":150},"
        "\"members\":[{\"name\":\"bob\",\"age\":null},"
        "{\"name\":\"carl\",\"age\":null,\"nicks\":[\"c\"]}],\"extra\":[1,{}]}");
}

static void a_number_that_was_sent_as_null_is_written_as_null(void **state)
{
    (void)state;
    struct team team = read_team(SHAPE_PARTIAL, "{\"size\": null}");
    assert_non_null(strstr(answer(&team), "\"size\":null"));
}

static void objects_that_were_given_and_are_none_are_written(void **state)
{
    (void)state;
    struct team team = read_team(SHAPE_PARTIAL, "{\"members\": []}");
    assert_non_null(strstr(answer(&team), "\"members\":[]"));
}

static void members_are_chosen_by_their_flags(void **state)
{
    (void)state;
    struct team team = read_team(SHAPE_WHOLE, full_team);
    check_text(written(&team, SHAPE_WRITE_ONLY, 0), "{\"password\":\"x\"}");
    check_text(written(&team, SHAPE_REQUIRED, 0), "{\"name\":\"blues\"}");
    check_text(written(&team, SHAPE_REQUIRED, SHAPE_KEPT), "{}");
    check_text(written(&team, SHAPE_KEPT, SHAPE_NULL_IN), "{\"name\":\"blues\",\"is_open\":true}");
    check_text(written(&team, SHAPE_NULL_OUT, SHAPE_KEPT | SHAPE_READ_ONLY),
               "{\"note\":\"\xc3\xa9t\xc3\xa9\",\"head\":{\"name\":\"ann\",\"age\":150}}");
}

static void pairs_are_written_alone(void **state)
{
    (void)state;
    struct team team = read_team(SHAPE_WHOLE, full_team);
    struct buf buf;
    buf_init(&buf, LIMIT_MIB(1));
    struct json_writer json = json_writer_to(&buf);
    shape_write_pairs(&team.tags, &json);
    assert_int_equal(json_writer_done(&json), ERR_NONE);
    check_text(buf_view(&buf), "{\"k\":\"v\",\"n\":null}");
    buf_release(&buf);
}

/* Keeping ------------------------------------------------------------------------------------- */

static struct team kept(const struct team *team)
{
    struct json document;
    struct team again = {0};
    must(json_parse_in(&arena, written(team, SHAPE_KEPT, 0), &document, NULL) == ERR_NONE);
    assert_int_equal(shape_read_kept(&team_shape, &document, &again, &error), ERR_NONE);
    return again;
}

static void what_is_kept_comes_back_and_nothing_else(void **state)
{
    (void)state;
    struct team team = read_team(SHAPE_WHOLE, full_team);
    struct team again = kept(&team);
    check_text(again.name, "blues");
    check_text(again.color, "blue");
    assert_true(again.size.value == -5 && again.is_open.value);
    assert_true(again.words.count == 2 && again.tags.count == 2 && again.tags.pairs[1].is_null);
    assert_true(again.note.at == NULL && again.password.at == NULL && again.head == NULL);
    assert_false(again.members.is_given);
    assert_true(slice_equals(written(&team, SHAPE_KEPT, 0), written(&again, SHAPE_KEPT, 0)));
}

static void what_is_kept_of_little_comes_back(void **state)
{
    (void)state;
    struct team team = read_team(SHAPE_WHOLE, "{\"name\": \"abc\", \"size\": null}");
    struct team again = kept(&team);
    assert_true(!again.size.is_given && again.color.len == 0 && !again.is_open.value);
    assert_true(slice_equals(written(&team, SHAPE_KEPT, 0), written(&again, SHAPE_KEPT, 0)));
}

static void what_was_not_written_by_us_is_not_read_back(void **state)
{
    (void)state;
    static const char *const texts[] = {"[]", "{}", "{\"name\": 5}",
                                        "{\"name\": \"abc\", \"size\": \"x\"}"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct json document;
        struct team team = {0};
        must(json_parse_in(&arena, slice_of_text(texts[i]), &document, NULL) == ERR_NONE);
        assert_int_equal(shape_read_kept(&team_shape, &document, &team, &error), ERR_INPUT);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_kind_is_read_in_both_modes),
        TEST(what_is_not_sent_is_not_given),
        TEST(what_is_read_only_or_unknown_is_left_aside),
        TEST(what_is_required_must_be_there_in_a_whole_one_alone),
        TEST(null_takes_away_in_a_part_and_is_as_good_as_absent_in_a_whole),
        TEST(a_value_of_the_wrong_kind_is_named_by_its_path),
        TEST(bounds_and_choices_and_checks_are_kept),
        TEST(lengths_count_characters),
        TEST(a_key_of_others_is_shown_safely_in_a_message),
        TEST(a_uuid_is_checked_in_its_written_form),
        TEST(a_query_is_read_by_its_names),
        TEST(what_a_query_lacks_is_not_given_and_the_rest_is_left_aside),
        TEST(a_wrong_query_is_refused_by_its_name),
        TEST(an_answer_of_nothing_says_null_or_empty_or_leaves_out),
        TEST(an_answer_has_everything_but_what_is_for_requests_only),
        TEST(a_number_that_was_sent_as_null_is_written_as_null),
        TEST(objects_that_were_given_and_are_none_are_written),
        TEST(members_are_chosen_by_their_flags),
        TEST(pairs_are_written_alone),
        TEST(what_is_kept_comes_back_and_nothing_else),
        TEST(what_is_kept_of_little_comes_back),
        TEST(what_was_not_written_by_us_is_not_read_back),
    };
    return cmocka_run_group_tests_name("codec/shape", tests, NULL, NULL);
}
