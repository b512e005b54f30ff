# SPDX-License-Identifier: MIT
"""Sessions of real clients as others see them: followed, downloaded, ended, on both stores."""
import base64
import csv
import http.client
import io
import json
import re
import socket
import subprocess
import threading
import time

import pytest

from api import PASSWORD, login, register, unique
from conftest import PATIENCE, wait_for
from native import credential, psql
from psql_session import PsqlSession
from test_tls import make_certificate


@pytest.fixture(scope="module")
def person(admin):
    email = f"{unique('person')}@example.com"
    made = admin.post("/users", {"email": email, "password": PASSWORD, "groups": []})
    assert made.status == 201, made
    caller = login(admin.gateway, email)
    caller.email = email
    return caller


@pytest.fixture
def live(admin, target):
    """An open session of the admin."""
    session = PsqlSession(credential(admin, target.connection(admin)))
    session.id = session_of(admin, session.connection)["id"]
    yield session
    session.close()


def session_of(admin, connection, status="open"):
    def find():
        found = admin.get(f"/sessions?connection={connection}").json["data"]
        return found and found[0]["status"] == status and found[0]
    return wait_for(find, what=f"a session that is {status}")


def done(admin, target, text, **members):
    """A session that ended."""
    made = credential(admin, target.connection(admin, **members))
    psql(made, text)
    return session_of(admin, made["connection_name"], "done")["id"]


class Stream:
    """Reads server-sent events as they come: (id, event, data), comments as (None, None, text)."""

    def __init__(self, caller, session_id, last=None, read=True):
        headers = {"Authorization": f"Bearer {caller.token}"}
        if last is not None:
            headers["Last-Event-ID"] = last
        self.conn = http.client.HTTPConnection("127.0.0.1", caller.gateway.port,
                                               timeout=4 * PATIENCE)
        self.conn.request("GET", f"/api/sessions/{session_id}/stream", headers=headers)
        self.answer = self.conn.getresponse()
        self.status = self.answer.status
        self.events = []
        self.is_over = False
        self.thread = threading.Thread(target=self.run, daemon=True)
        if read:
            self.thread.start()

    def run(self):
        event = {}
        try:
            for line in self.answer:
                line = line.decode().rstrip("\n")
                if line:
                    key, _, value = line.partition(": ")
                    event[key] = value
                elif event:
                    self.events.append((event.get("id"), event.get("event"), event.get("data")))
                    event = {}
        except (OSError, AttributeError, http.client.HTTPException):
            pass  # it was closed while it was read
        finally:
            self.is_over = True

    def texts(self, kind=None):
        found = [json.loads(data) for _, name, data in list(self.events) if name == "event"]
        return [base64.b64decode(one["payload"]).decode() for one in found
                if kind in (None, one["type"])]

    def wait_for_text(self, text):
        wait_for(lambda: any(text in one for one in self.texts()), what=f"'{text}' in the stream")

    def wait_for_end(self):
        wait_for(lambda: self.is_over, what="the end of the stream")
        return self.events[-1]

    def close(self):
        self.conn.sock.shutdown(socket.SHUT_RDWR)
        self.conn.close()


def test_it_catches_up_then_goes_on_until_the_end(admin, live):
    live.run("SELECT 'before ' || 1")
    stream = Stream(admin, live.id)
    assert stream.status == 200
    assert stream.answer.headers["Content-Type"] == "text/event-stream"
    assert stream.answer.headers["Cache-Control"] == "no-store"
    stream.wait_for_text("before 1")
    live.run("SELECT 'after ' || 2")
    stream.wait_for_text("after 2")
    live.run("SELECT 1/0")
    stream.wait_for_text("division by zero")
    live.close()
    _, name, data = stream.wait_for_end()
    assert (name, json.loads(data)["reason"]) == ("session_end", "the client left")
    assert "SELECT 'after ' || 2\n" in [text.replace(";\n", "\n") for text in stream.texts("i")]
    assert any("division by zero" in text for text in stream.texts("e"))
    assert any("after 2" in text for text in stream.texts("o"))
    numbers = [int(number) for number, name, _ in stream.events if name == "event"]
    assert numbers == list(range(1, len(numbers) + 1))


def test_it_goes_on_behind_what_was_seen(admin, target):
    one = done(admin, target, "SELECT 'a';\nSELECT 'b';\nSELECT 'c';\n")
    whole = Stream(admin, one)
    whole.wait_for_end()
    for last in (0, 1, 4, len(whole.events) - 1, 10 ** 9):
        again = Stream(admin, one, last=str(last))
        again.wait_for_end()
        assert again.events == [event for event in whole.events
                                if event[0] is None or int(event[0]) > last]
    for bad in ("x", "-1", "1.5", str(2 ** 64)):
        assert admin.get(f"/sessions/{one}/stream", headers={"Last-Event-ID": bad}).status == 400


def test_a_slow_reader_delays_nobody_and_misses_nothing(admin, live):
    slow = Stream(admin, live.id, read=False)
    quick = Stream(admin, live.id)
    for i in range(40):
        live.run(f"SELECT '{i} ' || repeat('x', 60000)")
    live.run("SELECT 'the ' || 'last'")
    quick.wait_for_text("the last")
    assert admin.get("/healthz").status == 200
    slow.thread.start()
    slow.wait_for_text("the last")
    count = len(quick.events)
    wait_for(lambda: len(slow.events) >= count, what="the slow one")
    assert slow.events[:count] == quick.events[:count]
    slow.close()
    quick.close()


def test_a_stream_ends_when_its_reader_may_not_read_any_more(admin, live):
    auditor = admin.key("auditor")
    name = auditor.get("/userinfo").json["name"]
    stream = Stream(auditor, live.id)
    live.run("SELECT 'for the ' || 'auditor'")
    stream.wait_for_text("for the auditor")
    assert admin.delete(f"/api-keys/{name}").status == 204
    stream.wait_for_end()
    live.run("SELECT 'for nobody'")
    assert stream.events[-1][1] == "event"


def test_streams_are_bounded_for_each(admin, live):
    person = admin.key("auditor")
    streams = [Stream(person, live.id) for _ in range(8)]
    assert [stream.status for stream in streams] == [200] * 8
    assert person.get(f"/sessions/{live.id}/stream").status == 429
    other = Stream(admin, live.id)
    assert other.status == 200
    streams[0].close()

    def has_room():
        stream = Stream(person, live.id)
        if stream.status == 200:
            stream.close()
        return stream.status == 200
    wait_for(has_room, what="room for one more")
    live.close()
    other.wait_for_end()


def test_head_of_a_stream_is_only_its_head(admin, live):
    answer = admin.call("HEAD", f"/sessions/{live.id}/stream")
    assert (answer.status, answer.body) == (200, b"")


def test_a_gateway_that_stops_does_not_wait_for_streams(start, postgres, target):
    gateway = start("--shutdown-seconds", "30")
    admin = register(gateway)
    with PsqlSession(credential(admin, target.connection(admin))) as session:
        stream = Stream(admin, session_of(admin, session.connection)["id"])
        session.run("SELECT 'here'")
        stream.wait_for_text("here")
        began = time.monotonic()
        assert gateway.stop() == 0
        assert time.monotonic() - began < 15
        wait_for(lambda: stream.is_over, what="the end of the stream")


# Downloads ---------------------------------------------------------------------------------------

def download(caller, one, query=""):
    answer = caller.get(f"/sessions/{one}/download{query}")
    assert answer.status == 200, answer
    return answer


def test_the_formats_of_a_download(admin, target):
    one = done(admin, target, "SELECT 1 AS a, 'x,\"y' AS b;\n")
    text = download(admin, one)
    assert text.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert text.headers["Content-Disposition"] == f'attachment; filename="{one}.txt"'
    assert "SELECT 1 AS a" in text.body.decode()
    rows = list(csv.reader(io.StringIO(download(admin, one, "?extension=csv").body.decode())))
    assert ["a", "b"] in rows and ["1", 'x,"y'] in rows
    events = download(admin, one, "?extension=json").json
    assert {event["type"] for event in events} == {"i", "o"}
    assert events[0]["stream"].startswith("SELECT 1 AS a")
    inputs = download(admin, one, "?extension=json&events=i").json
    assert inputs == [event for event in events if event["type"] == "i"]
    assert download(admin, one, "?extension=json&events=e").json == []
    lines = download(admin, one, "?extension=jsonl").body.decode().splitlines()
    assert all(isinstance(json.loads(line), dict) for line in lines)
    cast = download(admin, one, "?extension=cast").body.decode().splitlines()
    assert json.loads(cast[0])["version"] == 2
    assert admin.get(f"/sessions/{one}/download?extension=exe").status == 400


def test_what_is_long_comes_whole_and_in_pieces(admin, target):
    one = done(admin, target, "SELECT n, repeat('y', 500) FROM generate_series(1, 1500) n;\n")
    text = download(admin, one, "?extension=csv").body.decode()
    rows = [row for row in csv.reader(io.StringIO(text)) if len(row) == 2 and row[0].isdigit()]
    assert [int(row[0]) for row in rows] == list(range(1, 1501))


def test_a_session_with_its_events(admin, target):
    one = done(admin, target, "SELECT 'höre';\n")
    plain = admin.get(f"/sessions/{one}").json
    assert "event_stream" not in plain
    shown = admin.get(f"/sessions/{one}?expand=event_stream&event_stream=utf8").json
    assert {key: shown[key] for key in plain} == plain
    assert shown["truncated"] is False and shown["event_size"] > 0
    since, kind, text = shown["event_stream"][0]
    assert 0 <= since < 60 and (kind, text.strip()) == ("i", "SELECT 'höre';")
    coded = admin.get(f"/sessions/{one}?expand=event_stream").json["event_stream"]
    assert [base64.b64decode(event[2]).decode() for event in coded] == \
        [event[2] for event in shown["event_stream"]]
    assert admin.get(f"/sessions/{one}?expand=all").status == 400


def test_much_of_it_is_cut(admin, target):
    one = done(admin, target, "SELECT repeat('z', 60000) FROM generate_series(1, 15);\n" * 3)
    shown = admin.get(f"/sessions/{one}?expand=event_stream&event_stream=utf8").json
    assert shown["truncated"] is True and 500000 < shown["event_size"] <= 1024 * 1024


def test_a_recording_is_whole_or_it_is_said(admin, target, live):
    one = done(admin, target, "SELECT 1;\n")
    answer = admin.get(f"/sessions/{one}/verify").json
    assert (answer["recording_status"], answer["message"]) == ("whole", "")
    assert answer["size"] == admin.get(f"/sessions/{one}").json["recording_size"]
    assert answer["session"] == one and re.fullmatch("[0-9a-f]{64}", answer["hash"])
    assert answer["hash"] != admin.get(f"/sessions/{done(admin, target, 'SELECT 1;')}/verify").json["hash"]
    assert admin.get(f"/sessions/{live.id}/verify").json["recording_status"] == "open"
    [path] = subprocess.run(["find", admin.gateway.data, "-name", f"{one}.ghr"], check=True,
                            capture_output=True, text=True).stdout.split()
    with open(path, "r+b") as file:
        whole = file.read()
        file.seek(len(whole) // 2)
        file.write(bytes([whole[len(whole) // 2] ^ 1]))
    assert admin.get(f"/sessions/{one}/verify").json["recording_status"] == "damaged"
    with pytest.raises(http.client.IncompleteRead):
        admin.get(f"/sessions/{one}/download")
    with open(path, "wb") as file:
        file.write(whole)
    assert admin.get(f"/sessions/{one}/verify").json["recording_status"] == "whole"


def test_who_reads_what_is_in_the_audit_log(admin, target, person, live):
    one = done(admin, target, "SELECT 1;\n")
    for caller, status in ((person, 404), (admin.key("dev"), 404), (admin.key("auditor"), 200)):
        for path in ("", "/download", "/verify", "?expand=event_stream", "/stream"):
            assert caller.get(f"/sessions/{one}{path}").status == status, path
    download(admin, one)
    entries = admin.get("/audit/logs?resource_type=sessions&page_size=100").json["data"]
    mine = [entry for entry in entries if one in entry["http_path"]]
    assert {"download", "stream", "view", "verify"} <= {entry["action"] for entry in mine}
    for entry in mine:
        assert json.dumps(entry).count(one) >= 2


# Ending ------------------------------------------------------------------------------------------

def test_an_admin_ends_a_session(admin, live):
    answer = admin.post(f"/sessions/{live.id}/kill")
    assert (answer.status, answer.body) == (204, b"")
    assert "the session was ended by" in live.wait_for_end()
    ended = session_of(admin, live.connection, "done")
    assert ended["end_reason"].startswith("the session was ended by")
    again = admin.post(f"/sessions/{live.id}/kill")
    assert again.status == 409 and again.message == "the session has ended already"
    entries = admin.get("/audit/logs?resource_type=sessions&action=kill").json["data"]
    assert [entry["http_status"] for entry in entries if live.id in entry["http_path"]] == [204]


def test_whose_session_may_end_it(admin, target, person):
    name = target.connection(admin)
    with PsqlSession(credential(person, name)) as session:
        one = session_of(admin, name)["id"]
        for caller, status in ((admin.key("dev"), 404), (admin.key("auditor"), 403)):
            assert caller.post(f"/sessions/{one}/kill").status == status
        session.run("SELECT 'still here'")
        assert person.post(f"/sessions/{one}/kill").status == 204
        session.wait_for_end()


def test_a_session_of_another_gateway_is_ended_there(start, postgres, target, tmp_path):
    url = postgres.create(f"pair_{time.monotonic_ns()}")
    first = start("--database-url", url)
    admin = register(first)
    key = f"{first.data}/master.key"
    second = start("--database-url", url, "--master-key-file", key)
    there = login(second, "root@example.com")
    with PsqlSession(credential(admin, target.connection(admin))) as session:
        one = session_of(there, session.connection)["id"]
        stream = Stream(there, one)
        assert stream.status == 200
        assert there.post(f"/sessions/{one}/kill").status == 204
        session.wait_for_end()
        _, name, data = stream.wait_for_end()
        assert name == "session_end" and "ended by" in json.loads(data)["reason"], data
    assert session_of(there, session.connection, "done")["end_reason"].startswith(
        "the session was ended by")


@pytest.mark.quiet
@pytest.mark.parametrize("change", [{"access_mode_connect": "disabled"},
                                    {"reviewers": ["admin"]}, None])
def test_a_connection_that_is_closed_closes_its_sessions(admin, target, change):
    name = target.connection(admin)
    with PsqlSession(credential(admin, name)) as session:
        session.run("SELECT 1")
        began = time.monotonic()
        answer = admin.delete(f"/connections/{name}") if change is None else \
            admin.patch(f"/connections/{name}", change)
        assert answer.status in (200, 204), answer
        session.wait_for_end()
        assert time.monotonic() - began < 2


def test_other_changes_keep_them(admin, target):
    name = target.connection(admin)
    with PsqlSession(credential(admin, name)) as session:
        for change in ({"tags": ["x"]}, {"secret": target.secret(PASS="other")},
                       {"mandatory_metadata_fields": ["ticket"]},
                       {"access_mode_exec": "disabled"}):
            assert admin.patch(f"/connections/{name}", change).status == 200
        time.sleep(1)
        assert session.run("SELECT 'still ' || 'here'") == "still here"


# Metadata ----------------------------------------------------------------------------------------

def app(name):
    return {"PGAPPNAME": name}


def options(text):
    return {"PGOPTIONS": text}


@pytest.mark.parametrize("env, wanted", [
    (app("psql;ticket=OPS 7;team=core"), {"ticket": "OPS 7", "team": "core"}),
    (options("-c gatehouse.metadata.ticket=OPS-7"), {"ticket": "OPS-7"}),
    (options("--gatehouse.metadata.ticket=OPS\\ 7 -c work_mem=5MB"), {"ticket": "OPS 7"}),
    ({**app("x;ticket=1;b=2"), **options("-cGatehouse.Metadata.ticket=2")},
     {"ticket": "2", "b": "2"})])
def test_what_the_client_says_is_kept_and_the_target_does_not_see_it(admin, target, env, wanted):
    made = credential(admin, target.connection(admin, mandatory_metadata_fields=["ticket"]))
    said = psql(made, "SELECT current_setting('application_name'), "
                      "current_setting('gatehouse.metadata.ticket', true) IS NULL, "
                      "current_setting('work_mem')", **env).stdout.strip().split("|")
    assert said[0] == env.get("PGAPPNAME", "psql").partition(";")[0]
    assert said[1] == "t" and (said[2] == "5MB") == ("work_mem" in env.get("PGOPTIONS", ""))
    session = session_of(admin, made["connection_name"], "done")
    assert session["metadata"] == wanted
    assert session["application_name"] == said[0]


@pytest.mark.parametrize("env", [{}, app("psql;ticket="), app("psql;Ticket=1"),
                                 options("-c gatehouse.metadata.team=x")])
def test_without_it_the_session_is_refused_in_words(admin, target, env):
    made = credential(admin, target.connection(
        admin, mandatory_metadata_fields=["ticket", "why not"]))
    refused = psql(made, "SELECT 1", check=False, **env)
    assert refused.returncode == 2
    assert "'ticket', 'why not'" in refused.stderr
    assert "-c gatehouse.metadata.NAME=VALUE" in refused.stderr
    assert admin.get(f"/sessions?connection={made['connection_name']}").json["total"] == 0


def test_too_much_of_it(admin, target):
    made = credential(admin, target.connection(admin))
    for name in (";".join(["x"] + [f"k{i}=v" for i in range(21)]), "x;k=" + "v" * 2600):
        refused = psql(made, "SELECT 1", check=False, **app(name))
        assert refused.returncode == 2 and "no more than 20 fields" in refused.stderr
    plain = "An app; version 2"
    assert psql(made, "SHOW application_name", **app(plain)).stdout.strip() == plain


def test_it_is_replaced_by_whose_session_it_is(admin, target, person):
    name = target.connection(admin, mandatory_metadata_fields=["ticket"])
    psql(credential(person, name), "SELECT 1", **app("psql;ticket=1;x=y"))
    one = session_of(admin, name, "done")["id"]
    path = f"/sessions/{one}/metadata"
    assert admin.patch(path, {"metadata": {"ticket": "2"}}).status == 403
    assert admin.key("dev").patch(path, {"metadata": {"ticket": "2"}}).status == 404
    refused = person.patch(path, {"metadata": {"other": "2"}})
    assert refused.status == 400 and "'ticket'" in refused.message
    assert person.patch(path, {"metadata": {"ticket": "2", "note": "späte \"Notiz\""}}).status == 204
    wanted = {"ticket": "2", "note": "späte \"Notiz\""}
    assert person.get(f"/sessions/{one}").json["metadata"] == wanted
    for bad in ({}, {"metadata": 5}, {"metadata": {"a": 5}}, {"metadata": {"": "x"}},
                {"metadata": {"ticket": "x" * 2500, "b": "c"}},
                {"metadata": {f"k{i}": "v" for i in range(21)}}):
        assert person.patch(path, bad).status == 400, bad
    assert person.get(f"/sessions/{one}").json["metadata"] == wanted


def test_the_metrics_count(admin, live):
    def metrics():
        text = admin.gateway.get("/metrics")[2].decode()
        return {line.split()[0]: float(line.split()[1]) for line in text.splitlines()
                if line.startswith("gatehouse_session")}
    before = metrics()
    live.run("SELECT repeat('x', 5000)")
    after = metrics()
    assert before["gatehouse_sessions_open"] >= 1
    assert after["gatehouse_session_statements_total"] - \
        before["gatehouse_session_statements_total"] == 1
    assert after["gatehouse_session_sent_bytes_total"] - \
        before["gatehouse_session_sent_bytes_total"] > 5000
    assert after["gatehouse_sessions_total"] >= 1


@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
def test_it_is_the_same_over_tls_and_http2(start, target, tmp_path, version):
    cert, key = make_certificate(tmp_path, "first")
    gateway = start("--tls-cert", cert, "--tls-key", key)
    admin = register(gateway)
    with PsqlSession(credential(admin, target.connection(admin)), PGSSLMODE="require") as session:
        one = session_of(admin, session.connection)["id"]
        stream = subprocess.Popen(
            ["curl", "-sSN", "--cacert", cert, version, "-H", f"Authorization: Bearer {admin.token}",
             gateway.url(f"/api/sessions/{one}/stream")], text=True, stdout=subprocess.PIPE)
        for i in range(20):
            session.run(f"SELECT '{i}', repeat('x', 20000)")
    said, _ = stream.communicate(timeout=4 * PATIENCE)
    assert stream.returncode == 0
    assert said.count("event: event\n") >= 60 and "event: session_end\n" in said
    read = subprocess.run(
        ["curl", "-sS", "--cacert", cert, version, "-H", f"Authorization: Bearer {admin.token}",
         gateway.url(f"/api/sessions/{one}/download?extension=csv")], text=True, check=True,
        capture_output=True).stdout
    assert read.count("x" * 20000) == 20
