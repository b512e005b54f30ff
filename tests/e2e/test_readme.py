# SPDX-License-Identifier: MIT
"""The README's first session works, as it stands there."""
import os
import re
import subprocess

from conftest import BINARY, ROOT


def session():
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as readme:
        chapter = re.search(r"## A first session\n(.*?)\n## ", readme.read(), re.S).group(1)
    return "\n".join(re.findall(r"```\n(.*?)```", chapter, re.S))


def test_the_first_session_works(start, tmp_path):
    gateway = start(folder=tmp_path)
    os.symlink(gateway.data, tmp_path / "gatehouse-data")
    os.mkdir(tmp_path / "build")
    os.symlink(BINARY, tmp_path / "build/gatehouse")
    script = session().replace("127.0.0.1:8009", f"127.0.0.1:{gateway.port}")
    assert script.count("api") >= 6
    result = subprocess.run(["bash", "-euxo", "pipefail", "-c", script], cwd=tmp_path,
                            capture_output=True, text=True, timeout=30)
    assert result.returncode == 0, result.stderr
    assert '"name":"orders-ro"' in result.stdout and "each in its place" in result.stdout
