# SPDX-License-Identifier: MIT
"""A private MariaDB, connections to it, and what native clients need to go through them."""
import os
import pwd
import shutil
import subprocess
import tempfile

import pymysql

from api import b64, unique
from conftest import PATIENCE, lasting_port, wait_for
from installed import made, run

TARGET_PASSWORD = "only the gateway knows it"


class MariadbServer:
    """Its own folder, which is not pytest's, since those are closed to others, and its own port;
    started by the test and not as a service. Certificate and key are copied. Its temporary tables
    are in the folder, too: a server that starts removes all those that it finds in /tmp."""
    start_seconds = PATIENCE

    def __init__(self, certificate, *arguments):
        self.folder = tempfile.mkdtemp(prefix="gatehouse-mariadb-")
        self.data = os.path.join(self.folder, "data")
        self.socket = os.path.join(self.folder, "socket")
        self.port = lasting_port()
        self.user = "mysql" if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name
        self.arguments = arguments
        for path, option in zip(certificate, ("cert", "key")):
            copy = shutil.copy(path, self.folder)
            os.chmod(copy, 0o644)
            self.arguments += (f"--ssl-{option}={copy}",)
        if os.getuid() == 0:
            shutil.chown(self.folder, self.user)
        self.install()
        self.start()

    def places(self):
        return [f"--datadir={self.data}", f"--tmpdir={self.folder}", f"--user={self.user}"]

    def install(self):
        """A copy of a folder that is made once: to make one takes longer than most tests."""
        program = shutil.which("mariadbd", path="/usr/sbin:/usr/bin")
        folder = made(f"mariadb-data-{self.user}", [program], self.install_first)
        if not os.path.exists(self.data):
            run("cp", "-a", os.path.join(folder, "data"), self.data)

    def install_first(self, folder):
        run("mariadb-install-db", "--no-defaults", *self.places(), "--skip-test-db",
            "--auth-root-authentication-method=normal", cwd="/")
        run("cp", "-a", self.data, os.path.join(folder, "data"))

    def daemon(self):
        return ["mariadbd", "--no-defaults"]

    def start(self):
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self.process = subprocess.Popen(
                [*self.daemon(), *self.places(),
                 f"--port={self.port}", "--bind-address=127.0.0.1", f"--socket={self.socket}",
                 f"--pid-file={self.data}/pid", "--skip-name-resolve", "--max-allowed-packet=64M",
                 "--innodb-flush-log-at-trx-commit=2", "--innodb-buffer-pool-size=32M",
                 "--performance-schema=on", "--local-infile=1", *self.arguments],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd="/")
        wait_for(lambda: subprocess.run(
            ["mariadb-admin", "--no-defaults", f"--socket={self.socket}", "-uroot", "ping"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0,
            self.start_seconds, "the server")

    def stop(self, kill=False):
        (self.process.kill if kill else self.process.terminate)()
        self.process.wait(4 * PATIENCE)

    def remove(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def sql(self, text):
        done = subprocess.run(["mariadb", "--no-defaults", f"--socket={self.socket}", "-uroot", "-N"],
                              input=text, text=True, check=True, stdout=subprocess.PIPE,
                              timeout=4 * PATIENCE)
        return done.stdout.strip()


class MysqlTarget:
    """A user with a password and a database on the server; connections to it."""

    def __init__(self, server, how=None, requires=""):
        self.server = server
        self.user = unique("t").replace("-", "_")[:30]
        self.database = f"db_{self.user}"
        how = how or f"IDENTIFIED BY '{TARGET_PASSWORD}'"
        server.sql(f"CREATE DATABASE {self.database} CHARACTER SET utf8mb4; CREATE USER {self.user}@'%' {how} {requires};"
                   f"GRANT ALL ON {self.database}.* TO {self.user}@'%';")

    def secret(self, **changed):
        secret = {"HOST": "127.0.0.1", "PORT": str(self.server.port), "USER": self.user,
                  "PASS": TARGET_PASSWORD, "DB": self.database, **changed}
        return {f"envvar:{key}": b64(value) for key, value in secret.items() if value is not None}

    def connection(self, admin, secret=None, **members):
        body = {"name": unique("shop"), "type": "database", "subtype": "mysql",
                "agent_id": admin.get("/userinfo").json["org_id"], "secret": secret or self.secret(),
                "access_mode_connect": "enabled", "access_mode_exec": "enabled",
                "access_mode_runbooks": "enabled", "access_schema": "disabled", **members}
        answer = admin.post("/connections", body)
        assert answer.status == 201, answer
        return body["name"]

    def direct(self, **options):
        return pymysql.connect(host="127.0.0.1", port=self.server.port, user=self.user,
                               password=TARGET_PASSWORD, database=self.database, **options)


def mysql_address(made):
    given = made["connection_credentials"]
    return {"host": given["hostname"], "port": int(given["port"]), "user": given["username"],
            "password": given["password"]}


def connect(made, **options):
    return pymysql.connect(**{**mysql_address(made), "connect_timeout": PATIENCE, **options})


def mariadb_command(made, *arguments):
    given = mysql_address(made)
    return ["mariadb", "--no-defaults", "-h", given["host"], "-P", str(given["port"]), "-u",
            given["user"], "--default-character-set=utf8mb4", "--batch", *arguments]


def mariadb(made, text, *arguments, check=True):
    given = mysql_address(made)
    done = subprocess.run(mariadb_command(made, *arguments), input=text, text=True,
                          env={**os.environ, "MYSQL_PWD": given["password"]},
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=4 * PATIENCE)
    if check:
        assert done.returncode == 0, done.stderr
    return done
