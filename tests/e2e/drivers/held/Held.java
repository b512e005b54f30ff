// SPDX-License-Identifier: MIT
// Runs the statement in the arguments with a value, with all settings as pgjdbc has them.
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;

public class Held {
    public static void main(String[] arguments) throws Exception {
        String url = "jdbc:postgresql://" + System.getenv("PGHOST") + ":" + System.getenv("PGPORT")
                + "/" + System.getenv("PGDATABASE");
        try (Connection made = DriverManager.getConnection(url, System.getenv("PGUSER"),
                System.getenv("PGPASSWORD"));
                PreparedStatement statement = made.prepareStatement(arguments[0] + "?")) {
            statement.setInt(1, Integer.parseInt(arguments[1]));
            System.out.println(statement.executeUpdate());
        }
    }
}
