#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Gatehouse beside others, in one run on one machine: prints a Markdown table of ratios.

Throughput is compared per CPU second of the server (user + system, all its processes), because the
load generator shares the processors: what a server does not use, wrk takes. Every figure is the
median of several short rounds, the two servers taking turns.

usage: bench.py BINARY [--rounds N] [--seconds N] [--only PART] [--size N] [--beside BINARY]
"""
import argparse
import shutil
import tempfile

import bench_controls
import bench_detect
import bench_exec
import bench_guard
import bench_http
import bench_identity
import bench_lists
import bench_mask
import bench_mysql
import bench_postgres
import bench_resources
import bench_scale
import bench_strict

PARTS = {"controls": bench_controls, "detect": bench_detect, "exec": bench_exec,
         "guard": bench_guard, "http": bench_http, "identity": bench_identity,
         "lists": bench_lists, "mask": bench_mask, "mysql": bench_mysql,
         "postgres": bench_postgres, "resources": bench_resources,
         "scale": bench_scale, "strict": bench_strict}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--size", type=int, default=1, help="of the stores of 'lists'")
    parser.add_argument("--beside", help="another build, for 'lists'")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="gatehouse-bench-")
    try:
        rows = [row for name, part in PARTS.items() if options.only in (None, name)
                for row in part.measure(options, folder)]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("| measured | Gatehouse | beside it | ratio | wanted |\n|---|---|---|---|---|")
    for row in rows:
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
