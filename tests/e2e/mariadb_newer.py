# SPDX-License-Identifier: MIT
"""A newer MariaDB than this machine's Debian has, of Debian's next release: its files lie in build/,
nothing of it is installed, and its programs are run by their own loader. Packages are fetched where
tests run at full length; a run that does not find them skips what needs them."""
import glob
import os
import shutil
import subprocess

import pytest

from debian_source import debian_newer
from installed import BUILD, made
from mariadb import MariadbServer
from plan import IS_LONG

RELEASE = "trixie"
NAME = "mariadb-newer"
PACKAGES = ["mariadb-client-core", "mariadb-server-core"]
PLUGINS = "mariadb-server"  # without the many things that it needs as a service
TABLES = ["mariadb_system_tables.sql", "mariadb_performance_tables.sql",
          "mariadb_system_tables_data.sql"]


def fetched(name, what, source, release, packages, alone=()):
    """The folder build/NAME with the files of a release's packages; skips where it cannot be had."""
    is_here = os.path.exists(os.path.join(BUILD, name, "made-of.txt"))
    if not is_here and not IS_LONG:
        pytest.skip(f"{what} is not in build/; GATEHOUSE_LONG_TESTS=1 fetches it")
    try:
        return made(name, [os.path.abspath(source)],
                    lambda folder: debian_newer(folder, release, packages, alone))
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"{what} cannot be had: {error}")


def own_loader(root, name):
    """The words that run a program of such a folder by its own libraries."""
    libraries = [*glob.glob(os.path.join(root, "usr/lib/*-linux-gnu")),
                 *glob.glob(os.path.join(root, "usr/lib/*-linux-gnu/systemd"))]
    [path] = glob.glob(os.path.join(root, "usr/*bin", name))
    return [os.path.join(root, "usr/lib64/ld-linux-x86-64.so.2"), "--library-path",
            ":".join(libraries), path]


def folder():
    return fetched(NAME, "MariaDB 11.8", __file__, RELEASE, PACKAGES, [PLUGINS])


def program(name):
    return own_loader(folder(), name)


def client(*arguments):
    [plugins] = glob.glob(os.path.join(folder(), "usr/lib/*-linux-gnu/libmariadb3/plugin"))
    return [*program("mariadb"), "--no-defaults", f"--plugin-dir={plugins}", *arguments]


class NewerServer(MariadbServer):
    """The program that makes a server's tables is a script of the system's own: it is done here."""

    def daemon(self):
        share = os.path.join(folder(), "usr/share/mariadb")
        return [*program("mariadbd"), "--no-defaults", f"--lc-messages-dir={share}/english",
                f"--character-sets-dir={share}/charsets",
                f"--plugin-dir={folder()}/usr/lib/mysql/plugin"]

    def install(self):
        os.makedirs(self.data)
        if os.getuid() == 0:
            shutil.chown(self.data, self.user)
        text = "CREATE DATABASE mysql;\nUSE mysql;\nSET @auth_root_socket = NULL;\n"
        for name in TABLES:
            with open(os.path.join(folder(), "usr/share/mariadb", name), encoding="utf-8") as file:
                text += file.read()
        subprocess.run([*self.daemon(), "--bootstrap", *self.places()],
                       input=text, text=True, check=True, capture_output=True, cwd="/")
