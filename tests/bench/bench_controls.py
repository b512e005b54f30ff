# SPDX-License-Identifier: MIT
"""What guard rails and masking cost a session: the same gateway and server, with and without."""
import json
import os
import subprocess
import tempfile

from bench_postgres import Place, fill, take_turns, through_gateway
from caller import Caller
from conftest import PostgresServer
from servers import Gateway

EXPORT_ROWS = 1_000_000
# Every tenth row has an e-mail address and a card number that passes its check.
EXPORT = (f"CREATE TABLE export AS SELECT i AS id, 'customer ' || i AS name, CASE WHEN i % 10 = 0 "
          f"THEN 'someone' || i || '@example.com' ELSE 'no address ' || i END AS contact, CASE WHEN "
          f"i % 10 = 0 THEN '4539148803436467' ELSE 'order 2024-' || i END AS payment, md5(i::text) "
          f"AS token FROM generate_series(1, {EXPORT_ROWS}) i")
GUARD = {"name": "bench", "input": {"rules": [
    {"type": "sql", "operations": ["update", "delete"], "without_where": True},
    {"type": "sql", "operations": ["drop", "truncate", "alter", "grant"]},
    {"type": "sql", "functions": ["pg_read_file", "lo_*", "dblink*"]},
    {"type": "deny_words_list", "words": ["pg_shadow", "pg_authid"]},
    {"type": "pattern_match", "pattern_regex": "(?i)into\\s+outfile"}]}}
MASK = {"name": "bench", "supported_entity_types": [{"name": "PII", "entity_types": [
    "EMAIL_ADDRESS", "CREDIT_CARD", "IBAN_CODE", "PHONE_NUMBER", "US_SSN"]}]}


# Of a table that is there and that no query reaches.
COLUMN = {"name": "bench columns", "columns": [{"name": "public.unread.secret"}]}


def doubt(action):
    """A rule that no query of these meets."""
    return {"name": f"bench {action}", "input": {"rules": [
        {"type": "sql", "operations": ["truncate"], "action": action}]}}


def ruled(admin, server, name, *rules):
    """A connection of its own, with rules."""
    place = through_gateway(admin, server, name=name)
    found = json.loads(admin.call("GET", f"/connections/{name}")[1])["id"]
    for path, rule in rules:
        status, body = admin.call("POST", path, {**rule, "connection_ids": [found]})[:2]
        assert status == 201, body
    return place


def queries(places, options):
    rows = []
    for protocol in "simple", "prepared":
        for clients in 1, 16:
            rates = take_turns(places, options.rounds, lambda place: place.pgbench(
                clients, options.seconds, "-M", protocol)[0])
            for name, what, wanted in (("guarded", "guard rails and masking", "≥ 0.9"),
                                       ("columns", "a column rule elsewhere", "≥ 0.98")):
                rows.append((f"queries, {protocol}, {clients} clients, {what}",
                             f"{rates[name]:,.0f}/s", f"without {rates['plain']:,.0f}/s",
                             f"{rates[name] / rates['plain']:.2f}", wanted))
    return rows


def reviews(places, options):
    """Statements beside a rule that would have them held: as beside one that would block them."""
    rates = take_turns(places, options.rounds,
                       lambda place: place.pgbench(1, options.seconds, "-M", "simple")[0])
    return [("queries, simple, 1 client, a rule of action review that none meets",
             f"{rates['review']:,.0f}/s", f"of action block {rates['block']:,.0f}/s",
             f"{rates['review'] / rates['block']:.2f}", "1.00 ± 0.02")]


def measure(options, folder):
    os.chmod(folder, 0o755)
    server = PostgresServer(f"{folder}/controls", "-c", "max_connections=200")
    fill(server)
    gateway = Gateway(options.binary, tempfile.mkdtemp(dir=folder), "--postgres-listen",
                      "127.0.0.1:0")
    try:
        admin = Caller.register(gateway)
        Place(server.port).run("psql", "-X", "-q", "-c", EXPORT, "-c",
                               "CREATE TABLE unread (secret text)", stdout=subprocess.DEVNULL)
        places = {"plain": through_gateway(admin, server),
                  "guarded": ruled(admin, server, "guarded", ("/guardrails", GUARD),
                                   ("/datamasking-rules", MASK)),
                  "columns": ruled(admin, server, "columns", ("/datamasking-rules", COLUMN))}
        seconds = take_turns(places, options.rounds,
                             lambda place: place.copy_seconds("TABLE export"))
        doubts = {action: ruled(admin, server, action, ("/guardrails", doubt(action)))
                  for action in ("block", "review")}
        rows = queries(places, options) + reviews(doubts, options)
        rows.append((f"export of {EXPORT_ROWS:,} rows, every tenth masked",
                     f"{seconds['guarded']:.2f} s", f"without {seconds['plain']:.2f} s",
                     f"{seconds['plain'] / seconds['guarded']:.2f}", "≥ 0.7"))
        return rows
    finally:
        gateway.stop()
        server.stop()
