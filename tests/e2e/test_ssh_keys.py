# SPDX-License-Identifier: MIT
"""People's public keys: how they are kept, who signs in with them by real clients, who does not, and
what ends their sessions."""
import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from api import login, unique
from conftest import PATIENCE, Gateway, wait_for
from native import credential
from sshd import Client, Sshd, connection, fingerprint, ssh_port, text_of

KINDS = {"ed25519": ("ed25519", None), "ecdsa256": ("ecdsa", "256"), "ecdsa384": ("ecdsa", "384"),
         "ecdsa521": ("ecdsa", "521"), "rsa2048": ("rsa", "2048"), "rsa3072": ("rsa", "3072")}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("ssh-keys"), "--shutdown-seconds", "1")
    yield gateway
    assert gateway.is_alive(), gateway.text()
    assert gateway.stop() == 0, gateway.text()


@pytest.fixture(scope="module")
def admin(gateway):
    return gateway.admin


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Sshd(tmp_path_factory.mktemp("sshd"))
    yield server
    server.stop()


@pytest.fixture(scope="module")
def name(admin, server):
    return connection(admin, server.secret())


def make_key(folder, kind="ed25519", bits=None, comment="somebody@somewhere"):
    path = os.path.join(str(folder), unique(kind))
    subprocess.run(["ssh-keygen", "-q", "-t", kind, *(["-b", bits] if bits else []), "-N", "", "-C", comment,
                    "-f", path], check=True, stdin=subprocess.DEVNULL)
    return path


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    """A pair of each kind."""
    folder = tmp_path_factory.mktemp("keys")
    return {kind: make_key(folder, *how) for kind, how in KINDS.items()}


class Person:
    def __init__(self, gateway, admin, groups=()):
        self.email = f"{unique('p')}@example.com"
        answer = admin.post("/users", {"name": "p", "email": self.email, "password": "a long password",
                                       "groups": list(groups)})
        assert answer.status == 201, answer
        self.id = answer.json["id"]
        self.api = login(gateway, self.email, "a long password")

    def add(self, path, **body):
        answer = self.api.post("/users/me/ssh-keys", {"public_key": text_of(path + ".pub"), **body})
        assert answer.status == 201, answer
        return answer.json


@pytest.fixture(scope="module")
def person(gateway, admin, keys):
    person = Person(gateway, admin)
    person.keys = {kind: person.add(path) for kind, path in keys.items()}
    return person


class KeyClient(Client):
    """OpenSSH with a private key alone. The user's name is in its file: from the command line it takes no ';'."""

    def __init__(self, gateway, name, key, folder):
        super().__init__(gateway, {"connection_name": name, "connection_credentials": {"password": ""}}, folder)
        self.key = key
        self.config = os.path.join(self.folder, "config")
        with open(self.config, "w", encoding="ascii") as file:
            file.write(f'User "{name}"\n')

    def at(self):
        return "127.0.0.1"

    def options(self, port="-p"):
        return ["-F", self.config, port, self.port, "-o", f"UserKnownHostsFile={self.known_hosts}",
                "-o", "StrictHostKeyChecking=accept-new", "-o", "LogLevel=ERROR", "-o", "BatchMode=yes",
                "-o", "PreferredAuthentications=publickey", "-o", "IdentitiesOnly=yes", "-i", self.key]

    def command(self, *arguments, options=()):
        return ["ssh", *options, *self.options(), self.at(), *arguments]


def allow(admin, name, *groups):
    for group in groups:
        admin.post("/users/groups", {"name": group})  # it may be there
    answer = admin.put(f"/connections/{name}/access", {"groups": list(groups)})
    assert answer.status == 200, answer


# How they are kept ------------------------------------------------------------------------------------


def test_keys_are_listed_and_deleted(gateway, admin, tmp_path):
    person = Person(gateway, admin)
    path = make_key(tmp_path, comment="laptop of p")
    made = person.add(path)
    assert made["name"] == made["comment"] == "laptop of p"
    assert made["fingerprint"] == fingerprint(path + ".pub")
    assert (made["type"], made["bits"], made["last_used_at"]) == ("ssh-ed25519", 256, None)
    assert made["public_key"] == " ".join(text_of(path + ".pub").split()[:2])
    named = person.add(make_key(tmp_path, "rsa", "3072"), name="the old one")
    assert (named["name"], named["bits"], named["type"]) == ("the old one", 3072, "ssh-rsa")
    assert [row["id"] for row in person.api.get("/users/me/ssh-keys").json] == [made["id"], named["id"]]
    for who in (person.email, person.id):
        assert [row["id"] for row in admin.get(f"/users/{who}/ssh-keys").json] == [made["id"], named["id"]]
    assert person.api.get(f"/users/{person.id}/ssh-keys").status == 403
    assert person.api.delete(f"/users/{person.id}/ssh-keys/{made['id']}").status == 403
    assert admin.delete(f"/users/me/ssh-keys/{made['id']}").status == 404
    assert person.api.delete(f"/users/me/ssh-keys/{made['id']}").status == 204
    assert person.api.delete(f"/users/me/ssh-keys/{made['id']}").status == 404
    assert admin.delete(f"/users/{person.email}/ssh-keys/{named['id']}").status == 204
    assert person.api.get("/users/me/ssh-keys").json == []
    assert person.add(path)["fingerprint"] == made["fingerprint"]  # it is free again
    told = [row["action"] for row in admin.get("/audit/logs?page_size=100").json["data"]
            if (row["request_payload_redacted"] or {}).get("fingerprint") == made["fingerprint"]]
    assert told == ["create", "delete", "create"], told


def test_a_key_is_one_persons(gateway, admin, tmp_path):
    first, second = Person(gateway, admin), Person(gateway, admin)
    path = make_key(tmp_path)
    first.add(path)
    answers = [who.api.post("/users/me/ssh-keys", {"public_key": text_of(path + ".pub")})
               for who in (first, second)]
    assert [answer.status for answer in answers] == [409, 409]
    assert answers[0].json == answers[1].json and first.email not in str(answers[1].json), answers
    assert admin.delete(f"/users/{first.id}").status == 204
    second.add(path)


def test_what_is_no_key_is_refused_in_words(gateway, admin, tmp_path):
    person = Person(gateway, admin)
    good = text_of(make_key(tmp_path) + ".pub").split()[1]
    weak = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    for text, words in [(text_of(make_key(tmp_path, "rsa", "1024") + ".pub"), "at least 2048 bits"),
                        (text_of(make_key(tmp_path, "dsa") + ".pub"), "DSA"),
                        (text_of(make_key(tmp_path)), "'.pub' file"), ("", "public_key"), ("x", "not known"),
                        (f"ssh-rsa {good}", "the line says 'ssh-rsa'"), (f"ssh-ed25519 {good[:-4]}", "not whole"),
                        (f"ssh-ed25519 {good}\nssh-ed25519 {good}", "more than one line"),
                        (f'command="id" ssh-ed25519 {good}', "a line of a type"), (weak, "no point")]:
        answer = person.api.post("/users/me/ssh-keys", {"public_key": text})
        assert answer.status == 400 and words in answer.json["message"], (text, answer)
    answer = person.api.post("/users/me/ssh-keys", {"public_key": f"ssh-ed25519 {good}", "more": 1})
    assert answer.status == 400, answer


def test_a_person_has_so_many_keys(gateway, admin):
    person = Person(gateway, admin)
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ed25519

    def line():
        return ed25519.Ed25519PrivateKey.generate().public_key().public_bytes(
            serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH).decode()
    statuses = [person.api.post("/users/me/ssh-keys", {"public_key": line()}).status for _ in range(33)]
    assert statuses == [201] * 32 + [409]


def test_programs_have_no_keys(gateway, admin, tmp_path):
    from api import Api
    made = admin.post("/api-keys", {"name": unique("key"), "groups": ["admin"]})
    assert made.status == 201, made
    program = Api(gateway, made.json["key"])
    path = make_key(tmp_path)
    answer = program.post("/users/me/ssh-keys", {"public_key": text_of(path + ".pub")})
    assert answer.status == 400 and "people" in answer.json["message"], answer
    assert program.get("/users/me/ssh-keys").json == []


# Signing in -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", list(KINDS))
def test_openssh(gateway, person, name, keys, tmp_path, kind):
    done = KeyClient(gateway, name, keys[kind], tmp_path).ssh("echo by key; exit 3")
    assert (done.returncode, done.stdout) == (3, b"by key\n"), done
    [row] = [row for row in person.api.get("/users/me/ssh-keys").json if row["id"] == person.keys[kind]["id"]]
    assert row["last_used_at"] is not None


def test_what_is_on_record(gateway, admin, person, server, keys, tmp_path):
    name = connection(admin, server.secret())
    assert KeyClient(gateway, f"{name};ticket=42", keys["ed25519"], tmp_path).ssh("true").returncode == 0

    def done():
        rows = [row for row in admin.get("/sessions?limit=100").json["data"]
                if row["connection"] == name and row["status"] == "done"]
        return rows[0] if rows else None
    row = wait_for(done, what="the session")
    assert (row["user"], row["verb"], row["identity_type"]) == (person.email, "connect", "user")
    assert row["metadata"] == {"ticket": "42"}
    assert row["ssh_key"] == person.keys["ed25519"]["fingerprint"]
    entries = [row["request_payload_redacted"] for row in admin.get("/audit/logs?page_size=100").json["data"]
               if row["resource_type"] == "sessions"]
    assert [entry["ssh_key"] for entry in entries if entry["connection"] == name] == [row["ssh_key"]] * 2
    assert name not in [made["connection_name"] for made in admin.get("/connection-credentials").json]


PARAMIKO = """
import sys, paramiko
port, name, path, kind = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
more = {"disabled_algorithms": {"pubkeys": ["rsa-sha2-512", "rsa-sha2-256"]}} if kind == "sha1" else {}
key = {"ed": paramiko.Ed25519Key, "ec": paramiko.ECDSAKey}.get(kind[:2], paramiko.RSAKey).from_private_key_file(path)
transport = paramiko.Transport(("127.0.0.1", port), **more)
transport.auth_timeout = 20
transport.start_client(timeout=60)
if kind == "sha1":
    transport.server_extensions.pop("server-sig-algs", None)
try:
    transport.auth_publickey(name, key)
except paramiko.SSHException as error:
    print("refused", type(error).__name__)
    sys.exit()
channel = transport.open_session()
channel.exec_command("echo paramiko")
print(channel.recv(100).decode().strip())
transport.close()
"""


def by_paramiko(tools, gateway, name, path, kind):
    done = subprocess.run([f"{tools}/python", "-c", PARAMIKO, str(ssh_port(gateway)), name, path, kind],
                          capture_output=True, text=True, timeout=4 * PATIENCE, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()


@pytest.mark.parametrize("kind", list(KINDS))
def test_paramiko(tools, gateway, person, name, keys, kind):
    assert by_paramiko(tools, gateway, name, keys[kind], kind) == "paramiko"


def test_asyncssh(tools, gateway, person, name, keys):
    done = subprocess.run([f"{tools}/python", "-c", """
import asyncio, sys, asyncssh
async def main():
    for path in sys.argv[3:]:
        async with asyncssh.connect("127.0.0.1", int(sys.argv[1]), username=sys.argv[2], known_hosts=None,
                                    config=None, client_keys=[path]) as conn:
            print((await conn.run("echo async")).stdout.strip(), flush=True)
asyncio.run(main())
""", str(ssh_port(gateway)), name, *keys.values()], capture_output=True, text=True, timeout=4 * PATIENCE, check=False)
    assert done.returncode == 0 and done.stdout.split() == ["async"] * len(keys), done


def test_dropbear(gateway, person, admin, name, tmp_path):
    for kind, bits in [("ed25519", None), ("ecdsa", "256"), ("rsa", "2048")]:
        path = str(tmp_path / kind)
        subprocess.run(["dropbearkey", "-t", kind, *(["-s", bits] if bits else []), "-f", path], check=True,
                       capture_output=True)
        shown = subprocess.run(["dropbearkey", "-y", "-f", path], check=True, capture_output=True, text=True)
        [line] = [line for line in shown.stdout.splitlines() if line.startswith(("ssh-", "ecdsa-"))]
        answer = person.api.post("/users/me/ssh-keys", {"public_key": line})
        assert answer.status == 201, answer
        done = subprocess.run(["dbclient", "-y", "-y", "-i", path, "-p", str(ssh_port(gateway)),
                               f"{name}@127.0.0.1", "echo small; exit 5"], env={**os.environ, "HOME": str(tmp_path)},
                              capture_output=True, timeout=2 * PATIENCE, check=False, stdin=subprocess.DEVNULL)
        assert (done.returncode, done.stdout) == (5, b"small\n"), (kind, done)


def test_plink(gateway, person, name, keys, tmp_path):
    converted = str(tmp_path / "key.ppk")
    subprocess.run(["puttygen", keys["rsa3072"], "-o", converted], check=True, stdin=subprocess.DEVNULL)
    client = KeyClient(gateway, name, keys["ed25519"], tmp_path)
    scanned = subprocess.run(["ssh-keyscan", "-T", "30", "-p", client.port, "127.0.0.1"], capture_output=True,
                             text=True, check=True)
    [line] = [line for line in scanned.stdout.splitlines() if line and not line.startswith("#")]
    (tmp_path / "host.pub").write_text(line.partition(" ")[2] + "\n")
    done = subprocess.run(["plink", "-ssh", "-batch", "-hostkey", fingerprint(tmp_path / "host.pub"), "-P", client.port,
                           "-l", name, "-i", converted, "127.0.0.1", "echo putty; exit 6"], env=client.env,
                          capture_output=True, timeout=2 * PATIENCE, check=False, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout) == (6, b"putty\n"), done


# A security key whose device is a few lines: what it signs is what PROTOCOL.u2f says.
DEVICE = """
import base64, hashlib, struct, sys, paramiko
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, utils
def text(data): return struct.pack(">I", len(data)) + data
def number(value):
    data = value.to_bytes((value.bit_length() + 8) // 8, "big")
    return text(data)
kind = sys.argv[1]
if kind == "ed25519":
    name = "sk-ssh-ed25519@openssh.com"
    secret = ed25519.Ed25519PrivateKey.from_private_bytes(hashlib.sha256(sys.argv[2].encode()).digest())
    blob = text(name.encode()) + text(secret.public_key().public_bytes(
        serialization.Encoding.Raw, serialization.PublicFormat.Raw)) + text(b"ssh:")
else:
    name = "sk-ecdsa-sha2-nistp256@openssh.com"
    secret = ec.derive_private_key(int.from_bytes(hashlib.sha256(sys.argv[2].encode()).digest(), "big") >> 1,
                                   ec.SECP256R1())
    blob = text(name.encode()) + text(b"nistp256") + text(secret.public_key().public_bytes(
        serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)) + text(b"ssh:")
if len(sys.argv) == 3:
    print(name, base64.b64encode(blob).decode())
    sys.exit()
class Key(paramiko.PKey):
    public_blob = None
    def asbytes(self): return blob
    def get_name(self): return name
    @property
    def algorithm_name(self): return "SK"
    def sign_ssh_data(self, data, algorithm=None):
        application = b"ssh:" if sys.argv[5] == "right" else b"ssh:other"
        counted = b"\\x01" + struct.pack(">I", 7)
        signed = hashlib.sha256(application).digest() + counted + hashlib.sha256(data).digest()
        if kind == "ed25519":
            made = text(secret.sign(signed))
        else:
            r, s = utils.decode_dss_signature(secret.sign(signed, ec.ECDSA(hashes.SHA256())))
            made = text(number(r) + number(s))
        return paramiko.Message(text(name.encode()) + made + counted)
paramiko.Transport._preferred_pubkeys = (name,) + paramiko.Transport._preferred_pubkeys
paramiko.Transport._key_info[name] = Key
transport = paramiko.Transport(("127.0.0.1", int(sys.argv[3])))
transport.start_client(timeout=60)
transport.auth_timeout = 3
try:
    transport.auth_publickey(sys.argv[4], Key())
except paramiko.SSHException as error:
    print("refused")
    sys.exit()
channel = transport.open_session()
channel.exec_command("echo device")
print(channel.recv(100).decode().strip())
transport.close()
"""


@pytest.mark.parametrize("kind", ["ed25519", "ecdsa"])
def test_security_keys(tools, gateway, person, name, kind):
    seed = unique("seed")

    def device(*arguments):
        done = subprocess.run([f"{tools}/python", "-c", DEVICE, kind, seed, *arguments], capture_output=True,
                              text=True, timeout=4 * PATIENCE, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout.strip()
    assert device(str(ssh_port(gateway)), name, "right") == "refused"
    answer = person.api.post("/users/me/ssh-keys", {"public_key": device()})
    assert answer.status == 201, answer
    assert device(str(ssh_port(gateway)), name, "right") == "device"
    assert device(str(ssh_port(gateway)), name, "wrong") == "refused"


def test_a_signature_with_sha1_is_refused(tools, gateway, person, name, keys):
    """The client hears it, and does not wait."""
    started = time.monotonic()
    told = by_paramiko(tools, gateway, name, keys["rsa2048"], "sha1")
    assert told.startswith("refused"), told
    done = subprocess.run(["ssh", *KeyClient(gateway, name, keys["rsa2048"], os.path.dirname(keys["rsa2048"])).options(),
                           "-o", "PubkeyAcceptedAlgorithms=ssh-rsa", "127.0.0.1", "true"],
                          capture_output=True, timeout=PATIENCE, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 255 and b"Permission denied" in done.stderr, done
    assert time.monotonic() - started < 4 * PATIENCE


# Who is not let in ------------------------------------------------------------------------------------


def test_all_who_may_not_are_told_alike(gateway, admin, server, person, name, keys, tmp_path):
    unknown = make_key(tmp_path)
    away = Person(gateway, admin)
    away_key = make_key(tmp_path)
    away.add(away_key)
    user = admin.get(f"/users/{away.id}").json
    assert admin.put(f"/users/{away.id}", {"name": user["name"], "email": away.email, "status": "inactive",
                                           "groups": []}).status == 200
    closed = connection(admin, server.secret())
    closed_id = admin.get(f"/connections/{closed}").json["id"]
    allow(admin, closed, unique("group"))
    told = []
    for who, key in [(name, unknown), ("nobody-of-this-name", unknown), ("nobody-of-this-name", keys["ed25519"]),
                     (name, away_key), (closed, keys["ed25519"]), (closed_id, keys["ed25519"])]:
        done = KeyClient(gateway, who, key, tmp_path / unique("c")).ssh("id", options=("-v",))
        assert done.returncode == 255 and b"uid" not in done.stdout, (who, done)
        lines = done.stderr.decode().splitlines()
        assert any("Server accepts key" in line for line in lines), lines  # each that could be somebody's
        told.append(lines[-1].replace(f"{who}@", ""))
    assert len(set(told)) == 1, told


def test_a_key_that_signs_nothing_lets_nobody_in(tools, gateway, person, name, keys):
    """A signature of another session's, or of another name."""
    done = subprocess.run([f"{tools}/python", "-c", """
import sys, paramiko
port, name, path = int(sys.argv[1]), sys.argv[2], sys.argv[3]
class Key(paramiko.Ed25519Key):
    def sign_ssh_data(self, data, algorithm=None):
        other = bytearray(data)
        other[10] ^= 1
        return super().sign_ssh_data(bytes(other), algorithm)
transport = paramiko.Transport(("127.0.0.1", port))
transport.start_client(timeout=60)
transport.auth_timeout = 3
try:
    transport.auth_publickey(name, Key.from_private_key_file(path))
except paramiko.SSHException as error:
    print("refused")
transport.close()
""", str(ssh_port(gateway)), name, keys["ed25519"]], capture_output=True, text=True, timeout=2 * PATIENCE, check=False)
    assert done.stdout == "refused\n", done


def test_what_the_person_can_mend_is_said(gateway, admin, server, person, keys, tmp_path):
    off = connection(admin, server.secret(), access_mode_connect="disabled")
    asked = connection(admin, server.secret(), mandatory_metadata_fields=["ticket"])
    for name, words in [(off, b"turned off"), (asked, b"ticket")]:
        done = KeyClient(gateway, name, keys["ed25519"], tmp_path / name).ssh("true")
        assert done.returncode == 255 and words in done.stderr, done
    done = KeyClient(gateway, f"{asked};ticket=7", keys["ed25519"], tmp_path / "again").ssh("echo in")
    assert done.stdout == b"in\n", done


def test_many_keys_and_a_password_behind_them(gateway, admin, person, name, keys, tmp_path):
    """A client tries what it has; what it has too much of is stopped."""
    others = [make_key(tmp_path) for _ in range(20)]
    made = credential(person.api, name)

    def come(some):
        client = Client(gateway, made, tmp_path / unique("c"))
        return subprocess.run(["sshpass", "-e", "ssh", "-o", "IdentitiesOnly=yes",
                               "-o", "PreferredAuthentications=publickey,password", *client.options(),
                               *[word for key in some for word in ("-i", key)], client.at(), "echo in"],
                              env=client.env, capture_output=True, timeout=2 * PATIENCE, check=False,
                              stdin=subprocess.DEVNULL)
    assert come(others[:10]).stdout == b"in\n"
    assert come(others[:10] + [keys["ed25519"]]).stdout == b"in\n"
    done = come(others)
    assert done.returncode == 255 and not done.stdout, done


# The end ----------------------------------------------------------------------------------------------


def test_what_ends_access_ends_sessions(gateway, admin, server, tmp_path):
    def case(change):
        group = unique("group")
        person = Person(gateway, admin, [group])
        name = connection(admin, server.secret())
        allow(admin, name, group)
        path = make_key(tmp_path)
        made = person.add(path)
        client = KeyClient(gateway, name, path, tmp_path / unique("c"))
        staying = client.start("echo on; exec sleep 1000")
        assert staying.stdout.readline() == b"on\n", staying.stderr.read()
        other = KeyClient(gateway, name, path, tmp_path / unique("c")).ssh("echo beside")
        assert other.stdout == b"beside\n", other
        assert staying.poll() is None
        answer = change(person, made)
        assert answer.status in (200, 204), answer
        assert staying.wait(PATIENCE) == 255
        staying.communicate()
        assert client.ssh("true").returncode == 255
        return True

    def changed(person, **members):
        user = admin.get(f"/users/{person.id}").json
        return admin.put(f"/users/{person.id}", {"name": user["name"], "email": person.email, "status": "active",
                                                 "groups": user["groups"], **members})
    changes = [lambda person, made: person.api.delete(f"/users/me/ssh-keys/{made['id']}"),
               lambda person, made: admin.delete(f"/users/{person.id}/ssh-keys/{made['id']}"),
               lambda person, made: changed(person, groups=[]),
               lambda person, made: changed(person, status="inactive"),
               lambda person, made: admin.delete(f"/users/{person.id}")]
    with ThreadPoolExecutor(len(changes)) as pool:
        assert all(pool.map(case, changes))
