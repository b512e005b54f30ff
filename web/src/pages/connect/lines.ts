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
    text: `gatehouse login ${shell(gateway)}\ngatehouse connect ${shell(connection)}${program}`,
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
  const parts = { host: hostname, port, user: username, dbname: database_name, password, sslmode: mode };
  const info = Object.entries(parts).filter(([, value]) => value !== "")
    .map(([name, value]) => `${name}=${conninfo(value)}`).join(" ");
  const jdbc = `jdbc:postgresql://${hostname}:${port}/${encodeURIComponent(database_name)}` +
    `?user=${encodeURIComponent(username)}&password=${encodeURIComponent(password)}&sslmode=${mode}`;
  return [
    { name: "psql", group: "Clients", text: `psql ${shell(info)}` },
    gatehouse(connection, gateway, " -- psql"),
    { name: "DBeaver, DataGrip", group: "Clients", text: five(values) },
    { name: "URL", group: "Addresses", text: url },
    { name: "JDBC", group: "Addresses", text: jdbc },
    { name: "Python", group: "Code", text: `import psycopg\n\nwith psycopg.connect(${quoted(url)}) as connection:\n    print(connection.execute("SELECT 1").fetchone())` },
    { name: "JavaScript", group: "Code", text: `import pg from "pg";\n\nconst client = new pg.Client(${quoted(url)});\nawait client.connect();\nconsole.log((await client.query("SELECT 1")).rows);\nawait client.end();` },
    { name: "Go", group: "Code", text: `connection, err := pgx.Connect(context.Background(), ${quoted(url)})\nif err != nil {\n\treturn err\n}\ndefer connection.Close(context.Background())` },
    { name: "Java", group: "Code", text: `try (Connection connection = DriverManager.getConnection(\n        ${quoted(jdbc)})) {\n    ResultSet rows = connection.createStatement().executeQuery("SELECT 1");\n}` },
    { name: "C#", group: "Code", text: `await using var source = NpgsqlDataSource.Create(\n    ${quoted(`Host=${hostname};Port=${port};Username=${username};Password=${password};Database=${database_name};SSL Mode=${mode === "require" ? "Require" : "Disable"}`)});\nawait using var command = source.CreateCommand("SELECT 1");\nConsole.WriteLine(await command.ExecuteScalarAsync());` },
  ];
}

function mysql(connection: string, values: CredentialValues, gateway: string): Line[] {
  const { hostname, port, username, password = "", database_name = "" } = values;
  const url = values.connection_string ?? "";
  const jdbc = `jdbc:mysql://${hostname}:${port}/${encodeURIComponent(database_name)}` +
    `?user=${encodeURIComponent(username)}&password=${encodeURIComponent(password)}`;
  return [
    { name: "mysql", group: "Clients", text: `MYSQL_PWD=${shell(password)} mysql --host=${shell(hostname)} --port=${port} --protocol=TCP --user=${shell(username)}${database_name ? ` ${shell(database_name)}` : ""}` },
    gatehouse(connection, gateway, ""),
    { name: "DBeaver, DataGrip", group: "Clients", text: five(values) },
    { name: "URL", group: "Addresses", text: url },
    { name: "JDBC", group: "Addresses", text: jdbc },
    { name: "Python", group: "Code", text: `import pymysql\n\nconnection = pymysql.connect(\n    host=${quoted(hostname)}, port=${port}, user=${quoted(username)},\n    password=${quoted(password)}, database=${quoted(database_name)})` },
    { name: "JavaScript", group: "Code", text: `import mysql from "mysql2/promise";\n\nconst connection = await mysql.createConnection({\n  host: ${quoted(hostname)}, port: ${port}, user: ${quoted(username)},\n  password: ${quoted(password)}, database: ${quoted(database_name)},\n});` },
    { name: "Go", group: "Code", text: `db, err := sql.Open("mysql",\n\t${quoted(`${username}:${password}@tcp(${hostname}:${port})/${database_name}`)})` },
    { name: "Java", group: "Code", text: `try (Connection connection = DriverManager.getConnection(\n        ${quoted(jdbc)})) {\n    ResultSet rows = connection.createStatement().executeQuery("SELECT 1");\n}` },
    { name: "C#", group: "Code", text: `await using var connection = new MySqlConnection(\n    ${quoted(`Server=${hostname};Port=${port};User ID=${username};Password=${password};Database=${database_name}`)});\nawait connection.OpenAsync();` },
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
