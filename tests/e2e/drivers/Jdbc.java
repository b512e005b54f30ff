// SPDX-License-Identifier: MIT
// What pgjdbc does: a line of JSON for each check of README.md.
import java.io.ByteArrayOutputStream;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import java.util.Timer;
import java.util.TimerTask;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;
import org.postgresql.copy.CopyManager;
import org.postgresql.util.PGobject;

public class Jdbc {
    static final String CHANNEL = System.getenv("CHANNEL");

    interface Check {
        Object run() throws Exception;
    }

    static String quoted(String text) {
        return "\"" + text.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", " ") + "\"";
    }

    static void check(String name, Check check) {
        boolean ok = false;
        String detail;
        try {
            detail = String.valueOf(check.run());
            ok = true;
        } catch (Exception | AssertionError error) {
            detail = error.toString();
        }
        System.out.println("{\"check\":" + quoted(name) + ",\"ok\":" + ok + ",\"detail\":"
                + quoted(detail.substring(0, Math.min(300, detail.length()))) + "}");
    }

    static Object same(Object found, Object wanted) {
        if (!String.valueOf(found).equals(String.valueOf(wanted))) {
            throw new AssertionError(found + " is not " + wanted);
        }
        return found;
    }

    static Connection dial(String... options) throws SQLException {
        Properties given = new Properties();
        given.put("user", System.getenv("PGUSER"));
        given.put("password", System.getenv("PGPASSWORD"));
        given.put("sslmode", "verify-full");
        given.put("sslrootcert", System.getenv("PGSSLROOTCERT"));
        given.put("connectTimeout", "20");
        for (int i = 0; i < options.length; i += 2) {
            given.put(options[i], options[i + 1]);
        }
        return DriverManager.getConnection("jdbc:postgresql://" + System.getenv("PGHOST") + ":"
                + System.getenv("PGPORT") + "/" + System.getenv("PGDATABASE"), given);
    }

    static Object value(Connection conn, String query) throws SQLException {
        try (Statement statement = conn.createStatement();
                ResultSet rows = statement.executeQuery(query)) {
            rows.next();
            return rows.getObject(1);
        }
    }

    static String state(Connection conn, String query) {
        try (Statement statement = conn.createStatement()) {
            statement.execute(query);
            return "none";
        } catch (SQLException error) {
            return error.getSQLState();
        }
    }

    static Object connect() throws SQLException {
        try (Connection conn = dial("sslmode", "disable")) {
            Object version = value(conn, "SHOW server_version_num");
            return same(version, System.getenv("SERVER_VERSION")) + " "
                    + conn.getMetaData().getDatabaseProductVersion();
        }
    }

    static Object encrypted(String... options) throws SQLException {
        try (Connection conn = dial(options)) {
            return same(value(conn, "SELECT 1"), 1);
        }
    }

    static Object simple() throws SQLException {
        try (Connection conn = dial("preferQueryMode", "simple");
                PreparedStatement statement = conn.prepareStatement("SELECT ?::text; SELECT 2")) {
            statement.setString(1, "a'b");
            statement.execute();
            ResultSet first = statement.getResultSet();
            first.next();
            String text = first.getString(1);
            same(statement.getMoreResults(), true);
            ResultSet second = statement.getResultSet();
            second.next();
            return same(text + second.getInt(1), "a'b2");
        }
    }

    static Object parameters(String isBinary) throws SQLException {
        List<String> found = new ArrayList<>();
        try (Connection conn = dial("binaryTransfer", isBinary, "prepareThreshold",
                        isBinary.equals("true") ? "-1" : "2");
                PreparedStatement statement =
                        conn.prepareStatement("SELECT ?::int8, ?::text, ?::float8, ?::bytea")) {
            for (int i = 0; i < 4; i++) {
                statement.setLong(1, 7);
                statement.setString(2, "é");
                statement.setDouble(3, 1.5);
                statement.setBytes(4, new byte[] {0, -1});
                try (ResultSet rows = statement.executeQuery()) {
                    rows.next();
                    found.add(rows.getLong(1) + rows.getString(2) + rows.getDouble(3)
                            + Arrays.toString(rows.getBytes(4)));
                }
            }
        }
        String wanted = "7é1.5[0, -1]";
        return same(found, List.of(wanted, wanted, wanted, wanted));
    }

    static Object batch(Connection conn) throws SQLException {
        state(conn, "CREATE TEMP TABLE batch (id int)");
        try (PreparedStatement statement =
                conn.prepareStatement("INSERT INTO batch VALUES (100 / ?)")) {
            for (int i = 1; i <= 500; i++) {
                statement.setInt(1, i);
                statement.addBatch();
            }
            int done = statement.executeBatch().length;
            statement.setInt(1, 1);
            statement.addBatch();
            statement.setInt(1, 0);
            statement.addBatch();
            String state = "none";
            try {
                statement.executeBatch();
            } catch (SQLException error) {
                state = error.getSQLState();
            }
            return same(done + state, "50022012") + " " + value(conn, "SELECT count(*) FROM batch");
        }
    }

    static Object transaction(Connection conn) throws SQLException {
        state(conn, "CREATE TEMP TABLE rolled (id int)");
        conn.setAutoCommit(false);
        String states = state(conn, "INSERT INTO rolled VALUES (1)") + state(conn, "SELECT 1/0")
                + state(conn, "SELECT 1");
        conn.rollback();
        conn.setAutoCommit(true);
        return same(states + value(conn, "SELECT count(*) FROM rolled"), "none2201225P020");
    }

    static Object copy(Connection conn) throws Exception {
        state(conn, "CREATE TEMP TABLE copied (id int, name text)");
        CopyManager manager = conn.unwrap(PGConnection.class).getCopyAPI();
        StringBuilder lines = new StringBuilder();
        for (int i = 0; i < 1000; i++) {
            lines.append(i).append("\té").append(i).append('\n');
        }
        long in = manager.copyIn("COPY copied FROM STDIN", new StringReader(lines.toString()));
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        manager.copyOut("COPY copied TO STDOUT", out);
        same(out.toString(StandardCharsets.UTF_8), lines);
        String state = "none";
        try {
            manager.copyIn("COPY copied FROM STDIN", new StringReader("no number\tx\n"));
        } catch (SQLException error) {
            state = error.getSQLState();
        }
        return same(in + state + value(conn, "SELECT sum(id) FROM copied"), "100022P02499500");
    }

    static Object cursor(Connection conn) throws SQLException {
        conn.setAutoCommit(false);
        long total = 0;
        try (Statement statement = conn.createStatement()) {
            statement.setFetchSize(100);
            try (ResultSet rows = statement.executeQuery("SELECT generate_series(1, 1000)")) {
                while (rows.next()) {
                    total += rows.getInt(1);
                }
            }
        }
        conn.setAutoCommit(true);
        return same(total, 500500);
    }

    static Object large(Connection conn) throws SQLException {
        String sent = "x".repeat(10485760);
        try (PreparedStatement statement = conn.prepareStatement("SELECT ?::text || 'y'")) {
            statement.setString(1, sent);
            ResultSet rows = statement.executeQuery();
            rows.next();
            String found = rows.getString(1);
            return same(found.equals(sent + "y"), true) + " " + found.length();
        }
    }

    static Object values(Connection conn) throws SQLException {
        PGobject json = new PGobject();
        json.setType("jsonb");
        json.setValue("{\"a\": [1, \"é\"]}");
        OffsetDateTime moment = OffsetDateTime.parse("2024-02-29T10:34:56.789Z");
        try (PreparedStatement statement =
                conn.prepareStatement("SELECT ?::text, ?, ?, ?, ?::text")) {
            statement.setString(1, null);
            statement.setArray(2, conn.createArrayOf("int4", new Integer[] {1, null, 3}));
            statement.setObject(3, json);
            statement.setObject(4, moment);
            statement.setString(5, "žluťoučký 🐎");
            ResultSet rows = statement.executeQuery();
            rows.next();
            List<Object> found = new ArrayList<>();
            found.add(rows.getString(1));
            found.add(Arrays.toString((Object[]) rows.getArray(2).getArray()));
            found.add(rows.getObject(3));
            found.add(rows.getObject(4, OffsetDateTime.class));
            found.add(rows.getString(5));
            return same(found, "[null, [1, null, 3], {\"a\": [1, \"é\"]}, 2024-02-29T10:34:56.789Z, "
                    + "žluťoučký 🐎]");
        }
    }

    static Object listen(Connection conn) throws SQLException {
        state(conn, "LISTEN " + CHANNEL);
        try (Connection other = dial()) {
            state(other, "NOTIFY " + CHANNEL + ", 'été'");
        }
        PGNotification[] heard = conn.unwrap(PGConnection.class).getNotifications(20000);
        state(conn, "UNLISTEN *");
        return same(heard[0].getParameter(), "été");
    }

    static Object cancel(Connection conn) throws SQLException {
        try (Statement statement = conn.createStatement()) {
            Timer timer = new Timer(true);
            timer.schedule(new TimerTask() {
                @Override
                public void run() {
                    try {
                        statement.cancel();
                    } catch (SQLException error) {
                        System.err.println(error);
                    }
                }
            }, 300);
            String state = "none";
            try {
                statement.execute("SELECT pg_sleep(30)");
            } catch (SQLException error) {
                state = error.getSQLState();
            }
            return same(state + value(conn, "SELECT 1"), "570141");
        }
    }

    static Object notice(Connection conn) throws SQLException {
        try (Statement statement = conn.createStatement()) {
            statement.execute("DO $$ BEGIN RAISE NOTICE 'über'; END $$");
            return same(statement.getWarnings().getMessage(), "über");
        }
    }

    static Object pool() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(10);
        List<Future<Integer>> done = new ArrayList<>();
        for (int client = 0; client < 10; client++) {
            done.add(threads.submit(() -> {
                int total = 0;
                try (Connection conn = dial();
                        PreparedStatement statement = conn.prepareStatement("SELECT ?::int")) {
                    for (int i = 0; i < 20; i++) {
                        statement.setInt(1, i);
                        ResultSet rows = statement.executeQuery();
                        rows.next();
                        total += rows.getInt(1);
                    }
                }
                return total;
            }));
        }
        int total = 0;
        for (Future<Integer> one : done) {
            total += one.get();
        }
        threads.shutdown();
        return same(total, 1900);
    }

    static Object reconnect() throws SQLException {
        String state;
        try (Connection doomed = dial()) {
            state = state(doomed, "SELECT pg_terminate_backend(pg_backend_pid())");
            same(doomed.isValid(5), false);
        }
        try (Connection fresh = dial()) {
            return same(state + fresh.isValid(5), "57P01true");
        }
    }

    public static void main(String[] arguments) throws Exception {
        System.setOut(new java.io.PrintStream(System.out, true, StandardCharsets.UTF_8));
        check("connect", Jdbc::connect);
        check("tls", () -> encrypted());
        check("channel-binding", () -> encrypted("channelBinding", "require"));
        check("simple", Jdbc::simple);
        check("text", () -> parameters("false"));
        check("binary", () -> parameters("true"));
        try (Connection conn = dial()) {
            check("pipeline", () -> batch(conn));
            check("transaction", () -> transaction(conn));
            check("copy", () -> copy(conn));
            check("cursor", () -> cursor(conn));
            check("large", () -> large(conn));
            check("values", () -> values(conn));
            check("notify", () -> listen(conn));
            check("cancel", () -> cancel(conn));
            check("notice", () -> notice(conn));
        }
        check("pool", Jdbc::pool);
        check("reconnect", Jdbc::reconnect);
        System.exit(0);
    }
}
