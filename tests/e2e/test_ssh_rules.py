# SPDX-License-Identifier: MIT
"""Rules on SSH: what is blocked before the server has it, what cannot be understood and so does not
pass, and what is only seen. OpenSSH's programs, its server, and bash behind it."""
import base64
import json
import os
import subprocess

import pytest

from api import unique
from conftest import PATIENCE, wait_for
from test_ssh_recording import Place, rows, server, texts, typing  # noqa: F401 (fixture)


@pytest.fixture(scope="module")
def place(gateway, quick, server, tmp_path_factory):  # noqa: F811
    return Place(gateway, quick, server, tmp_path_factory.mktemp("clients"))


def ruled(place, rules=(), output=()):
    client = place.client()
    connection_id = place.admin.get(f"/connections/{client.name}").json["id"]
    body = {"name": unique("rail"), "connection_ids": [connection_id]}
    for side, given in (("input", rules), ("output", output)):
        if given:
            body[side] = {"rules": list(given)}
    answer = place.admin.post("/guardrails", body)
    assert answer.status == 201, answer
    return client


def words(*denied, **members):
    return {"type": "deny_words_list", "words": list(denied), "name": "w", **members}


def pattern(regex, **members):
    return {"type": "pattern_match", "pattern_regex": regex, "name": "p", **members}


# Ways of running "touch.forbidden MARK", a program in the server's path that is not to run.
HIDDEN = """
touch.forbidden MARK
touch.for'bidden' MARK
"touch.forbidden" MARK
t\\ouch.f\\orbidden MARK
touch.for""bidden MARK
touch.forb\\
idden MARK
DIR/touch.forbidden MARK
'DIR/'touch.for'bidden' MARK
true; touch.f''orbidden MARK
true && touch.f''orbidden MARK
false || touch.f''orbidden MARK
true | touch.f''orbidden MARK
(touch.f''orbidden MARK)
{ touch.f''orbidden MARK; }
! touch.f''orbidden MARK
if true; then touch.f''orbidden MARK; fi
A=1 touch.f''orbidden MARK
echo $(touch.f''orbidden MARK)
echo `touch.f''orbidden MARK`
echo "$(touch.f''orbidden MARK)"
echo ${x:-$(touch.f''orbidden MARK)}
cat <(touch.f''orbidden MARK)
sh -c "touch.f''orbidden MARK"
bash -c 'sh -c "touch.f'"''"'orbidden MARK"'
eval touch.f''orbidden MARK
eval "touch.f''orbidden" MARK
env touch.f''orbidden MARK
env -S "touch.f''orbidden MARK"
env -i A=1 DIR/touch.f''orbidden MARK
nice -n 1 touch.f''orbidden MARK
timeout 9 touch.f''orbidden MARK
nohup touch.f''orbidden MARK
exec touch.f''orbidden MARK
command touch.f''orbidden MARK
setsid -w touch.f''orbidden MARK
sh <<E
touch.f''orbidden MARK
E
sh <<< "touch.f''orbidden MARK"
su ROOT -c "touch.f''orbidden MARK"
find /etc/hostname -exec touch.f''orbidden MARK +
echo MARK | xargs touch.f''orbidden
tar cf /dev/null /etc/hostname --checkpoint=1 --checkpoint-action=exec="touch.f''orbidden MARK"
x=touch.for; ${x}bidden MARK
x=touch; $x.forbidden MARK
touch.for$(printf bidden) MARK
touch${IFS}x; DIR/touch.for?idden MARK
DIR/touch.for* MARK
DIR/t[o]uch.f[o]rbidden MARK
touch.{forbidden,x} MARK
$'touch.f\\x6frbidden' MARK
echo dG91Y2guZm9yYmlkZGVuIE1BUksK | base64 -d | sh
echo ENCODED | base64 -d | sh
sh -c "$(echo ENCODED | base64 -d)"
bash <(echo ENCODED | base64 -d)
sh < FILE
sh FILE
. FILE
source FILE
FILE
alias x=touch.for; shopt -s expand_aliases
f() { touch.for$1 MARK; }; f bidden
function f { touch.for$1 MARK; }; f bidden
for x in bidden; do touch.for$x MARK; done
case x in x) touch.for''bidden MARK;; esac
set -- touch.for bidden MARK; $1$2 $3
python3 -c "import os; os.system('touch.for' + 'bidden MARK')"
perl -e 'system("touch.for" . "bidden MARK")'
awk 'BEGIN { system("touch.for" "bidden MARK") }'
PATH=DIR2:$PATH innocent
env PATH=DIR2:/bin innocent
trap 'touch.for''bidden MARK' EXIT
cp DIR/touch.for* DIR2/renamed; DIR2/renamed MARK
DIR2/innocent MARK
printf 'touch.for%s MARK' bidden | bash
hash -p DIR/touch.forbidden ls; ls MARK
ssh-agent touch.f''orbidden MARK
BASH_ENV=FILE bash -c true
read x <<< touch.for; ${x}bidden MARK
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory, server):  # noqa: F811
    """A program that is not to run, others that run it, and what to look for."""
    folder = tmp_path_factory.mktemp("programs")
    (folder / "2").mkdir()
    mark = folder / "mark"
    script = folder / "touch.forbidden"
    script.write_text('#!/bin/sh\n/usr/bin/touch "$1"\n')
    (folder / "2" / "innocent").write_text(f"#!/bin/sh\n{script} {mark}\n")
    (folder / "file").write_text(f"{script} {mark}\n")
    for path in (script, folder / "2" / "innocent", folder / "file"):
        path.chmod(0o755)
    return folder, mark


def hidden_commands(programs):
    folder, mark = programs
    encoded = base64.b64encode(f"{folder}/touch.forbidden {mark}\n".encode()).decode()
    text, found = "", []
    for line in HIDDEN.strip("\n").split("\n"):
        text = text + "\n" + line if text else line
        if line.endswith("\\") or ("<<E" in text and not text.endswith("\nE")):
            continue
        for word, value in (("DIR2", folder / "2"), ("DIR", folder), ("MARK", mark), ("FILE", folder / "file"),
                            ("ENCODED", encoded), ("ROOT", os.environ.get("USER", "root"))):
            text = text.replace(word, str(value))
        found.append(text)
        text = ""
    return found


def test_a_command_cannot_hide(place, programs):
    """Each is blocked by the word, or not understood and so refused: it never runs."""
    folder, mark = programs
    client = ruled(place, [words("touch.forbidden", message="ask somebody")])
    commands = hidden_commands(programs)
    assert len(commands) >= 70
    control = folder / "control"
    master = ["-o", f"ControlPath={control}"]
    with client.start(options=["-M", "-N", *master]) as process:
        wait_for(lambda: control.exists() or None, what="the shared connection")
        how = {}
        for command in commands:
            done = client.ssh(command, options=master)
            said = done.stderr.decode()
            how[command] = "blocked" if "ask somebody" in said else \
                "unknown" if "cannot be judged" in said else said
            assert not mark.exists(), command
            assert done.returncode == 126, (command, done)
        process.terminate()
    assert set(how.values()) == {"blocked", "unknown"}, how
    assert sum(one == "blocked" for one in how.values()) >= 40, how
    record = place.record(client)
    assert len(texts(record, "statement")) == len(commands)
    assert not texts(record, "done")
    session = place.ended(client)[0]
    assert session["guardrails_info"], session


def test_what_is_plain_passes(place):
    client = ruled(place, [words("touch.forbidden")])
    for command, said in (("echo 'a $b' \"c\"", "a $b c\n"), ("true && echo x | tr x y; false || echo z", "y\nz\n"),
                          ("cat <<E\ntext\nE", "text\n"), ("sudo -V >/dev/null 2>&1; echo ~ | wc -l", "1\n"),
                          ("sh -c 'echo in'", "in\n"), ("A=1 env | grep -c ^A=1", "1\n")):
        done = client.ssh(command)
        assert (done.returncode, done.stdout.decode()) == (0, said), (command, done)


def test_a_rule_that_only_observes_blocks_nothing(place):
    client = ruled(place, [words("forbidden", action="observe"), words("warned", action="warn", message="careful")])
    done = client.ssh("x=forbidden; echo $x warned")
    assert done.returncode == 0 and done.stdout == b"forbidden warned\n" and b"careful" in done.stderr, done
    session = place.ended(client)[0]
    assert len(session["guardrails_info"]) == 2, session["guardrails_info"]


def sftp(client, *lines):
    return subprocess.run(["sshpass", "-e", "sftp", *client.options("-P"), "-o", "BatchMode=no", "-b", "-",
                           client.at()], env=client.env, input="\n".join(lines).encode() + b"\n",
                          capture_output=True, timeout=4 * PATIENCE, check=False)


def test_files_by_path(place, tmp_path):
    """A path is the same however it is written; links cannot give it another name."""
    client = ruled(place, [words(f"{tmp_path}/shadow"), pattern("^sftp (write|remove|rename|mkdir).*upload")])
    (tmp_path / "shadow").write_text("secret")
    (tmp_path / "open").write_text("open")
    (tmp_path / "d").mkdir()
    ways = [f"get {tmp_path}/shadow {tmp_path}/got", f"get {tmp_path}//shadow {tmp_path}/got",
            f"get {tmp_path}/./shadow {tmp_path}/got", f"get {tmp_path}/d/../shadow {tmp_path}/got",
            f"rename {tmp_path}/shadow {tmp_path}/other", f"rename {tmp_path}/open {tmp_path}/shadow",
            f"symlink {tmp_path}/shadow {tmp_path}/link", f"ln {tmp_path}/shadow {tmp_path}/link",
            f"ln {tmp_path}/open {tmp_path}/link", f"rm {tmp_path}/shadow", f"chmod 777 {tmp_path}/shadow",
            f"put {tmp_path}/open {tmp_path}/shadow", f"put {tmp_path}/open {tmp_path}/upload",
            f"mkdir {tmp_path}/upload", f"cd {tmp_path}\nget shadow {tmp_path}/got",
            f"cd {tmp_path}/d\nget ../shadow {tmp_path}/got"]
    for way in ways:
        done = sftp(client, way)
        assert done.returncode != 0, (way, done)
    assert sorted(os.listdir(tmp_path)) == ["d", "open", "shadow"]
    assert (tmp_path / "shadow").read_text() == "secret" and (tmp_path / "shadow").stat().st_mode & 0o777 != 0o777
    done = sftp(client, f"get {tmp_path}/open {tmp_path}/got", f"put {tmp_path}/open {tmp_path}/new")
    assert done.returncode == 0 and (tmp_path / "got").read_text() == "open", done
    found = rows(place.record(client, len(ways) + 1))
    assert sum("blocked by guard rail" in one["result"] or "link" in one["result"] for one in found) >= len(ways) - 2
    for form in ("-O", "-s"):
        done = subprocess.run(["sshpass", "-e", "scp", form, *client.options("-P"),
                               f"{client.at()}:{tmp_path}/shadow", str(tmp_path / "copy")], env=client.env,
                              capture_output=True, check=False, timeout=4 * PATIENCE)
        assert done.returncode != 0 and not (tmp_path / "copy").exists(), (form, done)
        done = subprocess.run(["sshpass", "-e", "scp", form, *client.options("-P"), str(tmp_path / "open"),
                               f"{client.at()}:{tmp_path}/d/../shadow"], env=client.env, capture_output=True,
                              check=False, timeout=4 * PATIENCE)
        assert done.returncode != 0 and (tmp_path / "shadow").read_text() == "secret", (form, done)
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "shadow").write_text("mine")
    done = subprocess.run(["sshpass", "-e", "scp", "-O", "-r", *client.options("-P"), f"{tmp_path}/tree/shadow",
                           f"{client.at()}:{tmp_path}"], env=client.env, capture_output=True, check=False,
                          timeout=4 * PATIENCE)
    assert done.returncode != 0 and (tmp_path / "shadow").read_text() == "secret", done


def test_reading_only(place, tmp_path):
    client = ruled(place, [{"type": "sql", "read_only": True, "name": "r"}])
    (tmp_path / "there").write_text("there")
    for way in (f"put {tmp_path}/there {tmp_path}/new", f"rm {tmp_path}/there", f"mkdir {tmp_path}/new",
                f"rename {tmp_path}/there {tmp_path}/new", f"chmod 600 {tmp_path}/there",
                f"symlink {tmp_path}/there {tmp_path}/new", f"ln {tmp_path}/there {tmp_path}/new",
                f"rmdir {tmp_path}/absent", f"put {tmp_path}/there {tmp_path}/there"):
        done = sftp(client, way)
        assert done.returncode != 0, (way, done)
    assert os.listdir(tmp_path) == ["there"]
    done = sftp(client, f"get {tmp_path}/there {tmp_path}/got", f"ls {tmp_path}")
    assert done.returncode == 0 and (tmp_path / "got").read_text() == "there", done
    for command in ("true", "cat /etc/hostname", f"touch {tmp_path}/new", "scp -t /tmp/x"):
        done = client.ssh(command)
        assert done.returncode == 126 and b"read only" in done.stderr, done
    done = client.ssh(input=b"touch /tmp/x\n")
    assert done.returncode == 126 and b"there is no shell" in done.stderr, done
    done = subprocess.run(["sshpass", "-e", "scp", "-O", *client.options("-P"),
                           f"{client.at()}:{tmp_path}/there", str(tmp_path / "copy")], env=client.env,
                          capture_output=True, check=False, timeout=4 * PATIENCE)
    assert done.returncode == 0 and (tmp_path / "copy").read_text() == "there", done
    done = client.ssh(options=["-W", f"127.0.0.1:{place.server.port}"], input=b"x")
    assert done.returncode != 0 and b"SSH-2.0" not in done.stdout, done


def test_output(place, tmp_path):
    """A word of output does not pass in pieces, and files, which cannot be looked at, do not either."""
    client = ruled(place, output=[pattern("AKIA[A-Z0-9]{16}", message="no keys")])
    done = client.ssh("echo fine; printf AKIA; sleep 0.3; printf 'ABCDEFGHIJKLMNOP\\n'; echo behind")
    assert done.returncode == 126 and done.stdout == b"fine\n" and b"no keys" in done.stderr, done
    done = client.ssh("echo fine >&2; printf AKIAABCDEFGHIJKLMNOP >&2")
    assert done.returncode == 126 and b"AKIA" not in done.stderr and b"fine" in done.stderr, done
    late = client.ssh("(printf AKIA; sleep 0.5; printf 'ABCDEFGHIJKLMNOP\\n') & sleep 0.2; exit 3")
    assert b"AKIA" not in late.stdout and b"no keys" in late.stderr, late  # its exit code comes between both
    done = client.ssh("echo AKIA; printf 'no end'")
    assert done.returncode == 0 and done.stdout == b"AKIA\nno end", done
    (tmp_path / "key").write_text("AKIAABCDEFGHIJKLMNOP")
    assert sftp(client, f"get {tmp_path}/key {tmp_path}/got").returncode != 0
    assert not (tmp_path / "got").exists() or (tmp_path / "got").read_text() == ""
    assert sftp(client, f"put {tmp_path}/key {tmp_path}/up").returncode == 0
    _, shown = typing(client, (b"$ " if os.geteuid() else b"# ", b"printf AKIA; sleep 0.3; echo ABCDEFGHIJKLM''NOP\r"))
    assert b"no keys" in shown and b"MNOP\r" not in shown, shown
    record = place.record(client, 7)
    assert "AKIAABCDEFGHIJKLMNOP" not in json.dumps(texts(record, "output"))


def test_typed_lines_are_observed(place, tmp_path):
    client = ruled(place, [words("forbidden", message="not here")])
    prompt = b"$ " if os.geteuid() else b"# "
    code, shown = typing(client, (prompt, f"echo forbidden > {tmp_path}/never\r".encode()))
    assert code == 126 and b"not here" in shown and not os.path.exists(tmp_path / "never"), shown
    code, shown = typing(client, (prompt, b"x=forb; echo mar''ker ${x}idden\r"), (b"marker forbidden", b"exit 3\r"))
    assert code == 3, shown  # seen, and no barrier
    done = client.ssh(input=b"echo one\necho forbidden\necho two\n")
    assert done.returncode == 126 and b"two" not in done.stdout and b"not here" in done.stderr, done
    controls = place.admin.get(f"/connections/{client.name}/controls").json["guardrails"]
    assert controls["text"] == "enforced" and controls["structural"] == "impossible", controls


def test_what_cannot_act_is_refused_when_saved(place):
    client = place.client()
    connection_id = place.admin.get(f"/connections/{client.name}").json["id"]
    for rule in ({"type": "sql", "operations": ["drop"]}, {"type": "sql", "relations": [{"name": "x"}]},
                 {"type": "sql", "without_where": True, "operations": ["delete"]},
                 {"type": "sql", "multi_statement": True}, {"type": "sql", "functions": ["x"]},
                 {"type": "sql", "max_rows": 5}, words("x", action="rehearse")):
        answer = place.admin.post("/guardrails", {"name": unique("no"), "connection_ids": [connection_id],
                                                  "input": {"rules": [{"name": "r", **rule}]}})
        assert answer.status == 400 and "SSH" in answer.message, (rule, answer)


def test_rsync_and_git_under_rules(place, tmp_path):
    client = ruled(place, [words("forbidden")])
    (tmp_path / "from").mkdir()
    (tmp_path / "from" / "x").write_text("x")
    client.run("rsync", "-a", "-e", client.rsh(), f"{tmp_path}/from/", f"{client.at()}:{tmp_path}/to/")
    assert (tmp_path / "to" / "x").read_text() == "x"
