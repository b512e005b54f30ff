# SPDX-License-Identifier: MIT
"""What a verdict of guard rails costs: sixty rules, twenty of each type."""
import os
import statistics
import subprocess

PROGRAM = os.path.join("build", "bench", "tests", "support", "guard_bench")


def measure(options, _folder):
    times = {"seen": {}, "new": {}}
    for _ in range(options.rounds):
        output = subprocess.run([PROGRAM], capture_output=True, text=True, check=True).stdout
        for line in output.splitlines():
            kind, size, nanoseconds = line.split()
            times[kind].setdefault(int(size), []).append(int(nanoseconds))
    wanted = {"seen": "≤ 300 ns", "new": "≤ 5000 ns p50"}
    return [(f"verdict, {kind} statement of {size} bytes", f"{statistics.median(values):.0f} ns",
             "", "", wanted[kind])
            for kind, sizes in times.items() for size, values in sizes.items()]
