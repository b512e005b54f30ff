# SPDX-License-Identifier: MIT
"""What is on record of SSH: commands with both outputs and their end, files with what passed, shells
as they were seen, tunnels with their bytes. OpenSSH's programs and its server."""
import base64
import hashlib
import json
import os
import re
import select

import pytest

from conftest import PATIENCE, wait_for
from native import credential
from sshd import Client, Sshd, connection

KIB = 1024


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Sshd(tmp_path_factory.mktemp("sshd"))
    yield server
    server.stop()


class Place:
    def __init__(self, gateway, admin, server, folder):
        self.gateway, self.admin, self.server, self.folder = gateway, admin, server, folder

    def client(self, **members):
        name = connection(self.admin, self.server.secret(), **members)
        made = credential(self.admin, name)
        return Client(self.gateway, made, self.folder / name)

    def sessions(self, client):
        found = self.admin.get(f"/sessions?connection={client.name}&limit=100").json["data"]
        return sorted(found, key=lambda one: one["start_date"])

    def ended(self, client, count=1):
        def look():
            found = self.sessions(client)
            return found if len(found) >= count and all(one["status"] == "done" for one in found) else None
        return wait_for(look, what="the sessions' end")

    def download(self, session, kind):
        answer = self.admin.get(f"/sessions/{session['id']}/download?extension={kind}")
        assert answer.status == 200, answer
        return answer.body.decode()

    def record(self, client, count=1):
        """The lines of all sessions of a client."""
        return [json.loads(line) for session in self.ended(client, count)
                for line in self.download(session, "jsonl").splitlines()]


@pytest.fixture(scope="module")
def place(gateway, quick, server, tmp_path_factory):
    return Place(gateway, quick, server, tmp_path_factory.mktemp("clients"))


def texts(record, kind, **wanted):
    return [one.get("text") or one.get("tag") or one.get("data") or one.get("message") for one in record
            if one["type"] == kind and all(one.get(key) == value for key, value in wanted.items())]


def rows(record):
    return [dict(zip(("operation", "path", "other", "bytes", "sha256", "result"), one["values"]))
            for one in record if one["type"] == "row"]


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def test_commands(place):
    client = place.client()
    done = client.ssh("echo out; echo err >&2; exit 3")
    assert (done.returncode, done.stdout, done.stderr) == (3, b"out\n", b"err\n"), done
    done = client.ssh("cat", input=b"given")
    assert (done.returncode, done.stdout) == (0, b"given")
    done = client.ssh("kill -TERM $$")
    assert done.returncode == 255
    record = place.record(client, 3)
    assert texts(record, "statement") == ["echo out; echo err >&2; exit 3", "cat", "kill -TERM $$"]
    assert texts(record, "output", stream="stdout") == ["out\n", "given"]
    assert texts(record, "output", stream="stderr") == ["err\n"]
    assert texts(record, "output", stream="stdin") == ["given"]
    assert texts(record, "done") == ["exit code 3", "exit code 0", "ended by signal TERM"]


def test_files(place, tmp_path):
    client = place.client()
    data = os.urandom(300 * KIB + 17)
    (tmp_path / "a b").write_bytes(data)
    (tmp_path / "dir").mkdir()
    (tmp_path / "dir" / "x").write_bytes(b"small")
    remote = tmp_path / "remote"
    remote.mkdir()
    batch = tmp_path / "batch"
    batch.write_text(f"""put "{tmp_path}/a b" {remote}/up
get {remote}/up {tmp_path}/down
mkdir {remote}/new
rename {remote}/up {remote}/new/up
symlink new {remote}/link
chmod 600 {remote}/new/up
ls {remote}
-get {remote}/absent {tmp_path}/absent
rm {remote}/new/up
rm {remote}/link
rmdir {remote}/new
""")
    client.run("sftp", *client.options("-P"), "-o", "BatchMode=no", "-b", str(batch), client.at())
    assert (tmp_path / "down").read_bytes() == data
    found = rows(place.record(client))
    told = {(one["operation"], one["path"], one["result"]): one for one in found}
    up = told["sftp written", f"{remote}/up", "ok"]
    down = told["sftp read", f"{remote}/up", "ok"]
    assert up["bytes"] == down["bytes"] == str(len(data)) and up["sha256"] == down["sha256"] == sha256(data)
    for operation, path in (("mkdir", "new"), ("rename", "up"), ("symlink", "link"), ("setstat", "new/up"),
                            ("remove", "new/up"), ("remove", "link"), ("rmdir", "new")):
        wanted = "new" if operation == "symlink" else f"{remote}/{path}"
        assert (f"sftp {operation}", wanted, "ok") in told, (operation, sorted(told))
    assert told["sftp rename", f"{remote}/up", "ok"]["other"] == f"{remote}/new/up"
    assert any(path == f"{remote}/absent" and result == "no such file" for _, path, result in told)


@pytest.mark.parametrize("form", ["-O", "-s"])
def test_copies(place, tmp_path, form):
    client = place.client()
    data = os.urandom(200 * KIB + 3)
    (tmp_path / "up").write_bytes(data)
    (tmp_path / "dir" / "in").mkdir(parents=True)
    (tmp_path / "dir" / "in" / "x").write_bytes(b"small")
    scp = ["scp", form, *client.options("-P")]
    client.run(*scp, str(tmp_path / "up"), f"{client.at()}:{tmp_path}/there")
    client.run(*scp, "-r", str(tmp_path / "dir"), f"{client.at()}:{tmp_path}/tree")
    client.run(*scp, f"{client.at()}:{tmp_path}/there", str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == data
    assert (tmp_path / "tree" / "in" / "x").read_bytes() == b"small"
    found = rows(place.record(client, 3))
    write, read = ("scp write", "scp read") if form == "-O" else ("sftp written", "sftp read")
    hashes = {(one["operation"], one["sha256"]): one for one in found if one["sha256"]}
    assert hashes[write, sha256(data)]["bytes"] == str(len(data)), found
    assert hashes[read, sha256(data)]["result"] == "ok"
    assert hashes[write, sha256(b"small")]["path"].endswith("in/x")


def typing(client, *parts):
    """Somebody at a terminal, who types each text once what is before it was shown."""
    pid, terminal = os.forkpty()
    if pid == 0:
        command = client.command(options=["-tt"])
        os.execvpe(command[0], command, client.env)
    shown = b""

    def read():
        assert select.select([terminal], [], [], 4 * PATIENCE)[0], shown
        return os.read(terminal, 4096)

    try:
        for wait, text in parts:
            while wait not in shown:
                shown += read()
            shown = shown[shown.index(wait) + len(wait):]
            os.write(terminal, text)
        while True:
            shown += read()
    except OSError:  # it is gone
        pass
    finally:
        os.close(terminal)  # which hangs up, whatever it waits for
        _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), shown


def test_terminals(place):
    client = place.client()
    prompt = b"$ " if os.geteuid() else b"# "
    code, _ = typing(client, (prompt, b"PS1='>''> '\r"), (b">> ", b"echo mar''ker\r"), (b"marker", b""),
                     (b">> ", b"stty -echo; echo pass''word; read secret; stty echo; "
                              b"echo 'go''t' ${#secret}\r"), (b"password", b"hunter2\r"),
                     (b"got 7", b""), (b">> ", b"exit 5\r"))
    assert code == 5
    session = place.ended(client)[0]
    head, *events = [json.loads(line) for line in place.download(session, "cast").splitlines()]
    typed = "".join(text for _, kind, text in events if kind == "i")
    shown = "".join(text for _, kind, text in events if kind == "o")
    assert head["version"] == 2 and head["width"] > 0
    assert "echo mar''ker\r" in typed and "exit 5\r" in typed and "marker" in shown, events
    assert "hunter2" not in typed + shown and any(kind == "m" and "typed" in text for _, kind, text in events)
    for kind in ("jsonl", "txt", "csv"):
        assert "hunter2" not in place.download(session, kind)


def test_much_output_is_counted(place):
    client = place.client()
    done = client.ssh("head -c 3000000 /dev/zero | tr '\\0' x; exit 0")
    assert len(done.stdout) == 3000000
    record = place.record(client)
    assert sum(len(text) for text in texts(record, "output", stream="stdout")) == 3000000


def test_who_leaves_and_who_is_killed(place):
    client = place.client()
    process = client.start("echo ready; sleep 1000")
    assert process.stdout.readline() == b"ready\n"
    session = place.sessions(client)[0]
    answer = place.admin.post(f"/sessions/{session['id']}/kill")
    assert answer.status in (200, 204), answer
    assert process.wait(PATIENCE) != 0
    record = place.record(client)
    assert texts(record, "statement") == ["echo ready; sleep 1000"]
    assert texts(record, "output", stream="stdout") == ["ready\n"]
    assert texts(record, "done") == ["the session ended"], record


def test_several_at_once(place, tmp_path):
    client = place.client()
    path = tmp_path / "socket"
    master = ["-o", f"ControlPath={path}"]
    process = client.start(options=["-M", "-N", *master])
    wait_for(lambda: path.exists() or None, what="the shared connection")
    others = [client.start(f"echo {n}; sleep 0.2; echo {n} >&2; exit {n}", options=master) for n in range(8)]
    for n, other in enumerate(others):
        out, err = other.communicate(timeout=4 * PATIENCE)
        assert (other.returncode, out, err) == (n, b"%d\n" % n, b"%d\n" % n)
    process.terminate()
    process.wait(PATIENCE)
    record = place.record(client)
    assert len(texts(record, "statement")) == 8
    ends = {one["statement"]: one["tag"] for one in record if one["type"] == "done"}
    said = {one["statement"]: one["data"] for one in record if one.get("stream") == "stdout"}
    assert {number: f"exit code {text.strip()}" for number, text in said.items()} == ends and len(ends) == 8


def test_the_stream_has_statements(place):
    client = place.client()
    client.ssh("echo one", check=True)
    session = place.ended(client)[0]
    stream = place.admin.get(f"/sessions/{session['id']}?expand=event_stream").json
    shown = b"".join(base64.b64decode(text) for _, _, text in stream["event_stream"])
    assert shown == b"echo one\none\nexit code 0\n", stream
    assert re.search(r"echo one\n.*stdout: one", place.download(session, "txt"), re.S)
