# SPDX-License-Identifier: MIT
"""Runs the statement in the arguments with a value, with all settings as psycopg has them."""
import sys

import psycopg

with psycopg.connect("") as conn:
    print(conn.execute(sys.argv[1] + "%s", [int(sys.argv[2])]).rowcount)
