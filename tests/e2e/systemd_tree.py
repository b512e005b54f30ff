# SPDX-License-Identifier: MIT
"""packaging/README.md can be typed as it stands in a tree of its own whose first process is systemd.

The tree is the machine's own with a layer over it that is gone afterwards; the network is the
machine's. It needs root, namespaces, overlayfs and cgroup v2; where one is missing it says so and
the test is skipped."""
import http.client
import os
import re
import shutil
import signal
import subprocess

import pytest

from conftest import BINARY, PATIENCE, ROOT, lasting_port

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
                                           "GATEHOUSE_MYSQL_LISTEN=127.0.0.1:0\n"
                                           "GATEHOUSE_SSH_LISTEN=127.0.0.1:0\n")
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


def can_have_a_tree():
    missing = [word for word in ("unshare", "nsenter", "/usr/lib/systemd/systemd")
               if shutil.which(word) is None]
    return [] if os.getuid() == 0 and not missing else missing or ["root"]
