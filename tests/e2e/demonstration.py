# SPDX-License-Identifier: MIT
"""./dev run as somebody types it, and the demonstration that comes with it."""
import os
import re
import shutil
import signal
import subprocess
import tempfile

from conftest import BINARY, IS_SANITIZED, PATIENCE, ROOT, Gateway, wait_for

LINE = r'psql "host=127\.0\.0\.1 port=(\d+) user=demo dbname=shop password=([\w-]+)"'


def new_folder():
    """One that the user of PostgreSQL can go through, which those of pytest are not."""
    folder = tempfile.mkdtemp(prefix="gatehouse-demo-")
    os.chmod(folder, 0o755)
    return folder


def environment(**settings):
    """Ports that are free, and the program under test in the place of one that is built."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("GATEHOUSE_")}
    clean.update({"GATEHOUSE_LISTEN": "127.0.0.1:0", "GATEHOUSE_POSTGRES_LISTEN": "127.0.0.1:0",
                  "GATEHOUSE_MYSQL_LISTEN": "127.0.0.1:0",
                  "GATEHOUSE_SSH_LISTEN": "127.0.0.1:0", "GATEHOUSE_BINARY": BINARY, **settings})
    if IS_SANITIZED:
        clean["GATEHOUSE_SANDBOX"] = "off"
    return clean


class Run:
    """A ./dev run in a group of processes of its own, as a terminal would have it."""

    def __init__(self, folder, *arguments, root=ROOT, **settings):
        self.folder, self.data = folder, os.path.join(folder, "gatehouse-data")
        self.output = os.path.join(folder, "output.txt")
        self.root, self.env = root, environment(GATEHOUSE_DATA_DIR=self.data, **settings)
        with open(self.output, "wb") as out:
            self.process = subprocess.Popen(["./dev", "run", *arguments], cwd=root, env=self.env,
                                            stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                            start_new_session=True)
        self.port = int(self.wait_text(r"Open +http://127\.0\.0\.1:(\d+)/").group(1))

    get, http, scheme, control = Gateway.get, Gateway.http, "http", Gateway.control

    def text(self):
        with open(self.output, encoding="utf-8") as out:
            return out.read()

    def wait_text(self, pattern):
        def found():
            assert self.process.poll() is None, self.text()
            return re.search(pattern, self.text())
        return wait_for(found, 4 * PATIENCE, f"'{pattern}'")

    def line(self):
        return self.wait_text(LINE).group(0)

    def demo(self, command):
        return subprocess.run(["./dev", "demo", command], cwd=self.root, env=self.env, text=True,
                              capture_output=True, timeout=4 * PATIENCE, check=False)

    def interrupt(self):
        """Ctrl+C."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGINT)
        return self.process.wait(4 * PATIENCE)

    def remove(self):
        self.interrupt()
        self.demo("stop")
        shutil.rmtree(self.folder)


def shell(line, text, check=True):
    """The line, typed into a shell with a question behind it."""
    done = subprocess.run(["bash", "-c", f'{line} -X -A -t -c "$1"', "bash", text], text=True,
                          capture_output=True, timeout=PATIENCE, check=False)
    if check:
        assert done.returncode == 0, done.stderr
    return done
