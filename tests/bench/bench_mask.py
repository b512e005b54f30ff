# SPDX-License-Identifier: MIT
"""What masking costs a value, by what its rule is, and the rows of a session, on one core."""
import os
import statistics
import subprocess

FOLDER = os.path.join("build", "bench", "tests", "support")
MILLISECONDS = "300"  # a case


def figures(program, options):
    """The figures of each case, which is what stands before two spaces."""
    cases = {}
    for _ in range(options.rounds):
        output = subprocess.run([os.path.join(FOLDER, program), MILLISECONDS], capture_output=True,
                                text=True, check=True).stdout
        for line in output.splitlines():
            name, rest = line.split("  ", 1)
            cases.setdefault(name, []).append(float(rest.split()[0]))
    return {name: statistics.median(values) for name, values in cases.items()}


def is_wanted_fast(name):
    """What column rules do without a look at values costs no more than a copy of the rows."""
    return name.startswith(("redact", "null")) or (" 1 of " in name and name.endswith("each"))


def export_figures(options):
    """Gigabytes of rows a second, under real rules."""
    return [(f"masking: {name}", f"{rate:.2f} GB/s", "", "",
             "≥ 2 GB/s" if is_wanted_fast(name) else "")
            for name, rate in figures("mask_export_bench", options).items()]


def measure(options, _folder):
    rows = [(f"masking of a value: {name}", f"{median:.0f} ns", "", "", "")
            for name, median in figures("mask_bench", options).items()]
    rates = figures("pg_mask_bench", options)
    least = rates.pop("the sum of all bytes")
    del rates["no rule concerns the rows"]  # they are not looked at
    rows += export_figures(options)
    return rows + [(f"masking of rows: {name}", f"{rate:.0f} MB/s", f"{least:.0f} MB/s summed up",
                    f"{rate / least:.2f}", "") for name, rate in rates.items()]
