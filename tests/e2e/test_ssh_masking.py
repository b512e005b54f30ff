# SPDX-License-Identifier: MIT
"""Masking of what commands print over SSH: what the client gets and what is on record, in whatever
pieces it comes; and what is refused because it could not be masked. How lines are cut in two is in
tests/unit/protocol/ssh_masking_test.c."""
import json
import os
import subprocess

import pytest

from api import unique
from conftest import PATIENCE
from test_ssh_recording import Place, server, texts  # noqa: F401 (fixture)
from test_ssh_rules import sftp


@pytest.fixture(scope="module")
def place(gateway, quick, server, tmp_path_factory):  # noqa: F811
    return Place(gateway, quick, server, tmp_path_factory.mktemp("clients"))


def rule(**members):
    return {"name": unique("mask"), "score_threshold": 0.5, "supported_entity_types": [
        {"name": "PII", "entity_types": ["EMAIL_ADDRESS", "CREDIT_CARD"]}], **members}


def masked(place, **members):
    client = place.client()
    client.id = place.admin.get(f"/connections/{client.name}").json["id"]
    answer = place.admin.post("/datamasking-rules", rule(connection_ids=[client.id], **members))
    assert answer.status == 201, answer
    return client


def test_what_commands_print_is_masked_and_so_on_record(place):
    client = masked(place)
    done = client.ssh("echo to ann@example.com; echo no bob@example.org >&2; exit 4")
    assert (done.returncode, done.stdout, done.stderr) == (4, b"to [EMAIL_ADDRESS]\n", b"no [EMAIL_ADDRESS]\n")
    done = client.ssh("printf 'ann@exa'; sleep 0.3; printf 'mple.com, 4111 1111 '; sleep 0.3; printf '1111 1111'")
    assert done.stdout == b"[EMAIL_ADDRESS], [CREDIT_CARD]", done
    done = client.ssh("(printf 'ann@exa'; sleep 0.5; echo mple.com) & sleep 0.2; exit 6")
    assert (done.returncode, done.stdout) == (6, b"[EMAIL_ADDRESS]\n"), done  # the exit code comes between both
    done = client.ssh("cat", input=b"from input: carl@example.net\n")
    assert done.stdout == b"from input: [EMAIL_ADDRESS]\n", done
    done = client.ssh(input=b"echo shell dora@example.com\n")
    assert done.stdout == b"shell [EMAIL_ADDRESS]\n", done
    record = place.record(client, 5)
    shown = json.dumps([texts(record, "output", stream=stream) for stream in ("stdout", "stderr")])
    assert "@" not in shown and shown.count("[EMAIL_ADDRESS]") == 6, shown
    session = place.ended(client, 5)[0]
    assert "EMAIL_ADDRESS" in json.dumps(session), session


def test_much_of_it_keeps_to_the_windows(place, tmp_path):
    """Longer than it was, and slower read than written: nothing is lost, and nothing waits for ever."""
    client = masked(place)
    count = 40000
    (tmp_path / "much").write_text("".join(f"{number} a@b.co c@d.io e@f.de\n" for number in range(count)))
    with client.start(f"cat {tmp_path}/much; echo end >&2; exit 9") as process:
        process.stdin.close()
        lines = process.stdout.read().decode().splitlines()
        assert process.wait(PATIENCE) == 9 and process.stderr.read() == b"end\n"
    mail = "[EMAIL_ADDRESS]"
    assert lines == [f"{number} {mail} {mail} {mail}" for number in range(count)]
    data = os.urandom(1 << 20).replace(b"@", b"") + b"\n"
    assert client.ssh("cat", input=data).stdout == data
    done = client.ssh("head -c 300000 /dev/zero | tr '\\0' x; echo ann@example.com")
    assert done.returncode == 126 and done.stdout == b"" and b"too long to be masked" in done.stderr, \
        (done.returncode, len(done.stdout), done.stdout[-60:], done.stderr)


def test_what_could_not_be_masked_is_refused(place, tmp_path):
    client = masked(place)
    (tmp_path / "mails").write_text("ann@example.com")
    done = client.ssh(f"cat {tmp_path}/mails", options=("-tt",))
    assert done.stdout == b"" and b"PTY allocation request failed" in done.stderr, done
    assert sftp(client, f"get {tmp_path}/mails {tmp_path}/got").returncode != 0
    for form in ("-O", "-s"):
        done = subprocess.run(["sshpass", "-e", "scp", form, *client.options("-P"),
                               f"{client.at()}:{tmp_path}/mails", str(tmp_path / "got")], env=client.env,
                              capture_output=True, check=False, timeout=4 * PATIENCE)
        assert done.returncode != 0, (form, done)
    assert not (tmp_path / "got").exists() or (tmp_path / "got").read_text() == ""
    assert sftp(client, f"put {tmp_path}/mails {tmp_path}/up").returncode == 0
    assert (tmp_path / "up").read_text() == "ann@example.com"
    done = client.ssh(options=["-W", f"127.0.0.1:{place.server.port}"], input=b"x")
    assert done.returncode != 0 and b"SSH-2.0" not in done.stdout, done
    controls = place.admin.get(f"/connections/{client.name}/controls").json
    assert controls["masking"] == "enforced" and controls["shell"]["masking"] == "impossible", controls
    for columns in [{"name": "email"}], [{"name": "people.*"}]:
        answer = place.admin.post("/datamasking-rules", rule(connection_ids=[client.id], columns=columns))
        assert answer.status == 400 and "rules about columns" in answer.message, answer


def test_rules_that_come_later_hold_for_what_runs(place):
    client = place.client()
    made = place.admin.get(f"/connections/{client.name}").json["id"]
    with client.start("while read line; do echo $line ann@example.com; done") as process:
        process.stdin.write(b"before\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"before ann@example.com\n"
        assert place.admin.post("/datamasking-rules", rule(connection_ids=[made])).status == 201
        for number in range(1000):
            process.stdin.write(b"then\n")
            process.stdin.flush()
            if process.stdout.readline() == b"then [EMAIL_ADDRESS]\n":
                break
            place.admin.get("/userinfo")
        else:
            raise AssertionError("the rule never came")
        process.stdin.close()
        assert process.wait(PATIENCE) == 0
