# SPDX-License-Identifier: MIT
"""A real OpenSSH server of a test's own, connections to it, and what clients need to get through."""
import os
import re
import shutil
import socket
import subprocess

from api import b64, unique
from conftest import PATIENCE, wait_for

SSHD = shutil.which("sshd", path="/usr/sbin:/usr/bin:/sbin:/bin")


def key_pair(folder, name, kind="ed25519", passphrase=""):
    path = os.path.join(folder, name)
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-f", path], check=True,
                   stdin=subprocess.DEVNULL)
    return path


def text_of(path):
    with open(path, encoding="ascii") as file:
        return file.read()


def fingerprint(path):
    shown = subprocess.run(["ssh-keygen", "-l", "-f", path], check=True, capture_output=True, text=True)
    return shown.stdout.split()[1]


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


class Sshd:
    """sshd on a port of its own, for the user that runs the tests, who comes in by a key alone."""

    def __init__(self, folder, *lines):
        self.folder = str(folder)
        os.makedirs(self.folder, exist_ok=True)
        self.port = free_port()
        self.host_key = key_pair(self.folder, "host")
        self.user_key = key_pair(self.folder, "user")
        self.user = subprocess.run(["id", "-un"], check=True, capture_output=True, text=True).stdout.strip()
        with open(os.path.join(self.folder, "authorized"), "w", encoding="ascii") as file:
            file.write(text_of(self.user_key + ".pub"))
        self.log = os.path.join(self.folder, "log")
        config = os.path.join(self.folder, "config")
        with open(config, "w", encoding="ascii") as file:
            file.write("\n".join([
                f"Port {self.port}", "ListenAddress 127.0.0.1", f"HostKey {self.host_key}",
                f"AuthorizedKeysFile {self.folder}/authorized", "StrictModes no", "UsePAM no",
                "PermitRootLogin yes", "PasswordAuthentication no", f"PidFile {self.folder}/pid",
                "Subsystem sftp internal-sftp", "AcceptEnv LANG LC_* GATEHOUSE_TEST_*",
                "MaxStartups 1000", "MaxSessions 100", *lines, ""]))
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
        self.config = config
        self.process = None
        self.start()

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([SSHD, "-D", "-e", "-f", self.config], stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log)

        def listens():
            assert self.process.poll() is None, text_of(self.log)
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", self.port)) == 0
        wait_for(listens, what="sshd")

    def stop(self):
        self.process.kill()
        self.process.wait(PATIENCE)

    def secret(self, **changed):
        secret = {"HOST": "127.0.0.1", "PORT": str(self.port), "USER": self.user,
                  "PRIVATE_KEY": text_of(self.user_key), "HOST_KEY": text_of(self.host_key + ".pub"),
                  **changed}
        return {f"envvar:{key}": b64(value) for key, value in secret.items() if value is not None}


def connection(admin, secret, agent_id=None, **members):
    name = unique("host")
    answer = admin.post("/connections", {
        "name": name, "type": "application", "subtype": "ssh",
        "agent_id": agent_id or admin.get("/userinfo").json["org_id"], "secret": secret,
        "access_mode_connect": "enabled", "access_mode_exec": "enabled",
        "access_mode_runbooks": "enabled", "access_schema": "disabled", **members})
    assert answer.status == 201, answer
    return name


def ssh_port(gateway):
    return int(re.search(r"ssh_port=(\d+)", gateway.text()).group(1))


class Client:
    """Real clients with one credential."""

    def __init__(self, gateway, made, folder):
        self.port = str(ssh_port(gateway))
        self.folder = str(folder)
        os.makedirs(self.folder, exist_ok=True)
        self.name = made["connection_name"]
        self.password = made["connection_credentials"]["password"]
        self.known_hosts = os.path.join(self.folder, "known_hosts")
        self.env = {**os.environ, "SSHPASS": self.password, "HOME": self.folder}

    def options(self, port="-p"):
        return ["-F", "/dev/null", port, self.port, "-o", f"UserKnownHostsFile={self.known_hosts}",
                "-o", "StrictHostKeyChecking=accept-new", "-o", "LogLevel=ERROR",
                "-o", "PreferredAuthentications=password", "-o", "NumberOfPasswordPrompts=1"]

    def at(self):
        return f"{self.name}@127.0.0.1"

    def command(self, *arguments, options=()):
        return ["sshpass", "-e", "ssh", *options, *self.options(), self.at(), *arguments]

    def ssh(self, *arguments, options=(), check=False, **more):
        done = subprocess.run(self.command(*arguments, options=options), env=self.env, capture_output=True,
                              timeout=4 * PATIENCE, check=False,
                              **({} if "input" in more else {"stdin": subprocess.DEVNULL}), **more)
        if check:
            assert done.returncode == 0, done
        return done

    def start(self, *arguments, options=(), **more):
        return subprocess.Popen(self.command(*arguments, options=options), env=self.env,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)

    def run(self, *command, **more):
        done = subprocess.run(["sshpass", "-e", *map(str, command)], env={**self.env, **more.pop("env", {})},
                              capture_output=True, timeout=4 * PATIENCE, check=False, **more)
        assert done.returncode == 0, done
        return done

    def rsh(self):
        return " ".join(["ssh", *self.options()])
