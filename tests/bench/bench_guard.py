# SPDX-License-Identifier: MIT
"""What a verdict of guard rails costs: sixty rules, twenty of each type."""
import os
import statistics
import subprocess

PROGRAM = os.path.join("build", "bench", "tests", "support", "guard_bench")


def measure(options, _folder):
    times = {"seen": {}, "new": {}}
    shapes = {}
    for _ in range(options.rounds):
        output = subprocess.run([PROGRAM], capture_output=True, text=True, check=True).stdout
        for line in output.splitlines():
            kind, first, second = line.split()
            if kind == "shape":
                shapes.setdefault(second, []).append(int(first))
            else:
                times[kind].setdefault(int(first), []).append(int(second))
    wanted = {"seen": "≤ 300 ns", "new": "≤ 5000 ns p50"}
    rows = [(f"verdict, {kind} statement of {size} bytes", f"{statistics.median(values):.0f} ns",
             "", "", wanted[kind])
            for kind, sizes in times.items() for size, values in sizes.items()]
    worst = max(statistics.median(values) for values in shapes.values())
    return rows + [(f"verdict, 1 MiB, the worst of {len(shapes)} shapes", f"{worst / 1000:.0f} ms",
                    "", "", "≤ 50 ms")]
