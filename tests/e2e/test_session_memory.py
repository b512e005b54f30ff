# SPDX-License-Identifier: MIT
"""What an idle session costs, whatever its client asked for at the start and whatever rules there
are: a bound for each, and it is given back at the end."""
import pytest

from api import register
from conftest import IS_SANITIZED, Gateway
from native import credential
from pgwire import Wire
from test_descriptors import ManyBackends
from test_pg_guard import NO_WHERE, guarded
from test_pg_mask import FOUND, column, masked

WARM, COUNT = 20, 100
KIB_MAX = 40  # a start packet is as long as 10,000 bytes, and a page is the least that counts
PARAMETERS = {
    "none": {},
    "a long name": {"application_name": "n" * 9000},
    "a long options": {"options": " ".join(f"-c work_mem={n}MB" for n in range(1, 400))},
    "many settings": {f"extra.s{n}": "v" * 20 for n in range(50)},
    "extensions of the protocol": {f"_pq_.x{n}": "on" for n in range(50)},
    "beyond ASCII": {"application_name": "ä☕" * 500, "client_encoding": "UTF8"},
}


@pytest.fixture(scope="module")
def boss(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("gateway"), "--workers", 1)
    yield register(gateway)
    assert gateway.is_alive(), gateway.text()
    assert gateway.stop() == 0, gateway.text()


class Place:
    """As what guarded() and masked() want for a target: a server that takes in everybody."""

    def __init__(self, target):
        self.target, self.port = target, str(ManyBackends().port)

    def connection(self, admin, **members):
        return self.target.connection(admin, self.target.secret(PORT=self.port), **members)


@pytest.fixture(scope="module")
def place(target):
    return Place(target)


def cost(boss, made, parameters):
    wires = [Wire(made, **parameters) for _ in range(WARM)]
    try:
        before = boss.gateway.resident_kib()
        wires += [Wire(made, **parameters) for _ in range(COUNT)]
        for wire in wires:
            # A server without a catalog: under a rule of columns nothing of it is known.
            assert wire.ask("SELECT 1") in ([("1",)], [("[REDACTED]",)])
        return (boss.gateway.resident_kib() - before) / COUNT
    finally:
        for wire in wires:
            wire.conn.close()


@pytest.mark.parametrize("asked", PARAMETERS)
@pytest.mark.skipif(IS_SANITIZED, reason="their memory is the sanitizer's")
def test_an_idle_session_is_small_whatever_it_asked_for(boss, place, asked):
    each = cost(boss, credential(boss, place.connection(boss)), PARAMETERS[asked])
    print(f"{asked}: {each:.1f} KiB")
    assert each < KIB_MAX


@pytest.mark.parametrize("rules", ["a guard rail", "entities", "a column"])
@pytest.mark.skipif(IS_SANITIZED, reason="their memory is the sanitizer's")
def test_an_idle_session_is_small_under_rules(boss, place, rules):
    made = {"a guard rail": lambda: guarded(boss, place, NO_WHERE),
            "entities": lambda: masked(boss, place, FOUND),
            "a column": lambda: masked(boss, place, column("public.people.secret"))}[rules]()
    each = cost(boss, made, {})
    print(f"{rules}: {each:.1f} KiB")
    assert each < KIB_MAX
