# SPDX-License-Identifier: MIT
"""The first day, typed as the documents say: every block of shell in docs/connections.md,
native-clients.md, agents.md and operations.md, in that order, in one shell beside one gateway; an
identity provider set up as docs/sign-in/ says; the units of packaging/ run by systemd."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import urllib.parse

import pytest

from api import register
from conftest import BINARY, PATIENCE, ROOT, Gateway, PostgresServer, lasting_port, wait_for
from documents import HERE, ONE_SHELL, Place, Told, kind_of, typed_here
from native import sql
from oidc import CLIENT_SECRET, RelyingParty, Site, decode
from systemd_tree import Tree, can_have_a_tree, typed_blocks
from test_pg_tls import Authority

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
    script = "".join(f"echo '=== {page}'\n" + "\n".join(blocks(page)) for page in ONE_SHELL)
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


def test_the_provider_is_set_up_as_it_is_told(postgres, provider, tmp_path):
    """The three steps, an invitation, access tokens and a service account, as the page has them."""
    page = typed_here("docs/sign-in/README.md")
    place = Place(tmp_path / "place", postgres)
    port = lasting_port()
    url = f"http://127.0.0.1:{port}"
    [serve] = [text for text in page if kind_of(text) == "serve"]
    script = serve.replace("…", f"'{CLIENT_SECRET}'").replace(HERE, url)
    script = script.replace("https://id.example.com/realms/staff", provider.issuer)
    script = script.replace("gatehouse serve", f"exec {BINARY} serve")
    gateway = Told(tmp_path, script, GATEHOUSE_LISTEN=f"127.0.0.1:{port}",
                   GATEHOUSE_POSTGRES_LISTEN="127.0.0.1:0", GATEHOUSE_MYSQL_LISTEN="127.0.0.1:0",
                   GATEHOUSE_SSH_LISTEN="127.0.0.1:0")
    try:
        link = re.search(r"(http://\S+)/register#setup_code=(\S+)", gateway.text())
        assert link.group(1) == url
        site = Site(gateway, provider)
        boss = provider.person()
        admin = site.enter(boss, setup_code=link.group(2))
        assert admin.get("/userinfo").json["is_admin"] is True
        token = RelyingParty(provider).machine_jwt()
        subject = decode(token)[1]["sub"]
        said = []
        for text in page:
            if kind_of(text) in ("api", "token"):
                text = text.replace("SUB OF THE TOKEN", subject)
                access = RelyingParty(provider).jwt(boss)
                said.append(place.type(text, url=url, TOKEN=admin.token, ACCESS_TOKEN=access))
        invited, me, account, shown = said
        assert "/invitation#token=ghi_" in json.loads(invited)["invitation_url"]
        assert json.loads(me)["is_admin"] is True
        assert json.loads(account)["issuer"] == provider.issuer
        assert json.loads(shown)["sub"] == boss
        assert site.who(token).json["name"] == "nightly-report"
    finally:
        assert gateway.stop() == 0, gateway.text()
        assert place.gateway.stop() == 0, place.gateway.text()


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    missing = can_have_a_tree()
    if missing:
        pytest.skip(f"a tree with systemd needs root and its programs: {missing}")
    tree = Tree(tmp_path_factory.mktemp("systemd"))
    try:
        wait_for(tree.is_up, what="systemd")
        yield tree
    finally:
        tree.stop()


def test_the_units_run_under_systemd(tree):
    install, *_ = typed_blocks()
    tree.run(install)
    wait_for(tree.answers, what="the gateway")
    shown = dict(line.split("=", 1) for line in tree.run(
        "systemctl show gatehouse -p MainPID,NRestarts,ActiveState").splitlines())
    assert shown["ActiveState"] == "active" and shown["NRestarts"] == "0"
    status = tree.run(f"cat /proc/{shown['MainPID']}/status")
    assert re.search(r"^Uid:\t(\d{5})\b", status, re.M), "a user of its own"
    assert re.search(r"^CapEff:\t0+$", status, re.M) and re.search(r"^NoNewPrivs:\t1$", status,
                                                                   re.M)
    mode, owner = tree.run("stat -c '%a %U' /var/lib/private/gatehouse/master.key").split()
    assert mode == "600" and owner != "root"
    # What the README says of the first admin, of the log and of the folder.
    code = tree.control("GET", "/control/setup-code")[1]["setup_code"]
    log = tree.run("journalctl -u gatehouse -o cat")
    assert "listening" in log and len(code) >= 20 and code not in log
    admin = register(tree)
    assert "default" in tree.run("gatehouse org list --data-dir /var/lib/gatehouse")
    made = admin.post("/agents", {"name": "branch"}).json
    tree.run("install -m 644 packaging/gatehouse-agent.service /etc/systemd/system/\n"
             "install -m 600 /dev/null /etc/gatehouse/agent\n"
             f"echo 'GATEHOUSE_TOKEN={made['token']}' > /etc/gatehouse/agent\n"
             "systemctl enable --now gatehouse-agent")
    wait_for(lambda: admin.get("/agents/branch").json["status"] == "CONNECTED", what="the agent")
    # It is read anew, restarted with what it has, and stopped in order.
    tree.run("systemctl reload gatehouse")
    assert admin.get("/userinfo").status == 200
    tree.run("systemctl restart gatehouse")
    wait_for(tree.answers, what="the gateway")
    assert admin.get("/userinfo").status == 200
    wait_for(lambda: admin.get("/agents/branch").json["status"] == "CONNECTED", what="the agent")
    tree.run("systemctl stop gatehouse gatehouse-agent")
    for unit in "gatehouse", "gatehouse-agent":
        shown = tree.run(f"systemctl show {unit} -p ActiveState,Result,ExecMainStatus")
        assert sorted(shown.splitlines()) == ["ActiveState=inactive", "ExecMainStatus=0",
                                              "Result=success"], (unit, shown)
    assert not tree.answers()


def test_a_wrong_setting_stops_the_start_for_good_and_is_named(tree):
    tree.run("echo GATEHOUSE_WORKERS=many > /etc/gatehouse/environment\n"
             "systemctl start gatehouse || true", check=False)

    def state():
        shown = dict(line.split("=", 1) for line in tree.run(
            "systemctl show gatehouse -p ActiveState,NRestarts,ExecMainStatus").splitlines())
        return shown if shown["ActiveState"] == "failed" else None
    assert wait_for(state, what="its failure") == {
        "ActiveState": "failed", "NRestarts": "0", "ExecMainStatus": "2"}
    assert "workers" in tree.run("journalctl -u gatehouse -o cat | tail -5").lower()
