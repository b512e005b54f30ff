/* SPDX-License-Identifier: MIT */
/* What a query of MySQL's returns: of each column whether it is open (o) or may have something of
 * card or salary in it (x); "?": not known, so nothing is open. */
#include "base/buf.h"
#include "base/memory.h"
#include "sql/sql_mysql_lineage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct sql_settings plain = {
    .dialect = SQL_MYSQL, .is_backslash_quoted = true, .database = SLICE_INIT("shop")};

static bool is_asked(const void *context, struct slice name)
{
    (void)context;
    return slice_equals(name, SLICE("card")) || slice_equals(name, SLICE("salary"));
}

static const struct sql_mysql_asked asked = {.is_asked = is_asked};

struct lineage_case {
    const char *text;
    const char *columns; /* o, x; behind a star the names that the server says */
    const char *names;   /* of columns that a star gives, by commas */
};

static const struct lineage_case cases[] = {
    /* expressions */
    {"SELECT id, card, note FROM pay", "oxo", ""},
    {"SELECT COUNT(*), MAX(id), UPPER(note), id + 1 FROM pay", "oooo", ""},
    {"SELECT CARD, `Card`, p.card, shop.pay.`card` FROM pay p", "xxxx", ""},
    {"SELECT COUNT(card), COUNT(DISTINCT salary), id * salary, id*2 FROM pay", "xxxo", ""},
    {"SELECT CASE WHEN id > 1 THEN 'a' ELSE note END, CASE id WHEN 1 THEN card END FROM pay", "ox",
     ""},
    {"SELECT CAST(id AS CHAR), CONVERT(note USING utf8mb4), EXTRACT(DAY FROM day) FROM pay", "ooo",
     ""},
    {"SELECT IF(card = 'x', 1, 2), IFNULL(note, 'none'), GROUP_CONCAT(note ORDER BY card) FROM pay",
     "xox", ""},
    {"SELECT GROUP_CONCAT(note ORDER BY id SEPARATOR ', ') FROM pay GROUP BY card", "o", ""},
    {"SELECT ROW_NUMBER() OVER (ORDER BY id), RANK() OVER (ORDER BY card) FROM pay", "ox", ""},
    {"SELECT RANK() OVER w, RANK() OVER v FROM pay WINDOW w AS (ORDER BY card), v AS (ORDER BY id)",
     "xo", ""},
    {"SELECT RANK() OVER v FROM pay WINDOW w AS (ORDER BY card), v AS (w)", "x", ""},
    {"SELECT PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY salary) OVER (), id FROM pay", "xo", ""},
    {"SELECT id IS DISTINCT FROM card, note FROM pay", "xo", ""},
    {"SELECT 'card', \"salary\", 1, NULL, NOW() FROM pay WHERE card > 'a'", "ooooo", ""},
    {"SELECT id FROM pay WHERE card = 'x' ORDER BY salary LIMIT 3", "o", ""},
    {"(SELECT id, card FROM pay)", "ox", ""},
    {"SELECT DISTINCT note, salary FROM pay;", "ox", ""},
    {"SELECT `sch\xc3\xb6n`, note FROM pay", "xo", ""},
    {"SELECT `max(card)`, note FROM pay", "xo", ""},
    /* names that the text gives */
    {"SELECT card AS x, (SELECT x), (SELECT note) FROM pay", "xxo", ""},
    {"SELECT card x, note y FROM pay HAVING x > 1", "xo", ""},
    {"SELECT card 'x', (SELECT x) FROM pay", "xx", ""},
    {"SELECT card 'x\\x', (SELECT x) FROM pay", "?", ""},
    {"SELECT card AS 'E-Mail', note FROM pay", "xo", ""},
    {"SELECT x, y FROM (SELECT card AS x, note AS y FROM pay) d", "xo", ""},
    {"SELECT id FROM (SELECT card id FROM pay) pay", "x", ""},
    {"SELECT y FROM (SELECT x AS y FROM (SELECT card AS x FROM pay) a) b", "x", ""},
    {"SELECT y FROM (SELECT id, CASE WHEN 1 THEN card END y FROM pay) b", "x", ""},
    {"SELECT id, end FROM (SELECT id, card END FROM pay) b", "ox", ""},
    {"SELECT 1, null FROM (SELECT card IS NULL, id FROM pay) b", "oo", ""},
    {"SELECT n FROM (SELECT COUNT(*) AS n, MAX(card) FROM pay) d", "o", ""},
    {"SELECT `MAX(card)` FROM (SELECT COUNT(*) AS n, MAX(card) FROM pay) d", "x", ""},
    {"SELECT Name_exp_1 FROM (SELECT 1, CONCAT(card, 'a long one …') FROM pay) d", "x", ""},
    {"SELECT b FROM (SELECT id, card FROM pay) d (a, b)", "x", ""},
    {"SELECT note FROM (SELECT id, card FROM pay) AS d JOIN other o USING (id)", "o", ""},
    {"SELECT note FROM (SELECT id, card FROM pay) AS d JOIN (SELECT note FROM pay) e", "o", ""},
    {"WITH c AS (SELECT card AS x, id FROM pay) SELECT x, id FROM c", "xo", ""},
    {"WITH c(x, y) AS (SELECT card, id FROM pay) SELECT x FROM c", "x", ""},
    {"WITH a AS (SELECT id FROM pay), b(x) AS (SELECT id FROM a) SELECT x FROM b", "o", ""},
    {"WITH RECURSIVE c(n, x) AS (SELECT 1, card FROM pay UNION SELECT n + 1, x FROM c) SELECT x "
     "FROM c",
     "x", ""},
    {"SELECT q.n FROM other JOIN (SELECT note AS n, id FROM pay) q ON q.id = other.id", "o", ""},
    /* set operations */
    {"SELECT id, note FROM pay UNION SELECT id, card FROM pay", "ox", ""},
    {"SELECT id, card FROM pay UNION ALL SELECT id, note FROM other", "ox", ""},
    {"SELECT id FROM (SELECT id FROM other UNION SELECT card FROM pay) d", "x", ""},
    {"SELECT `1`, y FROM (SELECT 1, 2 AS y UNION SELECT card, id FROM pay) d", "xo", ""},
    {"SELECT none FROM (SELECT 'none' UNION SELECT card FROM pay) d", "x", ""},
    {"SELECT 1, x FROM (SELECT (x) FROM other UNION SELECT card FROM pay) d", "xx", ""},
    {"SELECT 1, x FROM (SELECT +((o.x)) FROM other o UNION SELECT card FROM pay) d", "xx", ""},
    {"SELECT 1, x FROM (SELECT ALL(x) FROM other UNION SELECT card FROM pay) d", "xx", ""},
    {"SELECT 1, a FROM (SELECT ('a') UNION SELECT card FROM pay) d", "xx", ""},
    {"SELECT 1, a FROM (SELECT (_latin1'a') UNION SELECT card FROM pay) d", "xx", ""},
    {"SELECT 1, `2`, y FROM (SELECT +2, 3 AS y UNION SELECT card, 4 FROM pay) d", "xxx", ""},
    {"SELECT 1, ab FROM (SELECT 'a' 'b' UNION SELECT card FROM pay) d", "?", ""},
    {"SELECT p.id, p.note AS v FROM p UNION ALL SELECT p.id AS id, p.card FROM p", "ox", ""},
    {"SELECT 1, y FROM (SELECT CONCAT(y, 'b'), y FROM o UNION SELECT card, note FROM pay) d", "xo",
     ""},
    {"SELECT 1, y FROM (SELECT x 'b', 'a' 'c' AS y FROM o UNION SELECT card, y FROM o) d", "xo",
     ""},
    {"(SELECT id FROM other) UNION (SELECT card FROM pay)", "x", ""},
    {"SELECT id FROM other EXCEPT SELECT card FROM pay", "x", ""},
    {"SELECT * FROM other UNION SELECT id, card FROM pay", "?", "id,x"},
    {"SELECT 1 except, card x FROM pay", "ox", ""},
    {"SELECT x FROM (SELECT 1 except, card x FROM pay) d", "x", ""},
    {"SELECT y FROM (SELECT 1 AS y EXCEPT SELECT 2 UNION SELECT card FROM pay) d", "x", ""},
    {"SELECT y FROM (SELECT 1 AS y HAVING 1 UNION SELECT card FROM pay) d", "x", ""},
    {"SELECT y FROM ((SELECT 1 AS y OFFSET 0 ROWS) UNION (SELECT card FROM pay)) d", "x", ""},
    {"SELECT lbl FROM ((SELECT 'lbl' OFFSET 0 ROWS) UNION (SELECT card FROM pay)) d", "x", ""},
    /* subqueries that are values */
    {"SELECT (SELECT MAX(note) FROM pay), (SELECT MAX(note) FROM pay WHERE card > 'a') FROM other",
     "ox", ""},
    {"SELECT EXISTS (SELECT * FROM pay WHERE id = 1), EXISTS (SELECT * FROM pay WHERE card = 1)",
     "ox", ""},
    {"SELECT (SELECT * FROM pay LIMIT 1) = (1, 2), id FROM other", "xo", ""},
    {"SELECT id IN (SELECT id FROM pay NATURAL JOIN old), note FROM pay", "xo", ""},
    {"SELECT (SELECT COUNT(*) FROM pay PARTITION (p0)), COUNT(*) FROM pay", "xo", ""},
    /* stars */
    {"SELECT * FROM pay", "ox", "id,card"},
    {"SELECT p.*, UPPER(card), 1 FROM pay p", "oxxo", "id,card"},
    {"SELECT UPPER(card), id, p.*, 1, o.*, note FROM pay p, other o", "xooxoo", "id,card,note"},
    {"SELECT * FROM (SELECT id, card AS x, note FROM pay) d", "oxo", "id,x,note"},
    {"SELECT * FROM (SELECT id, UPPER(card) FROM pay) d", "ox", "id,UPPER(card)"},
    {"SELECT d.* FROM (SELECT * FROM (SELECT card AS X, id FROM pay) a) d", "xo", "X,id"},
    {"WITH c AS (SELECT card AS x, id FROM pay) SELECT SQL_CALC_FOUND_ROWS * FROM c", "xo", "x,id"},
    /* what is not followed */
    {"SELECT id FROM pay PROCEDURE ANALYSE()", "?", ""},
    {"SELECT id FROM pay; SELECT 1", "?", ""},
    {"SELECT @a, id FROM pay", "?", ""},
    {"SELECT t.x FROM pay, JSON_TABLE(card, '$[*]' COLUMNS (x INT PATH '$')) t", "?", ""},
    {"SELECT * FROM (VALUES ((SELECT card FROM pay))) d", "?", "a"},
    {"SELECT x FROM other, LATERAL (SELECT other.id AS x FROM pay WHERE card = 1) d", "?", ""},
    {"SELECT id /*!99999 , card */ FROM pay", "?", ""},
    {"SELECT id FROM (TABLE pay) d", "?", ""},
    {"SELECT id FROM {OJ pay LEFT JOIN other ON 1}", "?", ""},
    {"SELECT (id FROM pay", "?", ""},
    {"SELECT id) FROM pay", "?", ""},
    {"DELETE FROM pay WHERE id = 1 RETURNING id", "?", ""},
    {"", "?", ""},
    {"SELECT", "o", ""},
    {"SELECT 'x", "?", ""},
};

static struct slice next_name(struct slice *names)
{
    size_t end = slice_find_byte(*names, ',');
    struct slice name = slice_sub(*names, 0, end);
    *names = slice_from(*names, end < names->len ? end + 1 : end);
    return name;
}

/* The columns as the server would send them. */
static const char *found_in(struct arena *arena, const struct lineage_case *one)
{
    struct sql_mysql_lineage lineage =
        sql_mysql_lineage_of(arena, &plain, slice_of_text(one->text), &asked);
    size_t count = strlen(one->columns);
    char *found = arena_alloc(arena, count + 1);
    struct slice names = slice_of_text(one->names);
    if (!lineage.is_known) {
        return "?";
    }
    for (size_t i = 0; i < count; i++) {
        bool is_starred = i >= lineage.front_count && i < count - lineage.back_count;
        struct slice name = is_starred ? next_name(&names) : SLICE("anything");
        const struct sql_mysql_place place = {i, count, name};
        found[i] = sql_mysql_lineage_is_open(&lineage, &asked, &place) ? 'o' : 'x';
    }
    return found;
}

static void columns_are_open_when_nothing_asked_for_can_be_in_them(void **state)
{
    (void)state;
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    size_t wrong = 0;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *found = found_in(&arena, &cases[i]);
        if (strcmp(found, cases[i].columns) != 0) {
            print_error("%s\n  %s, and not %s\n", cases[i].text, found, cases[i].columns);
            wrong++;
        }
        arena_reset(&arena);
    }
    assert_int_equal(wrong, 0);
}

/* More or fewer columns than the text has: it was read otherwise than the server does. */
static void another_number_of_columns_opens_nothing(void **state)
{
    (void)state;
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    struct sql_mysql_lineage lineage =
        sql_mysql_lineage_of(&arena, &plain, SLICE("SELECT id, note FROM pay"), &asked);
    struct sql_mysql_lineage star =
        sql_mysql_lineage_of(&arena, &plain, SLICE("SELECT id, p.*, note FROM pay p"), &asked);
    for (size_t count = 1; count < 5; count++) {
        const struct sql_mysql_place place = {0, count, SLICE("id")};
        assert_int_equal(sql_mysql_lineage_is_open(&lineage, &asked, &place), count == 2);
        assert_int_equal(sql_mysql_lineage_is_open(&star, &asked, &place), count > 2);
    }
}

/* No text takes long, whatever it gives names to. */
static void many_names_end(void **state)
{
    (void)state;
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    struct buf text CLEANUP(buf_release);
    buf_init(&text, 1 << 20);
    assert_int_equal(buf_append(&text, SLICE("SELECT card AS a0")), ERR_NONE);
    for (unsigned i = 1; i < 3000; i++) {
        const char *item = arena_format(&arena, ", a%u AS a%u", i - 1, i).at;
        assert_int_equal(buf_append(&text, slice_of_text(item)), ERR_NONE);
    }
    assert_int_equal(buf_append(&text, SLICE(" FROM pay")), ERR_NONE);
    assert_false(sql_mysql_lineage_of(&arena, &plain, buf_view(&text), &asked).is_known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_open_when_nothing_asked_for_can_be_in_them),
        cmocka_unit_test(another_number_of_columns_opens_nothing),
        cmocka_unit_test(many_names_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
