# SPDX-License-Identifier: MIT
"""Who may become the first admin: who has the set-up code, wherever he is, or the control socket."""
import os
import re
import subprocess

import pytest

from api import PASSWORD, Api, login, setup_code
from conftest import BINARY, UnixConnection
from test_agent_link import certificate  # noqa: F401

BODY = {"email": "root@example.com", "password": PASSWORD}


def run(*arguments, **options):
    return subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=20,
                          check=False, **options)


@pytest.mark.parametrize("headers", [
    {"Origin": "https://elsewhere.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"}])
def test_a_page_of_another_site_registers_and_signs_in_nobody(start, headers):
    api = Api(start())
    body = {**BODY, "setup_code": setup_code(api.gateway)}
    assert api.post("/localauth/register", body, headers=headers).status == 403
    assert api.get("/publicserverinfo").json["setup_required"] is True
    assert api.post("/localauth/register", body).status == 201
    assert api.post("/localauth/login", BODY, headers=headers).status == 403
    own = {"Sec-Fetch-Site": "same-origin"}
    assert api.post("/localauth/login", BODY, headers=own).status == 200


def test_it_takes_the_code_wherever_one_is(start):
    """Another process of this machine, or a proxy on it that adds no header, is from here, too."""
    gateway = start()
    api, code = Api(gateway), setup_code(gateway)
    for header in ({}, {"X-Forwarded-For": "192.0.2.1"}, {"Forwarded": "for=192.0.2.1"},
                   {"X-Forwarded-For": "127.0.0.1"}, {"Host": "localhost"}):
        for wrong in (None, "", "x" * 20, code[:-1], code + "x", code.swapcase()):
            body = {**BODY, "setup_code": wrong}
            answer = api.post("/localauth/register", body, headers=header)
            assert answer.status == 403 and "gatehouse setup-code" in answer.message, answer
        assert api.post("/localauth/register", BODY, headers=header).status == 403
    assert re.search(r"/register#setup_code=(\S+)", gateway.text()).group(1) == code
    answer = api.post("/localauth/register", {**BODY, "setup_code": code},
                      headers={"X-Forwarded-For": "192.0.2.1"})
    assert answer.status == 201
    again = {"email": "b@example.com", "password": PASSWORD, "setup_code": code}
    assert api.post("/localauth/register", again).status == 403


def test_the_command_shows_the_code_until_somebody_is_there(start):
    gateway = start()
    code = setup_code(gateway)
    shown = run("setup-code", "--data-dir", gateway.data)
    assert (shown.returncode, shown.stdout) == (0, code + "\n"), shown.stderr
    assert run("setup-code", "--data-dir", f"{gateway.folder}/nowhere").returncode == 1
    assert gateway.get("/control/setup-code")[0] == 404
    assert Api(gateway).post("/localauth/register", {**BODY, "setup_code": code}).status == 201
    late = run("setup-code", "--data-dir", gateway.data)
    assert late.returncode == 2 and code not in late.stdout and "registered" in late.stderr


def test_over_the_control_socket_no_code_is_needed(start):
    gateway = start()
    status, answer = gateway.control("POST", "/api/localauth/register", BODY)
    assert status == 201, answer
    assert login(gateway, BODY["email"]).get("/userinfo").json["is_admin"] is True


def curl(gateway, host, *arguments, path="/api/publicserverinfo"):
    """The status, asked by a name; -H of nothing leaves the header out."""
    done = run_curl("-s", "-o", "/dev/null", "-w", "%{http_code}", "-H", f"Host: {host}",
                    *arguments, "-k", gateway.url(path))
    return int(done)


def run_curl(*arguments):
    return subprocess.run(["curl", *arguments], capture_output=True, text=True, timeout=20,
                          check=True).stdout


@pytest.mark.parametrize("version", ["--http1.0", "--http1.1", "--http2"])
def test_a_strangers_name_that_leads_here_is_refused(start, version, certificate):  # noqa: F811
    """DNS rebinding: the page and the browser are real, the name is the attacker's."""
    tls = []
    if version == "--http2":
        tls = ["--tls-cert", certificate / "cert.pem", "--tls-key", certificate / "key.pem"]
    gateway = start("--public-url", "https://gw.example/under", "--allowed-hosts", "gateway,lb.lan",
                    *tls)
    port, code = gateway.port, setup_code(gateway)
    for host in ("127.0.0.1", f"127.0.0.1:{port}", f"localhost:{port}", "LOCALHOST", f"[::1]:{port}",
                 "gw.example", "GW.example:443", "gateway:80", "lb.lan"):
        assert curl(gateway, host, version) == 200, host
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1.evil.example",
                 f"127.evil.example:{port}", "localhost.evil.example", "gw.example.evil.example",
                 "192.0.2.1", f"[2001:db8::1]:{port}", "localhost.", "0.0.0.0"):
        for path in ("/api/publicserverinfo", "/", "/register", "/api/userinfo", "/metrics",
                     "/robots.txt", "/nothing", "/api/login"):
            assert curl(gateway, host, version, path=path) == 421, (host, path)
        body = '{"email":"a@b.example","password":"seven rivers","setup_code":"%s"}' % code
        assert curl(gateway, host, version, "-d", body, "-H", f"Origin: http://{host}",
                    path="/api/localauth/register") == 421
        assert curl(gateway, host, version, "-X", "OPTIONS", path="/api/resources") == 421
    assert Api(gateway).get("/publicserverinfo").json["setup_required"] is True


def test_every_name_of_a_request_counts(start):
    gateway = start()
    port = gateway.port

    def status(*lines):
        with gateway.connect() as conn:
            conn.sendall("\r\n".join([*lines, "Connection: close", "", ""]).encode())
            return int(conn.recv(4096).split()[1])
    path = "/api/publicserverinfo"
    assert status(f"GET {path} HTTP/1.1", f"Host: localhost:{port}") == 200
    assert status(f"GET http://localhost{path} HTTP/1.1", "Host: evil.example") == 421
    assert status(f"GET http://evil.example{path} HTTP/1.1", f"Host: localhost:{port}") == 421
    assert status(f"GET {path} HTTP/1.0") == 200  # no browser
    answer = Api(gateway).get("/userinfo", headers={"Host": "evil.example"})
    assert answer.status == 421
    assert "'evil.example'" in answer.message and "--allowed-hosts" in answer.message


def test_who_listens_on_all_addresses_is_asked_for_by_each(start):
    gateway = start("--listen", "0.0.0.0:0")
    for host in "192.0.2.7:80", "[2001:db8::1]", "localhost", "127.0.0.1":
        assert curl(gateway, host) == 200
    for host in "gateway", "evil.example", "2130706433":
        assert curl(gateway, host) == 421


@pytest.mark.parametrize("value", ["*", "a,,b", "a:80", "https://a", "*.example"])
def test_a_name_that_is_none_stops_the_start(start, value):
    gateway = start("--allowed-hosts", value, wait=False)
    assert gateway.process.wait(20) == 2 and "--allowed-hosts" in gateway.text()


def test_the_control_socket_is_asked_by_any_name(start):
    gateway = start()
    conn = UnixConnection(os.path.join(gateway.data, "control.sock"))
    conn.request("GET", "/control/organizations", headers={"Host": "whatever"})
    assert conn.getresponse().status == 200
    conn.close()


def test_no_cache_keeps_a_token(start):
    api = Api(start())
    body = {**BODY, "setup_code": setup_code(api.gateway)}
    for path, sent in (("register", body), ("login", BODY), ("login", {**BODY, "password": "x"}),
                       ("register", body)):
        answer = api.post(f"/localauth/{path}", sent)
        assert answer.headers["Cache-Control"] == "no-store", answer
        assert ("Token" in answer.headers) == (answer.status < 400)
