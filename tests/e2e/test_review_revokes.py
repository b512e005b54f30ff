# SPDX-License-Identifier: MIT
"""How long a session goes on whose leave was taken away, with many others beside it."""
import select
import socket
import time

import pytest

from conftest import IS_SANITIZED, Gateway
from people import TRUSTED, House
from pgwire import Wire
from test_descriptors import CROWD, ManyBackends
from test_reviews import Crew, decide

COUNT = CROWD
SECONDS_MAX = 1.0


def ends_of(wires, begin, seconds):
    """For each connection how long after the start of what 'begin' does it was closed."""
    poll, left = select.epoll(), {wire.conn.fileno(): wire.conn for wire in wires}
    for number in left:
        poll.register(number, select.EPOLLIN | select.EPOLLRDHUP)
    started, ends = time.monotonic(), []
    begin()
    while left and time.monotonic() < started + seconds:
        for number, _ in poll.poll(0.05):
            try:
                while data := left[number].recv(65536, socket.MSG_DONTWAIT):
                    assert data
            except BlockingIOError:
                continue
            except ConnectionError:
                pass
            poll.unregister(number)
            left.pop(number)
            ends.append(time.monotonic() - started)
    poll.close()
    return sorted(ends)


@pytest.mark.quiet
@pytest.mark.skipif(IS_SANITIZED, reason="sanitizers slow it down")
def test_a_revoke_closes_all_sessions_within_a_second(tmp_path, target):
    gateway = Gateway(tmp_path, *TRUSTED)
    crew = Crew(House(gateway), target)
    name = crew.target.connection(crew.admin, crew.target.secret(PORT=str(ManyBackends().port)))
    crew.rule(name, access_type="jit")

    def granted():
        asked = crew.jit(name)
        decide(crew.bob, asked)
        return asked, crew.jit(name, status=201)

    asked, made = granted()
    wires = [Wire(made) for _ in range(COUNT)]
    stranger = crew.connection()
    answer = crew.admin.post(f"/connections/{stranger}/credentials", {})
    other = Wire(answer.json)  # of somebody else, which goes on
    ends = ends_of(wires, lambda: decide(crew.bob, asked, "REVOKED", reason="enough"), 30)
    assert len(ends) == COUNT
    p99 = ends[int(COUNT * 0.99) - 1]
    print(f"{COUNT} sessions: p50 {ends[COUNT // 2]:.3f} s, p99 {p99:.3f} s, all {ends[-1]:.3f} s")
    assert p99 <= SECONDS_MAX
    assert other.ask("SELECT 1") == [("1",)]
    for wire in [*wires, other]:
        wire.conn.close()
    assert gateway.stop() == 0, gateway.text()
