/* SPDX-License-Identifier: MIT */
/* What a client needs, ready to be pasted: of a credential that was just made. */
import type { CredentialValues } from "../../shared/api/types";

export interface Line {
    name: string;
    group: "Clients" | "Addresses" | "Code";
    text: string;
}

/* For a shell that reads '…' as it stands. */
function shell(text: string): string {
    return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

const lines = (...parts: string[]): string => parts.join("\n");

/* In a text of C's family. */
const quoted = (text: string): string => JSON.stringify(text);

/* Of libpq: key='value'. */
function conninfo(text: string): string {
    return /^[\w.-]+$/.test(text) ? text : `'${text.replace(/['\\]/g, "\\$&")}'`;
}

function gatehouse(connection: string, gateway: string, program: string): Line {
    return {
        name: "gatehouse",
        group: "Clients",
        text: lines(
            `gatehouse login ${shell(gateway)}`,
            `gatehouse connect ${shell(connection)}${program}`,
        ),
    };
}

function five(values: CredentialValues): string {
    return [
        `Host      ${values.hostname}`,
        `Port      ${values.port}`,
        `User      ${values.username}`,
        `Password  ${values.password ?? ""}`,
        ...(values.database_name ? [`Database  ${values.database_name}`] : []),
    ].join("\n");
}

function postgres(connection: string, values: CredentialValues, gateway: string): Line[] {
    const url = values.connection_string ?? "";
    const mode = url.includes("sslmode=require") ? "require" : "disable";
    const { hostname, port, username, password = "", database_name = "" } = values;
    const parts = {
        host: hostname,
        port,
        user: username,
        dbname: database_name,
        password,
        sslmode: mode,
    };
    const info = Object.entries(parts)
        .filter(([, value]) => value !== "")
        .map(([name, value]) => `${name}=${conninfo(value)}`)
        .join(" ");
    const jdbc =
        `jdbc:postgresql://${hostname}:${port}/${encodeURIComponent(database_name)}` +
        `?user=${encodeURIComponent(username)}&password=${encodeURIComponent(password)}` +
        `&sslmode=${mode}`;
    const dotnet =
        `Host=${hostname};Port=${port};Username=${username};Password=${password};` +
        `Database=${database_name};SSL Mode=${mode === "require" ? "Require" : "Disable"}`;
    return [
        { name: "psql", group: "Clients", text: `psql ${shell(info)}` },
        gatehouse(connection, gateway, " -- psql"),
        { name: "DBeaver, DataGrip", group: "Clients", text: five(values) },
        { name: "URL", group: "Addresses", text: url },
        { name: "JDBC", group: "Addresses", text: jdbc },
        {
            name: "Python",
            group: "Code",
            text: lines(
                "import psycopg",
                "",
                `with psycopg.connect(${quoted(url)}) as connection:`,
                '    print(connection.execute("SELECT 1").fetchone())',
            ),
        },
        {
            name: "JavaScript",
            group: "Code",
            text: lines(
                'import pg from "pg";',
                "",
                `const client = new pg.Client(${quoted(url)});`,
                "await client.connect();",
                'console.log((await client.query("SELECT 1")).rows);',
                "await client.end();",
            ),
        },
        {
            name: "Go",
            group: "Code",
            text: lines(
                `connection, err := pgx.Connect(context.Background(), ${quoted(url)})`,
                "if err != nil {",
                "\treturn err",
                "}",
                "defer connection.Close(context.Background())",
            ),
        },
        {
            name: "Java",
            group: "Code",
            text: lines(
                "try (Connection connection = DriverManager.getConnection(",
                `        ${quoted(jdbc)})) {`,
                '    ResultSet rows = connection.createStatement().executeQuery("SELECT 1");',
                "}",
            ),
        },
        {
            name: "C#",
            group: "Code",
            text: lines(
                "await using var source = NpgsqlDataSource.Create(",
                `    ${quoted(dotnet)});`,
                'await using var command = source.CreateCommand("SELECT 1");',
                "Console.WriteLine(await command.ExecuteScalarAsync());",
            ),
        },
    ];
}

function mysql(connection: string, values: CredentialValues, gateway: string): Line[] {
    const { hostname, port, username, password = "", database_name = "" } = values;
    const url = values.connection_string ?? "";
    const jdbc =
        `jdbc:mysql://${hostname}:${port}/${encodeURIComponent(database_name)}` +
        `?user=${encodeURIComponent(username)}&password=${encodeURIComponent(password)}`;
    const dotnet =
        `Server=${hostname};Port=${port};User ID=${username};Password=${password};` +
        `Database=${database_name}`;
    return [
        {
            name: "mysql",
            group: "Clients",
            text: [
                `MYSQL_PWD=${shell(password)} mysql --protocol=TCP --host=${shell(hostname)}`,
                `--port=${port} --user=${shell(username)}`,
                ...(database_name ? [shell(database_name)] : []),
            ].join(" "),
        },
        gatehouse(connection, gateway, ""),
        { name: "DBeaver, DataGrip", group: "Clients", text: five(values) },
        { name: "URL", group: "Addresses", text: url },
        { name: "JDBC", group: "Addresses", text: jdbc },
        {
            name: "Python",
            group: "Code",
            text: lines(
                "import pymysql",
                "",
                "connection = pymysql.connect(",
                `    host=${quoted(hostname)}, port=${port}, user=${quoted(username)},`,
                `    password=${quoted(password)}, database=${quoted(database_name)})`,
            ),
        },
        {
            name: "JavaScript",
            group: "Code",
            text: lines(
                'import mysql from "mysql2/promise";',
                "",
                "const connection = await mysql.createConnection({",
                `  host: ${quoted(hostname)}, port: ${port}, user: ${quoted(username)},`,
                `  password: ${quoted(password)}, database: ${quoted(database_name)},`,
                "});",
            ),
        },
        {
            name: "Go",
            group: "Code",
            text: lines(
                'db, err := sql.Open("mysql",',
                `\t${quoted(`${username}:${password}@tcp(${hostname}:${port})/${database_name}`)})`,
            ),
        },
        {
            name: "Java",
            group: "Code",
            text: lines(
                "try (Connection connection = DriverManager.getConnection(",
                `        ${quoted(jdbc)})) {`,
                '    ResultSet rows = connection.createStatement().executeQuery("SELECT 1");',
                "}",
            ),
        },
        {
            name: "C#",
            group: "Code",
            text: lines(
                "await using var connection = new MySqlConnection(",
                `    ${quoted(dotnet)});`,
                "await connection.OpenAsync();",
            ),
        },
    ];
}

export function linesOf(
    connection: string,
    subtype: string,
    values: CredentialValues,
    gateway: string,
): Line[] {
    switch (subtype) {
        case "postgres":
            return postgres(connection, values, gateway);
        case "mysql":
            return mysql(connection, values, gateway);
        default:
            return [
                { name: "Values", group: "Clients", text: five(values) },
                gatehouse(connection, gateway, ""),
            ];
    }
}
