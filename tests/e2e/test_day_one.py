# SPDX-License-Identifier: MIT
"""The first day, typed as the documents say: every block of shell in docs/connections.md,
native-clients.md, agents.md and operations.md, in that order, in one shell beside one gateway."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import urllib.parse

import pytest

from api import register
from conftest import BINARY, PATIENCE, ROOT, Gateway, PostgresServer
from native import sql
from test_pg_tls import Authority

PAGES = "connections", "native-clients", "agents", "operations"
PASSWORD = "only the documents know it"


def blocks(page):
    with open(os.path.join(ROOT, f"docs/{page}.md"), encoding="utf-8") as file:
        return re.findall(r"```sh\n(.*?)```", file.read(), re.S)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A PostgreSQL server that shows a certificate and takes nobody without TLS."""
    authority = Authority(tmp_path_factory.mktemp("target"), "authority")
    cert, key = authority.issue("db.example", "DNS:db.example")
    folder = tempfile.mkdtemp(prefix="day-one-")
    postgres = PostgresServer(folder)
    sql(postgres, f"CREATE USER orders SUPERUSER PASSWORD '{PASSWORD}'")
    postgres.stop()
    for source, name in (cert, "server.crt"), (key, "server.key"):
        target = os.path.join(postgres.data, name)
        shutil.copy(source, target)
        os.chmod(target, 0o600)
        if os.getuid() == 0:
            shutil.chown(target, "postgres")
    with open(os.path.join(postgres.data, "postgresql.conf"), "a", encoding="ascii") as file:
        file.write("ssl = on\n")
    with open(os.path.join(postgres.data, "pg_hba.conf"), "w", encoding="ascii") as file:
        file.write("hostssl all all 127.0.0.1/32 scram-sha-256\n")
    postgres.start()
    yield postgres, authority.cert
    postgres.stop()
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def typed(tmp_path_factory, server):
    """Everything was typed; what came, by page."""
    folder = tmp_path_factory.mktemp("day")
    gateway = Gateway(folder / "gateway")
    boss = register(gateway)
    postgres, certificate = server
    shutil.copy(certificate, folder / "ca.pem")
    os.mkdir(folder / "bin")
    os.symlink(BINARY, folder / "bin/gatehouse")
    env = {k: v for k, v in os.environ.items() if not k.startswith("GATEHOUSE_")}
    env.update(PATH=f"{folder}/bin:{env['PATH']}", GATEHOUSE=gateway.url(""), TOKEN=boss.token,
               GATEHOUSE_DATA_DIR=gateway.data, PGHOST="127.0.0.1", PGPORT=str(postgres.port),
               PGUSER="orders", PGPASSWORD=PASSWORD)
    script = "".join(f"echo '=== {page}'\n" + "\n".join(blocks(page)) for page in PAGES)
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=folder, env=env,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=8 * PATIENCE, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    parts = re.split(r"^=== ([\w-]+)\n", done.stdout, flags=re.M)
    yield dict(zip(parts[1::2], parts[2::2])), done.stderr, folder, boss
    assert gateway.stop() == 0, gateway.text()


def test_a_target_with_a_certificate_is_reached_by_groups_and_clients(typed):
    said, _, _, boss = typed
    assert said["connections"].count('"success":true') == 2
    assert boss.get("/connections/orders-ro/access").json["groups"] == ["developers"]
    assert " current_user \n--------------\n orders" in said["connections"]


def test_a_guard_rail_is_tried_and_then_stops(typed):
    said, errors, *_ = typed
    assert "DROP TABLE mistake" in said["connections"]
    assert "blocked by guard rail 'no-drop'" in errors


def test_sessions_say_what_they_are_about(typed):
    boss = typed[3]
    said = [row["metadata"] for row in boss.get("/sessions?limit=100").json["data"]]
    assert said.count({"ticket": "OPS-7"}) == 2, said
    with open(os.path.join(ROOT, "docs/native-clients.md"), encoding="utf-8") as file:
        url = urllib.parse.urlsplit(re.search(r'"jdbc:(\S+?)"', file.read()).group(1))
    assert url.port == 15432
    options = urllib.parse.parse_qs(url.query)["options"]
    assert options == ["-c gatehouse.metadata.ticket=OPS-7"]
    assert url.query.count("=") == 1


def test_addresses_are_masked_and_sessions_shown(typed):
    said = typed[0]["connections"]
    assert "[EMAIL_ADDRESS]\n" in said
    assert said.count("SELECT 'ada@example.com'") >= 2, "the download, and recording show"


def test_an_agent_elsewhere_carries_a_session(typed):
    said, _, folder, boss = typed
    assert "?column?" in said["agents"] and boss.get("/agents/branch").status == 404
    token = json.loads((folder / "agent.json").read_text())["token"]
    assert "@127.0.0.1" in token


def test_it_can_be_watched_audited_kept_and_rekeyed(typed):
    said, _, folder, boss = typed
    assert "gatehouse_sessions_open" in said["operations"]
    assert "http=debug" in said["operations"] and "files are back" in said["operations"]
    lines = (folder / "audit.jsonl").read_text().splitlines()
    assert [json.loads(line)["number"] for line in lines] == list(range(1, len(lines) + 1))
    actions = [row["action"] for row in boss.get("/audit/logs?page_size=5").json["data"]]
    assert {"rekey", "drop_old"} <= set(actions)
    (folder / "again").mkdir()
    os.rename(folder / "restored", folder / "again/data")
    again = Gateway(folder / "again")
    restored = type(boss)(again, boss.token)
    assert restored.get("/connections/orders-ro").status == 200
    assert again.stop() == 0


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not there")
@pytest.mark.parametrize("unit", ["gatehouse.service", "gatehouse.socket",
                                  "gatehouse-agent.service"])
def test_the_units_are_good_where_they_are_installed(tmp_path, unit):
    """In a tree as a container has it: the program, the unit, and the targets of systemd."""
    for folder in "usr/bin", "etc/systemd/system", "etc/gatehouse", "usr/lib/systemd":
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(BINARY, tmp_path / "usr/bin/gatehouse")
    shutil.copy(shutil.which("kill") or "/usr/bin/kill", tmp_path / "usr/bin")
    shutil.copytree("/usr/lib/systemd/system", tmp_path / "usr/lib/systemd/system", symlinks=True)
    for name in unit, "gatehouse.service":  # the service of the socket, too
        shutil.copy(os.path.join(ROOT, "packaging", name), tmp_path / "etc/systemd/system")
    (tmp_path / "etc/gatehouse/agent").write_text("GATEHOUSE_TOKEN=x\n")
    done = subprocess.run(["systemd-analyze", "verify", f"--root={tmp_path}", unit],
                          capture_output=True, text=True)
    complaints = [line for line in done.stderr.splitlines() if unit in line]
    assert done.returncode == 0 and not complaints, done.stderr
