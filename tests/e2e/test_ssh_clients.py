# SPDX-License-Identifier: MIT
"""Libraries and programs that speak SSH otherwise than OpenSSH, through the gateway, and what an audit
of the gateway's algorithms says. OpenSSH, Dropbear, PuTTY's plink, paramiko and asyncssh: test_ssh.py."""
import json
import os
import subprocess

import pytest

from conftest import PATIENCE, ROOT
from installed import made, maven_jar, node_packages, run
from native import credential
from sshd import Client, Sshd, connection

SOURCE = os.path.join(ROOT, "tests/e2e/ssh_clients")


def source(name):
    return os.path.join(SOURCE, name)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Sshd(tmp_path_factory.mktemp("sshd"))
    yield server
    server.stop()


@pytest.fixture(scope="module")
def client(gateway, quick, server, tmp_path_factory):
    given = credential(quick, connection(quick, server.secret()))
    client = Client(gateway, given, tmp_path_factory.mktemp("client"))
    line = given["connection_credentials"]["known_hosts"]
    client.key = line.split(maxsplit=1)[1]
    with open(client.known_hosts, "w", encoding="ascii") as file:
        file.write(line + "\n")
    return client


def go(client):
    def make(folder):
        run("go", "build", "-mod=readonly", "-o", os.path.join(folder, "client"), "main.go", cwd=SOURCE)
    sources = [source(name) for name in ("main.go", "go.mod", "go.sum")]
    return [os.path.join(made("ssh-clients/go", sources, make), "client"), f"127.0.0.1:{client.port}", client.name,
            client.password, client.key]


def node(client):
    client.env["NODE_FOLDER"] = node_packages("ssh-clients/node", SOURCE)
    return ["node", source("node.mjs"), client.port, client.name, client.password, client.key.split()[1]]


def jsch(client):
    jar = maven_jar("ssh-clients/jar", source("maven.txt"))

    def make(folder):
        run("javac", "-encoding", "UTF-8", "-cp", jar, "-d", folder, source("Jsch.java"))
    folder = made("ssh-clients/java", [source("Jsch.java"), source("maven.txt")], make)
    return ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", f"{folder}:{jar}", "Jsch", client.port,
            client.name, client.password, client.known_hosts]


@pytest.mark.parametrize("command", [go, node, jsch], ids=["x/crypto/ssh", "ssh2", "JSch"])
def test_a_library(client, command):
    """Commands with both outputs and their exit code, a MiB of input; a terminal, or files."""
    done = subprocess.run(command(client), env=client.env, capture_output=True, stdin=subprocess.DEVNULL,
                          timeout=4 * PATIENCE, check=False)
    assert (done.returncode, done.stdout) == (0, b"ok\n"), done


@pytest.mark.parametrize("scheme", ["sftp", "scp"])
def test_libssh2_by_curl(client, tmp_path, scheme):
    data = os.urandom(1 << 20)
    (tmp_path / "up").write_bytes(data)
    curl = ["curl", "-sS", "--user", f"{client.name}:{client.password}"]
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "known_hosts").write_text(f"[127.0.0.1]:{client.port} {client.key}\n")
    env = {**client.env, "HOME": str(tmp_path)}
    url = f"{scheme}://127.0.0.1:{client.port}{tmp_path}"
    for arguments in (["-T", str(tmp_path / "up"), f"{url}/there"], ["-o", str(tmp_path / "down"), f"{url}/there"]):
        done = subprocess.run([*curl, *arguments], env=env, capture_output=True, stdin=subprocess.DEVNULL,
                              timeout=4 * PATIENCE, check=False)
        assert done.returncode == 0, done
    assert (tmp_path / "there").read_bytes() == (tmp_path / "down").read_bytes() == data


def test_an_audit_has_no_failure(tools, client):
    """ssh-audit's own list: no algorithm of the gateway's fails, and Terrapin's attack is not possible."""
    done = subprocess.run([f"{tools}/ssh-audit", "--json", "--skip-rate-test", "-p", client.port, "127.0.0.1"],
                          capture_output=True, stdin=subprocess.DEVNULL, timeout=4 * PATIENCE, check=False)
    told = json.loads(done.stdout)
    assert {"kex", "key", "enc", "mac"} <= set(told), told
    failures = [(kind, one["algorithm"], one["notes"]["fail"]) for kind in ("kex", "key", "enc", "mac")
                for one in told[kind] if one.get("notes", {}).get("fail")]
    assert failures == [] and told["kex"] and told["enc"], failures
    assert "kex-strict-s-v00@openssh.com" in str(told), told
    assert not told.get("cves"), told["cves"]
