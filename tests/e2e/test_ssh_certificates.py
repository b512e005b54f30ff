# SPDX-License-Identifier: MIT
"""Certificates of SSH: those that the gateway signs for people, those of authorities that an organization
trusts, and those by which the gateway comes to servers that have no key of it."""
import base64
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from api import Api, unique
from command_line import Person as Commands
from conftest import BINARY, PATIENCE, Gateway, wait_for
from sshd import Sshd, connection, fingerprint, ssh_port, text_of
from test_ssh_keys import KINDS, KeyClient, Person, allow, make_key


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("ssh-certificates"), "--shutdown-seconds", "1")
    yield gateway
    assert gateway.is_alive(), gateway.text()
    assert gateway.stop() == 0, gateway.text()


@pytest.fixture(scope="module")
def admin(gateway):
    return gateway.admin


@pytest.fixture(scope="module")
def server(admin, tmp_path_factory):
    """It knows no key: whoever comes has a certificate of the gateway's."""
    folder = tmp_path_factory.mktemp("sshd")
    trusted = folder / "trusted"
    trusted.write_text(admin.get("/ssh").json["targets_key"] + "\n")
    server = Sshd(folder / "server", f"TrustedUserCAKeys {trusted}", "AuthorizedKeysFile none", "LogLevel VERBOSE")
    yield server
    server.stop()


@pytest.fixture(scope="module")
def name(admin, server):
    return connection(admin, server.secret(PRIVATE_KEY=None))


@pytest.fixture(scope="module")
def person(gateway, admin):
    return Person(gateway, admin)


@pytest.fixture(scope="module")
def authority(admin, tmp_path_factory):
    """Somebody else's, which the organization trusts."""
    path = make_key(tmp_path_factory.mktemp("authority"), comment="")
    answer = admin.post("/ssh/authorities", {"name": "of the house", "public_key": text_of(path + ".pub")})
    assert answer.status == 201, answer
    assert answer.json["fingerprint"] == fingerprint(path + ".pub")
    return path


def ask(who, path, names, **more):
    return who.post("/ssh/certificates", {"public_key": text_of(path + ".pub"), "connections": names, **more})


def own(person, path, *names, **more):
    answer = ask(person.api, path, list(names), **more)
    assert answer.status == 201, answer
    with open(path + "-cert.pub", "w", encoding="ascii") as file:
        file.write(answer.json["certificate"] + "\n")
    return answer.json


def foreign(authority, path, principals, *more, kind=()):
    subprocess.run(["ssh-keygen", "-q", "-s", authority, "-I", "of the house", *kind,
                    *(["-n", principals] if principals else []), *more, path + ".pub"],
                   check=True, stdin=subprocess.DEVNULL, capture_output=True)
    return path


def come(gateway, name, path, folder, *command, options=()):
    return KeyClient(gateway, name, path, folder / unique("c")).ssh(*(command or ("echo in",)), options=options)


# OpenSSH's client shows nobody a certificate that it would not take itself.
SHOW = """
import sys, paramiko
transport = paramiko.Transport(("127.0.0.1", int(sys.argv[1])))
transport.auth_timeout = 20
transport.start_client(timeout=60)
key = paramiko.Ed25519Key.from_private_key_file(sys.argv[3])
key.load_certificate(sys.argv[3] + "-cert.pub")
try:
    transport.auth_publickey(sys.argv[2], key)
    print("in")
except paramiko.SSHException as error:
    print("refused")
transport.close()
"""


def show(tools, gateway, name, path):
    done = subprocess.run([f"{tools}/python", "-c", SHOW, str(ssh_port(gateway)), name, path], capture_output=True,
                          text=True, timeout=4 * PATIENCE, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()


# The gateway's own -----------------------------------------------------------------------------------


def test_one_that_the_gateway_signs(gateway, admin, person, name, tmp_path):
    path = make_key(tmp_path)
    before = come(gateway, name, path, tmp_path)
    assert before.returncode == 255 and b"Permission denied" in before.stderr
    made = own(person, path, name, duration_seconds=120, source_address="127.0.0.0/8,10.0.0.0/8")
    shown = subprocess.run(["ssh-keygen", "-L", "-f", path + "-cert.pub"], check=True, capture_output=True,
                           text=True).stdout
    assert f'Key ID: "{person.email} {person.id}"' in shown and f"Serial: {made['serial']}" in shown
    assert "source-address 127.0.0.0/8,10.0.0.0/8" in shown and f"\n                {name}\n" in shown
    assert admin.get("/ssh").json["people_fingerprint"] in shown
    done = come(gateway, name, path, tmp_path)
    assert done.stdout == b"in\n", done
    terminal = come(gateway, name, path, tmp_path, "tty", options=("-tt",))
    assert b"/dev/pts/" in terminal.stdout, terminal

    def session():
        rows = [row for row in admin.get("/sessions?limit=100").json["data"]
                if row["connection"] == name and row["status"] == "done"]
        return rows[0] if len(rows) >= 2 else None
    row = wait_for(session, what="the sessions")
    assert (row["user"], row["ssh_key"]) == (person.email, fingerprint(path + ".pub"))
    entries = [row["request_payload_redacted"] for row in admin.get("/audit/logs?page_size=100").json["data"]
               if row["resource_type"] == "ssh_certificates" and row["action"] == "create"]
    assert [(entry["serial"], entry["connections"]) for entry in entries] == [(made["serial"], [name])]


def test_what_is_not_signed(gateway, admin, person, name, tmp_path):
    path = make_key(tmp_path)
    closed = connection(admin, {})
    allow(admin, closed, unique("group"))
    assert ask(person.api, path, []).status == 400
    assert ask(person.api, path, ["nobody-of-this-name"]).status == 404
    assert ask(person.api, path, [name, closed]).status == 404
    assert ask(person.api, path, [name], duration_seconds=59).status == 400
    assert ask(person.api, path, [name], duration_seconds=86401).status == 400
    assert ask(person.api, path, [name], source_address="here").status == 400
    assert person.api.post("/ssh/certificates", {"public_key": "ssh-rsa AAAA", "connections": [name]}).status == 400
    program = admin.key("admin")
    assert ask(program, path, [name]).status == 400
    assert person.api.get("/ssh/authorities").status == 403
    assert person.api.post("/ssh/authorities", {"name": "x", "public_key": text_of(path + ".pub")}).status == 403
    assert person.api.get("/ssh").status == 200


def test_who_is_not_let_in_by_it(tools, gateway, admin, server, person, name, tmp_path):
    other = connection(admin, server.secret(PRIVATE_KEY=None))
    path = make_key(tmp_path)
    own(person, path, name)
    told = [come(gateway, other, path, tmp_path)]
    away = make_key(tmp_path)
    own(person, away, name, source_address="10.0.0.0/8")
    told.append(come(gateway, name, away, tmp_path))
    changed = make_key(tmp_path)
    line = own(person, changed, name)["certificate"].split()
    assert show(tools, gateway, name, changed) == "in"
    body = bytearray(base64.b64decode(line[1]))
    place = bytes(body).index(name.encode())
    body[place + len(name) - 1] ^= 1
    with open(changed + "-cert.pub", "w", encoding="ascii") as file:
        file.write(f"{line[0]} {base64.b64encode(bytes(body)).decode()}\n")
    assert show(tools, gateway, name, changed) == "refused"
    gone = Person(gateway, admin)
    theirs = make_key(tmp_path)
    own(gone, theirs, name)
    assert come(gateway, name, theirs, tmp_path).stdout == b"in\n"
    user = admin.get(f"/users/{gone.id}").json
    assert admin.put(f"/users/{gone.id}", {"name": user["name"], "email": gone.email, "status": "inactive",
                                           "groups": []}).status == 200
    told.append(come(gateway, name, theirs, tmp_path))
    for done in told:
        assert done.returncode == 255 and not done.stdout and b"Permission denied" in done.stderr, done
    text = gateway.text()
    for why in ("it is for other connections", "it is not good from this address", "its signature is wrong"):
        assert why in text, why


def test_of_another_organization(gateway, admin, server, person, name, authority, tmp_path):
    """What one organization signs, or trusts, opens nothing of another."""
    place, email = unique("org"), f"{unique('root')}@example.com"
    done = subprocess.run([BINARY, "org", "create", place, email, "--data-dir", gateway.data], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done
    password = re.search(rf"{re.escape(email)} has the password (\S+)", done.stdout).group(1)
    other = Api(gateway, Api(gateway).post("/localauth/login", {"email": email, "password": password,
                                                                "organization": place}).headers["Token"])
    there = connection(other, server.secret(PRIVATE_KEY=None))
    path = make_key(tmp_path)
    answer = ask(other, path, [there])
    assert answer.status == 201, answer
    assert other.get("/ssh").json["people_key"] != admin.get("/ssh").json["people_key"]
    with open(path + "-cert.pub", "w", encoding="ascii") as file:
        file.write(answer.json["certificate"] + "\n")
    refused = come(gateway, there, path, tmp_path)  # its server trusts the first organization's alone
    assert refused.returncode == 255 and b"does not let the connection's user in" in refused.stderr, refused
    assert come(gateway, name, path, tmp_path).returncode == 255
    stranger = foreign(authority, make_key(tmp_path), other.get("/userinfo").json["email"])
    assert come(gateway, there, stranger, tmp_path).returncode == 255


def test_from_the_command_line(gateway, admin, person, name, tmp_path):
    me = Commands(tmp_path / "me", person.api)
    path = make_key(tmp_path, comment="laptop")
    made = me.json("ssh-keys", "add", path, "the new one")
    assert made["fingerprint"] == fingerprint(path + ".pub")
    assert "the new one" in me.run("ssh-keys", "list")
    assert come(gateway, name, path, tmp_path).stdout == b"in\n"
    assert "removed" in me.run("ssh-keys", "remove", made["id"])
    assert me.json("ssh-keys", "list") == []
    assert come(gateway, name, path, tmp_path).returncode == 255
    signed = me.json("ssh-keys", "sign", path + ".pub", name, "--duration", "2m")
    assert signed["file"] == path + "-cert.pub"
    assert come(gateway, name, path, tmp_path).stdout == b"in\n"
    own_keys = me.json("ssh-keys", "gateway")
    assert own_keys["host_key"].split()[1] in own_keys["known_hosts"]
    assert "no-such-file.pub" in me.refused(2, "ssh-keys", "add", "no-such-file")


# Of authorities that are trusted ---------------------------------------------------------------------


def test_of_an_authority(tools, gateway, admin, person, name, authority, tmp_path):
    good = foreign(authority, make_key(tmp_path), f"root,{person.email}", "-V", "-5m:+5m",
                   "-O", "source-address=127.0.0.1/32")
    assert come(gateway, name, good, tmp_path).stdout == b"in\n"
    quiet = foreign(authority, make_key(tmp_path), person.email, "-O", "clear")
    assert come(gateway, name, quiet, tmp_path).stdout == b"in\n"
    shell = come(gateway, name, quiet, tmp_path, "tty", options=("-tt",))
    assert b"/dev/pts/" not in shell.stdout, shell
    admins = admin.get("/userinfo").json["email"]
    cases = {
        "it is not good any more": ("-V", "-2h:-1h"),
        "it is not good yet": ("-V", "+1h:+2h"),
        "it is not good from this address": ("-O", "source-address=10.1.2.3/32"),
        "its critical option 'force-command' is not known": ("-O", "force-command=id"),
        "its critical option 'new@example.com' is not known": ("-O", "critical:new@example.com=x"),
    }
    bad = {why: foreign(authority, make_key(tmp_path), person.email, *more) for why, more in cases.items()}
    host = foreign(authority, make_key(tmp_path), person.email, kind=("-h",))
    assert show(tools, gateway, name, host) == "refused" and "it is not a person's" in gateway.text()
    bad["it names nobody"] = foreign(authority, make_key(tmp_path), None)
    bad["it names nobody "] = foreign(authority, make_key(tmp_path), "nobody@example.com")
    bad["it names nobody  "] = foreign(authority, make_key(tmp_path), f"{person.email},{admins}")
    bad["nobody trusts who signed it"] = foreign(make_key(tmp_path), make_key(tmp_path), person.email)
    with ThreadPoolExecutor(4) as pool:
        told = dict(zip(bad, pool.map(lambda path: come(gateway, name, path, tmp_path), bad.values())))
    text = gateway.text()
    for why, done in told.items():
        assert done.returncode == 255 and not done.stdout, (why, done)
        assert why.strip() in text, why


@pytest.mark.parametrize("kind", list(KINDS))
def test_each_kind_signs_and_is_signed(gateway, admin, person, name, kind, tmp_path):
    signer = make_key(tmp_path, *KINDS[kind])
    answer = admin.post("/ssh/authorities", {"name": kind, "public_key": text_of(signer + ".pub")})
    assert answer.status == 201, answer
    assert come(gateway, name, foreign(signer, make_key(tmp_path, *KINDS[kind]), person.email),
                tmp_path).stdout == b"in\n"
    path = make_key(tmp_path, *KINDS[kind])
    own(person, path, name)
    assert come(gateway, name, path, tmp_path).stdout == b"in\n"
    if kind.startswith("rsa"):
        old = foreign(signer, make_key(tmp_path), person.email, "-t", "ssh-rsa")
        assert come(gateway, name, old, tmp_path).returncode == 255  # signed with SHA-1
    assert admin.delete(f"/ssh/authorities/{answer.json['id']}").status == 204


def test_the_end_of_an_authority_ends_sessions(gateway, admin, person, name, tmp_path):
    signer = make_key(tmp_path)
    body = {"name": "for a while", "public_key": text_of(signer + ".pub")}
    made = admin.post("/ssh/authorities", body).json
    assert admin.post("/ssh/authorities", body).status == 409
    assert made["id"] in [row["id"] for row in admin.get("/ssh/authorities").json]
    path = foreign(signer, make_key(tmp_path), person.email)
    staying = KeyClient(gateway, name, path, tmp_path / "stay").start("echo on; exec sleep 1000")
    assert staying.stdout.readline() == b"on\n", staying.stderr.read()
    assert admin.delete(f"/ssh/authorities/{made['id']}").status == 204
    assert staying.wait(PATIENCE) == 255
    staying.communicate()
    assert come(gateway, name, path, tmp_path).returncode == 255
    assert admin.delete(f"/ssh/authorities/{made['id']}").status == 404


# At the target ---------------------------------------------------------------------------------------


def test_a_server_without_a_key_of_ours(gateway, admin, server, person, name, tmp_path):
    path = make_key(tmp_path)
    own(person, path, name)
    assert come(gateway, name, path, tmp_path).stdout == b"in\n"
    log = text_of(server.log)
    assert f"gatehouse {person.email} {name} " in log, log[-3000:]
    assert admin.get(f"/connections/{name}/test").json["success"] is True
    stranger = connection(admin, server.secret(PRIVATE_KEY=None, USER="nobody-of-this-name"))
    told = admin.get(f"/connections/{stranger}/test")
    assert "TrustedUserCAKeys" in str(told.json), told
    several = connection(admin, server.secret(PRIVATE_KEY=None, USER="nobody-of-this-name", LOGINS=server.user))
    own(person, path, several)
    assert come(gateway, f"{several}+{server.user}", path, tmp_path).stdout == b"in\n"
    own(person, path, name)
    tunnel = come(gateway, name, path, tmp_path, options=("-W", f"127.0.0.1:{server.port}"))
    assert b"SSH-2.0" not in tunnel.stdout, tunnel


def test_a_certificate_of_somebody_else_for_the_target(admin, server, authority, tmp_path):
    """Who has a key with a certificate of an own authority's gives both."""
    path = make_key(tmp_path)
    foreign(authority, path, server.user)
    good = connection(admin, server.secret(PRIVATE_KEY=text_of(path), CERTIFICATE=text_of(path + "-cert.pub")))
    told = str(admin.get(f"/connections/{good}/test").json)
    assert "TrustedUserCAKeys" in told, told  # it is shown, and this server does not trust it
    wrong = connection(admin, server.secret(PRIVATE_KEY=text_of(make_key(tmp_path)),
                                            CERTIFICATE=text_of(path + "-cert.pub")))
    told = str(admin.get(f"/connections/{wrong}/test").json)
    assert "CERTIFICATE" in told, told
