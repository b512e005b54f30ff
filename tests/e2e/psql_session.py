# SPDX-License-Identifier: MIT
"""A psql that stays, for sessions that others look at or end."""
import os
import queue
import subprocess
import threading

from conftest import PATIENCE
from native import address

MARK = "-- that was all --"


class PsqlSession:
    def __init__(self, made, **variables):
        given = address(made)
        self.connection = made["connection_name"]
        self.process = subprocess.Popen(
            ["psql", "-X", "-q", "-A", "-t", "-h", given["host"], "-p", given["port"], "-U",
             given["user"], given["dbname"]], text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**os.environ, "PGPASSWORD": given["password"], **variables})
        self.lines = queue.Queue()
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()
        self.run("")

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))
        self.lines.put(None)

    def run(self, text):
        """What it prints until it is done with that."""
        if text:
            self.process.stdin.write(text + ";\n")
        self.process.stdin.write(f"\\echo {MARK}\n")
        self.process.stdin.flush()
        said = []
        while (line := self.lines.get(timeout=4 * PATIENCE)) != MARK:
            assert line is not None, said
            said.append(line)
        return "\n".join(said)

    def wait_for_end(self):
        """It learns of it when it next says something."""
        said = []
        try:
            while self.process.poll() is None:
                self.process.stdin.write("SELECT 1;\n")
                self.process.stdin.flush()
                try:
                    said.append(self.lines.get(timeout=0.1) or "")
                except queue.Empty:
                    pass
        except BrokenPipeError:
            pass
        self.process.wait(PATIENCE)
        self.thread.join(PATIENCE)
        while not self.lines.empty():
            said.append(self.lines.get() or "")
        return "\n".join(said)

    def close(self):
        if not self.process.stdin.closed:
            try:
                self.process.stdin.close()
            except BrokenPipeError:
                pass
        self.process.wait(PATIENCE)
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *why):
        self.close()
