# SPDX-License-Identifier: MIT
"""Reaches into the store of a running gateway past its API, on SQLite and on PostgreSQL."""
import os
import sqlite3
import subprocess
import uuid

from api import Api, login, unique


def literal(value, is_sqlite):
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"X'{value.hex()}'" if is_sqlite else f"'\\x{value.hex()}'"
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"


class Store:
    """store.ask("SELECT name FROM resource WHERE id = ?", id) → rows, all values as text."""

    def __init__(self, gateway):
        arguments = gateway.process.args
        self.path = os.path.join(gateway.data, "gatehouse.db")
        self.url = None
        if "--database-url" in arguments:
            self.url = arguments[arguments.index("--database-url") + 1]
        if self.url is not None and self.url.startswith("sqlite:"):
            self.path, self.url = self.url[len("sqlite:"):], None

    def ask(self, sql, *values):
        is_sqlite = self.url is None
        for value in values:
            sql = sql.replace("?", literal(value, is_sqlite), 1)
        if is_sqlite:
            conn = sqlite3.connect(self.path, timeout=10)
            try:
                rows = conn.execute(sql).fetchall()
                conn.commit()
            finally:
                conn.close()
            return [["" if value is None else str(value) for value in row] for row in rows]
        answer = subprocess.run(
            ["psql", self.url, "-q", "-v", "ON_ERROR_STOP=1", "-A", "-t", "-F", "\x1f", "-c", sql],
            check=True, capture_output=True, text=True)
        return [line.split("\x1f") for line in answer.stdout.splitlines()]

    def blob(self, sql, *values):
        """The one value of the one row, as bytes; the column is wrapped in hex()."""
        function = "hex" if self.url is None else "encode"
        rest = "" if self.url is None else ", 'hex'"
        column = sql.split(" ")[1]
        [[text]] = self.ask(sql.replace(column, f"{function}({column}{rest})", 1), *values)
        return bytes.fromhex(text)

    def add_rule(self, organization_id, kind, **columns):
        row = {"id": str(uuid.uuid4()), "organization_id": organization_id, "kind": kind,
               "name": unique(kind), "document": "{}", "created_at": 1, "updated_at": 1, **columns}
        self.ask(f"INSERT INTO rule ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
                 *row.values())
        return row["id"]

    def add_session(self, organization_id, **columns):
        row = {"id": str(uuid.uuid4()), "organization_id": organization_id,
               "connection_id": str(uuid.uuid4()), "connection_name": "db",
               "connection_type": "database", "connection_subtype": "postgres",
               "user_id": str(uuid.uuid4()), "user_email": "x@example.com", "user_name": "X",
               "identity_type": "user", "verb": "connect", "status": "open",
               "started_at": 1, **columns}
        self.ask(f"INSERT INTO session ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
                 *row.values())
        return row["id"]


def new_organization(admin):
    """The admin, an API key, of a fresh organization of the same gateway."""
    email = f"{unique('root')}@example.com"
    status, made = admin.gateway.control("POST", "/control/organizations",
                                         {"name": unique("organization"), "admin": email})
    assert status == 201, made
    person = login(admin.gateway, email, made["password"])
    key = person.post("/api-keys", {"name": "root", "groups": ["admin"]}).json["key"]
    return Api(admin.gateway, key)
