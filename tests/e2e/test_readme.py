# SPDX-License-Identifier: MIT
"""The README's first session works, command by command, as it stands there."""
import os
import re
import shlex
import subprocess

from conftest import BINARY, ROOT


def commands():
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as readme:
        session = re.search(r"## A first session.*?```\n(.*?)```", readme.read(), re.S).group(1)
    return session.strip().splitlines()


def test_the_first_session_works(start, tmp_path):
    gateway = start(folder=tmp_path)
    os.symlink(gateway.data, tmp_path / "gatehouse-data")
    os.mkdir(tmp_path / "build")
    os.symlink(BINARY, tmp_path / "build/gatehouse")
    assert len(commands()) >= 5
    for command in commands():
        words = shlex.split(command.replace("127.0.0.1:8009", f"127.0.0.1:{gateway.port}"))
        result = subprocess.run([*words, "-f"] if words[0] == "curl" else words, cwd=tmp_path,
                                capture_output=True, text=True, timeout=30)
        assert result.returncode == 0 and result.stdout, (command, result.stderr)
