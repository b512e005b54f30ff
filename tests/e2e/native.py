# SPDX-License-Identifier: MIT
"""Connections to a real PostgreSQL server, and what native clients need to go through them."""
import os
import subprocess
import time

from api import b64, unique
from conftest import PATIENCE

TARGET_PASSWORD = "only the gateway knows it"


def psql_of(server, database="postgres"):
    """The command that reads statements for the server itself."""
    return ["psql", "-q", "-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p",
            str(server.port), "-U", "postgres", database]


def sql(server, text, database="postgres"):
    done = subprocess.run(psql_of(server, database), input=text, text=True, check=True,
                          stdout=subprocess.PIPE, timeout=4 * PATIENCE)
    return done.stdout.strip()


class Target:
    """A user with a password on the server; connections to it, and credentials for them."""

    def __init__(self, server):
        self.server = server
        self.user = unique("target").replace("-", "_")
        sql(server, f"CREATE USER {self.user} PASSWORD '{TARGET_PASSWORD}'; "
                    f"GRANT ALL ON SCHEMA public TO {self.user};")

    def secret(self, **changed):
        secret = {"HOST": "127.0.0.1", "PORT": str(self.server.port), "USER": self.user,
                  "PASS": TARGET_PASSWORD, "DB": "postgres", **changed}
        return {f"envvar:{key}": b64(value) for key, value in secret.items() if value is not None}

    def connection(self, admin, secret=None, **members):
        body = {"name": unique("shop"), "type": "database", "subtype": "postgres",
                "agent_id": admin.get("/userinfo").json["org_id"], "secret": secret or self.secret(),
                "access_mode_connect": "enabled", "access_mode_exec": "enabled",
                "access_mode_runbooks": "enabled", "access_schema": "enabled", **members}
        answer = admin.post("/connections", body)
        assert answer.status == 201, answer
        return body["name"]


class OwnDatabase(Target):
    """A target with a database of its own, where its user made what the statements make."""

    def __init__(self, server, statements):
        super().__init__(server)
        self.database = unique("own").replace("-", "_")
        sql(server, f"CREATE DATABASE {self.database} OWNER {self.user}")
        self.ask(f"SET ROLE {self.user};{statements}")

    def ask(self, statements):
        """The server's superuser's answer."""
        return sql(self.server, statements, self.database)

    def secret(self, **changed):
        return super().secret(**{"DB": self.database, **changed})


def credential(caller, name, **body):
    answer = caller.post(f"/connections/{name}/credentials", body)
    assert answer.status == 201, answer
    return answer.json


def revoke(caller, made):
    answer = caller.post(f"/connections/{made['connection_name']}/credentials/{made['id']}/revoke")
    assert answer.status in (200, 204), answer


def address(made):
    """What libpq wants of a credential."""
    given = made["connection_credentials"]
    return {"host": given["hostname"], "port": given["port"], "user": given["username"],
            "password": given["password"], "dbname": given["database_name"]}


def psql_process(made, text):
    """psql beside the test, its notices as they come."""
    url = made["connection_credentials"]["connection_string"]
    return subprocess.Popen(["psql", "-X", url, "-c", text], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def psql(made, text, *arguments, check=True, **variables):
    given = address(made)
    env = {**os.environ, "PGPASSWORD": given["password"], **variables}
    done = subprocess.run(
        ["psql", "-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", given["host"], "-p",
         given["port"], "-U", given["user"], *arguments, given["dbname"]],
        input=text, text=True, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        timeout=4 * PATIENCE, check=False)
    if check:
        assert done.returncode == 0, done.stderr
    return done


class Session:
    """A client that stays: one psql, asked line by line."""

    def __init__(self, given):
        env = {**os.environ, "PGPASSWORD": given["password"]}
        self.process = subprocess.Popen(
            ["psql", "-X", "-A", "-t", "-q", "-h", given["hostname"], "-p", given["port"], "-U",
             given["username"], given["database_name"]],
            env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT)

    def ask(self, text):
        self.process.stdin.write(text + ";\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def wait_for_end(self, seconds):
        """It is told that it ended, at the next question at the latest."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if self.ask("SELECT 'still here'") != "still here":
                    break
            except BrokenPipeError:
                break
            time.sleep(0.05)
        else:
            raise AssertionError(f"the session still answers after {seconds} s")
        self.process.kill()
        self.process.communicate()
