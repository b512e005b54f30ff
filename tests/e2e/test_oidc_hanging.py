# SPDX-License-Identifier: MIT
"""The provider takes requests and never answers: who has a password notices nothing."""
import concurrent.futures
import secrets
import threading
import time

import pytest

from api import PASSWORD, Api, login, register
from oidc import SECRET_ENV, Browser, Site, arguments_for

pytestmark = pytest.mark.quiet

HANGS = {name: {"mode": "slow", "ms": 60000}
         for name in ("discovery", "jwks", "token", "userinfo")}
RATIO_MAX = 1.2
ROUNDS = 9
PROVIDER_SECONDS = 8  # that the gateway waits for one answer


def seconds_of(what):
    begin = time.monotonic()
    what()
    return time.monotonic() - begin


class Race:
    """Sign-ins by password here and at a gateway that has no provider, in turn, so that whatever
    else the machine does slows both."""

    def __init__(self, site, quiet):
        self.gateways = [quiet, site.gateway]

    def ratio(self):
        """What the quicker half took here and there, while the others still wait: whatever else the
        machine does makes some slower, waiting for the provider would make all so. None has waited
        for it."""
        took, begin = ([], []), time.monotonic()
        while len(took[0]) < ROUNDS and \
                (len(took[0]) < 3 or time.monotonic() - begin < 0.7 * PROVIDER_SECONDS):
            for gateway, seconds in zip(self.gateways, took):
                seconds.append(seconds_of(lambda: login(gateway, "root@example.com", PASSWORD)))
            assert took[1][-1] < PROVIDER_SECONDS / 2
        quiet, here = (sum(sorted(seconds)[:(len(seconds) + 1) // 2]) for seconds in took)
        return here / quiet


class Crowd:
    """Calls that wait for their answers, all at once; the first of them have been sent."""

    def __init__(self, calls):
        self.pool = concurrent.futures.ThreadPoolExecutor(len(calls))
        started = threading.Barrier(len(calls) + 1)

        def run(call):
            started.wait()
            return call()
        self.futures = [self.pool.submit(run, call) for call in calls]
        started.wait()
        time.sleep(0.5)

    def is_waiting(self):
        return sum(not one.done() for one in self.futures)

    def results(self):
        found = [one.result() for one in self.futures]
        self.pool.shutdown()
        return found


@pytest.fixture
def quiet(start):
    gateway = start()
    register(gateway)
    return gateway


@pytest.fixture
def hanging(start, provider):
    site = Site(start(*arguments_for(provider), env=SECRET_ENV), provider)
    site.admin = register(site.gateway)
    return site


def forged(site, has_cookie):
    headers = {"Cookie": f"gatehouse_login={secrets.token_urlsafe(32)}"} if has_cookie else {}
    state = secrets.token_urlsafe(32)
    return lambda: Browser().open(f"{site.url}/api/callback?state={state}&code=x", headers=headers)


def stranded(site, person):
    """Somebody whom the provider has sent back."""
    browser = Browser(person)
    address = site.to_callback(browser)
    return lambda: browser.open(address)


def test_passwords_are_as_quick_as_ever(hanging, quiet, provider):
    site, race = hanging, Race(hanging, quiet)
    ways = [stranded(site, provider.person()) for _ in range(30)]
    provider.set(faults=HANGS)
    crowd = Crowd(ways + [forged(site, n % 2 == 0) for n in range(30)])
    assert crowd.is_waiting() > 0
    ratio = race.ratio()
    assert crowd.is_waiting() > 0  # all that was while they waited
    assert ratio <= RATIO_MAX
    answers = [answer.status for answer in crowd.results()]
    assert set(answers[30:]) == {400}  # nobody gave those states
    assert set(answers[:30]) == {429, 503}  # no more of an address wait than some
    crowd = Crowd([lambda: site.who(secrets.token_urlsafe(32)) for _ in range(30)])
    assert crowd.is_waiting() > 0
    ratio = race.ratio()
    others = sum(seconds_of(lambda: site.admin.get("/userinfo")) for _ in range(ROUNDS))
    assert crowd.is_waiting() > 0
    assert ratio <= RATIO_MAX
    assert others < 1
    assert {answer.status for answer in crowd.results()} == {429, 503}
    provider.do("reset")
    site.enter(provider.person())


def test_a_gateway_that_never_heard_of_it(hanging, quiet, provider):
    """Nothing of what the provider publishes is known yet, nor can it be."""
    site, race = hanging, Race(hanging, quiet)
    provider.set(faults=HANGS)
    crowd = Crowd([lambda: site.begin(Browser()) for _ in range(20)]
                  + [lambda: site.who(secrets.token_urlsafe(32)) for _ in range(20)]
                  + [lambda: site.who(f"e30.e30.{secrets.token_urlsafe(32)}") for _ in range(20)])
    assert crowd.is_waiting() > 0
    ratio = race.ratio()
    assert crowd.is_waiting() > 0
    assert ratio <= RATIO_MAX
    assert {answer.status for answer in crowd.results()} <= {401, 429, 503}


def test_who_keeps_it_busy_keeps_nobody_else_from_it(start, provider):
    """An address has its share of those who wait, and others come through beside it."""
    site = Site(start(*arguments_for(provider), "--trusted-proxies", "127.0.0.1",
                      env=SECRET_ENV), provider)
    register(site.gateway)
    site.begin(Browser())
    slow = {"mode": "slow", "ms": 3000}
    provider.set(faults={"userinfo": slow})
    crowd = Crowd([lambda: Api(site.gateway, secrets.token_urlsafe(32)).get(
        "/userinfo", headers={"X-Forwarded-For": "192.0.2.1"}) for _ in range(30)])
    assert crowd.is_waiting() == 8
    browser = Browser(provider.person(groups=["dev"]), {"X-Forwarded-For": "192.0.2.2"})
    took = seconds_of(lambda: browser.open(site.to_callback(browser)))
    assert took < 2, took
    assert sorted(answer.status for answer in crowd.results()) == [401] * 8 + [429] * 22


def test_an_admin_who_asks_it_waits_alone(hanging, quiet, provider):
    site, race = hanging, Race(hanging, quiet)
    body = {"auth_method": "oidc", "oidc_config": {
        "issuer_url": provider.issuer, "client_id": "gatehouse", "client_secret": "x"}}
    provider.set(faults=HANGS)
    crowd = Crowd([lambda: site.admin.put("/serverconfig/auth", body) for _ in range(12)])
    ratio = race.ratio()
    assert crowd.is_waiting() > 0
    assert ratio <= RATIO_MAX
    assert {answer.status for answer in crowd.results()} <= {400, 429}
