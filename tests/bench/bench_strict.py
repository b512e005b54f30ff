# SPDX-License-Identifier: MIT
"""What it adds to a query that the recording waits for the disk (--recording strict), beside the
usual recording, both on one file system and in turns. At a fixed rate that leaves the processors
time: a machine that is saturated shows its queue, not the wait. On the folder of the benchmark,
and, where this may be mounted, on ext4 in memory, whose disk costs nothing."""
import contextlib
import os
import statistics
import subprocess
import tempfile
import time

from bench_postgres import fill, through_gateway
from caller import Caller
from conftest import PostgresServer
from servers import Gateway

RATE, CLIENTS = 1000, 16
ROUNDS, SECONDS = 3, 5  # rounds at most: two disks take twice as long
OPENING = 1  # seconds in which sessions are opened, and their files made
SYNCS = 300
DISK_SIZE = 1 << 30  # the memory of a disk is taken as it is written


class CannotMount(Exception):
    """This machine, or this user, has no way to a file system of its own."""


def tell(*command):
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except OSError as problem:
        raise CannotMount(str(problem)) from problem
    except subprocess.CalledProcessError as problem:
        raise CannotMount(f"{command[0]}: {problem.stderr.strip().splitlines()[-1]}") from problem


@contextlib.contextmanager
def mounted(point, *arguments):
    os.makedirs(point)
    tell("mount", *arguments, point)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", point], check=True)


@contextlib.contextmanager
def memory_disk(folder):
    """The path of an empty ext4 whose blocks lie in memory."""
    if os.getuid() != 0:
        raise CannotMount("needs root")
    memory, disk = f"{folder}/memory", f"{folder}/disk"
    with mounted(memory, "-t", "tmpfs", "tmpfs"):
        with open(f"{memory}/image", "wb") as image:
            image.truncate(DISK_SIZE)
        tell("mkfs.ext4", "-q", "-F", f"{memory}/image")
        with mounted(disk, "-o", "loop", f"{memory}/image"):
            yield disk


def p99(times):
    return sorted(times)[len(times) * 99 // 100]


def sync_p99(folder):
    """In ms, of what the disk itself needs for 4 KiB at the end of a file."""
    times = []
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        for _ in range(SYNCS):
            start = time.perf_counter()
            file.write(bytes(4096))
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - start)
    return p99(times) * 1000


def latencies(place):
    """In ms, p50 and p99 of the queries of a fixed rate, each from when it was sent: pgbench counts
    from when it was due, and says how late it was. Without those of the opening."""
    with tempfile.TemporaryDirectory() as logs:
        place.run("pgbench", "-n", "-S", "-c", str(CLIENTS), "-j", "1", "-R", str(RATE), "-T",
                  str(SECONDS), "-l", "--log-prefix", f"{logs}/log")
        lines = [line.split() for name in os.listdir(logs) for line in open(f"{logs}/{name}")]
    start = min(int(line[4]) for line in lines) + OPENING
    times = [(int(line[2]) - int(line[6])) / 1000 for line in lines if int(line[4]) > start]
    return statistics.median(times), p99(times)


def compare(binary, folder, server, options):
    """In ms: p50 and p99 of the usual recording, and of the strict one, and the disk's p99."""
    with contextlib.ExitStack() as stack:
        places, disk = {}, []
        seen = {"usual": [], "strict": []}
        for name, arguments in ("usual", []), ("strict", ["--recording", "strict"]):
            gateway = Gateway(binary, tempfile.mkdtemp(dir=folder), "--postgres-listen",
                              "127.0.0.1:0", *arguments)
            stack.callback(gateway.stop)
            places[name] = through_gateway(Caller.register(gateway), server)

        for _ in range(min(options.rounds, ROUNDS)):
            for name, place in places.items():
                disk.append(sync_p99(folder))
                seen[name].append(latencies(place))
        usual, strict = ([statistics.median(column) for column in zip(*seen[name])]
                         for name in ("usual", "strict"))
        return usual, strict, statistics.median(disk)


def row(where, usual, strict, disk):
    middle, added = strict[0] - usual[0], strict[1] - usual[1]
    return (f"added by --recording strict, {RATE:,} queries/s of {CLIENTS} clients, p99, {where}",
            f"{added:.2f} ms (p50 {middle:.2f} ms)",
            f"{usual[1]:.2f} ms without; fdatasync of 4 KiB alone: p99 {disk:.2f} ms",
            f"{added / disk:.2f} of one", "≤ 2 ms")


def measure(options, folder):
    os.chmod(folder, 0o755)
    server = PostgresServer(f"{folder}/strict-postgres")
    try:
        fill(server)
        rows = [row("this disk", *compare(options.binary, folder, server, options))]
        try:
            with memory_disk(folder) as disk:
                rows.append(row("ext4 in memory", *compare(options.binary, disk, server, options)))
        except CannotMount as problem:
            rows.append(("added by --recording strict, ext4 in memory", "not measured",
                         f"cannot be mounted here: {problem}", "", "≤ 2 ms"))
        return rows
    finally:
        server.stop()
