# SPDX-License-Identifier: MIT
"""The console's source: what is computed, and where its packages come from."""
import json
import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WEB = os.path.join(ROOT, "web")


def test_what_the_console_computes():
    """After ./dev build, which brings its packages."""
    done = subprocess.run(["node_modules/.bin/vitest", "run"], cwd=WEB, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_lock_file_names_no_place():
    """Each package is pinned by its hash, and comes from wherever npm is told to look."""
    with open(os.path.join(WEB, "package-lock.json"), encoding="utf-8") as file:
        packages = json.load(file)["packages"]
    assert len(packages) > 50
    for name, package in packages.items():
        assert "resolved" not in package, name
        assert name == "" or package["integrity"].startswith("sha512-"), name
