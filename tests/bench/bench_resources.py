# SPDX-License-Identifier: MIT
"""Resources through the API: read beside nginx, listed, and written durably by many at once."""
import json
import os
import statistics
import tempfile
import time

from caller import Caller, resource, role
from servers import CONNECTIONS, Gateway, Nginx, compare, wrk

PUT_SCRIPT = """
local count = 0
request = function()
  count = (count + 1) % 200
  local name = "written-" .. count
  return wrk.format("PUT", "/api/resources/" .. name, nil,
    '{"name":"' .. name .. '","type":"database","env_vars":{"COUNT":"' .. count .. '"}}')
end
"""


def syncs_per_second(folder):
    """How often this disk can be synced by one writer, who appends 4 KiB each time."""
    with open(os.path.join(folder, "sync"), "wb", buffering=0) as out:
        start = time.monotonic()
        count = 0
        while time.monotonic() - start < 1:
            out.write(b"x" * 4096)
            os.fsync(out.fileno())
            count += 1
    return count


def read_one(gateway, admin, folder, options):
    admin.create(resource("five", roles=[role(f"five-{i}") for i in range(5)]))
    body = admin.call("GET", "/resources/five")[1]
    nginx = Nginx(tempfile.mkdtemp(dir=folder), {}, files={"/five.json": body})
    ratio, rate, ours, theirs = compare(
        gateway, admin.url("/resources/five"), nginx, f"http://127.0.0.1:{nginx.port}/five.json",
        options.rounds, options.seconds, *admin.wrk_arguments())
    nginx.stop()
    return (f"GET a resource with 5 roles, {len(body):,} bytes", f"{ours:,.0f}/s",
            f"nginx, the same from a file: {theirs:,.0f}/s",
            f"{rate:.2f} by the clock ({ratio:.2f} per CPU second)", "≥ 0.2")


def read_page(admin, options):
    for i in range(60):
        admin.create(resource(f"page-{i}", roles=[role(f"page-{i}-{j}") for j in range(3)]))
    url = admin.url("/resources?search=page-")
    page = json.loads(admin.call("GET", "/resources?search=page-")[1])
    assert len(page["data"]) == 50 and all(len(r["roles"]) == 3 for r in page["data"])
    rates = [wrk(admin.url("/resources"), options.seconds, *admin.wrk_arguments()) / options.seconds
             for _ in range(options.rounds)]
    searched = wrk(url, options.seconds, *admin.wrk_arguments()) / options.seconds
    return ("list page of 50 resources with 3 roles each", f"{statistics.median(rates):,.0f}/s",
            f"with a search: {searched:,.0f}/s", "", "≥ 2,000/s")


def write(admin, folder, options):
    script = os.path.join(folder, "put.lua")
    with open(script, "w") as out:
        out.write(PUT_SCRIPT)
    for i in range(200):
        admin.create(resource(f"written-{i}"))
    rates, syncs = [], []
    for _ in range(options.rounds):
        syncs.append(syncs_per_second(folder))
        rates.append(wrk(admin.url("/"), options.seconds, "-s", script, *admin.wrk_arguments())
                     / options.seconds)
    rate, sync = statistics.median(rates), statistics.median(syncs)
    return (f"PUT durable on SQLite, {CONNECTIONS} writers", f"{rate:,.0f}/s",
            f"one writer that syncs: {sync:,.0f}/s", f"{rate / sync:.2f}", "≥ 1,000/s")


def measure(options, folder):
    own = tempfile.mkdtemp(dir=folder)
    gateway = Gateway(options.binary, own)
    admin = Caller.register(gateway)
    rows = [read_one(gateway, admin, folder, options), read_page(admin, options)]
    gateway.stop()
    own = tempfile.mkdtemp(dir=folder)
    gateway = Gateway(options.binary, own, "--pool-threads", str(CONNECTIONS))
    rows.append(write(Caller.register(gateway), own, options))
    gateway.stop()
    return rows
