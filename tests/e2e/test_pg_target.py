# SPDX-License-Identifier: MIT
"""The target side of the PostgreSQL path on a real server: how it signs in, what it tells when it
cannot, and that nothing is lost on the stream that it hands over."""
import json
import os
import subprocess

import pytest

from conftest import PATIENCE, HTTP_TEST_SERVER

PROBE = os.path.join(os.path.dirname(HTTP_TEST_SERVER), "pg_target_probe")
PASSWORD = "pä\u00a0ss wörd \u2168"  # a space and a number that SASLprep changes
LARGE = 100 * 1024 * 1024

HBA = """
local all postgres trust
host all postgres 127.0.0.1/32 trust
host all by_trust 127.0.0.1/32 trust
host all by_password 127.0.0.1/32 password
host all by_md5 127.0.0.1/32 md5
host all by_scram 127.0.0.1/32 scram-sha-256
host all by_scram_md5 127.0.0.1/32 md5
"""


def sql(postgres, text):
    subprocess.run(["psql", "-q", "-X", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1",
                    "-p", str(postgres.port), "-U", "postgres", "postgres"],
                   input=text, text=True, check=True, stdout=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def server(postgres):
    """The private server with a user for each way to sign in; its own rules come back after."""
    path = os.path.join(postgres.data, "pg_hba.conf")
    with open(path, encoding="utf-8") as file:
        before = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(HBA)
    users = {"by_trust": "scram-sha-256", "by_password": "scram-sha-256", "by_md5": "md5",
             "by_scram": "scram-sha-256", "by_scram_md5": "scram-sha-256"}
    sql(postgres, "SELECT pg_reload_conf();" + "".join(
        f"SET password_encryption = '{kind}'; CREATE USER {name} PASSWORD '{PASSWORD}';"
        for name, kind in users.items()))
    sql(postgres, "CREATE USER nobody;"
                  "CREATE DATABASE closed; REVOKE CONNECT ON DATABASE closed FROM PUBLIC;")
    yield postgres
    with open(path, "w", encoding="utf-8") as file:
        file.write(before)
    sql(postgres, "SELECT pg_reload_conf(); DROP DATABASE closed;"
                  "DROP USER nobody, " + ", ".join(users) + ";")


def probe(server, user, database="postgres", query="-", wish="", password=PASSWORD):
    done = subprocess.run([PROBE, str(server.port), user, database, query, wish],
                          input=password.encode(), stdout=subprocess.PIPE, check=True,
                          timeout=4 * PATIENCE)
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("user", ["by_trust", "by_password", "by_md5", "by_scram", "by_scram_md5"])
def test_every_way_to_sign_in(server, user):
    start, result = probe(server, user, query="SELECT current_user, 1")
    assert start["transaction"] == "I"
    assert start["key_size"] == 4
    assert start["rest"] == 0
    assert start["parameters"]["session_authorization"] == user
    assert result["rows"] == 1
    assert result["sqlstate"] == ""


def test_parameters_are_passed_on_and_come_back(server):
    start, result = probe(server, "by_scram",
                          query="SELECT 1/(current_setting('search_path') = 'elsewhere')::int")
    assert start["parameters"]["application_name"] == "probe"
    assert start["parameters"]["client_encoding"] == "UTF8"
    assert start["parameters"]["DateStyle"] == "SQL, DMY"
    assert start["parameters"]["server_version"]
    assert result["rows"] == 1


@pytest.mark.parametrize("user", ["by_password", "by_md5", "by_scram", "by_scram_md5"])
def test_a_wrong_password_is_the_gateways_affair(server, user):
    failure, = probe(server, user, password="wrong")
    assert failure["sqlstate"] == "08004"
    assert failure["message"] == ("the target refuses the credentials that the gateway has "
                                  "stored for it")
    assert "password authentication failed" in failure["error"]
    assert "28P01" in failure["error"]
    assert "wrong" not in failure["error"]


def test_a_user_without_an_entry_is_the_gateways_affair(server):
    failure, = probe(server, "nobody")
    assert failure["sqlstate"] == "08004"
    assert "pg_hba.conf" in failure["error"]
    assert "pg_hba.conf" not in failure["message"]


def test_errors_before_readiness_are_the_servers_own(server):
    failure, = probe(server, "by_scram", database="nowhere")
    assert failure["sqlstate"] == "3D000"
    assert failure["message"] == 'database "nowhere" does not exist'
    failure, = probe(server, "by_scram", database="closed")
    assert failure["sqlstate"] == "42501"
    assert failure["message"] == 'permission denied for database "closed"'


def test_too_many_connections(server):
    sql(server, "ALTER USER by_trust CONNECTION LIMIT 0")
    failure, = probe(server, "by_trust")
    sql(server, "ALTER USER by_trust CONNECTION LIMIT -1")
    assert failure["sqlstate"] == "53300"
    assert failure["message"] == 'too many connections for role "by_trust"'


def test_clear_text_stays_off_networks(server):
    failure, = probe(server, "by_password", wish="remote")
    assert failure["sqlstate"] == "08001"
    assert "in clear text over a network" in failure["error"]
    assert len(probe(server, "by_scram", wish="remote")) == 1


def test_a_hundred_megabytes_through_the_stream(server):
    _, result = probe(server, "by_scram",
                      query=f"SELECT repeat('x', 1024) FROM generate_series(1, {LARGE // 1024})")
    assert result["rows"] == LARGE // 1024
    assert result["row_bytes"] == LARGE // 1024 * (2 + 4 + 1024)


def test_a_row_of_a_hundred_megabytes(server):
    _, result = probe(server, "by_scram", query=f"SELECT repeat('x', {LARGE})")
    assert result["rows"] == 1
    assert result["row_bytes"] == 2 + 4 + LARGE


def test_a_query_is_cancelled(server):
    _, result = probe(server, "by_scram", query="SELECT pg_sleep(60)", wish="cancel")
    assert result["sqlstate"] == "57014"
    assert result["cancelled"]
