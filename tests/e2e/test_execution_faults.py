# SPDX-License-Identifier: MIT
"""Executions that somebody ends: a kill of the gateway, a right that goes; and very large ones."""
import base64
import concurrent.futures
import http.client
import json
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import pytest

from api import PASSWORD, Api, login, register, unique
from conftest import Gateway, PATIENCE, PostgresServer, wait_for
from native import Target, psql_of, sql
from test_session_streams import Stream

MIB = 1 << 20


@pytest.fixture(scope="module")
def name(quick, target):
    return target.connection(quick)


def post(api, name, script, results="json", **options):
    return api.post(f"/sessions?results={results}", {"connection": name, "script": script},
                    **options)


def said(event):
    return base64.b64decode(json.loads(event[2])["payload"]).decode() if event[0] else ""


def open_sessions(api, name):
    return [row for row in api.get("/sessions?limit=100").json["data"]
            if row["connection"] == name and row["status"] == "open"]


def open_session(api, name):
    return wait_for(lambda: open_sessions(api, name), what="the session")[0]


def no_session(api, name):
    wait_for(lambda: not open_sessions(api, name), what="the end of the one before")


def test_what_is_wrong_with_a_request(quick, name):
    def send(body):
        answer = quick.post("/sessions", body)
        return answer.status, answer.json["message"]
    assert send(b'{"connection": "%s", "script": "select \xff\xfe"}' % name.encode())[0] == 400
    status, words = send(b'{"connection": "%s", "script": "a\\u0000b"}' % name.encode())
    assert status == 400 and "script" in words
    status, words = send(b'{"connection": "%s", "script": "\\ud800"}' % name.encode())
    assert status == 400


def test_a_script_of_many_mebibytes(quick, target, name):
    part = "select length('" + "x" * (3 * MIB) + "') as n;\n"
    answer = post(quick, name, part * 21, timeout=6 * PATIENCE)  # on a busy machine
    assert answer.status == 200, answer
    assert [one["rows"] for one in answer.json["statements"]] == [[[3 * MIB]]] * 21
    answer = post(quick, name, "-" * (64 * MIB + 1), timeout=6 * PATIENCE)
    assert answer.status == 413 and f"{64 * MIB} bytes" in answer.message, answer
    large = f"select length('{'x' * (5 * MIB)}') as n"
    assert post(quick, name, large).json["statements"][0]["rows"] == [[5 * MIB]]
    guarded = target.connection(quick)
    connection_id = quick.get(f"/connections/{guarded}").json["id"]
    answer = quick.post("/guardrails", {
        "name": unique("words"), "connection_ids": [connection_id],
        "input": {"rules": [{"type": "deny_words_list", "words": ["dropped"], "name": "w"}]}})
    assert answer.status == 201, answer
    done = post(quick, guarded, large).json
    assert done["output_status"] == "failed" and "too large for the guard rails" in json.dumps(done), done


def test_a_request_that_is_larger_than_any_script(quick):
    conn = http.client.HTTPConnection("127.0.0.1", quick.gateway.port, timeout=PATIENCE)
    conn.putrequest("POST", "/api/sessions")
    conn.putheader("Authorization", f"Bearer {quick.token}")
    conn.putheader("Content-Length", str(97 * MIB))
    conn.endheaders()
    assert conn.getresponse().status == 413
    conn.close()


def test_large_requests_have_a_limit_together(quick):
    """Nobody is known before a body is whole: whoever sends many large ones is told to wait."""
    head = (b"POST /api/sessions HTTP/1.1\r\nHost: localhost\r\n"
            b"Content-Length: %d\r\n\r\n" % (90 * MIB))
    conns = []
    for _ in range(3):
        conn = socket.create_connection(("127.0.0.1", quick.gateway.port), timeout=PATIENCE)
        conns.append(conn)
        conn.sendall(head)
        try:
            conn.sendall(b" " * (89 * MIB))
        except OSError:
            break
    answer = conns[-1].recv(4096)
    assert answer.startswith(b"HTTP/1.1 503") and b"too many large requests" in answer, answer
    for conn in conns:
        conn.close()

    def has_room():
        answer = quick.post("/sessions", {"connection": "nobody's", "script": "x" * (2 * MIB)})
        return answer.status == 404
    wait_for(has_room, what="room for large requests")


def test_followed_from_anywhere(quick, name):
    with concurrent.futures.ThreadPoolExecutor() as pool:
        going = pool.submit(post, quick, name, "select 'first'; select pg_sleep(2); select 'third'")
        session = open_session(quick, name)
        stream = Stream(quick, session["id"])
        wait_for(lambda: any("first" in said(event) for event in stream.events),
                 what="what was said before")
        assert not stream.is_over
        assert going.result(PATIENCE).json["output_status"] == "success"
    wait_for(lambda: stream.is_over, what="the stream's end")
    later = Stream(quick, session["id"], last=stream.events[0][0])
    wait_for(lambda: later.is_over, what="the stream's end")
    assert [event for event in later.events if event[0]] == [
        event for event in stream.events if event[0]][1:]


@pytest.mark.quiet
def test_a_right_that_goes_ends_it(admin, target):
    group = unique("group")
    email = f"{unique('person')}@example.com"
    made = admin.post("/users", {"email": email, "password": PASSWORD, "groups": [group]})
    assert made.status == 201, made
    person = login(admin.gateway, email)
    name = target.connection(admin)
    assert admin.put(f"/connections/{name}/access", {"groups": [group]}).status == 200

    def during(change):
        with concurrent.futures.ThreadPoolExecutor() as pool:
            no_session(admin, name)
            going = pool.submit(post, person, name, "select pg_sleep(60); select 'afterwards'")
            open_session(admin, name)
            begun = time.monotonic()
            assert admin.put(f"/users/{email}", change).status == 200
            done = going.result(PATIENCE).json
            assert time.monotonic() - begun < 5
        assert done["output_status"] == "failed" and len(done["statements"]) == 1, done
        wait_for(lambda: sql(target.server, "select count(*) from pg_stat_activity where state = "
                             f"'active' and usename = '{target.user}'") == "0",
                 what="the statement's end")
    during({"email": email, "status": "active", "groups": []})
    answer = post(person, name, "select 1")
    assert answer.status == 404, answer
    back = {"email": email, "status": "active", "groups": [group]}
    assert admin.put(f"/users/{email}", back).status == 200
    assert post(person, name, "select 1").json["output_status"] == "success"
    during({"email": email, "status": "inactive", "groups": [group]})
    assert post(person, name, "select 1").status in (401, 403)


def test_a_gateway_that_is_killed(tmp_path, target):
    gateway = Gateway(tmp_path)
    admin = register(gateway)
    name = target.connection(admin)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        going = pool.submit(post, admin, name, "select 'it was said' as a; select pg_sleep(90)")
        session = open_session(admin, name)
        wait_for(lambda: sql(target.server, "select count(*) from pg_stat_activity where query "
                             f"like '%pg_sleep(90)%' and usename = '{target.user}'") == "1",
                 what="the second statement")
        gateway.kill()
        with pytest.raises((OSError, http.client.HTTPException)):
            going.result(PATIENCE)
    gateway = Gateway(tmp_path)
    admin = Api(gateway, admin.token)
    after = admin.get(f"/sessions/{session['id']}").json
    assert (after["status"], after["end_reason"]) == ("done", "the gateway stopped"), after
    assert "it was said" in admin.get(f"/sessions/{session['id']}/result").body.decode()
    verified = admin.get(f"/sessions/{session['id']}/verify").json
    assert verified["recording_status"] == "whole", verified
    assert not [row for row in admin.get("/connection-credentials").json
                if row["connection_name"] == name]
    assert gateway.stop() == 0, gateway.text()


def test_a_thousand_at_once(tmp_path):
    """Each is a session of its own at the target, where it waits until all of them are there."""
    folder = tempfile.mkdtemp(prefix="gatehouse-postgres-")  # one that the server may enter
    server = PostgresServer(folder, "-c", "max_connections=1200", "-c", "deadlock_timeout=1h")
    gateway = Gateway(tmp_path / "gateway", "--newcomers-per-address", "2000")
    admin = register(gateway)
    name = Target(server).connection(admin)
    script = "select pg_advisory_lock_shared(7); select 7 as n"
    body = json.dumps({"connection": name, "script": script})
    holder = subprocess.Popen(psql_of(server), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True)
    holder.stdin.write("select pg_advisory_lock(7);\n")
    holder.stdin.flush()
    waiting = "select count(*) from pg_locks where locktype = 'advisory' and objid = 7 and {}"
    wait_for(lambda: sql(server, waiting.format("granted")) == "1", what="the lock")
    conns = [http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=4 * PATIENCE)
             for _ in range(1000)]
    for conn in conns:
        conn.request("POST", "/api/sessions", body, {"Authorization": f"Bearer {admin.token}"})
    wait_for(lambda: sql(server, waiting.format("not granted")) == "1000", 2 * PATIENCE,
             "a thousand sessions")
    holder.communicate(timeout=PATIENCE)  # its end is the lock's
    answers = [conn.getresponse() for conn in conns]
    done = [json.loads(answer.read()) for answer in answers]
    assert {answer.status for answer in answers} == {200}
    assert {one["output"].splitlines()[-2] for one in done} == {"7"}
    assert gateway.stop() == 0, gateway.text()
    server.stop(signal.SIGQUIT)
    shutil.rmtree(folder)
