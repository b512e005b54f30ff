# SPDX-License-Identifier: MIT
"""A small repository with the tools of this one, for tests of what follows from a change."""
import os
import shutil
import subprocess

import pytest

ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
WHO = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
       for what, value in (("NAME", "test"), ("EMAIL", "test@example.com"))}


def only_if_changed(*paths):
    """A mark for tests that start interpreters or compilers by the dozen, and that nothing but a
    change of these files can break."""
    done = subprocess.run([os.path.join(ROOT, "tools", "changed")], capture_output=True, text=True,
                          check=False)
    is_long = os.environ.get("GATEHOUSE_LONG_TESTS") == "1"
    is_due = is_long or done.returncode != 0 or bool(set(paths) & set(done.stdout.split()))
    return pytest.mark.skipif(not is_due, reason="what it tests is as it was; with --all")


class Repository:
    def __init__(self, folder, *tools):
        self.folder = folder
        self.env = {key: value for key, value in os.environ.items()
                    if not key.startswith(("GIT_", "GATEHOUSE_", "PYTEST_"))}
        self.env.update(WHO)
        (folder / "tools").mkdir()
        for tool in tools:
            shutil.copy(os.path.join(ROOT, "tools", tool), folder / "tools")
        self.git("init", "-q", "-b", "main")

    def write(self, **files):
        """By path, with two underscores for a slash and one dot before the last of them."""
        for name, text in files.items():
            path = self.folder / (name.replace("__", "/")[:-2] + "." + name[-1])
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def git(self, *arguments):
        return subprocess.run(["git", *arguments], cwd=self.folder, env=self.env, check=True,
                              capture_output=True, text=True).stdout.strip()

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "test: a change")

    def run(self, tool, *arguments, **env):
        return subprocess.run([self.folder / "tools" / tool, *arguments], env={**self.env, **env},
                              capture_output=True, text=True, check=False)
