# SPDX-License-Identifier: MIT
"""The README's first two minutes, and what follows them, typed as they stand there."""
import os
import re
import shutil
import subprocess

from conftest import BINARY, PATIENCE, ROOT
from demonstration import LINE, Run, new_folder


def blocks():
    """What is to be typed, and what is shown then."""
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as readme:
        chapters = re.search(r"## The first two minutes\n(.*?)\n## What is there", readme.read(),
                             re.S).group(1)
    found = re.findall(r"```(text)?\n(.*?)```", chapters, re.S)
    return ([text for kind, text in found if not kind], [text for kind, text in found if kind])


def clone(folder):
    """What 'git clone' makes of it, and a build of it."""
    for name in "dev", "packages.txt", "README.md":
        shutil.copy(os.path.join(ROOT, name), folder)
    shutil.copytree(os.path.join(ROOT, "tools"), os.path.join(folder, "tools"))
    os.mkdir(os.path.join(folder, "build"))
    os.symlink(BINARY, os.path.join(folder, "build/gatehouse"))


def test_the_first_two_minutes_are_as_they_are_told():
    (first, *typed), (shown, masked) = blocks()
    assert first == ("git clone <this repository> gatehouse && cd gatehouse\n"
                     "./dev run\n")
    folder = new_folder()
    clone(folder)
    run = Run(folder, root=folder)
    try:
        port, password = re.search(LINE, run.line()).groups()
        script = "\n".join(typed).replace("127.0.0.1:8009", f"127.0.0.1:{run.port}")
        assert script.count("api") >= 7 and script.count("psql") == 2
        script = script.replace("port=15432", f"port={port}").replace("password=…",
                                                                     f"password={password}")
        result = subprocess.run(["bash", "-euxo", "pipefail", "-c", script], cwd=folder,
                                env={**run.env, "GATEHOUSE_BINARY": ""}, capture_output=True,
                                text=True, timeout=4 * PATIENCE, check=False)
        assert result.returncode == 0, result.stderr
        assert result.stdout.startswith(shown)
        rows, refusal = masked.split("ERROR: ")
        assert rows in result.stdout and "ERROR: " + refusal in result.stderr
        assert "#1 > SELECT name, email, phone FROM customers" in result.stdout
        assert '"connection":"demo"' in result.stdout and '"name":"orders-ro"' in result.stdout
        assert "each in its place" in result.stdout
        assert result.stdout.endswith("the demonstration is gone\n")
    finally:
        run.remove()
