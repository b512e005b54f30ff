# SPDX-License-Identifier: MIT
"""Queries for the lineage of columns: a schema in which some columns are not open, statements by
hand, and a maker of random ones that knows of each column whether anything closed went into it."""
import random

TABLES = {  # a column that ends in a minus is not open
    "people": ["id int", "name text-", "city text", "age int", "salary int-"],
    "orders": ["id int", "person int", "item text", "price int", "note text-"],
    "tags": ["id int", "label text", "secret int-"],
    "places": ["id int", "town text", "size int"],
}
VIEWS = {
    "adults": "SELECT p.id, p.name AS who, upper(p.city) AS place, p.age FROM people p "
              "WHERE p.age > 18",
    "rich": "SELECT id, city FROM people WHERE salary > 50",
    "totals": "SELECT p.city, count(*) AS n, sum(o.price) AS total, max(p.salary) AS top "
              "FROM people p JOIN orders o ON o.person = p.id GROUP BY p.city",
    "either": "SELECT id, name FROM people UNION ALL SELECT id, town FROM places",
    "chain(a, b)": "WITH RECURSIVE r(n, m) AS (SELECT 1, 2 UNION ALL SELECT r.n + 1, o.price "
                   "FROM r JOIN orders o ON o.id = r.n WHERE r.n < 5) SELECT n, m FROM r",
}

# What the maker does not make. Each gives rows, or an error in both databases.
STATEMENTS = """
SELECT * FROM people
SELECT p.*, o.item FROM people p JOIN orders o ON o.person = p.id
SELECT people FROM people
SELECT (people).id, (people).salary FROM people
SELECT (p).* FROM people p
SELECT (people.*)::text FROM people
SELECT p.* FROM people AS p(a, b, c)
SELECT c, b FROM people AS p(a, b, c)
SELECT name FROM people AS p(name, id)
SELECT salary FROM (SELECT age AS salary, salary AS age FROM people) x
SELECT age FROM (SELECT age AS salary, salary AS age FROM people) x
SELECT x.age FROM people p, LATERAL (SELECT p.salary AS age) x
SELECT x.age FROM people p CROSS JOIN LATERAL (SELECT count(*) AS age FROM orders o WHERE o.price > p.salary) x
SELECT x.age FROM people p LEFT JOIN LATERAL (SELECT 1 AS age WHERE p.salary > 50) x ON true
SELECT g FROM people p, generate_series(1, p.age % 3) g
SELECT g FROM people p, generate_series(1, p.salary % 3) g
SELECT generate_series(1, salary % 3), id FROM people
SELECT EXISTS (SELECT generate_series(1, salary % 3) FROM people p WHERE p.id = o.id) FROM orders o
SELECT (SELECT count(*) FROM (SELECT generate_series(1, salary % 3) FROM people) x)
SELECT count(*) FROM (SELECT DISTINCT salary FROM people) x
SELECT (SELECT count(*) FROM (SELECT DISTINCT salary FROM people) x)
SELECT (SELECT count(DISTINCT salary) FROM people)
SELECT id, (SELECT age FROM people ORDER BY salary LIMIT 1) FROM places
SELECT id, (SELECT age FROM people q ORDER BY 1 LIMIT 1) FROM places
SELECT id, (SELECT id FROM people ORDER BY name FETCH FIRST ROW ONLY) FROM places
SELECT id, (SELECT id FROM people ORDER BY id OFFSET (SELECT min(salary) FROM people) % 3 LIMIT 1) FROM places
SELECT id, ARRAY(SELECT id FROM people WHERE salary > 50 ORDER BY 1) FROM places
SELECT id, id IN (SELECT salary FROM people) FROM places
SELECT id, id = ANY (SELECT salary FROM people), id = ANY (ARRAY[1, 2]) FROM places
SELECT id, salary = ANY (ARRAY[1, 2]), id > ALL (SELECT id FROM tags) FROM people
SELECT id, (SELECT max(id) FROM (SELECT id FROM people INTERSECT SELECT secret FROM tags) x) FROM places
SELECT id, EXISTS (SELECT id FROM people INTERSECT SELECT secret FROM tags) FROM places
SELECT id, EXISTS (SELECT id FROM people EXCEPT SELECT id FROM tags) FROM places
SELECT id, EXISTS (SELECT * FROM people WHERE people.id = places.id) FROM places
SELECT id, EXISTS (SELECT * FROM people WHERE salary > 90) FROM places
SELECT id, EXISTS (TABLE people), EXISTS (VALUES (1)) FROM places
SELECT id, (TABLE tags ORDER BY 3 LIMIT 1) FROM places
SELECT id, (SELECT town FROM places q WHERE q.id = p.id) FROM places p
SELECT id, row_number() OVER (ORDER BY salary, id) FROM people
SELECT id, row_number() OVER (ORDER BY id), rank() OVER (PARTITION BY city ORDER BY age) FROM people
SELECT id, rank() OVER w FROM people WINDOW w AS (PARTITION BY name ORDER BY age)
SELECT id, rank() OVER (w ORDER BY id) FROM people WINDOW w AS (PARTITION BY salary > 50)
SELECT id, rank() OVER w, sum(age) OVER (w ROWS UNBOUNDED PRECEDING) FROM people WINDOW w AS (PARTITION BY city ORDER BY id)
SELECT id, sum(age) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW) FROM people
SELECT id, sum(age) OVER (ORDER BY id RANGE BETWEEN 1 PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE TIES) FROM people
SELECT id, sum(1) OVER (ORDER BY salary RANGE BETWEEN 10 PRECEDING AND 10 FOLLOWING) FROM people
SELECT count(*) FILTER (WHERE salary > 50), count(*) FILTER (WHERE age > 50) AS b FROM people
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY salary), percentile_disc(0.5) WITHIN GROUP (ORDER BY age) AS b FROM people
SELECT mode() WITHIN GROUP (ORDER BY name) FROM people
SELECT array_agg(id ORDER BY salary, id), array_agg(id ORDER BY id DESC NULLS LAST) AS b FROM people
SELECT string_agg(city, ',' ORDER BY id), string_agg(city, name ORDER BY id) FROM people
SELECT json_agg(p ORDER BY id), json_agg(l ORDER BY l.id) FROM people p JOIN places l USING (id)
SELECT json_object_agg(id, age ORDER BY id), json_object_agg(id, name ORDER BY id) FROM people
SELECT city, grouping(city), count(*) FROM people GROUP BY ROLLUP (city)
SELECT city, age, sum(salary) FROM people GROUP BY GROUPING SETS ((city), (age), ())
SELECT city FROM people GROUP BY CUBE (city, age)
SELECT name FROM people GROUP BY 1
SELECT city FROM people GROUP BY salary, city
SELECT DISTINCT ON (city) city, id FROM people ORDER BY city, id
SELECT DISTINCT ON (salary) city FROM people
SELECT CASE WHEN salary > 50 THEN 1 ELSE 2 END FROM people
SELECT CASE age WHEN salary THEN 1 ELSE 2 END, CASE age WHEN 1 THEN id END AS b FROM people
SELECT coalesce(city, name), coalesce(name, city), nullif(age, salary), nullif(age, 3) FROM people
SELECT greatest(age, salary), least(age, id) FROM people
SELECT name IS NULL, city IS NULL, name ISNULL, salary IS DISTINCT FROM age, age IS NOT DISTINCT FROM id FROM people
SELECT city LIKE name, city LIKE 'a%' ESCAPE '!', city LIKE 'a' ESCAPE left(name, 1) FROM people
SELECT city SIMILAR TO name, city ~ 'a', city !~ name FROM people
SELECT age BETWEEN 1 AND salary, age BETWEEN SYMMETRIC 50 AND 1, salary NOT BETWEEN 1 AND 2 FROM people
SELECT (age, id) < (salary, 1), (age, id) = (1, 2), row(age, name) FROM people
SELECT (age, id) OVERLAPS (1, 2) FROM people
SELECT substring(name from 1 for 2), substring(city from 2), substring(city, 1, 2), substring(city from age % 2 + 1 for salary % 2) FROM people
SELECT overlay(city placing name from 1), overlay(city placing 'x' from 2 for 1) FROM people
SELECT position('a' in name), position('a' in city), trim(both 'a' from name), trim(leading from city), trim(city) FROM people
SELECT extract(year from date '2020-01-01' + age), extract(year from date '2020-01-01' + salary) FROM people
SELECT date '2020-01-01' + age * interval '1' day, timestamp '2020-01-01' AT TIME ZONE 'utc' FROM people
SELECT cast(salary as text), cast(age as text), age::text::int, salary::bigint FROM people
SELECT age::numeric(10, 2), age::double precision, age::text::varchar(3), city::character varying(2) FROM people
SELECT ARRAY[age, id], ARRAY[age, salary], (ARRAY[age, id])[1], (ARRAY[id, salary])[id % 2 + 1] FROM people
SELECT normalize(city, nfc), city COLLATE "C", city COLLATE "C" AS x, name COLLATE "C" y FROM people
SELECT xmlforest(id, city), xmlforest(name)::text AS b FROM people
SELECT xmlelement(name a, xmlattributes(city as b), id)::text, xmlelement(name a, name)::text AS b FROM people
SELECT to_json(city), to_jsonb(name), row_to_json(people), row_to_json(row(age)) FROM people
SELECT json_build_object('a', age, 'b', salary), jsonb_build_array(id) -> 0 FROM people
SELECT format('%s', city), format('%s %s', city, name), concat(city, age), concat_ws(',', city, salary) FROM people
SELECT hashtext(name), md5(city), length(name), encode(convert_to(city, 'UTF8'), 'hex') FROM people
SELECT people.upper FROM people
SELECT upper(people) FROM people
SELECT num_nulls(people) FROM people
SELECT count(people), count(people.*), count(places) FROM people JOIN places USING (id)
SELECT pg_typeof(salary), pg_typeof(age) FROM people
SELECT ctid, xmin::text = '1', tableoid::regclass FROM people
SELECT public.people.age, public.people.name, people.age AS x FROM public.people
SELECT "city", "People".age FROM people "People"
SELECT u&"\\0061ge", U&"sal\\0061ry" FROM people
SELECT age /* , */ AS salary, /* x */ salary AS age -- ,
FROM people
SELECT id AS "name", name AS "id" FROM people
SELECT $$a$$, E'\\'', 'it''s', salary FROM people
SELECT a.id, b.salary FROM people a JOIN people b USING (id)
SELECT id, name, b.name, a.name FROM people a JOIN people b USING (id, name)
SELECT * FROM people a JOIN people b USING (id, name)
SELECT * FROM people NATURAL JOIN places
SELECT * FROM people NATURAL LEFT JOIN tags
SELECT * FROM people p FULL JOIN tags t USING (id)
SELECT * FROM (people p JOIN places l USING (id)) j
SELECT j.id, j.town, j.salary FROM (people p JOIN places l USING (id)) AS j
SELECT * FROM (people p JOIN places l USING (id)) AS j(a, b)
SELECT * FROM people p JOIN (orders o JOIN tags t ON t.id = o.id) ON o.person = p.id
SELECT o.*, p.age FROM orders o JOIN people p JOIN tags t ON t.id = p.id ON o.person = p.id
SELECT u.id, p.salary FROM people p JOIN places l USING (id) AS u
SELECT * FROM people p, places l, LATERAL (SELECT p.age + l.size AS s, p.name || l.town AS n) x
SELECT * FROM people p CROSS JOIN places l WHERE p.id = l.id
SELECT x.* FROM (SELECT * FROM people) x JOIN (SELECT * FROM places) y ON x.id = y.id
SELECT * FROM (VALUES (1, 'a'), (2, 'b')) v
SELECT * FROM (VALUES (1, (SELECT max(name) FROM people)), (2, 'b')) v(a, b)
VALUES (1, 2), ((SELECT max(salary) FROM people), 3)
TABLE people
TABLE places
SELECT * FROM generate_series(1, 3)
SELECT * FROM generate_series(1, 3) WITH ORDINALITY
SELECT * FROM generate_series(1, 3) WITH ORDINALITY AS g(a, b)
SELECT g FROM generate_series(1, (SELECT max(salary) % 5 FROM people)) g
SELECT * FROM unnest(ARRAY[1, 2], ARRAY['a', 'b']) u(a, b)
SELECT u.a FROM people p, unnest(ARRAY[p.age, p.salary]) u(a)
SELECT * FROM json_each('{"a": 1}'), json_array_elements('[1, 2]')
SELECT * FROM json_to_record('{"a": 1, "b": "x"}') AS x(a int, b text)
SELECT * FROM people p, json_to_record(json_build_object('a', p.salary)) AS x(a int)
SELECT * FROM json_populate_record(null::places, '{"id": 1}')
SELECT * FROM jsonb_to_recordset('[{"a": 1}]') AS x(a int)
SELECT * FROM ROWS FROM (generate_series(1, 3), generate_series(1, 2)) AS r(a, b)
SELECT * FROM ROWS FROM (json_to_record('{"a": 1}') AS (a int), generate_series(1, 2)) WITH ORDINALITY AS r(x, y, z)
SELECT * FROM xmltable('/a/b' PASSING '<a><b c="1">x</b></a>' COLUMNS c int PATH '@c', t text PATH '.', n FOR ORDINALITY)
SELECT x.c FROM people p, xmltable('/a/b' PASSING xmlelement(name a, xmlelement(name b, p.name)) COLUMNS c text PATH '.') x
SELECT * FROM current_date
SELECT * FROM people TABLESAMPLE SYSTEM (100)
SELECT * FROM ONLY people, ONLY (places)
SELECT id FROM people ORDER BY id LIMIT 2 FOR UPDATE OF people
SELECT id FROM people UNION SELECT secret FROM tags
SELECT id, city FROM people UNION ALL SELECT id, note FROM orders
SELECT id FROM people INTERSECT SELECT id FROM tags
SELECT id FROM people INTERSECT SELECT secret FROM tags
(SELECT id FROM people ORDER BY id LIMIT 2) UNION (SELECT id FROM tags ORDER BY id LIMIT 1) ORDER BY id
SELECT id FROM people UNION SELECT id FROM tags EXCEPT SELECT size FROM places ORDER BY 1
WITH people AS (SELECT id, age AS salary FROM people) SELECT * FROM people
WITH x AS (SELECT id, salary FROM people), y AS (SELECT x.salary AS id, x.id AS salary FROM x) SELECT id, salary FROM y
WITH x(b, a) AS (SELECT id, salary FROM people) SELECT a FROM x
WITH x AS (SELECT id FROM people WHERE salary > 50) SELECT (SELECT count(*) FROM x), 1 AS b
WITH x AS MATERIALIZED (SELECT id FROM people), y AS NOT MATERIALIZED (TABLE x) SELECT (SELECT count(*) FROM y)
WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT * FROM r
WITH RECURSIVE r(n, s) AS (SELECT 1, 2 UNION ALL SELECT n + 1, p.salary FROM r JOIN people p ON p.id = n WHERE n < 5) SELECT * FROM r
WITH RECURSIVE r(n, s, t) AS (SELECT 1, 2, 3 UNION ALL SELECT n + 1, t, p.salary FROM r JOIN people p ON p.id = n WHERE n < 5) SELECT * FROM r
WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT n + 1 FROM r, people p WHERE p.id = n AND p.salary > 50) SELECT count(*) FROM r
WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) SEARCH DEPTH FIRST BY n SET o SELECT * FROM r
WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n % 3 + 1 FROM r) CYCLE n SET c USING p SELECT * FROM r
WITH RECURSIVE r(n, m) AS (SELECT id, salary FROM people UNION ALL SELECT n + 100, m FROM r WHERE n < 100) CYCLE n, m SET c TO 'y' DEFAULT 'n' USING p SELECT * FROM r
WITH RECURSIVE a AS (SELECT * FROM b), b AS (SELECT max(salary) AS x FROM people) SELECT * FROM a
SELECT id, (WITH q AS (SELECT people.salary AS s) SELECT s FROM q) FROM people
SELECT id, (SELECT x.id FROM (SELECT people.salary AS id) x) FROM people
SELECT id, (SELECT salary FROM places) FROM people WHERE id = 1
SELECT id, (SELECT id FROM (SELECT 1 AS id) x) FROM people
SELECT (SELECT (SELECT salary)) FROM people
SELECT id, ((SELECT 1) + 1), ((SELECT salary) + 1), (((SELECT max(id) FROM tags))) FROM people
SELECT max(age) FROM people HAVING max(salary) > 10
SELECT max(age) AS a FROM people HAVING count(*) > 0
SELECT city c FROM people ORDER BY c
SELECT a.age FROM people a WHERE EXISTS (SELECT 1 FROM tags t WHERE t.secret = a.salary)
SELECT 1 + 1, -1, +1, 'x', NULL, true, $1::int
SELECT DISTINCT city FROM people
SELECT DISTINCT name FROM people
SELECT age current, id partition, salary rows FROM people
SELECT age AS from, id AS end, salary AS select FROM people
SELECT id over, age filter FROM people
SELECT id, who, place FROM adults
SELECT adults FROM adults
SELECT *, (SELECT count(*) FROM rich) FROM rich
SELECT (SELECT count(*) FROM rich), (SELECT count(*) FROM adults)
SELECT * FROM totals
SELECT * FROM either
SELECT a, b FROM chain
SELECT v.ctid FROM adults v
INSERT INTO places (id, town) VALUES (99, 'x') RETURNING *
INSERT INTO places (id, town) SELECT 100 + id, name FROM people RETURNING id, town
INSERT INTO places (id, town) SELECT 100 + id, city FROM people RETURNING id, town, upper(town)
INSERT INTO people AS p (id, age) SELECT 100 + id, salary FROM people RETURNING p.age
INSERT INTO people VALUES (77, 'secret', 'x', 1, 2) RETURNING *
UPDATE people SET age = salary RETURNING age
UPDATE people SET salary = 1, age = age + 1 RETURNING id, age, salary
UPDATE people p SET (age, city) = (SELECT secret, label FROM tags t WHERE t.id = p.id) RETURNING p.age
UPDATE people p SET (age, city) = (SELECT t.id, label FROM tags t WHERE t.id = p.id) RETURNING p.age
UPDATE people p SET age = t.id FROM tags t WHERE t.id = p.id RETURNING *
DELETE FROM people USING tags WHERE tags.id = people.id RETURNING people.*, tags.label, secret
DELETE FROM people WHERE salary > 50 RETURNING id
WITH d AS (DELETE FROM people WHERE id < 3 RETURNING id, salary) SELECT * FROM d
WITH u AS (UPDATE people SET age = salary RETURNING id, age) SELECT age FROM u
""".strip().replace("\n FROM", " FROM").replace("-- ,\n", "-- ,\x01").split("\n")
STATEMENTS = [text.replace("\x01", "\n") for text in STATEMENTS]


class Source:
    def __init__(self, alias, columns):
        self.alias, self.columns = alias, columns  # (name, type, is_open)


class Maker:
    """query() → SQL, and (label, type, is_open) of each column. What it calls open is open; it may
    be wrong the other way, as it does not tell of a subquery what is only counted."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = 0
        self.closed_share = 0.0  # changes from query to query
        self.tables = {name: [(*column.rstrip("-").split(" "), not column.endswith("-"))
                              for column in columns] for name, columns in TABLES.items()}

    def fresh(self, prefix):
        self.names += 1
        return f"{prefix}{self.names}"

    def chance(self, share):
        return self.random.random() < share

    # Expressions: (sql, is_open)

    def column(self, kind, scopes):
        found = []
        for index, scope in enumerate(scopes):
            hidden = {source.alias for inner in scopes[index + 1:] for source in inner}
            for source in scope:
                if source.alias in hidden:
                    continue
                found += [(source, name, is_open) for name, of, is_open in source.columns
                          if of == kind]
        if not found:
            return self.literal(kind)
        closed = [one for one in found if not one[2]]
        source, name, is_open = self.random.choice(
            closed if closed and self.chance(self.closed_share) else found)
        names = [c[0] for scope in scopes for s in scope for c in s.columns]
        aliases = {s.alias for scope in scopes for s in scope}
        if names.count(name) == 1 and name not in aliases and self.chance(0.4):
            return name, is_open
        return f"{source.alias}.{name}", is_open

    def literal(self, kind):
        return self.random.choice({"int": ["1", "7", "40", "NULL::int"],
                                   "text": ["'a'", "'x y'", "NULL::text", "$q$b$q$"],
                                   "bool": ["true", "false", "NULL::bool"]}[kind]), True

    def expression(self, kind, scopes, depth):
        if depth <= 0 or self.chance(0.35):
            return self.column(kind, scopes) if kind != "bool" and self.chance(0.85) \
                else self.literal(kind)
        return getattr(self, kind)(scopes, depth - 1)

    def fill(self, template, scopes, depth):
        """%i, %t, %b stand for expressions; %c for a condition of a CASE."""
        parts, is_open, at = [], True, 0
        kinds = {"i": "int", "t": "text", "b": "bool"}
        while at < len(template):
            if template[at] == "%" and template[at + 1] in kinds:
                sql, opened = self.expression(kinds[template[at + 1]], scopes, depth)
                parts.append(sql if opened is None else f"({sql})" if " " in sql else sql)
                is_open, at = is_open and opened, at + 2
            else:
                parts.append(template[at])
                at += 1
        return "".join(parts), is_open

    def subquery(self, kind, scopes, depth):
        sql, columns, rows_open = self.query(depth, scopes, [kind], is_inner=True)
        return sql, columns[0][2] and rows_open, rows_open

    def row(self, scopes):
        source = self.random.choice([s for scope in scopes for s in scope] or [None])
        if source is None:
            return "'x'", True
        return (self.random.choice([f"{source.alias}::text", f"row_to_json({source.alias})::text",
                                    f"md5({source.alias}::text)"]),
                all(c[2] for c in source.columns))

    def int(self, scopes, depth):
        if self.chance(0.15):
            sql, is_open, _ = self.subquery("int", scopes, depth)
            return f"(SELECT max(m) FROM ({sql}) {self.fresh('z')}(m))", is_open
        if self.chance(0.08):
            sql, _, rows_open = self.subquery("int", scopes, depth)
            return f"(SELECT count(*)::int FROM ({sql}) {self.fresh('z')}(m))", rows_open
        return self.fill(self.random.choice([
            "%i + %i", "%i % 7", "-%i", "abs(%i)", "length(%t)", "coalesce(%i, 1)", "ascii(%t)",
            "CASE WHEN %b THEN %i ELSE %i END", "CASE %i WHEN %i THEN 1 END", "greatest(%i, %i)",
            "nullif(%i, %i)", "position('a' in %t)", "(ARRAY[%i, %i])[1]", "cast(%i AS int)",
            "%i::bigint::int", "extract(day from date '2020-01-01' + (%i % 9))::int",
            "pg_catalog.abs(%i)", "%i OPERATOR(pg_catalog.+) 1", "least(%i, 3)",
            "cardinality(ARRAY[%i])", "num_nulls(%i, %t)"]), scopes, depth)

    def text(self, scopes, depth):
        if self.chance(0.1):
            return self.row(scopes)
        if self.chance(0.12):
            sql, is_open, _ = self.subquery("text", scopes, depth)
            return f"(SELECT min(m) FROM ({sql}) {self.fresh('z')}(m))", is_open
        return self.fill(self.random.choice([
            "upper(%t)", "%t || %t", "%i::text", "cast(%i AS varchar(3))::text", "left(%t, 2)",
            "substring(%t from 1 for 2)", "substring(%t, 2)", "coalesce(%t, %t)", "md5(%t)",
            "trim(both 'a' from %t)", "overlay(%t placing 'z' from 1)", "concat(%t, %i)",
            "CASE WHEN %b THEN %t ELSE 'n' END", "to_jsonb(%i)::text", "(%b)::text",
            "json_build_object('k', %t)::text", "%t COLLATE \"C\"", "array_to_string(ARRAY[%t], ',')",
            "replace(%t, 'a', %t)", "format('%s', %t)", "(ROW(%i, %t))::text"]), scopes, depth)

    def bool(self, scopes, depth):
        if self.chance(0.12):
            sql, is_open, _ = self.subquery("int", scopes, depth)
            probe, probe_open = self.expression("int", scopes, depth)
            return f"({probe}) IN ({sql})", is_open and probe_open
        if self.chance(0.1):
            sql, is_open, _ = self.subquery("int", scopes, depth)
            return f"EXISTS ({sql})", is_open
        return self.fill(self.random.choice([
            "%i < %i", "%t = %t", "%i IS NULL", "%t IS NOT NULL", "%i BETWEEN %i AND %i",
            "%t LIKE %t", "%t NOT ILIKE 'a%'", "%i IS DISTINCT FROM %i", "%b AND %b", "NOT %b",
            "%b OR %b", "%i IN (%i, 2)", "(%i, %t) = (%i, 'a')", "%b IS NOT TRUE",
            "%t ~ 'a'", "%i = ANY (ARRAY[%i, 3])", "starts_with(%t, 'a')"]), scopes, depth)

    # FROM

    def source(self, depth, scopes, withs):
        alias = self.fresh("s")
        pick = self.random.random()
        if withs and pick < 0.25:
            name, columns, rows_open = self.random.choice(withs)
            return f"{name} {alias}", Source(alias, columns), rows_open
        if depth > 0 and pick < 0.45:
            kinds = [self.random.choice(["int", "text"]) for _ in range(self.random.randint(1, 3))]
            is_lateral = self.chance(0.3)
            sql, columns, rows_open = self.query(depth - 1, scopes if is_lateral else scopes[:-1],
                                                 kinds, is_inner=True, withs=withs)
            if is_lateral:
                columns = [(n, k, is_open and rows_open) for n, k, is_open in columns]
            lateral = "LATERAL " if is_lateral else ""
            if self.chance(0.4):
                columns = [(self.fresh("r"), k, is_open) for _, k, is_open in columns]
                names = ", ".join(n for n, _, _ in columns)
                return f"{lateral}({sql}) AS {alias}({names})", Source(alias, columns), rows_open
            return f"{lateral}({sql}) {alias}", Source(alias, columns), rows_open
        if pick < 0.52:
            sql, is_open = self.expression("int", scopes, 1)
            return (f"generate_series(1, abs({sql}) % 4) {alias}", Source(
                alias, [(alias, "int", is_open)]), is_open)
        if pick < 0.56:
            return (f"(VALUES (1, 'p'), (2, 'q')) {alias}",
                    Source(alias, [("column1", "int", True), ("column2", "text", True)]), True)
        name = self.random.choice(list(self.tables))
        columns = self.tables[name]
        if self.chance(0.15):
            count = self.random.randint(1, len(columns))
            columns = [(self.fresh("r") if i < count else n, k, o)
                       for i, (n, k, o) in enumerate(columns)]
            names = ", ".join(n for n, _, _ in columns[:count])
            return f"{name} AS {alias}({names})", Source(alias, columns), True
        return f"{name} {alias}", Source(alias, columns), True

    def joined(self, depth, scopes, withs):
        """FROM's text; the sources are put into the last scope, as they come to be seen."""
        scope, rows_open = scopes[-1], True
        text, source, opened = self.source(depth, scopes, withs)
        scope.append(source)
        rows_open = rows_open and opened
        for _ in range(self.random.choice([0, 0, 1, 1, 2] if depth < 2 else [0, 0, 1])):
            how = self.random.choice([",", "CROSS JOIN", "JOIN", "LEFT JOIN", "JOIN"])
            more, source, opened = self.source(depth, scopes, withs)
            scope.append(source)
            rows_open = rows_open and opened
            text += f"{how} {more}" if how == "," else f" {how} {more}"
            if how in ("JOIN", "LEFT JOIN"):
                left = [c for s in scope[:-1] for c in [(s.alias, *c) for c in s.columns]
                        if c[2] == "int" and c[3]]
                right = [c for c in source.columns if c[1] == "int" and c[2]]
                if left and right and self.chance(0.8):
                    one, two = self.random.choice(left), self.random.choice(right)
                    text += f" ON {one[0]}.{one[1]} = {source.alias}.{two[0]}"
                    continue
                condition, opened = self.expression("bool", scopes, 1)
                rows_open = rows_open and opened
                text += f" ON {condition}"
        return text, rows_open

    # Queries: (sql, columns, rows_open)

    def item(self, kind, scopes, depth, mode):
        if mode == "grouped":
            sql, is_open = self.expression(kind, scopes, depth)
            if kind == "int":
                return self.random.choice([f"max({sql})", f"count({sql})::int",
                                           f"count(DISTINCT {sql})::int", f"min({sql})"]), is_open
            return self.random.choice([f"max({sql})", f"min({sql})",
                                       f"string_agg({sql}, ',' ORDER BY {sql})"]), is_open
        if mode == "window" and kind == "int":
            sql, is_open = self.expression("int", scopes, depth)
            part, part_open = self.expression(self.random.choice(["int", "text"]), scopes, 1)
            return f"max({sql}) OVER (PARTITION BY {part})", is_open and part_open
        return self.expression(kind, scopes, depth)

    def select(self, depth, outer, kinds, is_inner, withs):
        scopes = [*outer, []]
        from_text, rows_open = self.joined(depth, scopes, withs)
        mode = self.random.choice(["plain", "plain", "plain", "grouped", "window"])
        items, columns = [], []
        for kind in kinds:
            sql, is_open = self.item(kind, scopes, min(depth, 2), mode)
            label = self.fresh("c")
            items.append(f"{sql} AS {label}" if is_inner or self.chance(0.6) else sql)
            columns.append((label, kind, is_open))
        if not is_inner and mode != "grouped" and self.chance(0.2):
            items.append("*")
        sql = "SELECT "
        if mode == "plain" and self.chance(0.1):
            sql += "DISTINCT "
            rows_open = rows_open and all(c[2] for c in columns) and "*" not in items
        sql += f"{', '.join(items)} FROM {from_text}"
        if self.chance(0.15):
            condition, opened = self.expression("bool", scopes, 1)
            sql, rows_open = f"{sql} WHERE {condition}", rows_open and opened
        if mode == "grouped" and self.chance(0.6):
            group, opened = self.column("text", scopes)
            rows_open = rows_open and opened and all(c[2] for c in columns)
            sql += f" GROUP BY {group}::text"
        return sql, columns, rows_open

    def whole(self):
        self.closed_share = self.random.choice([0.0, 0.05, 0.15, 0.4])
        return self.query(self.random.choice([0, 1, 1, 2, 2, 2, 3]))

    def query(self, depth, outer=(), kinds=None, is_inner=False, withs=()):
        kinds = kinds or [self.random.choice(["int", "text"])
                          for _ in range(self.random.randint(1, 4))]
        withs, head = list(withs), ""
        if depth > 1 and self.chance(0.2):
            name = self.fresh("w")
            body, columns, opened = self.query(depth - 1, outer, ["int", "text"], True, withs)
            withs.append((name, columns, opened))
            head = f"WITH {name} AS ({body}) "
        sql, columns, rows_open = self.select(depth, outer, kinds, is_inner, withs)
        if depth > 0 and self.chance(0.12) and "*" not in sql:
            other, others, opened = self.select(depth - 1, outer, kinds, is_inner, withs)
            if "*" not in other:
                how = self.random.choice(["UNION", "UNION ALL", "INTERSECT", "EXCEPT"])
                sql = f"{sql} {how} {other}"
                columns = [(a[0], a[1], a[2] and b[2]) for a, b in zip(columns, others)]
                rows_open = rows_open and opened and all(c[2] for c in columns)
        if self.chance(0.15) and "*" not in sql:
            rows_open = rows_open and all(c[2] for c in columns)
            order = ", ".join(str(i + 1) for i in range(len(columns)))
            sql += f" ORDER BY {order} LIMIT 2"
        return head + sql, columns, rows_open
