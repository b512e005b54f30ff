# SPDX-License-Identifier: MIT
"""packaging/README.md typed as it stands, in a tree of its own whose first process is systemd: the
units are installed, started, read anew and stopped by it, with all that they forbid in force.

The tree is the machine's own with a layer over it that is gone afterwards; the network is the
machine's. It needs root, namespaces, overlayfs and cgroup v2; where one is missing the test says so
and is skipped, and test_day_one.py still has the units verified."""
import http.client
import http.client
import os
import re
import shutil
import signal
import subprocess

import pytest

from api import register
from conftest import BINARY, PATIENCE, ROOT, lasting_port, wait_for

INSIDE = r"""
set -eu
mount -t tmpfs tmpfs "$1"
mkdir "$1/over" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/over,workdir=$1/work" "$1/root"
cd "$1/root"
mount -t proc proc proc
mount -t tmpfs tmpfs run
mount --rbind /sys sys
mount --rbind /dev dev
mount -t cgroup2 none sys/fs/cgroup
mkdir -p srv/clone etc/gatehouse
mount --bind "$2" srv/clone
mount -t tmpfs tmpfs tmp
cp srv/clone/try.target etc/systemd/system/
cp srv/clone/environment etc/gatehouse/
exec env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin \
  chroot . /usr/lib/systemd/systemd --system --unit=try.target
"""
TARGET = "[Unit]\nDefaultDependencies=no\nWants=systemd-journald.service\n"
SUDO = "sudo() { \"$@\"; }\n"  # who types is root in there


def typed_blocks():
    with open(os.path.join(ROOT, "packaging/README.md"), encoding="utf-8") as file:
        blocks = re.findall(r"```\n(.*?)```", file.read(), re.S)
    first, rest = blocks[0].split("\n", 1)
    assert first == "./dev build"  # the tests have one
    return rest, *blocks[1:]


class Tree:
    """The tree, its systemd, and a shell in it."""

    def __init__(self, folder):
        self.port = lasting_port()
        clone, place = folder / "clone", folder / "tree"
        (clone / "build").mkdir(parents=True)
        place.mkdir()
        shutil.copy(BINARY, clone / "build/gatehouse")
        shutil.copytree(os.path.join(ROOT, "packaging"), clone / "packaging")
        (clone / "try.target").write_text(TARGET)
        (clone / "environment").write_text(f"GATEHOUSE_LISTEN=127.0.0.1:{self.port}\n"
                                           "GATEHOUSE_POSTGRES_LISTEN=127.0.0.1:0\n"
                                           "GATEHOUSE_MYSQL_LISTEN=127.0.0.1:0\n")
        self.output = folder / "output.txt"
        with open(self.output, "wb") as out:
            self.process = subprocess.Popen(
                ["unshare", "-mpfiuC", "--kill-child", "--propagation", "private", "sh", "-c",
                 INSIDE, "sh", place, clone], stdin=subprocess.DEVNULL, stdout=out, stderr=out)

    def first_process(self):
        path = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        with open(path, encoding="ascii") as file:
            children = file.read().split()
        return children[0] if children else None

    def run(self, script, check=True):
        done = subprocess.run(
            ["nsenter", "-t", self.first_process(), "-m", "-p", "-i", "-u", "-C", "-r", "-w",
             "env", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "bash", "-euc",
             f"cd /srv/clone\n{SUDO}{script}"], stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=4 * PATIENCE, check=False)
        assert done.returncode == 0 or not check, (script, done.stdout, done.stderr)
        return done.stdout.strip()

    def is_up(self):
        if self.process.poll() is not None:
            pytest.skip(f"no systemd can be started here: {self.output.read_text()[-500:]}")
        return self.first_process() and "running" in self.run("systemctl is-system-running || true", check=False)

    # What api.py asks of a gateway

    def control(self, method, path, value=None):
        assert (method, path) == ("GET", "/control/setup-code")
        return 200, {"setup_code": self.run(
            "gatehouse setup-code --data-dir /var/lib/gatehouse").split()[-1]}

    def get(self, path, headers=None, method="GET", body=None):
        conn = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            conn.request(method, path, body=body, headers=headers or {})
            answer = conn.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            conn.close()

    def answers(self):
        try:
            return self.get("/api/healthz")[0] == 200
        except OSError:
            return False

    def stop(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    missing = [word for word in ("unshare", "nsenter", "/usr/lib/systemd/systemd")
               if shutil.which(word) is None]
    if os.getuid() != 0 or missing:
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
