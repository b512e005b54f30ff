# SPDX-License-Identifier: MIT
"""How fast text is looked through for all types of personal data and secrets, on one core."""
import os
import statistics
import subprocess

PROGRAM = os.path.join("build", "bench", "tests", "support", "detect_bench")


def measure(options, _folder):
    rates = {}
    for _ in range(options.rounds):
        output = subprocess.run([PROGRAM, str(options.seconds)], capture_output=True, text=True,
                                check=True).stdout
        for line in output.splitlines():
            kind, rate, _ = line.split()
            rates.setdefault(kind, []).append(float(rate))
    wanted = {"sparse": "≥ 1 GB/s", "dense": "≥ 0.4 GB/s"}
    return [(f"detectors on {kind} text rows", f"{statistics.median(values):.2f} GB/s", "", "",
             wanted[kind]) for kind, values in rates.items()]
