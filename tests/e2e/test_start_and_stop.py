# SPDX-License-Identifier: MIT
"""Settings, wrong ones, commands, logs, signals, the sandbox: the program as its owner meets it."""
import json
import os
import re
import resource
import signal
import socket
import subprocess
import time

import pytest
from conftest import BINARY, IS_SANITIZED, PATIENCE, wait_for


def run(*arguments, env=None):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("GATEHOUSE_")}
    return subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=PATIENCE,
                          env={**clean, **(env or {})})


@pytest.mark.parametrize("arguments,env,says", [
    (["--listen", "nowhere"], {}, "--listen (GATEHOUSE_LISTEN): 'nowhere': HOST:PORT"),
    (["--listen", "127.0.0.1:99999"], {}, "HOST:PORT"),
    (["--workers", "many"], {}, "--workers"),
    (["--workers", "65"], {}, "0 to 64"),
    (["--log-format", "xml"], {}, "text|json"),
    (["--log-level", "loud"], {}, "--log-level"),
    (["--database-url", "mysql://user:secret@host/x"], {}, "--database-url"),
    (["--database-url", "sqlite:/store.db"], {}, "into a folder"),
    (["--public-url", "gate"], {}, "--public-url"),
    (["--tls-cert", "/nonexistent"], {}, "both or none"),
    (["--tls-cert", "/nonexistent", "--tls-key", "/nonexistent"], {}, "/nonexistent"),
    (["--nothing"], {}, "'--nothing': there is no such flag"),
    (["--listen"], {}, "--listen: the value is missing"),
    (["extra"], {}, "'extra'"),
    ([], {"GATEHOUSE_LISTEN": "nowhere"}, "GATEHOUSE_LISTEN"),
    (["--data-dir", "/proc/nothing"], {}, "--data-dir"),
])
def test_a_wrong_setting_stops_the_start_with_one_line(tmp_path, arguments, env, says):
    result = run("serve", "--data-dir", str(tmp_path / "data"), *arguments, env=env)
    assert result.returncode in (1, 2)
    assert says in result.stderr and result.stderr.count("\n") == 1, result.stderr
    assert "secret" not in result.stderr


def test_the_environment_is_read_and_a_flag_goes_first(start, tmp_path):
    gateway = start("--log-format", "text", env={"GATEHOUSE_LOG_FORMAT": "json",
                                                 "GATEHOUSE_LOG_LEVEL": "debug"})
    assert re.search(r"info +app +listening", gateway.text())


def test_variables_of_others_do_not_stop_the_start(start):
    gateway = start(env={"GATEHOUSE_LISTN": "127.0.0.1:1",
                         "GATEHOUSE_SERVICE_HOST": "10.0.0.1"})
    assert "GATEHOUSE_LISTN (GATEHOUSE_LISTEN?)" in gateway.text()
    assert "GATEHOUSE_SERVICE_HOST" in gateway.text()


def test_help_names_every_setting():
    page = run("serve", "--help").stdout
    for flag in ("--data-dir", "--listen", "--tls-cert", "--sandbox", "--shutdown-seconds"):
        assert flag in page
    assert "--fault" not in page and "gatehouse org create" in page
    assert run("settings").stdout.count("| `--") == page.count("  --")
    assert run("nonsense").returncode == 2


def test_version_and_check(tmp_path):
    assert re.fullmatch(r"gatehouse \d+\.\d+\.\d+\n", run("version").stdout)
    result = run("check", "--data-dir", str(tmp_path / "data"), "--listen", "127.0.0.1:0",
                 *(["--sandbox", "off"] if IS_SANITIZED else []))
    assert result.returncode == 0 and "it would start" in result.stdout, result.stderr


def test_a_second_gateway_on_the_same_folder_or_port_is_refused(start, gateway):
    same_folder = run("serve", "--data-dir", gateway.data, "--listen", "127.0.0.1:0")
    assert same_folder.returncode == 1 and "another gateway uses" in same_folder.stderr
    other = start("--listen", f"127.0.0.1:{gateway.port}", wait=False)
    assert other.process.wait(PATIENCE) == 1 and "is another gateway running?" in other.text()
    assert gateway.get("/api/healthz")[0] == 200


def test_commands_talk_to_the_running_gateway(gateway):
    assert run("org", "create", "a b", "--data-dir", gateway.data).returncode == 0
    assert "  a b\n" in run("org", "list", "--data-dir", gateway.data).stdout
    again = run("org", "create", "a b", "--data-dir", gateway.data)
    assert again.returncode == 2 and "already exists" in again.stderr
    gone = run("org", "list", "--data-dir", "/nonexistent")
    assert gone.returncode == 1 and "no gateway answers" in gone.stderr


def test_log_levels_change_while_it_runs(gateway):
    assert "http=info" in run("log-levels", "--data-dir", gateway.data).stdout
    assert "http=debug" in run("log-levels", "http=debug", "--data-dir", gateway.data).stdout
    gateway.get("/api/healthz", headers={"Authorization": "Bearer secret-token"})
    wait_for(lambda: "path=/api/healthz" in gateway.text(), what="the debug line")
    assert "secret-token" not in gateway.text()
    wrong = run("log-levels", "http=loud", "--data-dir", gateway.data)
    assert wrong.returncode == 2 and "'loud' is not a log level" in wrong.stderr


def test_json_logs_are_json_whatever_is_asked(start):
    gateway = start("--log-format", "json", "--log-level", "debug")
    with gateway.connect() as conn:
        conn.sendall(b'GET /"\\%0A{}?a=b HTTP/1.1\r\nHost: localhost\r\n\r\n')
        conn.recv(4096)
    gateway.stop()
    lines = [line for line in gateway.text().splitlines() if line.startswith("{")]
    assert len(lines) >= 3
    for line in lines:
        entry = json.loads(line)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", entry["time"])
        assert {"level", "component", "message"} <= entry.keys()


def test_metrics_are_prometheus_text(gateway):
    gateway.get("/api/healthz")
    status, headers, body = gateway.get("/metrics")
    text = body.decode()
    assert status == 200 and headers["Content-Type"].startswith("text/plain; version=0.0.4")
    for line in text.splitlines():
        assert re.fullmatch(r"# (HELP|TYPE) .+|[a-z_]+(\{.*\})? [0-9.e+]+", line), line
    for name in ("gatehouse_http_requests_total", "gatehouse_http_request_duration_seconds_bucket",
                 "gatehouse_pool_queue", "gatehouse_store_reads_total", "gatehouse_workers",
                 "process_resident_memory_bytes", "gatehouse_connections_open"):
        assert name in text
    buckets = re.findall(r'_bucket\{method="GET",route="/api/healthz",le="[^"]+"\} (\d+)', text)
    assert len(buckets) == 12 and [int(b) for b in buckets] == sorted(int(b) for b in buckets)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_in_order(start, number):
    gateway = start()
    with gateway.connect() as idle:
        idle.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        idle.recv(100)
        begin = time.monotonic()
        gateway.signal(number)
        assert gateway.process.wait(PATIENCE) == 0
        assert time.monotonic() - begin < 3
    assert not os.path.exists(os.path.join(gateway.data, "control.sock"))


def test_a_kill_leaves_nothing_in_the_way_of_the_next_start(start, tmp_path):
    first = start(folder=tmp_path / "same")
    first.kill()
    assert start(folder=tmp_path / "same").get("/api/healthz")[0] == 200


@pytest.mark.quiet
def test_it_starts_fast_on_an_existing_store(start, tmp_path):
    start(folder=tmp_path / "same").stop()
    begin = time.monotonic()
    gateway = start(folder=tmp_path / "same")
    assert gateway.get("/api/healthz")[0] == 200
    assert time.monotonic() - begin < (5 if IS_SANITIZED else 0.25)  # the bench measures it


def test_it_listens_on_ipv6(start):
    gateway = start("--listen", "[::1]:0")
    with socket.create_connection(("::1", gateway.port), timeout=PATIENCE) as conn:
        conn.sendall(b"GET /api/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"200 OK" in conn.recv(4096)


def test_the_network_may_be_as_bad_as_it_likes(start):
    gateway = start("--fault", "short,again")
    for _ in range(5):
        assert gateway.get_json("/api/healthz") == (200, {"liveness": "OK"})
    script = re.search(rb'src="[^"]*(/assets/[^"]+)"', gateway.get("/sign-in")[2]).group(1).decode()
    status, _, body = gateway.get(script)
    assert status == 200 and len(body) > 10000


def test_without_descriptors_it_waits_and_goes_on(start):
    gateway = start()
    resource.prlimit(gateway.process.pid, resource.RLIMIT_NOFILE, (40, 40))
    # Of many addresses: one alone does not get so far.
    conns = [socket.create_connection(("127.0.0.1", gateway.port), source_address=(f"127.0.1.{n}", 0))
             for n in range(1, 61)]
    wait_for(lambda: "cannot accept connections for a moment" in gateway.text(), what="the line")
    before = os.times().elapsed, cpu_seconds(gateway.process.pid)
    time.sleep(1)
    busy = (cpu_seconds(gateway.process.pid) - before[1]) / (os.times().elapsed - before[0])
    assert busy < 0.2, "it spins"
    for conn in conns:
        conn.close()
    assert gateway.get_json("/api/healthz") == (200, {"liveness": "OK"})


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


GDB = r"""
set pagination off
set confirm off
call (int)open("/etc/passwd", 0)
call (int)open("/root", 0)
call (int)open("{folder}/outside.txt", 577, 420)
call (int)open("{data}/inside.txt", 577, 384)
call (int)execve("/bin/true", 0, 0)
call (int)fork()
call (int)socket(17, 3, 0)
call (long)syscall(101, 0, 0, 0, 0)
detach
"""


@pytest.mark.skipif(IS_SANITIZED or os.getuid() != 0, reason="needs the sandbox, and root to debug")
def test_a_taken_over_process_can_neither_run_programs_nor_leave_its_folder(start, tmp_path):
    gateway = start()
    script = tmp_path / "calls.gdb"
    script.write_text(GDB.format(folder=tmp_path, data=gateway.data))
    result = subprocess.run(["gdb", "-q", "-batch", "-p", str(gateway.process.pid), "-x",
                             str(script)], capture_output=True, text=True, timeout=60)
    answers = re.findall(r"^\$\d+ = (-?\d+)", result.stdout, re.M)
    assert len(answers) == 8, result.stdout + result.stderr
    assert [a == "-1" for a in answers] == [True, True, True, False, True, True, True, True]
    assert gateway.get("/api/healthz")[0] == 200
    with open(f"/proc/{gateway.process.pid}/status") as status:
        text = status.read()
    assert "NoNewPrivs:\t1" in text and "Seccomp:\t2" in text
