# SPDX-License-Identifier: MIT
"""Sessions of real clients, through the gateway, at a real PostgreSQL server."""
import pytest

from native import Target, credential, psql


@pytest.fixture(scope="module")
def target(postgres):
    return Target(postgres)


def test_psql_reaches_a_database_whose_password_it_does_not_know(admin, target):
    made = credential(admin, target.connection(admin))
    assert psql(made, "SELECT current_user, 1 + 1").stdout == f"{target.user}|2\n"


def test_a_wrong_password_is_refused(admin, target):
    made = credential(admin, target.connection(admin))
    made["connection_credentials"]["password"] = "x" * 43
    done = psql(made, "SELECT 1", check=False)
    assert done.returncode == 2 and "password authentication failed" in done.stderr
