# SPDX-License-Identifier: MIT
"""What knowing the caller costs, and what sign-ins cost others."""
import collections
import http.client
import json
import multiprocessing
import statistics
import tempfile
import threading
import time

from caller import Caller
from servers import Gateway, compare

PASSWORD = "lamp under seven rivers"
ACCOUNTS = 60
AT_ONCE = 300


def cost_of_a_caller(gateway, admin, options):
    """Two answers of the same making; one wants to know who asks."""
    rows = []
    token = Caller(gateway.port, "").call("POST", "/localauth/login", {
        "email": "bench@example.com", "password": PASSWORD})[2]
    for title, caller in (("a token", Caller(gateway.port, token)), ("an API key", admin)):
        ratio, rate, ours, theirs = compare(
            gateway, admin.url("/serverinfo"), gateway, admin.url("/publicserverinfo"),
            options.rounds, options.seconds, *caller.wrk_arguments())
        rows.append((f"GET with {title}", f"{ours:,.0f}/s", f"without: {theirs:,.0f}/s",
                     f"costs {1 / ratio:.2f} per CPU second ({1 / rate:.2f} by the clock)",
                     "≤ 1.2"))
    return rows


def sign_in(port, account):
    """The status, and how long it took."""
    conn = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    start = time.monotonic()
    conn.request("POST", "/api/localauth/login", json.dumps(
        {"email": f"bench-{account}@example.com", "password": PASSWORD}))
    answer = conn.getresponse()
    answer.read()
    conn.close()
    return answer.status, time.monotonic() - start


def keep_signing_in(port, per_second, ending, statuses):
    """Evenly, from as many threads as are needed for answers that take long; a process of its own,
    so that the one that measures has its interpreter for itself."""
    lock, seen = threading.Lock(), collections.Counter()
    plan = {"next_at": time.monotonic(), "count": 0}

    def work():
        while not ending.is_set():
            with lock:
                plan["next_at"] = max(plan["next_at"] + 1 / per_second, time.monotonic() - 1)
                plan["count"] += 1
                wait, account = plan["next_at"] - time.monotonic(), plan["count"] % ACCOUNTS
            time.sleep(max(wait, 0))
            seen[sign_in(port, account)[0]] += 1

    threads = [threading.Thread(target=work) for _ in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    statuses.put(seen)


def p99_ms(caller, seconds):
    times = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        start = time.perf_counter()
        caller.call("GET", "/serverinfo")
        times.append(time.perf_counter() - start)
        time.sleep(0.001)
    return sorted(times)[int(len(times) * 0.99)] * 1000


def cost_of_sign_ins(gateway, admin, options):
    for account in range(ACCOUNTS):
        admin.call("POST", "/users", {"email": f"bench-{account}@example.com",
                                      "password": PASSWORD, "groups": []})
    seconds = options.seconds
    quiet, busy, statuses = [], [], collections.Counter()
    for _ in range(options.rounds):
        quiet.append(p99_ms(admin, seconds))
        ending, answers = multiprocessing.Event(), multiprocessing.Queue()
        load = multiprocessing.Process(target=keep_signing_in,
                                       args=(gateway.port, 50, ending, answers))
        load.start()
        time.sleep(0.5)
        busy.append(p99_ms(admin, seconds))
        ending.set()
        statuses += answers.get()
        load.join()
    quiet, busy = statistics.median(quiet), statistics.median(busy)
    shown = ", ".join(f"{status}: {count}" for status, count in sorted(statuses.items()))
    return ("p99 of other requests beside 50 sign-ins a second", f"{busy:.2f} ms",
            f"{quiet:.2f} ms alone", f"{busy / quiet:.2f} ({shown})", "≤ 2")


def too_many_at_once(gateway):
    statuses = collections.Counter()
    threads = [threading.Thread(target=lambda i=i: statuses.update(
        [sign_in(gateway.port, i % ACCOUNTS)[0]])) for i in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return (f"{AT_ONCE} sign-ins at once", f"{statuses[200]} signed in",
            f"{statuses[429]} told to wait", "", "queued, then 429")


def measure(options, folder):
    gateway = Gateway(options.binary, tempfile.mkdtemp(dir=folder))
    try:
        admin = Caller.register(gateway)
        return [*cost_of_a_caller(gateway, admin, options),
                cost_of_sign_ins(gateway, admin, options), too_many_at_once(gateway)]
    finally:
        gateway.stop()
