# SPDX-License-Identifier: MIT
"""The console's source: what is computed, and where its packages come from."""
import json
import os
import shutil
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


def clone_of_a_console(folder):
    """With programs in the place of its own that write down that they ran, and what of."""
    (folder / "tools").mkdir(parents=True)
    shutil.copy(os.path.join(ROOT, "tools/build-web"), folder / "tools")
    programs = folder / "web/node_modules/.bin"
    programs.mkdir(parents=True)
    (folder / "web/package-lock.json").write_text("{}")
    (folder / "web/page.txt").write_text("first")
    lock = subprocess.run(["sha256sum", "package-lock.json"], cwd=folder / "web", check=True,
                          capture_output=True, text=True).stdout
    (folder / "web/node_modules/.made-of").write_text(lock)
    for name, text in (("tsc", "grep -q wrong page.txt && exit 1; exit 0"),
                       ("vite", 'mkdir -p "$3"; cp page.txt "$3"; echo built >>../builds')):
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)


def build(folder, cache):
    done = subprocess.run([folder / "tools/build-web", folder / "out"], stdin=subprocess.DEVNULL,
                          env={"PATH": os.environ["PATH"], "XDG_CACHE_HOME": str(cache)},
                          capture_output=True, text=True, check=False)
    builds = folder / "builds"
    return done.returncode, len(builds.read_text().split()) if builds.exists() else 0


def test_it_is_built_once_for_all_clones(tmp_path):
    one, other, cache = tmp_path / "one", tmp_path / "other", tmp_path / "cache"
    clone_of_a_console(one)
    clone_of_a_console(other)
    assert build(one, cache) == (0, 1)
    assert build(other, cache) == (0, 0), "the other clone has built it"
    assert (other / "out/page.txt").read_text() == "first"
    (other / "web/page.txt").write_text("second")
    assert build(other, cache) == (0, 1)
    assert (other / "out/page.txt").read_text() == "second"
    assert build(one, cache) == (0, 1), "nothing has changed here"
    (one / "web/page.txt").write_text("wrong")
    assert build(one, cache) == (1, 2), "its types are wrong"
    assert build(one, cache) == (1, 3), "which is not kept"
    assert (one / "out/page.txt").read_text() == "first"
