# SPDX-License-Identifier: MIT
"""How the end-to-end tests are run: in which order, which of them on a quiet machine, and what is
shown of one that failed. conftest.py takes the functions of pytest from here."""
import os
import shlex
import signal

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TAIL_LINES = 30  # of what a server said
SERVERS_SHOWN = 4
# Those that take longest come first, so that none is left over when all other processes are done.
LONGEST_FIRST = ("test_soak.py", "test_suites.py", "test_drivers.py", "test_mysql.py",
                 "test_openapi.py",
                 "test_pg_agents.py", "test_agent_link.py", "test_bad_input.py",
                 "test_guard_tools.py", "test_connection_catalog.py", "test_guardrail_trials.py",
                 "test_session_files.py", "test_guardrails.py", "test_deadlines.py",
                 "test_pg_faults.py", "test_sql_oracle.py", "test_console_app.py",
                 "test_console_pages.py", "test_console_stories.py", "test_console_connection.py",
                 "test_oidc_tokens.py", "test_run_tests.py", "test_fuzz.py",
                 "test_pg_sessions.py", "test_pg_tap.py", "test_command_line.py")
# Set by ./dev test --all: as many cases, rounds and hours as there are.
IS_LONG = os.environ.get("GATEHOUSE_LONG_TESTS") == "1"
# Sanitizers make everything slower: with them what is repeated is repeated as in a short run.
HAS_MANY = IS_LONG and "GATEHOUSE_SANITIZED" not in os.environ

# No test takes as long on a slow machine: whatever waits then waits for ever.
SECONDS_AT_MOST = None if IS_LONG or "GATEHOUSE_SOAK_SECONDS" in os.environ else 900

programs = []  # that this process has started, the newest last


def place(item):
    name = item.path.name
    return LONGEST_FIRST.index(name) if name in LONGEST_FIRST else len(LONGEST_FIRST)


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "quiet: holds a time so closely that it runs after all that keeps processors busy")


def pytest_collection_modifyitems(items):
    items.sort(key=place)  # which leaves the order inside of a file as it is


def too_long(_number, _frame):
    signal.alarm(SECONDS_AT_MOST)  # what ends the test, and its fixtures, may hang as well
    pytest.fail(f"it was not over after {SECONDS_AT_MOST} s")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol():
    """Fails a test that hangs, with the line where it does; else nobody would hear of any."""
    if SECONDS_AT_MOST:
        signal.signal(signal.SIGALRM, too_long)
        signal.alarm(SECONDS_AT_MOST)
    yield
    signal.alarm(0)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    item.programs_before = len(programs)


def last_lines(program):
    """(title, text) of what it said."""
    end = program.process.poll()
    state = "runs" if end is None else f"ended with {end}"
    title = f"{os.path.basename(program.process.args[0])}, which {state}: {program.output}"
    try:
        return title, "\n".join(program.text().splitlines()[-TAIL_LINES:])
    except OSError as error:  # its folder is gone
        return title, str(error)


def has_crashed(program):
    return program.process.poll() not in (None, -signal.SIGKILL, -signal.SIGTERM) and \
        program.process.poll() < 0


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if not report.failed:
        return
    before = getattr(item, "programs_before", 0)
    shown = [program for program in programs[:before]
             if program.is_alive() or has_crashed(program)] + programs[before:]
    shown.sort(key=has_crashed)
    report.sections += [last_lines(program) for program in shown[-SERVERS_SHOWN:]]
    name = item.nodeid.partition("::")[2]
    test = shlex.quote(f"{os.path.relpath(item.path, ROOT)}::{name}")
    report.sections.append(("to run this test again", f"./dev test {test}"))
