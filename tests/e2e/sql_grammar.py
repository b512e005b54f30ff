# SPDX-License-Identifier: MIT
"""Statements by chance, as a grammar allows them: for comparing who understands them, not to run."""
import random

NAMES = ["t", "kept", "Orders", "delete", "update", "values", "where_", "ünïcode", "a b", "order",
         "public", "x1", "_y", "analyze_", "into_", "from_"]
PLAIN = ["t", "kept", "orders", "x1", "_y", "t_2", "name", "type", "value", "data", "method",
         "version", "text", "copy", "truncate", "delete", "update", "insert", "merge", "begin",
         "commit", "explain", "prepare", "replace", "temp", "view", "matched", "nothing", "policy"]
FUNCTIONS = ["f", "lower", "count", "public.do_it", "now", "pg_sleep", "\"F\"", "has_table_privilege",
             "coalesce", "greatest", "replace", "jsonb_build_object"]
STRINGS = ["'a'", "''", "'it''s'", "'DELETE FROM t'", "E'\\'; DROP TABLE t; --'", "$$ DELETE $$",
           "$q$ ' ; $$ $q$", "U&'\\0041'", "B'101'", "X'1F'", "N'n'", "'a'\n  'b'", "'; --'",
           "'/* '"]
NUMBERS = ["1", "0", "1.5", ".5", "1e10", "42", "2147483648"]
NOISE = [" ", "  ", "\n", "\t", " /* c */ ", " /* a /* b */ ; */ ", " -- DELETE FROM t;\n", "\r\n"]
TYPES = ["int", "text", "numeric(10,2)", "timestamp with time zone", "varchar(20)", "int[]",
         "double precision", "public.mood", "interval day to second", "character varying"]


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def pick(self, items):
        return self.random.choice(items)

    def maybe(self, text, chance=0.4):
        return text() if self.random.random() < chance else ""

    def some(self, make, most=3, between=", "):
        return between.join(make() for _ in range(self.random.randint(1, most)))

    # Names

    def name(self):
        if self.random.random() < 0.3:
            return '"' + self.pick(NAMES).replace('"', '""') + '"'
        return self.pick(PLAIN)

    def column(self):
        return self.pick(["id", "a", "b", "c", "name", "\"Delete\"", "value", "data", "kind"])

    def relation(self):
        front = self.pick(["", "", "", "public.", "\"My Schema\".", "shop."])
        return front + (self.name() if front else
                        self.pick(["t", "kept", "orders", "x1", "\"a b\"", "\"Orders\"", "_y",
                                   "t_2", "data", "\"delete\"", "policy"]))

    # Expressions

    def value(self, depth):
        return self.pick([
            lambda: self.pick(NUMBERS), lambda: self.pick(STRINGS), self.column,
            lambda: "t." + self.column(), lambda: "$1", lambda: "NULL", lambda: "true",
            lambda: f"({self.expression(depth - 1)})", lambda: self.call(depth - 1),
            lambda: f"CAST({self.expression(depth - 1)} AS {self.pick(TYPES)})",
            lambda: f"{self.pick(STRINGS)}::{self.pick(TYPES)}",
            lambda: f"ARRAY[{self.expression(depth - 1)}, {self.expression(depth - 1)}]",
            lambda: f"(ARRAY[1,2])[{self.pick(NUMBERS[:2])}:2]",
            lambda: f"({self.select(depth - 1)})",
            lambda: f"EXISTS ({self.select(depth - 1)})",
            lambda: f"ARRAY({self.select(depth - 1)})",
            lambda: f"CASE WHEN {self.expression(depth - 1)} THEN {self.pick(STRINGS)} "
                    f"ELSE {self.value(depth - 1)} END",
            lambda: f"extract(epoch FROM {self.column()})",
            lambda: f"substring({self.column()} FROM 1 FOR 2)",
            lambda: f"trim(BOTH 'x' FROM {self.column()})",
            lambda: f"position('a' IN {self.column()})",
            lambda: f"overlay({self.column()} PLACING 'x' FROM 2)",
            lambda: f"ROW({self.column()}, 1)",
            lambda: f"{self.column()} IS DISTINCT FROM {self.column()}",
            lambda: "interval '1' day", lambda: "date '2020-01-01'",
            lambda: f"count(*) FILTER (WHERE {self.column()} > 1)",
            lambda: f"rank() OVER (PARTITION BY {self.column()} ORDER BY {self.column()} DESC "
                    "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)",
            lambda: f"string_agg(name, ',' ORDER BY {self.column()})",
            lambda: f"percentile_cont(0.5) WITHIN GROUP (ORDER BY {self.column()})",
            lambda: f"sum({self.column()}) OVER {self.window(depth - 1)}",
            lambda: f"first_value({self.column()}) OVER w",
            lambda: f"grouping({self.column()}, {self.column()})",
            lambda: f"({self.query(depth - 1)})",
            lambda: f"NULLIF({self.expression(depth - 1)}, ROW(1, ({self.select(depth - 1)})))",
            lambda: f"xmlelement(name a, {self.expression(depth - 1)})",
            lambda: f"t.data[{self.expression(depth - 1)}].\"into\"",
        ][:9 if depth <= 0 else None])() if depth > 0 else self.pick(
            [lambda: self.pick(NUMBERS), lambda: self.pick(STRINGS), self.column])()

    def window(self, depth):
        frame = self.pick([
            "", "ROWS 2 PRECEDING", "RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
            "GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW",
            "ROWS BETWEEN a FOLLOWING AND 3 FOLLOWING EXCLUDE TIES",
            "RANGE BETWEEN '1 day'::interval PRECEDING AND '1 day' FOLLOWING EXCLUDE NO OTHERS",
            "ROWS UNBOUNDED PRECEDING EXCLUDE GROUP"])
        return self.pick([
            lambda: "()", lambda: "w", lambda: f"(w ORDER BY {self.column()})",
            lambda: f"(PARTITION BY {self.some(lambda: self.expression(depth))} {frame})",
            lambda: f"(ORDER BY {self.expression(depth)} NULLS FIRST {frame})"])()

    def call(self, depth):
        inside = "" if self.random.random() < 0.2 else self.some(
            lambda: self.expression(depth - 1), 2)
        name = self.pick(FUNCTIONS)
        return f"{name}({inside})" if inside or name not in ("coalesce", "greatest") else "now()"

    def expression(self, depth):
        left = self.value(depth)
        if depth <= 0 or self.random.random() < 0.4:
            return left
        right = self.value(depth - 1)
        return self.pick([
            lambda: f"{left} = {right}", lambda: f"{left} <> {right}",
            lambda: f"{left} AND {right}", lambda: f"NOT {left}", lambda: f"{left} + {right}",
            lambda: f"{left} || {right}", lambda: f"{left} LIKE 'a%'",
            lambda: f"{left} IN ({right}, 1)", lambda: f"{left} IN ({self.select(depth - 1)})",
            lambda: f"{self.column()} BETWEEN 1 AND {self.pick(NUMBERS)}",
            lambda: f"{self.column()} IS NOT NULL", lambda: f"{left} = ANY ({self.column()})",
            lambda: f"{self.column()} -> 'a' ->> 'b'", lambda: f"{self.column()} @> '{{}}'",
            lambda: f"{self.column()} ~* 'delete from'",
            lambda: f"{self.column()} COLLATE \"C\"", lambda: f"{self.column()} AT TIME ZONE 'UTC'",
            lambda: f"{left} OPERATOR(pg_catalog.+) {right}", lambda: f"-{self.column()}",
            lambda: f"{self.column()} OR {right}", lambda: f"{self.column()} ILIKE 'x' ESCAPE '!'",
        ])()

    # Queries

    def where(self, depth, chance=0.7):
        return self.maybe(lambda: f" WHERE {self.expression(depth)}", chance)

    def source(self, depth):
        alias = self.maybe(lambda: self.pick([" ", " AS "]) + self.pick(["x", "y", "\"z z\"", "n"]))
        return self.pick([
            lambda: self.relation() + alias, lambda: self.relation() + alias,
            lambda: "ONLY " + self.relation(),
            lambda: f"{self.relation()} JOIN {self.relation()} AS j ON {self.expression(depth - 1)}",
            lambda: f"{self.relation()} LEFT OUTER JOIN {self.relation()} k USING (id)",
            lambda: f"{self.relation()} NATURAL JOIN {self.relation()}",
            lambda: f"{self.relation()} CROSS JOIN {self.relation()} m",
            lambda: f"({self.select(depth - 1)}) AS s",
            lambda: f"LATERAL ({self.select(depth - 1)}) l",
            lambda: "generate_series(1, 10) AS g(i)",
            lambda: "ROWS FROM (f(1), public.g(2)) WITH ORDINALITY AS r(a, b, c)",
            lambda: f"(VALUES (1, {self.pick(STRINGS)}), (2, 'b')) AS v(a, b)",
            lambda: f"({self.relation()} JOIN {self.relation()} p ON true)",
            lambda: f"{self.relation()} TABLESAMPLE system (10) REPEATABLE (1)",
            lambda: "json_to_recordset('[]') AS q(a int, b text)",
            lambda: f"{self.relation()} JOIN LATERAL ({self.select(depth - 1)}) ll ON "
                    f"{self.expression(depth - 1)}",
            lambda: f"{self.relation()} a CROSS JOIN LATERAL f(a.id, ({self.select(depth - 1)})) AS "
                    "e(x, y)",
            lambda: f"LATERAL unnest(ARRAY({self.select(depth - 1)})) WITH ORDINALITY AS u (a, b)",
            lambda: f"(({self.query(depth - 1)}) UNION ALL {self.select(depth - 1)}) AS nest",
            lambda: f"(({self.relation()} FULL JOIN {self.relation()} f USING (a, b)) RIGHT JOIN "
                    f"{self.source(depth - 1)} ON {self.expression(depth - 1)})",
            lambda: f"{self.relation()} INNER JOIN {self.relation()} c3 JOIN {self.relation()} c4 ON "
                    f"c3.a = c4.a ON {self.expression(depth - 1)}",
            lambda: f"xmltable('/a' PASSING {self.column()} COLUMNS id int PATH '@id' DEFAULT 0, "
                    "n FOR ORDINALITY) AS xt",
            lambda: f"JSON_TABLE({self.column()}, '$[*]' AS root PASSING {self.expression(depth - 1)} "
                    "AS v COLUMNS (id FOR ORDINALITY, a int PATH '$.a' DEFAULT 1 ON EMPTY ERROR ON "
                    "ERROR, NESTED PATH '$.b[*]' COLUMNS (c text EXISTS PATH '$.c'))) AS jt",
        ][:2 if depth <= 0 else None])()

    def items(self, depth):
        return self.pick([
            lambda: "*", lambda: "t.*", lambda: self.some(lambda: self.expression(depth) + self.maybe(
                lambda: " AS " + self.pick(["n", "\"Delete\"", "delete", "update", "from_x",
                                            "values", "set"])), 4),
            lambda: "DISTINCT " + self.column(), lambda: "ALL 1",
            lambda: f"DISTINCT ON ({self.column()}) *", lambda: "count(*)"])()

    def simple_select(self, depth):
        sources = self.maybe(lambda: " FROM " + self.some(lambda: self.source(depth), 2), 0.8)
        return (f"SELECT {self.items(depth - 1)}{sources}{self.where(depth - 1, 0.5)}" +
                self.maybe(lambda: f" GROUP BY {self.groups(depth - 1)}", 0.15) +
                self.maybe(lambda: f" HAVING {self.expression(depth - 1)}", 0.1) +
                self.maybe(lambda: f" WINDOW w AS (PARTITION BY a), v AS {self.window(depth - 1)}",
                           0.08))

    def groups(self, depth):
        return self.maybe(lambda: self.pick(["DISTINCT ", "ALL "]), 0.1) + self.some(self.pick([
            self.column, lambda: "()", lambda: self.expression(depth),
            lambda: f"ROLLUP ({self.column()}, ({self.column()}, b))", lambda: "CUBE (a, b)",
            lambda: f"GROUPING SETS (({self.column()}), (), ROLLUP (a, {self.expression(depth)}), "
                    "GROUPING SETS ((a, b), CUBE (c)))"]), 2)

    def query(self, depth):
        """A query in all its forms: sets of sets, in parentheses or not."""
        if depth <= 0:
            return self.select(0)
        inner = lambda: self.pick([  # noqa: E731
            lambda: self.simple_select(depth - 1), lambda: f"({self.query(depth - 1)})",
            lambda: "VALUES (1, 2), (3, DEFAULT)", lambda: f"TABLE ONLY {self.relation()}",
            lambda: f"({self.queries(depth - 1, False)}{self.simple_select(depth - 1)} LIMIT 1)"])()
        sets = inner()
        for _ in range(self.random.randint(0, 3)):
            sets += " " + self.pick(["UNION", "UNION ALL", "EXCEPT ALL", "INTERSECT DISTINCT"]) + \
                " " + inner()
        return (self.maybe(lambda: self.queries(depth - 1, False), 0.3) + sets +
                self.maybe(lambda: f" ORDER BY {self.expression(depth - 1)}, 2 DESC", 0.2) +
                self.maybe(lambda: self.pick([" LIMIT 1", " OFFSET 2 FETCH NEXT ROW WITH TIES",
                                              " FOR UPDATE OF t NOWAIT", " FOR NO KEY UPDATE",
                                              " FOR SHARE SKIP LOCKED FOR KEY SHARE OF t"]), 0.2))

    def select(self, depth):
        if depth <= 0:
            return f"SELECT {self.column()} FROM {self.relation()}"
        body = self.pick([
            lambda: self.simple_select(depth), lambda: self.simple_select(depth),
            lambda: self.simple_select(depth), lambda: f"VALUES (1, {self.pick(STRINGS)})",
            lambda: f"TABLE {self.relation()}",
            lambda: f"{self.simple_select(depth - 1)} {self.pick(['UNION', 'UNION ALL', 'EXCEPT', 'INTERSECT'])} "
                    f"{self.simple_select(depth - 1)}",
            lambda: f"({self.simple_select(depth - 1)}) UNION (TABLE {self.relation()})"])()
        return (self.maybe(lambda: self.queries(depth, False), 0.15) + body +
                self.maybe(lambda: f" ORDER BY {self.column()} {self.pick(['', 'DESC', 'ASC NULLS LAST', 'USING <'])}", 0.2) +
                self.maybe(lambda: self.pick([" LIMIT 10", " LIMIT ALL OFFSET 5", " OFFSET 1 ROW",
                                              " FETCH FIRST 3 ROWS ONLY"]), 0.15))

    def queries(self, depth, may_write):
        """WITH …; only the outermost may modify, which the grammar itself does not say."""
        def one(number):
            body = self.modify(depth - 1, True) if may_write and self.random.random() < 0.5 \
                else self.select(depth - 1)
            return (f"{self.pick(['w', 'q', 'gone', 'kept_rows'])}{number}" +
                    self.maybe(lambda: " (a, b)", 0.1) +
                    f" AS {self.pick(['', '', 'MATERIALIZED ', 'NOT MATERIALIZED '])}({body})" +
                    self.maybe(lambda: self.pick([
                        " SEARCH DEPTH FIRST BY a, b SET s", " SEARCH BREADTH FIRST BY a SET \"by\"",
                        " CYCLE a SET c USING p", " CYCLE a, b SET c TO 'y' DEFAULT 'n' USING p"]),
                        0.05))
        count = self.random.randint(1, 2)
        return ("WITH " + self.maybe(lambda: "RECURSIVE ", 0.1) +
                ", ".join(one(number) for number in range(count)) + " ")

    # What modifies

    def returning(self, always):
        return self.maybe(lambda: f" RETURNING {self.pick(['*', 'id', 'id AS delete', 'a, b + 1'])}",
                          1 if always else 0.3)

    def insert(self, depth, returns=False):
        body = self.pick([
            lambda: "DEFAULT VALUES", lambda: self.select(depth), lambda: self.query(depth),
            lambda: f"({self.query(depth)})", lambda: "SELECT *", lambda: "TABLE only_",
            lambda: self.queries(depth, False) + self.pick([
                lambda: f"({self.query(depth - 1)})", lambda: "VALUES (1)",
                lambda: f"(TABLE {self.relation()}) EXCEPT SELECT"])(),
            lambda: "VALUES (" + self.some(lambda: self.expression(depth - 1)) + "), (DEFAULT)",
            lambda: "OVERRIDING SYSTEM VALUE VALUES (1)"])()
        columns = self.maybe(lambda: f" ({self.some(self.column)})", 0.4)
        alias = self.maybe(lambda: " AS target", 0.1)
        conflict = self.maybe(lambda: " ON CONFLICT" + self.pick([
            " DO NOTHING", " (id) DO UPDATE SET a = excluded.a",
            " ON CONSTRAINT pk DO UPDATE SET (a, b) = (1, 2) WHERE target.a > 1",
            " (lower(name)) WHERE a > 1 DO UPDATE SET b = DEFAULT",
            " (a COLLATE \"C\" text_ops, (b + 1)) DO UPDATE SET (a) = ROW (excluded.a)",
            f" (id) DO UPDATE SET a = ({self.select(depth - 1)}), b = CASE WHEN true THEN 1 END "
            f"WHERE {self.expression(depth - 1)}",
            " (id) DO NOTHING"]), 0.3)
        if body == "DEFAULT VALUES":
            columns = ""
        return f"INSERT INTO {self.relation()}{alias}{columns} {body}{conflict}{self.returning(returns)}"

    def update(self, depth, returns=False):
        sets = self.some(lambda: self.pick([
            lambda: f"{self.column()} = {self.expression(depth - 1)}",
            lambda: f"(a, b) = ({self.select(depth - 1)})", lambda: "c = DEFAULT",
            lambda: "data['k'] = '1'"])())
        return (f"UPDATE {self.maybe(lambda: 'ONLY ', 0.1)}{self.relation()}"
                f"{self.maybe(lambda: ' AS u', 0.2)} SET {sets}" +
                self.maybe(lambda: f" FROM {self.source(depth - 1)}", 0.3) +
                self.pick([lambda: self.where(depth - 1, 0.7), lambda: " WHERE CURRENT OF c"])() +
                self.returning(returns))

    def delete(self, depth, returns=False):
        return (f"DELETE FROM {self.maybe(lambda: 'ONLY ', 0.1)}{self.relation()}"
                f"{self.maybe(lambda: ' d', 0.2)}" +
                self.maybe(lambda: f" USING {self.source(depth - 1)}", 0.3) +
                self.where(depth - 1, 0.6) + self.returning(returns))

    def merge(self, depth):
        """The returning ones are of PostgreSQL 17."""
        case = f"CASE WHEN {self.column()} = 1 THEN 2 WHEN true THEN 3 END"
        branches = self.some(lambda: self.pick([
            "WHEN MATCHED THEN DELETE", "WHEN MATCHED AND m.a > 1 THEN UPDATE SET a = s.a, b = 1",
            "WHEN NOT MATCHED THEN INSERT (a, b) VALUES (s.a, s.b)",
            "WHEN NOT MATCHED AND s.a = 1 THEN INSERT DEFAULT VALUES",
            "WHEN NOT MATCHED THEN INSERT OVERRIDING USER VALUE VALUES (1, DEFAULT)",
            f"WHEN MATCHED AND {case} > 1 THEN UPDATE SET (a, b) = ({self.select(depth - 1)})",
            f"WHEN NOT MATCHED AND {self.expression(depth - 1)} THEN INSERT VALUES ({case}, "
            f"({self.select(depth - 1)}))",
            f"WHEN MATCHED THEN UPDATE SET a = {case}, data['x'] = DEFAULT",
            "WHEN MATCHED THEN DO NOTHING", "WHEN NOT MATCHED THEN DO NOTHING"] + ([
                "WHEN NOT MATCHED BY SOURCE THEN DELETE",
                "WHEN NOT MATCHED BY TARGET AND s.a THEN INSERT (a) VALUES (1)",
                "WHEN NOT MATCHED BY SOURCE AND m.a = 1 THEN UPDATE SET a = DEFAULT"]
                if self.random.random() < 0.1 else [])), 4, " ")
        source = self.pick([lambda: f"{self.relation()} AS s", lambda: f"({self.query(depth - 1)}) s",
                            lambda: "w0 s", lambda: f"ONLY {self.relation()} s",
                            lambda: self.source(depth - 1),
                            lambda: f"(VALUES (1, 2), (3, {case})) AS s (a, b)"])()
        return (self.maybe(lambda: self.queries(depth, False), 0.3) +
                f"MERGE INTO {self.maybe(lambda: 'ONLY ', 0.1)}{self.relation()} AS m USING "
                f"{source} ON {self.expression(depth - 1)} {branches}" +
                self.maybe(lambda: " RETURNING merge_action(), *", 0.05))

    def modify(self, depth, returns=False):
        return self.pick([self.insert, self.update, self.delete])(depth, returns)

    # Others

    def define(self, depth):
        relation, name = self.relation(), self.pick(["n1", "\"N 2\"", "shop.n3"])
        return self.pick([
            lambda: f"CREATE {self.pick(['', 'TEMP ', 'UNLOGGED '])}TABLE {name} (id int PRIMARY KEY, "
                    f"b {self.pick(TYPES)} DEFAULT {self.value(0)} CHECK (b IS NOT NULL), "
                    f"c int REFERENCES {relation} (id) ON DELETE CASCADE ON UPDATE SET NULL)",
            lambda: f"CREATE TABLE {name} AS {self.select(depth)} WITH NO DATA",
            lambda: f"CREATE TABLE IF NOT EXISTS {name} (LIKE {relation} INCLUDING ALL)",
            lambda: f"SELECT {self.column()} INTO TEMP TABLE {name} FROM {relation}",
            lambda: f"CREATE OR REPLACE VIEW {name} AS {self.select(depth)}",
            lambda: f"CREATE MATERIALIZED VIEW {name} AS {self.select(depth)}",
            lambda: f"CREATE UNIQUE INDEX CONCURRENTLY i ON {relation} USING btree (lower(name)) WHERE a > 1",
            lambda: f"CREATE TRIGGER g BEFORE INSERT OR UPDATE OF a OR DELETE ON {relation} FOR EACH ROW EXECUTE FUNCTION f()",
            lambda: f"CREATE RULE r AS ON DELETE TO {relation} DO INSTEAD NOTHING",
            lambda: f"ALTER TABLE {relation} ADD COLUMN x int, DROP COLUMN y CASCADE",
            lambda: f"ALTER TABLE {relation} RENAME TO z", lambda: f"DROP TABLE IF EXISTS {relation}, {name} CASCADE",
            lambda: f"DROP INDEX {name}", lambda: "DROP FUNCTION f(int, text)",
            lambda: f"TRUNCATE TABLE {relation}, {name} RESTART IDENTITY",
            lambda: f"GRANT SELECT, INSERT, UPDATE, DELETE ON {relation} TO joe WITH GRANT OPTION",
            lambda: f"REVOKE ALL ON {relation} FROM PUBLIC", lambda: "GRANT a TO b",
            lambda: f"COMMENT ON TABLE {relation} IS 'DELETE FROM t'",
            lambda: "CREATE FUNCTION f(a int) RETURNS int LANGUAGE sql AS $$ DELETE FROM t $$",
            lambda: f"CREATE FUNCTION f() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT 1; SELECT a FROM {relation}; END",
            lambda: "CREATE POLICY p ON t FOR DELETE USING (a = 1)",
            lambda: "CREATE SCHEMA s CREATE TABLE n9 (a int)", lambda: "CREATE EXTENSION IF NOT EXISTS x",
            lambda: f"ALTER TABLE {relation} ENABLE ROW LEVEL SECURITY",
            lambda: "ALTER ROLE joe SET search_path TO a, b", lambda: "CREATE ROLE joe LOGIN PASSWORD 'x'",
        ])()

    def place(self):
        return self.pick(["STDIN", "STDOUT", "'/tmp/x'", "E'/tmp/\\x41'", "PROGRAM 'cat'",
                          "PROGRAM $$gzip$$"])

    def options(self):
        return self.maybe(lambda: self.pick([
            " (FORMAT csv, HEADER, DELIMITER ';', FORCE_QUOTE (a, b), NULL '')",
            " WITH (FORMAT 'binary', FREEZE true)", " CSV HEADER QUOTE '\"' FORCE QUOTE *",
            " DELIMITER ',' NULL AS 'x'", " WITH (ENCODING 'utf8', FORCE_NULL (\"delete\"))",
            " USING DELIMITERS '|'", " WITH BINARY", " (FORCE_QUOTE *, HEADER match)"]), 0.5)

    def manage(self, depth):
        relation = self.relation()
        return self.pick([
            lambda: f"COPY {relation} FROM STDIN", lambda: f"COPY {relation} (a, b) TO STDOUT WITH (FORMAT csv)",
            lambda: f"COPY ({self.select(depth)}) TO STDOUT", lambda: f"COPY {relation} FROM PROGRAM 'x' DELIMITER ','",
            lambda: f"COPY ({self.modify(depth, True)}) TO STDOUT",
            lambda: f"COPY ({self.query(depth)}) TO {self.place()}{self.options()}",
            lambda: f"COPY {relation}{self.maybe(lambda: ' (a, b)')} TO {self.place()}"
                    f"{self.options()}",
            lambda: f"COPY {self.maybe(lambda: 'BINARY ', 0.2)}{relation} FROM {self.place()}"
                    f"{self.options()}" + self.where(depth, 0.3),
            lambda: f"EXPLAIN {self.modify(depth)}", lambda: f"EXPLAIN ANALYZE {self.modify(depth)}",
            lambda: f"EXPLAIN (VERBOSE, ANALYZE {self.pick(['', 'true', 'off', 'on', 'false', '1'])}) {self.modify(depth)}",
            lambda: f"EXPLAIN ANALYZE VERBOSE {self.select(depth)}",
            lambda: f"PREPARE p (int) AS {self.modify(depth)}", lambda: "EXECUTE p (1, 'a')",
            lambda: "DEALLOCATE ALL", lambda: "DO $$ BEGIN DELETE FROM t; END $$", lambda: "CALL f(1)",
            lambda: "BEGIN ISOLATION LEVEL SERIALIZABLE", lambda: "COMMIT AND CHAIN", lambda: "ROLLBACK TO SAVEPOINT a",
            lambda: "SAVEPOINT a", lambda: "SET LOCAL search_path = a, b", lambda: "SET TIME ZONE 'UTC'",
            lambda: "RESET ALL", lambda: "SHOW ALL", lambda: f"LOCK TABLE {relation} IN SHARE MODE",
            lambda: f"VACUUM (FULL, ANALYZE) {relation}", lambda: f"ANALYZE {relation} (a)",
            lambda: "LISTEN x", lambda: "NOTIFY x, 'delete'", lambda: "DISCARD ALL", lambda: "CHECKPOINT",
            lambda: f"DECLARE c SCROLL CURSOR WITH HOLD FOR {self.select(depth)}", lambda: "FETCH ALL FROM c",
            lambda: "MOVE 3 IN c", lambda: "CLOSE c", lambda: "REFRESH MATERIALIZED VIEW CONCURRENTLY mv",
            lambda: "REINDEX TABLE t", lambda: "SET TRANSACTION READ ONLY", lambda: "SET SESSION AUTHORIZATION DEFAULT",
            lambda: "REASSIGN OWNED BY a TO b", lambda: "DROP OWNED BY a", lambda: "SET ROLE NONE",
        ])()

    def statement(self):
        depth = self.random.choice([1, 2, 2, 3, 3, 4])
        text = self.pick([
            lambda: self.select(depth), lambda: self.select(depth),
            lambda: self.maybe(lambda: self.queries(depth, True), 0.3) + self.modify(depth),
            lambda: self.maybe(lambda: self.queries(depth, True), 0.3) + self.modify(depth),
            lambda: self.queries(depth, True) + self.select(depth),
            lambda: self.merge(depth), lambda: self.define(depth - 1), lambda: self.manage(depth - 1)])()
        return self.disguise(text)

    def disguise(self, text):
        """Another spelling of the same: the case of words, and what stands between them."""
        parts, out, quote = text.split(" "), [], False
        for part in parts:
            plain = not quote and "'" not in part and '"' not in part and "$" not in part
            if (part.count("'") + part.count('"') + part.count("$$")) % 2:
                quote = not quote
            if plain and self.random.random() < 0.15:
                part = self.pick([part.lower(), part.upper()])
            out.append(part)
            out.append(self.pick(NOISE) if plain and not quote and self.random.random() < 0.08 else " ")
        return "".join(out[:-1])
