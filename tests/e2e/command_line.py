# SPDX-License-Identifier: MIT
"""A person at a terminal: a home of its own, and the command line."""
import json
import os
import subprocess

from conftest import BINARY, PATIENCE


class Person:
    def __init__(self, folder, caller=None, arguments=()):
        self.home = str(folder)
        os.makedirs(self.home, exist_ok=True)
        self.env = {name: value for name, value in os.environ.items()
                    if not name.startswith(("GATEHOUSE_", "XDG_", "PG")) and
                    "proxy" not in name.lower() and name not in ("DISPLAY", "BROWSER")}
        self.env["HOME"] = self.home
        if caller is not None:
            done = self.run("login", caller.gateway.url(""), "--token-stdin", *arguments,
                            text=caller.token + "\n")
            assert "signed in to" in done

    def start(self, *arguments, **variables):
        return subprocess.Popen([BINARY, *map(str, arguments)], env={**self.env, **variables},
                                cwd=self.home, text=True, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def done(self, *arguments, text="", **variables):
        return subprocess.run([BINARY, *map(str, arguments)], env={**self.env, **variables},
                              cwd=self.home, input=text, text=True, capture_output=True,
                              timeout=4 * PATIENCE, check=False)

    def run(self, *arguments, text="", code=0, **variables):
        done = self.done(*arguments, text=text, **variables)
        assert done.returncode == code, (arguments, done)
        return done.stdout

    def refused(self, code, *arguments, text="", **variables):
        """What it says, on one line."""
        done = self.done(*arguments, text=text, **variables)
        assert done.returncode == code, (arguments, done)
        last = done.stderr.splitlines()[-1]
        assert last.startswith("gatehouse: "), done.stderr
        return last

    def json(self, *arguments, **options):
        return json.loads(self.run(*arguments, "--output", "json", **options))

    def files(self):
        """{path below the home: mode}"""
        found = {}
        for folder, _, names in os.walk(self.home):
            for name in names:
                path = os.path.join(folder, name)
                found[os.path.relpath(path, self.home)] = os.stat(path).st_mode & 0o777
        return found
