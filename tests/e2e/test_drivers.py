# SPDX-License-Identifier: MIT
"""Drivers of PostgreSQL find through the gateway what they find at the server itself. With
GATEHOUSE_UPDATE_DOCS in the environment docs/drivers.md becomes what was found."""
import concurrent.futures
import os

import pytest

from api import register
from conftest import ROOT
from driver_matrix import (DRIVERS, DriverServer, TlsGateway, check_page, direct_address, is_there,
                           newer_programs, page, run_checks)
from native import Target, address, credential, sql
from test_tls import make_certificate

SERVERS = ["debian", "newer"]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return make_certificate(tmp_path_factory.mktemp("certificate"), "localhost")


@pytest.fixture(scope="module")
def servers(certificate):
    servers = dict(zip(SERVERS, [DriverServer(*certificate),
                                 DriverServer(*certificate, newer_programs())], strict=True))
    yield servers
    for server in servers.values():
        server.stop()


@pytest.fixture(scope="module")
def boss(certificate, tmp_path_factory):
    gateway = TlsGateway(tmp_path_factory.mktemp("gateway"), *certificate)
    yield register(gateway)
    assert gateway.is_alive(), gateway.text()
    assert gateway.stop() == 0, gateway.text()


@pytest.fixture(scope="module")
def runs(certificate, servers, boss, tools):
    """Of each driver at each server: what is found there and through the gateway."""
    commands = {name: make(tools) for name, make in DRIVERS.items() if is_there(name)}

    def both(command, target, version):
        made = credential(boss, target.connection(boss))
        return [run_checks(command, place, certificate[0], version)
                for place in (direct_address(target), address(made))]
    started = {}
    with concurrent.futures.ThreadPoolExecutor(max_workers=4) as pool:
        for name, server in servers.items():
            version = sql(server, "SHOW server_version_num")
            for driver, command in commands.items():
                started[driver, name] = pool.submit(both, command, Target(server), version)
    return {which: run.result() for which, run in started.items()}


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("driver", DRIVERS)
def test_a_driver_finds_no_difference(runs, driver, server):
    if (driver, server) not in runs:
        pytest.skip(f"what {driver} needs is not here")
    direct, through = runs[driver, server]
    assert {check: found for check, found in direct.items() if found[0] is False} == {}
    assert through == direct


def test_the_page_says_what_was_found(runs, servers):
    if len(runs) < len(DRIVERS) * len(SERVERS):
        pytest.skip("not all drivers were run")
    by_server = {}
    for name, server in servers.items():
        major = int(sql(server, "SHOW server_version_num")) // 10000
        by_server[f"PostgreSQL {major}"] = {driver: runs[driver, name] for driver in DRIVERS}
    found = page(by_server)
    with open(os.path.join(ROOT, "build/drivers.md"), "w", encoding="utf-8") as out:
        out.write(found)
    check_page(found, is_mysql=False)
