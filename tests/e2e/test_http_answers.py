# SPDX-License-Identifier: MIT
"""What the HTTP server answers to well-formed and to wrong requests, asked with curl."""
import gzip
import json
import re
import subprocess

import pytest


def curl(gateway, *arguments, path="/api/healthz"):
    result = subprocess.run(["curl", "-sS", "-i", "--max-time", "20", *arguments,
                             gateway.url(path)], capture_output=True, timeout=30)
    assert result.returncode == 0, result.stderr
    head, _, body = result.stdout.partition(b"\r\n\r\n")
    while head.startswith(b"HTTP/1.1 100"):
        head, _, body = body.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    status = int(lines[0].split()[1])
    headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in lines[1:])}
    return status, headers, body


def test_healthz_says_ok_when_the_store_answers(gateway):
    status, headers, body = curl(gateway)
    assert (status, json.loads(body)) == (200, {"liveness": "OK"})
    assert headers["content-type"] == "application/json"
    assert headers["x-content-type-options"] == "nosniff"
    assert "date" in headers


def test_publicserverinfo_comes_from_the_store(gateway):
    status, _, body = curl(gateway, path="/api/publicserverinfo")
    assert status == 200
    assert json.loads(body) == {
        "auth_method": "local", "local_auth": True, "setup_required": True}


def test_the_first_page_is_self_contained(gateway):
    status, headers, body = curl(gateway, path="/")
    assert status == 200 and headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in headers["content-security-policy"]
    assert b"Gatehouse" in body and b"http://" not in body.replace(b"http://www.w3.org", b"")


@pytest.mark.parametrize("method,path,status", [
    ("GET", "/api/nothing", 404), ("GET", "/nothing.html", 404), ("POST", "/api/healthz", 405),
    ("DELETE", "/api/publicserverinfo", 405), ("PUT", "/", 405), ("BREW", "/api/healthz", 405),
    ("GET", "/control/organizations", 404), ("GET", "/api/%zz", 404),
])
def test_errors_are_json_with_a_message(gateway, method, path, status):
    got, headers, body = curl(gateway, "-X", method, path=path)
    assert got == status
    assert headers["content-type"] == "application/json"
    assert list(json.loads(body)) == ["message"]
    if got == 405:
        assert "GET" in headers["allow"]


def test_options_names_the_methods(gateway):
    status, headers, body = curl(gateway, "-X", "OPTIONS")
    assert (status, headers["allow"], body) == (204, "GET, HEAD", b"")


def test_head_has_the_length_and_no_body(gateway):
    status, headers, body = curl(gateway, "-I")
    assert (status, headers["content-length"], body) == (200, "17", b"")


def test_a_target_too_long_is_414(gateway):
    status, _, body = curl(gateway, path="/" + "a" * 9000)
    assert status == 414 and "message" in json.loads(body)


def test_headers_too_large_are_431(gateway):
    status, _, body = curl(gateway, "-H", "X-Large: " + "a" * 40000)
    assert status == 431 and "message" in json.loads(body)


def test_too_many_headers_are_431(gateway):
    many = [part for i in range(120) for part in ("-H", f"X-{i}: 1")]
    assert curl(gateway, *many)[0] == 431


def test_a_body_too_large_is_413_before_it_is_sent(gateway, tmp_path):
    large = tmp_path / "large"
    large.write_bytes(b"x" * 3_000_000)
    status, _, body = curl(gateway, "--data-binary", f"@{large}")
    assert status == 413 and "message" in json.loads(body)
    status, _, _ = curl(gateway, "-H", "Transfer-Encoding: chunked", "--data-binary", f"@{large}")
    assert status == 413


def test_a_small_body_on_a_get_is_dropped(gateway):
    assert curl(gateway, "-X", "GET", "--data-binary", "x" * 1000)[0] == 200


def test_an_unchanged_file_is_304(gateway):
    _, headers, _ = curl(gateway, path="/favicon.svg")
    known = f"If-None-Match: {headers['etag']}"
    status, again, body = curl(gateway, "-H", known, path="/favicon.svg")
    assert (status, body, again["etag"]) == (304, b"", headers["etag"])
    assert curl(gateway, "-H", 'If-None-Match: "other"', path="/favicon.svg")[0] == 200


def test_files_come_compressed_to_those_who_take_it(gateway):
    page = curl(gateway, path="/sign-in")[2].decode()
    style = "/assets/" + re.search(r"assets/([\w-]+\.css)", page)[1]
    _, plain, body = curl(gateway, path=style)
    _, headers, zipped = curl(gateway, "-H", "Accept-Encoding: gzip", path=style)
    assert headers["content-encoding"] == "gzip" and gzip.decompress(zipped) == body
    assert len(zipped) < len(body) and headers["vary"] == "Accept-Encoding"
    _, headers, _ = curl(gateway, "-H", "Accept-Encoding: br, gzip", path=style)
    assert headers["content-encoding"] == "br"
    _, headers, _ = curl(gateway, "-H", "Accept-Encoding: gzip;q=0", path=style)
    assert "content-encoding" not in headers
    assert "content-encoding" not in plain


def test_large_answers_are_gzipped(gateway):
    _, plain, body = curl(gateway, path="/metrics")
    _, headers, zipped = curl(gateway, "-H", "Accept-Encoding: gzip", path="/metrics")
    assert len(body) > 1400 and headers["content-encoding"] == "gzip"
    assert b"gatehouse_http_requests_total" in gzip.decompress(zipped)


def test_http_1_0_closes_unless_asked_to_stay(gateway):
    _, headers, _ = curl(gateway, "--http1.0")
    assert headers["connection"] == "close"
    _, headers, _ = curl(gateway, "--http1.0", "-H", "Connection: keep-alive")
    assert headers["connection"] == "keep-alive"


def test_a_connection_is_kept_alive(gateway):
    result = subprocess.run(["curl", "-sS", "-o", "/dev/null", "-w", "%{num_connects} ",
                             gateway.url("/api/healthz"), gateway.url("/"), gateway.url("/none")],
                            capture_output=True, text=True, timeout=30)
    assert result.stdout.split()[0] == "1"
