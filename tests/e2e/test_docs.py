# SPDX-License-Identifier: MIT
"""Every block of README.md and docs/ that can be typed is typed by a test; of each other one stands
in documents.py why not. A new block belongs to one of both, else the first test fails."""
import json
import os
import shutil
import subprocess

import pytest

from conftest import PATIENCE
from documents import (HERE, NOT_TYPED, Place, blocks_of, kind_of, pages, typed_elsewhere,
                       typed_here, why_not)
from native import credential
from test_tcp import Echo, tcp_port
from test_tcp import connection as tcp_connection


def test_every_block_is_typed_or_has_its_reason():
    untyped, seen = [], set()
    for page in pages():
        for language, text in blocks_of(page):
            reasons = why_not(page, text)
            seen.update((page, reason) for reason in reasons)
            if reasons or typed_elsewhere(page, language):
                continue
            if kind_of(text) is None:
                untyped.append((page, text))
    assert untyped == []
    for page, reasons in NOT_TYPED.items():
        assert {(page, reason) for reason in reasons.values()} <= seen, "a block is gone"


@pytest.fixture(scope="module")
def place(tmp_path_factory, postgres):
    place = Place(tmp_path_factory.mktemp("docs"), postgres)
    yield place
    assert place.gateway.stop() == 0, place.gateway.text()


@pytest.mark.parametrize("page", [page for page in pages() if any(
    kind_of(text) in ("curl", "api") for text in typed_here(page))])
def test_calls_are_taken(place, page):
    for text in typed_here(page):
        if kind_of(text) in ("curl", "api"):
            place.type(text)


def test_rules_are_taken_and_tried(place):
    """The fragments of the page on guard rails, and its trial, of the rail that its first block
    makes (which is there when that has run alone, too)."""
    texts = typed_here("docs/guardrails.md")
    [rule] = [text for text in texts if kind_of(text) == "rule" and text.startswith("{")]
    side = {"rules": [json.loads(rule)]}
    made = place.admin.post("/guardrails", {"name": "of-a-fragment", "output": side})
    assert made.status == 201, made
    if "orders" not in place.admin.get("/guardrails").body.decode():
        place.type(texts[0])
    (place.folder / "changed.json").write_text(json.dumps({"name": "orders", "input": {"rules": [
        {"type": "deny_words_list", "words": ["x"]}]}}))
    [trial] = [text for text in texts if kind_of(text) == "trial"]
    assert "0" in place.type(trial)


def test_the_command_for_tcp_is_typed(place):
    [text] = [text for text in typed_here("docs/tcp.md") if kind_of(text) == "tcp"]
    echo = Echo()
    name = tcp_connection(place.admin, echo.port, name="reports")
    secret = credential(place.admin, name)["connection_credentials"]["password"]
    text = text.replace("GATEHOUSE_SECRET=…", f"GATEHOUSE_SECRET='{secret}'")
    text = text.replace("gate.example.com:15000", f"127.0.0.1:{tcp_port(place.gateway)}")
    text = text.replace("issuers.pem", str(place.files[0]))
    assert place.type(f"echo there and back | {text}") == "there and back\n"


def test_the_command_line_is_typed(place, tmp_path):
    """All blocks of the page in one shell, by a person whose home is empty."""
    shutil.copy(place.files[0], place.folder / "ca.pem")
    texts = [text for text in typed_here("docs/command-line.md") if kind_of(text) == "person"]
    said = place.type("set -e\n" + "\n".join(texts), HOME=str(tmp_path), XDG_CONFIG_HOME="",
                      XDG_STATE_HOME="")
    assert "signed in to" in said and "orders-ro" in said and "\n5000\n" in said
    assert "good: answers" in said and "\nwhole\n" in said
    assert "-- the session has ended" in said
    assert "PostgreSQL database dump" in (place.folder / "schema.sql").read_text()


def test_python_connects_as_it_is_told(place, tools):
    [text] = [text for text in typed_here("docs/native-clients.md") if kind_of(text) == "python"]
    given = credential(place.admin, "orders-ro")["connection_credentials"]
    body = "\n".join("    " + line for line in text.splitlines())
    script = ("import asyncio, asyncpg, psycopg, sys\n"
              f"async def main(url):\n{body}\n    print('both')\n"
              "asyncio.run(main(sys.argv[1]))\n")
    done = subprocess.run([os.path.join(tools, "python3"), "-c", script,
                           given["connection_string"].replace("sslmode=prefer", "sslmode=disable")],
                          capture_output=True, text=True, timeout=4 * PATIENCE, check=False)
    assert done.stdout == "both\n", done.stderr


@pytest.mark.parametrize("page", [page for page in pages() if page.startswith("docs/sign-in/")
                                  and any(kind_of(text) == "serve" for text in typed_here(page))])
def test_the_start_for_each_provider_is_one(place, page):
    """Every flag is there and takes what it is given; the provider itself is not asked."""
    for text in typed_here(page):
        if kind_of(text) == "serve":
            text = text.replace("=…", "=a-secret").replace("…", "x")
            text = text.replace("gatehouse serve", "gatehouse check")
            said = place.type(text, url=HERE, GATEHOUSE_LISTEN="127.0.0.1:0",
                              GATEHOUSE_POSTGRES_LISTEN="127.0.0.1:0",
                              GATEHOUSE_MYSQL_LISTEN="127.0.0.1:0",
                              GATEHOUSE_SSH_LISTEN="127.0.0.1:0",
                              GATEHOUSE_DATA_DIR=str(place.folder / "checked"))
            assert "it would start" in said
