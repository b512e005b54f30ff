// SPDX-License-Identifier: MIT
// What programs that show a schema ask of JDBC: each question's name, and how many rows came.
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;

public class Catalog {
    interface Question {
        ResultSet ask() throws SQLException;
    }

    static void ask(String name, Question question) {
        try (ResultSet rows = question.ask()) {
            int count = 0;
            while (rows.next()) {
                count++;
            }
            System.out.println("ok " + name + " " + count);
        } catch (SQLException error) {
            System.out.println("failed " + name + " " + error.getSQLState() + " "
                    + error.getMessage().replace("\n", " "));
        }
    }

    public static void main(String[] arguments) throws SQLException {
        try (Connection connection = DriverManager.getConnection(arguments[0], arguments[1],
                arguments[2])) {
            DatabaseMetaData data = connection.getMetaData();
            ask("catalogs", data::getCatalogs);
            ask("schemas", data::getSchemas);
            ask("types", data::getTypeInfo);
            ask("tables", () -> data.getTables(null, null, "%", null));
            ask("columns", () -> data.getColumns(null, null, "%", "%"));
            ask("keys", () -> data.getPrimaryKeys(null, "public", "kept"));
            ask("imported", () -> data.getImportedKeys(null, "public", "kept"));
            ask("indexes", () -> data.getIndexInfo(null, "public", "kept", false, true));
            ask("functions", () -> data.getFunctions(null, null, "%"));
            ask("function columns", () -> data.getFunctionColumns(null, "public", "%", "%"));
            ask("procedures", () -> data.getProcedures(null, null, "%"));
            ask("table rights", () -> data.getTablePrivileges(null, null, "%"));
            ask("column rights", () -> data.getColumnPrivileges(null, null, "kept", "%"));
            ask("best row", () -> data.getBestRowIdentifier(null, "public", "kept", 0, true));
            ask("versions", () -> data.getVersionColumns(null, "public", "kept"));
            ask("user types", () -> data.getUDTs(null, null, "%", null));
            ask("client info", data::getClientInfoProperties);
            connection.setReadOnly(true);
            connection.setAutoCommit(false);
            connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
            ask("read", () -> connection.createStatement().executeQuery("SELECT * FROM kept"));
            connection.rollback();
        }
    }
}
