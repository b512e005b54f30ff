# SPDX-License-Identifier: MIT
"""Scripts as the input of a connection's command, on the gateway itself and on an agent elsewhere."""
import concurrent.futures
import json
import os
import re
import signal
import subprocess
import time

import pytest

from agent import Agent, make_agent, wait_connected
from api import b64, connection, login, register, resource, role, unique
from conftest import Gateway, PATIENCE, wait_for
from store import Store, new_organization
from test_execution_pages import read_all

MIB = 1 << 20


class Place:
    """Where commands run: connections of it, and what is executed on them."""

    def __init__(self, admin, agent_id):
        self.admin, self.agent_id = admin, agent_id

    def connection(self, *command, secret=None, **members):
        body = connection(type="custom", subtype="tools", agent_id=self.agent_id,
                          command=list(command), secret=secret or {}, **members)
        answer = self.admin.post("/connections", body)
        assert answer.status == 201, answer
        return body["name"]

    def run(self, name, script, results="text", status=200, **members):
        answer = self.admin.post(f"/sessions?results={results}",
                                 {"connection": name, "script": script, **members})
        assert answer.status == status, answer
        return answer.json

    def shell(self, script, *, secret=None, **options):
        return self.run(self.connection("sh", secret=secret), script, **options)

    def ended(self, done):
        def look():
            session = self.admin.get(f"/sessions/{done['session_id']}").json
            return session if session["status"] == "done" else None
        return wait_for(look, what="the session's end")

    def result(self, done):
        return self.admin.get(f"/sessions/{done['session_id']}/result").body.decode()


@pytest.fixture(scope="module")
def here(quick):
    return Place(quick, quick.get("/userinfo").json["org_id"])


@pytest.fixture(scope="module")
def away(quick, tmp_path_factory):
    made = make_agent(quick)
    agent = Agent(tmp_path_factory.mktemp("agent"), "--token", made["token"])
    wait_connected(quick, made, agent)
    place = Place(quick, made["id"])
    place.agent = agent
    yield place
    agent.stop()


@pytest.fixture(params=["here", "away"])
def place(request):
    return request.getfixturevalue(request.param)


def processes(word):
    done = subprocess.run(["ps", "-eo", "args"], stdout=subprocess.PIPE, text=True, check=True)
    return [line for line in done.stdout.splitlines() if word in line and "ps -eo" not in line]


def test_output_and_exit(place):
    done = place.shell("echo out; echo err >&2; exit 3")
    assert sorted(done["output"].splitlines()) == ["err", "out"]
    assert (done["output_status"], done["exit_code"]) == ("failed", 3)
    session = place.ended(done)
    assert (session["verb"], session["connection_subtype"]) == ("exec", "tools")
    events = place.admin.get(f"/sessions/{done['session_id']}/download?extension=jsonl").body
    said = [json.loads(line) for line in events.decode().splitlines()]
    told = {event["stream"]: event["data"] for event in said if "stream" in event}
    assert told == {"stdin": "echo out; echo err >&2; exit 3", "stdout": "out\n",
                    "stderr": "err\n"}
    done = place.shell("printf 'no end of line'")
    assert (done["output"], done["output_status"], done["exit_code"]) == (
        "no end of line", "success", 0)
    place.ended(done)
    verified = place.admin.get(f"/sessions/{done['session_id']}/verify").json
    assert verified["recording_status"] == "whole"


def test_what_callers_add(place):
    """Variables and arguments, where the connection takes them, and none that it has itself."""
    name = place.connection("sh", "-s", secret={"envvar:TOKEN": b64("own")},
                            accepted_env_vars=["DAY", "REPORT_*", "TOKEN"],
                            accepts_client_args=True)
    done = place.run(name, 'echo "$DAY $REPORT_KIND $TOKEN $# $2"',
                     env_vars={"envvar:DAY": b64("monday"), "envvar:REPORT_KIND": b64("a b")},
                     client_args=["one", "$(id) two"])
    assert done["output"] == "monday a b own 2 $(id) two\n", done
    audit = json.dumps(place.admin.get("/audit/logs?resource_type=sessions&action=execute").json)
    assert "envvar:REPORT_KIND" in audit and "$(id) two" in audit and b64("a b") not in audit

    def refused(name, words, **members):
        answer = place.admin.post("/sessions", {"connection": name, "script": "id", **members})
        assert answer.status == 400 and words in answer.json["message"], answer
    refused(name, "accepted_env_vars", env_vars={"envvar:OTHER": b64("x")})
    refused(name, "envvar:", env_vars={"DAY": "x"})
    refused(name, "base64", env_vars={"envvar:DAY": "_envjson:SECRETS:key"})
    refused(name, "base64", env_vars={"envvar:DAY": b64("_envjson:SECRETS:key")})
    refused(name, "LD_PRELOAD", env_vars={"envvar:LD_PRELOAD": b64("/tmp/x.so")})
    over = place.run(name, "id", env_vars={"envvar:TOKEN": b64("another")})
    assert over["output_status"] == "failed" and "sets 'TOKEN' itself" in over["output"], over
    plain = place.connection("sh")
    refused(plain, "accepts_client_args", client_args=["-x"])
    refused(plain, "accepted_env_vars", env_vars={"envvar:DAY": b64("x")})
    for names in (["LD_PRELOAD"], ["LD_*"], ["*"], ["a b"], [""]):
        body = connection(type="custom", subtype="tools", command=["sh"], accepted_env_vars=names)
        assert place.admin.post("/connections", body).status == 400, names


def test_no_signal_is_ignored(start):
    """As a gateway has some of them that a script has started with "&" or nohup."""
    ignored = {number: signal.signal(number, signal.SIG_IGN)
               for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)}
    try:
        gateway = start()
    finally:
        for number, before in ignored.items():
            signal.signal(number, before)
    admin = register(gateway)
    here = Place(admin, admin.get("/userinfo").json["org_id"])  # noqa: F811
    assert here.shell("grep SigIgn /proc/self/status")["output"].split() == ["SigIgn:", 16 * "0"]


def test_values_are_in_the_environment_alone(place):
    secret = {"envvar:TOKEN": b64("s3cret value"), "filesystem:KEYFILE": b64("-- a key --\n")}
    name = place.connection("sh", "-s", "first", "$0 * ;", secret=secret)
    done = place.run(name, "\n".join([
        "echo \"$1|$2|$TOKEN\"", "cat \"$KEYFILE\"", "stat -c %a \"$KEYFILE\"",
        "tr '\\0' ' ' < /proc/$$/cmdline; echo", "env | cut -d= -f1 | sort | tr '\\n' ' '",
        "echo; pwd; echo \"$HOME\""]))
    lines = done["output"].splitlines()
    assert lines[:3] == ["first|$0 * ;|s3cret value", "-- a key --", "600"], done
    assert lines[3] == "sh -s first $0 * ; "
    assert lines[4].split() == ["HOME", "KEYFILE", "LANG", "PATH", "PWD", "TMPDIR", "TOKEN"] or \
        set(lines[4].split()) - {"OLDPWD", "_", "SHLVL"} == {
            "HOME", "KEYFILE", "LANG", "PATH", "PWD", "TMPDIR", "TOKEN"}
    assert lines[5] == lines[6] and not os.path.exists(lines[5])
    name = place.connection("tool", "--password=$TOKEN", secret=secret)
    done = place.run(name, "x")
    assert done["output_status"] == "failed" and "environment alone" in done["output"], done


def test_it_is_kept_from_the_gateway(place, quick):
    data = quick.gateway.data
    done = place.shell(f"""
        cat {data}/master.key && echo READ
        ls {data} && echo READ
        cat /proc/{quick.gateway.process.pid}/environ && echo READ
        kill -9 {quick.gateway.process.pid} && echo KILLED
        kill -9 $PPID && echo KILLED
        echo x > /etc/gatehouse-was-here && echo WRITTEN
        /usr/bin/python3 -c '
import socket
s = socket.socket(socket.AF_UNIX)
s.connect("{data}/control.sock")
print("CONNECTED")'
        echo the end""")
    assert done["output"].splitlines()[-1] == "the end"
    for word in "READ", "KILLED", "WRITTEN", "CONNECTED":
        assert word not in done["output"], done["output"]
    assert quick.get("/userinfo").status == 200


NAMESPACES = """
import ctypes, os, signal, sys
call = ctypes.CDLL(None, use_errno=True).syscall
class Clone(ctypes.Structure):
    _fields_ = [(str(i), ctypes.c_uint64) for i in range(11)]
def report(name, made):
    if made == 0:
        os._exit(0)
    print(name, "MADE" if made > 0 else "refused", flush=True)
for bit in 17, 25, 26, 27, 28, 29, 30:
    report(bit, call(56, 1 << bit | signal.SIGCHLD, 0, 0, 0, 0))
clone = Clone(1 << 28, 0, 0, 0, signal.SIGCHLD)
report("clone3", call(435, ctypes.byref(clone), ctypes.sizeof(clone)))
import subprocess, threading
threading.Thread(target=lambda: print("thread")).start()
subprocess.run(["echo", "child"])
"""


def test_whatever_it_leaves_is_gone(place):
    """A pipe among its secrets, folders closed to itself, or deeper than a path can be."""
    for script in ("mkfifo \"$(dirname $KEY)/pipe\"; ln -s /etc/passwd \"$(dirname $KEY)/link\"",
                   "mkdir -p a/b/c; cp $KEY a/b/c/; chmod 0 a/b/c a/b a .",
                   "/usr/bin/python3 -c 'import os\n"
                   "for i in range(1500):\n  os.mkdir(\"x\" * 200); os.chdir(\"x\" * 200)\n"
                   "open(\"copy\", \"w\").write(\"a\")\n'"):
        done = place.shell(f"pwd; dirname $KEY; {script}",
                           secret={"filesystem:KEY": b64("-- a key --")})
        assert done["output_status"] == "success", done
        place.ended(done)
        folders = done["output"].splitlines()
        assert len(folders) == 2 and all("/gatehouse-command-" in folder for folder in folders)
        assert not any(os.path.lexists(folder) for folder in folders)
    assert os.path.getsize("/etc/passwd") > 0


SOCKETS = """
import socket
for family, kind in ((1, 1), (2, 1), (10, 1), (16, 3), (17, 3), (21, 5), (29, 3), (38, 5), (40, 1),
                     (44, 3)):
    try:
        socket.socket(family, kind)
        print("made", family)
    except OSError:
        pass
"""


def test_sockets_of_the_internet_alone(place):
    """Not those of the machine under a virtual one (40), nor what else a kernel has."""
    said = place.run(place.connection("/usr/bin/python3", "-"), SOCKETS)["output"].splitlines()
    assert [line for line in said if line not in ("made 2", "made 10", "made 16")] == [], said
    assert "made 2" in said


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="has numbers of calls of x86-64")
def test_no_namespaces(place):
    """In one of its own, whoever made it is root, and reaches more of the kernel."""
    said = place.run(place.connection("/usr/bin/python3", "-"), NAMESPACES)["output"]
    assert "MADE" not in said and said.count("refused") == 8, said
    assert "thread" in said and "child" in said, said


def test_another_organization_runs_nothing_on_the_gateway(quick, start):
    """Its admin would choose a program that reaches what the gateway's machine does."""
    boss = new_organization(quick)
    local = boss.get("/userinfo").json["org_id"]
    here = Place(boss, local)
    refused = here.run(here.connection("sh"), "id", status=400)
    assert "--local-commands" in refused["message"], refused
    made = resource(type="custom", subtype="tools", agent_id=local,
                    roles=[role(type="custom", subtype="tools", command=["sh"])])
    assert boss.post("/resources", made).status == 201
    inherited = made["roles"][0]["name"]
    assert boss.patch(f"/connections/{inherited}", {"command": ["sh"]}).status == 200
    assert "--local-commands" in here.run(inherited, "id", status=400)["message"]
    assert boss.post("/agents", {"name": "own"}).status == 201
    moved = Place(boss, boss.get("/agents/own").json["id"]).connection("sh")
    assert "not connected" in here.run(moved, "id")["output"]
    # What comes past that look is refused when its session opens.
    store = Store(quick.gateway)
    store.ask("UPDATE connection SET agent_id = ? WHERE name = ?", local, moved)
    assert "uid=" not in str(here.run(moved, "id", status=400))
    admin = register(start("--local-commands", "other"))
    other = Place(admin, admin.get("/userinfo").json["org_id"])
    assert "--local-commands" in other.run(other.connection("sh"), "id", status=400)["message"]
    status, listed = admin.gateway.control("POST", "/control/organizations",
                                           {"name": "other", "admin": "root@other.example"})
    assert status == 201, listed
    root = login(admin.gateway, "root@other.example", listed["password"])
    there = Place(root, root.get("/userinfo").json["org_id"])
    assert there.run(there.connection("sh"), "echo it runs")["output"] == "it runs\n"


def test_what_cannot_be_run(place):
    for command, code, words in [
            (("no-such-program",), 127, "no program of that name"),
            (("/etc/passwd",), 126, "may not be executed"), (("/",), 126, "may not"),
            (("/no/such/path",), 127, "no program")]:
        done = place.run(place.connection(*command), "x")
        assert (done["output_status"], done["exit_code"]) == ("failed", code), (command, done)
        assert words in done["output"], (command, done)
    answer = place.admin.post("/sessions", {"connection": place.connection(), "script": "x"})
    assert answer.status == 400 and "'command'" in answer.message, answer


def test_ends_that_are_not_its_own(place):
    done = place.shell("kill -9 $$")
    assert (done["output_status"], done["exit_code"]) == ("failed", 137), done
    assert "signal 9 (Killed)" in done["output"]
    done = place.shell("exec 1>&- 2>&-; sleep 1; exit 4")
    assert done["exit_code"] == 4
    done = place.shell("sleep 4711 & echo begun")
    assert done["output"] == "begun\n" and done["execution_time"] < 5000
    done = place.shell("setsid sh -c 'sleep 4712' & setsid nohup sleep 4712 > /dev/null 2>&1 & "
                       "echo begun")
    assert done["output"] == "begun\n"
    assert processes("sleep 471") == []


def test_kill_kills(place):
    word = f"31{os.getpid() % 1000}.5"
    name = place.connection("sh")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        going = pool.submit(place.run, name,
                            f"trap '' TERM HUP INT; setsid sleep {word} & sleep {word}")
        wait_for(lambda: len(processes(f"sleep {word}")) == 2, what="the command")
        session = [row for row in place.admin.get("/sessions").json["data"]
                   if row["connection"] == name][0]
        begun = time.monotonic()
        assert place.admin.post(f"/sessions/{session['id']}/kill").status == 204
        wait_for(lambda: not processes(f"sleep {word}"), what="the command's end")
        assert time.monotonic() - begun < 3
        done = going.result(PATIENCE)
    assert done["output_status"] == "failed" and "ended by" in done["output"], done


def test_one_that_forks_for_ever(place):
    begun = time.monotonic()
    name = place.connection("sh")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        going = pool.submit(place.run, name, "bomb() { bomb | bomb & }; bomb; sleep 3600.25")
        wait_for(lambda: processes("sleep 3600.25") or going.done(), what="the bomb")
        time.sleep(0.5)
        session = [row for row in place.admin.get("/sessions").json["data"]
                   if row["connection"] == name][0]
        place.admin.post(f"/sessions/{session['id']}/kill")
        going.result(PATIENCE)
    wait_for(lambda: not processes("sleep 3600.25"), what="the end of all of it")
    assert place.shell("echo still here")["output"] == "still here\n"
    assert time.monotonic() - begun < 20


def test_large_input_and_output(place):
    done = place.run(place.connection("wc", "-c"), "x" * (20 * MIB))
    assert done["output"].strip() == str(20 * MIB)
    done = place.shell("head -c 3000000 /dev/zero | tr '\\0' 'y'")
    assert done["truncated"] and done["output_status"] == "success"
    assert len(place.result(done)) > 3000000
    pages = read_all(place.admin, place.shell("seq 1 400000", results="pages"))
    text = "".join(one["text"] for page in pages for one in page["statements"])
    assert len(pages) > 2 and text == "".join(f"{n}\n" for n in range(1, 400001))
    done = place.run(place.connection("true"), "x" * (3 * MIB))
    assert (done["output"], done["exit_code"]) == ("", 0)
    done = place.run(place.connection("cat"), "é\n", results="json")
    assert done["statements"][0]["text"] == "é\n"


def test_words_and_patterns(place):
    name = place.connection("sh")
    connection_id = place.admin.get(f"/connections/{name}").json["id"]
    answer = place.admin.post("/guardrails", {
        "name": unique("words"), "connection_ids": [connection_id],
        "input": {"rules": [{"type": "deny_words_list", "words": ["rm -rf"], "name": "remove",
                             "message": "ask somebody"}]},
        "output": {"rules": [{"type": "pattern_match", "pattern_regex": "AKIA[A-Z0-9]{16}",
                              "name": "keys"}]}})
    assert answer.status == 201, answer
    mark = f"/tmp/{unique('gatehouse-mark')}"
    done = place.run(name, f"touch {mark}; rm -rf /nothing")
    assert (done["output_status"], done["exit_code"]) == ("blocked", 254), done
    assert "ask somebody" in done["output"] and not os.path.exists(mark)
    done = place.run(name, "echo fine; sleep 0.3; printf 'AKIA'; sleep 0.3; "
                           "printf 'ABCDEFGHIJKLMNOP\\n'; echo behind")
    assert done["output_status"] == "blocked" and done["output"].startswith("fine\n"), done
    assert "AKIA" not in done["output"] and "behind" not in done["output"]
    session = place.ended(done)
    assert session["guardrails_info"] and "AKIA" not in place.result(done)
    done = place.run(name, "echo all is well")
    assert (done["output_status"], done["output"]) == ("success", "all is well\n")
    answer = place.admin.post("/guardrails", {
        "name": unique("structural"), "connection_ids": [connection_id],
        "input": {"rules": [{"type": "sql", "operations": ["drop"], "name": "d"}]}})
    assert answer.status == 400 and "words and patterns can" in answer.message, answer
    controls = place.admin.get(f"/connections/{name}/controls").json
    assert controls["guardrails"]["text"] == "enforced"
    assert controls["guardrails"]["structural"] == controls["masking"] == "impossible"


def test_an_agent_that_dies(away, tmp_path):
    made = make_agent(away.admin)
    agent = Agent(tmp_path, "--token", made["token"])
    wait_connected(away.admin, made, agent)
    place = Place(away.admin, made["id"])
    with concurrent.futures.ThreadPoolExecutor() as pool:
        going = pool.submit(place.shell, "echo begun; sleep 4713")
        wait_for(lambda: processes("sleep 4713"), what="the command")
        agent.kill()
        done = going.result(2 * PATIENCE)
    assert done["output_status"] == "failed" and "begun" in done["output"], done
    assert "lost" in done["output"]
    wait_for(lambda: not processes("sleep 4713"), what="the command's end")


def test_a_gateway_that_is_killed(tmp_path):
    gateway = Gateway(tmp_path)
    admin = register(gateway)
    place = Place(admin, admin.get("/userinfo").json["org_id"])
    with concurrent.futures.ThreadPoolExecutor() as pool:
        going = pool.submit(place.shell, "echo 'it was said'; sleep 4714")
        wait_for(lambda: processes("sleep 4714"), what="the command")
        time.sleep(0.3)
        gateway.kill()
        wait_for(lambda: not processes("sleep 4714"), what="the command's end")
        assert going.exception(PATIENCE) is not None
    gateway = Gateway(tmp_path, "--commands", "off")
    admin = type(admin)(gateway, admin.token)
    session = admin.get("/sessions").json["data"][0]
    assert (session["status"], session["end_reason"]) == ("done", "the gateway stopped")
    assert "it was said" in admin.get(f"/sessions/{session['id']}/result").body.decode()
    place = Place(admin, place.agent_id)
    done = place.shell("echo nothing")
    assert "--commands off" in done["output"] and done["output_status"] == "failed", done
    assert gateway.stop() == 0, gateway.text()
    assert not [line for line in processes("gatehouse-cmd")
                if re.search(r"defunct", line) is None and str(tmp_path) in line]
