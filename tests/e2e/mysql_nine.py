# SPDX-License-Identifier: MIT
"""MySQL itself, which this machine's Debian does not have: version 9 of Debian's unstable release, as
mariadb_newer.py has its MariaDB. Only its own server and client are there, and nothing is installed."""
import os

import pytest

from conftest import PATIENCE
from installed import run
from mariadb import MariadbServer
from mariadb_newer import fetched, own_loader
from plan import IS_LONG

NAME = "mysql-nine"
PACKAGES = ["mysql-server-core", "mysql-client-core"]


def folder():
    """A server that takes so long to begin is for runs at full length."""
    if not IS_LONG:
        pytest.skip("MySQL 9 is for runs at full length: GATEHOUSE_LONG_TESTS=1")
    return fetched(NAME, "MySQL 9", __file__, "sid", PACKAGES)


def client(*arguments):
    return [*own_loader(folder(), "mysql"), "--no-defaults", *arguments]


class MysqlServer(MariadbServer):
    start_seconds = 8 * PATIENCE  # it is ready long after MariaDB would be

    def daemon(self):
        share = os.path.join(folder(), "usr/share/mysql")
        return [*own_loader(folder(), "mysqld"), "--no-defaults", f"--lc-messages-dir={share}",
                f"--character-sets-dir={share}/charsets", "--mysqlx=OFF", "--secure-file-priv=NULL",
                f"--plugin-dir={folder()}/usr/lib/mysql/plugin"]

    def install(self):
        run(*self.daemon(), "--initialize-insecure", *self.places(),
            "--innodb-redo-log-capacity=8M", cwd="/")
