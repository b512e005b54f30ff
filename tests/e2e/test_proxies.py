# SPDX-License-Identifier: MIT
"""Whom a request is from when proxies stand before the gateway: --trusted-proxies."""
import http.client
import os
import re
import socket
import subprocess
import uuid

import pytest

from api import PASSWORD, Api, register, unique
from conftest import PATIENCE, Gateway, lasting_port, wait_for
from test_tls import H2Client, make_certificate

DEBUG = ("--log-level", "info,http=debug")
BODY = {"email": "root@example.com", "password": PASSWORD}


def new_path():
    return f"/api/{uuid.uuid4().hex}"


def peer_of(gateway, path):
    """The client's address in the line that the log has of a request."""
    def logged():
        return re.search(rf"path={path} .*peer=(\S*)", gateway.text())
    return wait_for(logged, what=f"the line of {path}").group(1)


def seen(gateway, *headers, host="127.0.0.1"):
    """As whom the gateway sees a request with these headers, each a (name, value)."""
    path = new_path()
    conn = http.client.HTTPConnection(host, gateway.port, timeout=PATIENCE)
    conn.putrequest("GET", path)
    for name, value in headers:
        conn.putheader(name, value)
    conn.endheaders()
    assert conn.getresponse().status == 404
    conn.close()
    return peer_of(gateway, path)


def for_(value):
    return ("X-Forwarded-For", value)


@pytest.fixture(scope="module")
def behind(tmp_path_factory):
    """Behind proxies on this machine and in 10.0.0.0/8."""
    gateway = Gateway(tmp_path_factory.mktemp("behind"), *DEBUG, "--trusted-proxies",
                      "127.0.0.1, 10.0.0.0/8,2001:db8:7::/48")
    yield gateway
    assert gateway.is_alive(), gateway.text()
    assert gateway.stop() == 0, gateway.text()


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """Without the setting."""
    gateway = Gateway(tmp_path_factory.mktemp("bare"), *DEBUG)
    yield gateway
    assert gateway.is_alive(), gateway.text()
    assert gateway.stop() == 0, gateway.text()


@pytest.mark.parametrize("headers,client", [
    ([], "127.0.0.1"),
    ([for_("192.0.2.1")], "192.0.2.1"),
    ([("x-forwarded-FOR", "192.0.2.1:4711")], "192.0.2.1"),
    ([for_("[2001:DB8:0::1]:80")], "2001:db8::1"),
    ([for_("::ffff:192.0.2.1")], "192.0.2.1"),
    ([for_("198.51.100.7, 192.0.2.1")], "192.0.2.1"),
    ([for_("127.0.0.1, 192.0.2.1, 10.1.2.3, 2001:db8:7::9")], "192.0.2.1"),
    ([for_("127.0.0.1"), for_("192.0.2.1"), for_("10.1.2.3")], "192.0.2.1"),
    ([for_("192.0.2.1, unknown")], "127.0.0.1"),
    ([for_("192.0.2.1, garbage, 10.1.2.3")], "10.1.2.3"),
    ([for_("")], "127.0.0.1"),
    ([("Forwarded", 'for="[2001:db8::1]:80";proto=https')], "2001:db8::1"),
    ([("Forwarded", "for=127.0.0.1"), ("Forwarded", "for=192.0.2.1, for=10.1.2.3")], "192.0.2.1"),
    ([("Forwarded", "for=_hidden")], "127.0.0.1"),
    ([("Forwarded", "for=198.51.100.7"), for_("192.0.2.1")], "192.0.2.1"),
    ([("X-Real-IP", "192.0.2.1")], "127.0.0.1"),
])
def test_the_client_is_whom_a_trusted_proxy_names(behind, bare, headers, client):
    assert seen(behind, *headers) == client
    assert seen(bare, *headers) == "127.0.0.1"


def test_another_peer_is_not_believed(start):
    gateway = start(*DEBUG, "--trusted-proxies", "127.0.0.2,::1")
    assert seen(gateway, for_("192.0.2.1")) == "127.0.0.1"


def test_both_forms_of_an_ipv4_address_are_one(start):
    gateway = start(*DEBUG, "--listen", "[::]:0", "--trusted-proxies", "127.0.0.1")
    assert seen(gateway) == "127.0.0.1"
    assert seen(gateway, for_("192.0.2.1")) == "192.0.2.1"
    assert seen(gateway, for_("192.0.2.1"), host="::1") == "::1"
    assert gateway.get("/metrics")[0] == 200


def test_a_proxy_may_speak_ipv6(start):
    gateway = start(*DEBUG, "--listen", "[::1]:0", "--trusted-proxies", "::/120")
    assert seen(gateway, host="::1") == "::1"
    assert seen(gateway, for_("2001:db8::5"), host="::1") == "2001:db8::5"


def test_each_request_of_a_connection_is_judged_alone(behind):
    conn = http.client.HTTPConnection("127.0.0.1", behind.port, timeout=PATIENCE)
    clients = {}
    for client in ("192.0.2.1", "192.0.2.2", None, "2001:db8::3"):
        path = new_path()
        clients[path] = client or "127.0.0.1"
        conn.request("GET", path, headers={"X-Forwarded-For": client} if client else {})
        conn.getresponse().read()
    conn.close()
    assert {path: peer_of(behind, path) for path in clients} == clients


def test_streams_of_http2_are_judged_alone_too(start, tmp_path):
    cert, key = make_certificate(tmp_path, "first")
    gateway = start(*DEBUG, "--tls-cert", cert, "--tls-key", key, "--trusted-proxies", "127.0.0.1")
    client = H2Client(gateway)
    clients = {}
    for number in range(1, 20):
        path, headers = new_path(), []
        clients[path] = f"192.0.2.{number}" if number % 3 else "127.0.0.1"
        if number % 3:
            headers = [("x-forwarded-for", "198.51.100.7"), ("x-forwarded-for", clients[path])]
        client.conn.send_headers(
            client.conn.get_next_available_stream_id(),
            [(":method", "GET"), (":path", path), (":scheme", "https"),
             (":authority", "localhost"), *headers], end_stream=True)
    client.flush()
    assert set(client.statuses(len(clients)).values()) == {404}
    client.sock.close()
    assert {path: peer_of(gateway, path) for path in clients} == clients


def metrics(gateway, *headers):
    return gateway.get("/metrics", headers=dict(headers))[0]


def test_the_metrics_are_for_this_machine_not_for_who_comes_through_it(behind, bare):
    assert metrics(behind) == 200
    assert metrics(behind, for_("127.0.0.1")) == 200
    assert metrics(behind, for_("192.0.2.1")) == 404
    assert metrics(behind, for_("127.0.0.1, 192.0.2.1")) == 404
    assert metrics(behind, for_("unknown")) == 404
    assert metrics(behind, ("Forwarded", "for=_hidden")) == 404


def test_a_proxy_on_this_machine_is_not_this_machine(start, bare):
    """It was not listed as trusted; some add headers, some pass the name on, some do neither."""
    assert metrics(bare) == metrics(bare, ("Host", f"localhost:{bare.port}")) == 200
    for header in (for_("192.0.2.1"), for_("127.0.0.1"), ("Forwarded", "for=127.0.0.1"),
                   ("X-Forwarded-Proto", "https")):
        assert metrics(bare, header) == 404, header
    gateway = start("--public-url", "https://gw.example", "--allowed-hosts", "gateway")
    for host in "gw.example", "gateway", "127.0.0.1", "localhost":
        assert metrics(gateway, ("Host", host)) == 404, host
    assert gateway.get("/metrics")[0] == 404
    admin = register(gateway)
    for caller, expected in ((admin, 200), (admin.key("auditor"), 200), (admin.key("dev"), 403),
                             (Api(gateway, "x" * 43), 401)):
        for headers in {"Authorization": f"Bearer {caller.token}"}, {"Api-Key": caller.token}:
            status, _, body = gateway.get("/metrics", headers=headers)
            is_person = caller is admin and "Api-Key" in headers
            assert status == (401 if is_person else expected), (headers, body)
            assert (b"gatehouse_info" in body) == (status == 200)
    anyone = start("--public-url", "https://gw.example", "--metrics-access", "anyone")
    assert metrics(anyone, ("Host", "gw.example")) == 200


@pytest.mark.parametrize("header", [
    for_("127.0.0.1"), for_(""), for_("192.0.2.1"), ("Forwarded", "for=127.0.0.1"),
    ("X-Forwarded-Proto", "https")])
def test_who_comes_through_a_proxy_registers_with_the_code_only(start, header):
    for flags in ([], ["--trusted-proxies", "127.0.0.1"]):
        answer = Api(start(*flags)).post("/localauth/register", BODY, headers=dict([header]))
        assert answer.status == 403 and "setup_code" in answer.message


@pytest.fixture(scope="module")
def members(behind, bare):
    return [register(behind), register(bare)]


@pytest.mark.parametrize("header,is_secure", [
    (None, False), (("X-Forwarded-Proto", "https"), True), (("X-Forwarded-Proto", "http"), False),
    (("X-Forwarded-Proto", "http, https"), True),
    (("Forwarded", "for=192.0.2.1;proto=https"), True),
    (("Forwarded", "for=192.0.2.1;proto=http"), False)])
def test_a_cookie_is_secure_where_the_client_spoke_https(members, header, is_secure):
    for member, expected in zip(members, [is_secure, False]):
        answer = Api(member.gateway).post("/localauth/login", BODY,
                                          headers=dict([header]) if header else {})
        assert answer.status == 200, answer
        assert ("; Secure" in answer.headers["Set-Cookie"]) == expected


def last_entry(api, query=""):
    return api.get("/audit/logs?page_size=1" + query).json["data"][0]


def test_the_audit_log_has_the_client(members):
    for member, expected in zip(members, ["192.0.2.1", "127.0.0.1"]):
        headers = dict([for_("198.51.100.7, 192.0.2.1, 10.0.0.5")])
        group = {"name": unique("group")}
        assert member.post("/users/groups", group, headers=headers).status == 201
        assert last_entry(member)["client_ip"] == expected
        assert member.post("/users/groups", group, headers=headers).status == 409
        assert last_entry(member)["client_ip"] == expected


def test_the_control_socket_is_what_it_was(members):
    gateway = members[0].gateway
    wanted = "\r\n".join(["GET /control/organizations HTTP/1.1", "Host: localhost",
                          "X-Forwarded-For: 192.0.2.1", "X-Forwarded-Proto: https",
                          "Connection: close", "", ""])
    with socket.socket(socket.AF_UNIX) as conn:
        conn.settimeout(PATIENCE)
        conn.connect(os.path.join(gateway.data, "control.sock"))
        conn.sendall(wanted.encode())
        assert conn.recv(4096).startswith(b"HTTP/1.1 200")
    # nor does a proxy open it
    for headers in ({}, {"X-Forwarded-For": "127.0.0.1"}):
        assert gateway.get("/control/organizations", headers=headers)[0] == 404


@pytest.mark.parametrize("value", [
    "localhost", "127.0.0.1,", "127.0.0.1:80", "10.0.0.0/33", "10.0.0.1/8", "0.0.0.0/0", "::/0",
    "[::1]", "*", "::1/129", "127.0.0.1;::1"])
def test_a_wrong_value_stops_the_start(start, value):
    gateway = start("--trusted-proxies", value, wait=False)
    assert gateway.process.wait(PATIENCE) != 0
    assert f"--trusted-proxies (GATEHOUSE_TRUSTED_PROXIES): '{value}': " in gateway.text()


class Nginx:
    """Two of them in a row before the gateway, as people set them up; the outer one speaks TLS."""

    def __init__(self, folder, gateway):
        self.port, inner = lasting_port(), lasting_port()
        cert, key = make_certificate(folder, "first")
        config = folder / "nginx.conf"
        temporary = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in
                            ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        common = ("proxy_http_version 1.1; proxy_set_header Connection ''; "
                  "proxy_set_header Host $http_host; "
                  "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;")
        config.write_text(f"""
{"user root;" if os.getuid() == 0 else ""} worker_processes 1; daemon off;
pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
  access_log off; {temporary}
  upstream gateway {{ server 127.0.0.1:{gateway.port}; keepalive 4; }}
  server {{
    listen 127.0.0.1:{self.port} ssl http2;
    ssl_certificate {cert}; ssl_certificate_key {key};
    location / {{ {common} proxy_set_header X-Forwarded-Proto $scheme; proxy_bind 127.0.0.3;
      proxy_pass http://127.0.0.1:{inner}; }}
  }}
  server {{
    listen 127.0.0.1:{inner};
    location / {{ {common} proxy_bind 127.0.0.4; proxy_pass http://gateway; }}
  }}
}}""")
        self.process = subprocess.Popen(["nginx", "-c", config, "-p", folder],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(self.answers, what="nginx")

    def answers(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return True
        except OSError:
            return False

    def curl(self, path, *arguments, source="127.0.0.9"):
        out = subprocess.run(
            ["curl", "-sSk", "-i", "--interface", source, *arguments,
             f"https://127.0.0.1:{self.port}{path}"], capture_output=True, text=True, timeout=30)
        assert out.returncode == 0, out.stderr
        return int(out.stdout.split()[1]), out.stdout

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE)


@pytest.fixture(scope="module")
def nginx(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nginx")
    gateway = Gateway(folder / "gateway", *DEBUG, "--trusted-proxies", "127.0.0.3,127.0.0.4")
    nginx = Nginx(folder, gateway)
    nginx.gateway = gateway
    nginx.admin = register(gateway)
    yield nginx
    nginx.stop()
    assert gateway.is_alive(), gateway.text()
    assert gateway.stop() == 0, gateway.text()


@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
@pytest.mark.parametrize("spoofed", [
    [], ["-H", "X-Forwarded-For: 127.0.0.1"], ["-H", "X-Forwarded-For: 127.0.0.3, 127.0.0.4"],
    ["-H", 'X-Forwarded-For: "'], ["-H", "Forwarded: for=127.0.0.1"],
    ["-H", "X-Forwarded-For: ,", "-H", "X-Forwarded-For: 127.0.0.1"]])
def test_through_two_of_nginx_the_client_is_known(nginx, version, spoofed):
    for source in ("127.0.0.9", "127.0.0.10"):
        path = new_path()
        assert nginx.curl(path, version, *spoofed, source=source)[0] == 404
        assert peer_of(nginx.gateway, path) == source


def test_through_nginx_the_cookie_is_secure_and_the_entry_has_the_client(nginx):
    body = '{"email": "root@example.com", "password": "' + PASSWORD + '"}'
    status, text = nginx.curl("/api/localauth/login", "--http2", "-d", body,
                              "-H", "X-Forwarded-Proto: http")
    assert status == 200 and re.search("(?i)set-cookie: .*; Secure", text)
    [entry] = nginx.admin.get("/audit/logs?action=sign_in").json["data"]
    assert (entry["action"], entry["client_ip"]) == ("sign_in", "127.0.0.9")
    status, text = nginx.curl("/api/localauth/login", "-d", body.replace("lamp", "lump"))
    assert status == 401
    assert last_entry(nginx.admin, "&action=sign_in")["client_ip"] == "127.0.0.9"
