// SPDX-License-Identifier: MIT
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** What a driver of Java does: a line of JSON for each check of README.md. */
public final class Jdbc {
    interface Run {
        Object get() throws Exception;
    }

    private final String name;

    private Jdbc(String name) {
        this.name = name;
    }

    private static String quoted(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\' || c < ' ' || c > '~') {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        return out.append('"').toString();
    }

    private static void check(String check, Run run) {
        String found;
        try {
            found = String.valueOf(run.get());
        } catch (SQLException error) {
            found = error.getErrorCode() + " " + error.getSQLState();
        } catch (Exception error) {
            found = error.toString();
        }
        System.out.println("{\"check\": " + quoted(check) + ", \"found\": " + quoted(found) + "}");
    }

    private Connection dial(String... options) throws SQLException {
        boolean isMariadb = name.equals("mariadb");
        String url = "jdbc:" + name + "://" + System.getenv("DB_HOST") + ":" + System.getenv("DB_PORT")
                + "/" + System.getenv("DB_NAME") + "?useServerPrepStmts=true&"
                + (isMariadb ? "sslMode=verify-ca&serverSslCert=" + System.getenv("DB_CA")
                        : "sslMode=REQUIRED&allowMultiQueries=true&yearIsDateType=false");
        List<String> given = new ArrayList<>(List.of("password=" + System.getenv("DB_PASSWORD")));
        given.addAll(Arrays.asList(options));
        java.util.Properties properties = new java.util.Properties();
        properties.put("user", System.getenv("DB_USER"));
        for (String option : given) {
            properties.put(option.substring(0, option.indexOf('=')),
                    option.substring(option.indexOf('=') + 1));
        }
        return DriverManager.getConnection(url, properties);
    }

    private static String shown(Object value) {
        return value instanceof byte[] bytes ? Arrays.toString(bytes) : String.valueOf(value);
    }

    private static List<Object> all(Statement statement, boolean has) throws SQLException {
        List<Object> found = new ArrayList<>();
        for (boolean isResult = has; isResult || statement.getUpdateCount() != -1;
                isResult = statement.getMoreResults()) {
            if (!isResult) {
                found.add(statement.getUpdateCount());
                continue;
            }
            ResultSet rows = statement.getResultSet();
            ResultSetMetaData head = rows.getMetaData();
            for (int i = 1; i <= head.getColumnCount(); i++) {
                found.add(head.getColumnLabel(i) + ":" + head.getColumnTypeName(i) + ":" + head.getPrecision(i));
            }
            while (rows.next()) {
                for (int i = 1; i <= head.getColumnCount(); i++) {
                    boolean isDate = head.getColumnTypeName(i).startsWith("DATE");
                    found.add(isDate ? rows.getString(i) : shown(rows.getObject(i)));
                }
            }
        }
        return found;
    }

    private static Object text(Connection conn, String sql) throws SQLException {
        try (Statement statement = conn.createStatement()) {
            return all(statement, statement.execute(sql));
        }
    }

    private static Object binary(Connection conn, String sql, Object... values) throws SQLException {
        try (PreparedStatement statement = conn.prepareStatement(sql)) {
            for (int i = 0; i < values.length; i++) {
                statement.setObject(i + 1, values[i]);
            }
            return all(statement, statement.execute());
        }
    }

    private static Object transaction(Connection conn) throws SQLException {
        conn.setAutoCommit(false);
        text(conn, "INSERT INTO things (id, name) VALUES (99, 'gone')");
        Object inside = text(conn, "SELECT COUNT(*) FROM things");
        conn.rollback();
        conn.setAutoCommit(true);
        return inside + " " + text(conn, "SELECT COUNT(*) FROM things");
    }

    /** As the driver cancels: over a connection of its own. */
    private static Object cancel(Connection conn) throws Exception {
        try (Statement slow = conn.createStatement()) {
            Thread thread = new Thread(() -> {
                try {
                    Thread.sleep(1500);
                    slow.cancel();
                } catch (InterruptedException | SQLException error) {
                    System.err.println(error);
                }
            });
            thread.start();
            String found;
            try {
                found = all(slow, slow.execute("SELECT SLEEP(30) AS slept")).toString();
            } catch (SQLException error) {
                // MySQL's own says so itself where it heard of its KILL first.
                boolean isCancelled = error.getErrorCode() == 1317
                        || error.getClass().getSimpleName().equals("MySQLStatementCancelledException");
                found = isCancelled ? "cancelled" : error.getErrorCode() + " " + error.getSQLState();
            }
            thread.join();
            return found + " " + text(conn, "SELECT 'still there'");
        }
    }

    private Object streamed(Connection conn) throws SQLException {
        long sum = 0;
        try (Statement statement = conn.createStatement(ResultSet.TYPE_FORWARD_ONLY,
                ResultSet.CONCUR_READ_ONLY)) {
            statement.setFetchSize(name.equals("mariadb") ? 100 : Integer.MIN_VALUE);
            ResultSet rows = statement.executeQuery("SELECT seq FROM seq_1_to_20000");
            while (rows.next()) {
                sum += rows.getLong(1);
            }
        }
        return sum;
    }

    private Object many() throws Exception {
        long[] found = new long[200];
        List<Thread> threads = new ArrayList<>();
        for (int t = 0; t < 10; t++) {
            int first = t * 20;
            threads.add(new Thread(() -> {
                try (Connection conn = dial(); Statement statement = conn.createStatement()) {
                    for (int i = first; i < first + 20; i++) {
                        ResultSet rows = statement.executeQuery("SELECT " + i);
                        rows.next();
                        found[i] = rows.getLong(1);
                    }
                } catch (SQLException error) {
                    System.err.println(error);
                }
            }));
        }
        for (Thread thread : threads) {
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        return Arrays.stream(found).sum();
    }

    private void run() throws Exception {
        Connection conn = dial();
        List<String> statements = Files.readAllLines(Path.of(System.getenv("STATEMENTS")));
        for (int i = 0; i < statements.size(); i++) {
            String statement = statements.get(i);
            check("text " + i, () -> text(conn, statement));
        }
        for (int i = 0; i < statements.size(); i++) {
            String statement = statements.get(i);
            check("binary " + i, () -> binary(conn, statement));
        }
        check("parameters", () -> binary(conn, "SELECT ?, ?, ?, ?", 7, "na\u00efve '\\", null, new byte[] {0, -1}));
        check("several", () -> text(dial("allowMultiQueries=true"), "SELECT 1; SELECT 2, 3; DO 0; SELECT 4"));
        check("transaction", () -> transaction(conn));
        check("large", () -> {
            String value = "x".repeat(5000000);
            return binary(conn, "SELECT LENGTH(?), LENGTH(?)", value, value);
        });
        check("streamed", () -> streamed(conn));
        check("kill", () -> cancel(conn));
        check("ping", () -> conn.isValid(5));
        check("many", this::many);
        check("wrong", () -> dial("password=wrong"));
        conn.close();
    }

    public static void main(String[] arguments) throws Exception {
        new Jdbc(arguments[0]).run();
        System.exit(0);
    }
}
