# SPDX-License-Identifier: MIT
"""A newer MariaDB as the target: what it has that the one of this machine's Debian has not."""
import pytest

import mariadb_newer
from api import register
from conftest import Gateway
from mariadb import TARGET_PASSWORD, MysqlTarget, mariadb
from native import credential
from test_tls import make_certificate


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = mariadb_newer.NewerServer(
        make_certificate(tmp_path_factory.mktemp("target-certificate"), "target"),
        "--plugin-load-add=auth_parsec", "--plugin-load-add=auth_ed25519")
    yield server
    server.remove()


@pytest.fixture(scope="module")
def admin(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("gateway"))
    yield register(gateway)
    assert gateway.is_alive(), gateway.text()
    assert gateway.stop() == 0, gateway.text()


@pytest.mark.parametrize("mode", ["disable", "require"])
@pytest.mark.parametrize("method", ["mysql_native_password", "ed25519", "parsec"])
def test_the_target_asks_for_a_method(server, admin, method, mode):
    target = MysqlTarget(server, how=f"IDENTIFIED VIA {method} USING PASSWORD('{TARGET_PASSWORD}')")
    made = credential(admin, target.connection(admin, target.secret(SSLMODE=mode)))
    for _ in range(20):  # the server's random bytes may have any value
        done = mariadb(made, "SELECT VERSION(), CURRENT_USER()", "-N", check=False)
        assert done.returncode == 0, done.stderr
        version, user = done.stdout.split("\n")[0].split("\t")
        assert version.startswith("11.") and user == f"{target.user}@%"
    wrong = credential(admin, target.connection(admin, target.secret(SSLMODE=mode, PASS="another")))
    done = mariadb(wrong, "SELECT 1", check=False)
    assert done.returncode == 1 and "stored for it" in done.stderr, done.stderr
