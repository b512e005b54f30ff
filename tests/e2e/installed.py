# SPDX-License-Identifier: MIT
"""What tests need and Debian does not have: installed or compiled once, into build/."""
import contextlib
import fcntl
import glob
import hashlib
import os
import re
import shutil
import subprocess
import zipfile

BUILD = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
                     "build")


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{command[0]}: {(done.stdout + done.stderr)[-4000:]}"
    return done.stdout


@contextlib.contextmanager
def one_at_a_time(folder):
    """The processes that run tests at the same time share what is in build/."""
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    with open(f"{folder}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def made(name, sources, make):
    """The folder build/NAME, which make(folder) fills anew whenever a source has changed."""
    folder = os.path.join(BUILD, name)
    with one_at_a_time(folder):
        make_if_changed(folder, sources, make)
    return folder


def make_if_changed(folder, sources, make):
    digest = hashlib.sha256()
    for source in sources:
        with open(source, "rb") as file:
            digest.update(file.read())
    wanted, stamp = digest.hexdigest(), os.path.join(folder, "made-of.txt")
    if os.path.exists(stamp):
        with open(stamp, encoding="ascii") as file:
            if file.read() == wanted:
                return
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    make(folder)
    with open(stamp, "w", encoding="ascii") as file:
        file.write(wanted)


def node_packages(name, source):
    """The packages of the lock file in the folder source."""
    files = [os.path.join(source, file) for file in ("package.json", "package-lock.json")]

    def make(folder):
        for file in files:
            shutil.copy(file, folder)
        run("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error",
            cwd=folder)
    return made(name, files, make)


def maven_jar(name, source):
    """The jar that the first line of the file source names and the second one has the hash of."""
    with open(source, encoding="ascii") as file:
        artifact, wanted = file.read().split()
    jar = "-".join(artifact.split(":")[1:]) + ".jar"

    def make(folder):
        run("mvn", "-q", "-B", "dependency:copy", f"-Dartifact={artifact}",
            f"-DoutputDirectory={folder}", cwd=folder)
        with open(os.path.join(folder, jar), "rb") as file:
            found = hashlib.sha256(file.read()).hexdigest()
        assert found == wanted, f"{jar} has the SHA-256 {found}"
    return os.path.join(made(name, [source], make), jar)


def unpacked_wheel(tools, name, source, wanted):
    """Of the one wheel that the requirements file source pins, without what it depends on, the
    files whose names match. Tools is the folder of pip."""
    def make(folder):
        run(os.path.join(tools, "pip"), "download", "-q", "--no-deps", "--only-binary=:all:",
            "--require-hashes", "--dest", folder, "-r", source)
        wheel, = glob.glob(os.path.join(glob.escape(folder), "*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder, [file for file in archive.namelist()
                                        if re.fullmatch(wanted, file)])
        os.remove(wheel)
    return made(name, [source], make)
