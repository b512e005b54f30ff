# SPDX-License-Identifier: MIT
"""SSH through the gateway: shells, commands and files with real clients and a real server; who is let
in, what is refused, and the end."""
import os
import pty
import select
import signal
import socket
import subprocess
import time

import pytest

from agent import Agent, make_agent, wait_connected
from api import b64, login, unique
from conftest import PATIENCE, Gateway, wait_for
from native import credential, revoke
from plan import HAS_MANY
from sshd import Client, Sshd, connection, fingerprint, key_pair, ssh_port, text_of

MUCH = 50 << 20


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("ssh"), "--shutdown-seconds", "1")
    yield gateway
    assert gateway.is_alive(), gateway.text()
    assert gateway.stop() == 0, gateway.text()


@pytest.fixture(scope="module")
def admin(gateway):
    return gateway.admin


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Sshd(tmp_path_factory.mktemp("sshd"))
    yield server
    server.stop()


@pytest.fixture(scope="module")
def elsewhere(gateway, admin, tmp_path_factory):
    made = make_agent(admin)
    agent = Agent(tmp_path_factory.mktemp("ssh-agent"), "--token", made["token"])
    wait_connected(admin, made, agent)
    yield made["id"]
    assert agent.stop() == 0, agent.text()


@pytest.fixture
def client(gateway, admin, server, tmp_path):
    return Client(gateway, credential(admin, connection(admin, server.secret())), tmp_path / "client")


@pytest.fixture(scope="module")
def much(tmp_path_factory):
    path = tmp_path_factory.mktemp("much") / "file"
    path.write_bytes(os.urandom(1 << 20) * (MUCH >> 20))
    return path


def session_of(admin, name, status="done"):
    def found():
        rows = [row for row in admin.get("/sessions?limit=100").json["data"]
                if row["connection"] == name and row["status"] == status]
        return rows[0] if rows else None
    return wait_for(found, what=f"the session of {name}")


# Commands ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["here", "elsewhere"])
def test_commands_and_their_ends(gateway, admin, server, tmp_path, request, place):
    agent_id = request.getfixturevalue("elsewhere") if place == "elsewhere" else None
    made = credential(admin, connection(admin, server.secret(), agent_id))
    client = Client(gateway, made, tmp_path)
    done = client.ssh("echo out; echo err >&2; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (7, b"out\n", b"err\n")
    assert client.ssh("true").returncode == 0
    done = client.ssh("kill -KILL $$")
    assert done.returncode == 255
    data = os.urandom(3 << 20)
    assert client.ssh("cat", input=data).stdout == data
    assert client.ssh(input=b"echo by the shell; exit 3\n").returncode == 3
    row = session_of(admin, made["connection_name"])
    detail = admin.get(f"/sessions/{row['id']}").json
    assert detail["connection_subtype"] == "ssh" and detail["bytes_in"] > 0 and detail["bytes_out"] > 0


@pytest.mark.parametrize("place", ["here", "elsewhere"])
def test_variables_of_a_client_pass_by_a_list(gateway, admin, server, tmp_path, request, place):
    """The server takes all of these: what does not pass is the gateway's doing, and on record."""
    agent_id = request.getfixturevalue("elsewhere") if place == "elsewhere" else None
    sent = ("-o", "SetEnv=GATEHOUSE_TEST_A=seen GATEHOUSE_TEST_LD=hidden LC_OWN=usual")
    command = "echo $GATEHOUSE_TEST_A,$GATEHOUSE_TEST_LD,$LC_OWN"
    for accepted, seen, refused in [(None, b",,usual\n", ["GATEHOUSE_TEST_A", "GATEHOUSE_TEST_LD"]),
                                    ("OTHER GATEHOUSE_*_A", b"seen,,usual\n", ["GATEHOUSE_TEST_LD"])]:
        name = connection(admin, server.secret(ACCEPT_ENV=accepted), agent_id)
        done = Client(gateway, credential(admin, name), tmp_path / name).ssh(command, options=sent)
        assert done.stdout == seen, done
        row = session_of(admin, name)
        shown = admin.get(f"/sessions/{row['id']}?expand=event_stream&event_stream=utf8").body.decode()
        assert [one for one in ("GATEHOUSE_TEST_A", "GATEHOUSE_TEST_LD", "LC_OWN")
                if f"variable '{one}' is not set" in shown] == refused, shown
        assert "hidden" not in shown, shown
    answer = admin.patch(f"/connections/{name}", {"secret": {"envvar:ACCEPT_ENV": b64("A=1")}})
    assert answer.status == 400 and "ACCEPT_ENV" in answer.message, answer


def test_a_terminal_with_its_size_and_its_keys(client):
    leader, follower = pty.openpty()
    process = subprocess.Popen(client.command(options=("-tt",)), env=client.env, stdin=follower,
                               stdout=follower, stderr=follower, start_new_session=True)
    os.close(follower)
    shown = b""

    def read_until(words):
        nonlocal shown
        deadline = time.monotonic() + 2 * PATIENCE
        while words not in shown:
            assert time.monotonic() < deadline, shown
            if select.select([leader], [], [], 1)[0]:
                shown += os.read(leader, 65536)
        shown = shown.partition(words)[2]

    os.write(leader, b"PS1=; stty rows 31 cols 97; stty size; echo $((40+2))-ready\n")
    read_until(b"31 97")
    read_until(b"42-ready")
    os.write(leader, b"sleep 1000; echo $((6*7))-back\n")
    time.sleep(0.3)  # it may be typed before it sleeps: the command is then not begun at all
    os.write(leader, b"\x03")
    os.write(leader, b"echo $((50+5))-alive\n")
    read_until(b"55-alive")
    os.write(leader, b"exit 9\n")
    while True:
        try:
            if not os.read(leader, 65536):
                break
        except OSError:
            break
    assert process.wait(PATIENCE) == 9
    os.close(leader)


def test_a_terminal_is_resized(tools, client):
    told = by_paramiko(tools, client, """
channel = transport.open_session()
channel.get_pty("xterm", 100, 40)
channel.invoke_shell()
channel.sendall(b"PS1=; stty size; echo $((1+1))-first\\n")
seen = until(channel, b"2-first")
assert b"40 100" in seen, seen
channel.resize_pty(71, 23)
channel.sendall(b"stty size; echo $((1+2))-second\\n")
seen = until(channel, b"3-second")
assert b"23 71" in seen, seen
""")
    assert told == "ok"


def test_several_channels_at_once(tools, client):
    """One that nobody reads holds none of the others."""
    told = by_paramiko(tools, client, """
stalled = transport.open_session()
stalled.exec_command("cat /dev/zero")
time.sleep(0.2)
for i in range(20):
    channel = transport.open_session()
    channel.exec_command(f"echo {i}; cat; exit {i}")
    channel.sendall(b"x" * 100000)
    channel.shutdown_write()
    data = b""
    while part := channel.recv(65536):
        data += part
    assert data == f"{i}\\n".encode() + b"x" * 100000, data[:100]
    assert channel.recv_exit_status() == i
many = [transport.open_session() for _ in range(30)]
for i, channel in enumerate(many):
    channel.exec_command(f"sleep 0.1; echo {i}")
for i, channel in enumerate(many):
    assert channel.recv(100) == f"{i}\\n".encode()
stalled.close()
for i in range(20):  # one that is left while much is on its way to it
    channel = transport.open_session()
    channel.exec_command("head -c 10")
    try:
        channel.sendall(b"y" * 3000000)
    except OSError:
        pass
    assert channel.recv(100) == b"y" * 10
    channel.close()
channel = transport.open_session()
channel.exec_command("echo after all")
assert channel.recv(100) == b"after all\\n"
""")
    assert told == "ok"


def test_a_stalled_session_delays_no_other(client):
    stalled = client.start("cat /dev/zero")
    try:
        assert stalled.stdout.read(100) == b"\0" * 100
        for _ in range(3):
            assert client.ssh("echo still here").stdout == b"still here\n"
    finally:
        stalled.kill()
        stalled.communicate()


def test_keys_are_exchanged_anew_under_load(client, much):
    data = much.read_bytes()
    rekeyed = ("-o", "RekeyLimit=1M")
    assert client.ssh("cat", str(much), options=rekeyed).stdout == data
    assert client.ssh("cat", input=data[:20 << 20], options=rekeyed).stdout == data[:20 << 20]


def test_a_client_asks_whether_the_gateway_lives(client):
    done = client.ssh("sleep 3; echo there", options=("-o", "ServerAliveInterval=1", "-o",
                                                      "ServerAliveCountMax=1"))
    assert done.stdout == b"there\n", done


# Files ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["sftp", "scp"])
def test_much_is_copied_both_ways(client, much, tmp_path, form):
    flags = ["-O"] if form == "scp" else []
    there, back = tmp_path / "there", tmp_path / "back"
    client.run("scp", *flags, *client.options("-P"), much, f"{client.at()}:{there}")
    assert there.read_bytes() == much.read_bytes()
    client.run("scp", *flags, *client.options("-P"), f"{client.at()}:{there}", back)
    assert back.read_bytes() == much.read_bytes()


def test_sftp_rsync_and_git(client, tmp_path):
    tree = tmp_path / "tree"
    (tree / "inside").mkdir(parents=True)
    for i in range(50):
        (tree / "inside" / f"file-{i}").write_bytes(os.urandom(i * 100))
    batch = (f"mkdir {tmp_path}/made\nput {tree}/inside/file-7 {tmp_path}/made/seven\n"
             f"ls {tmp_path}/made\nrename {tmp_path}/made/seven {tmp_path}/made/7\n")
    done = client.run("sftp", *client.options("-P"), client.at(), input=batch.encode())
    assert b"made/seven" in done.stdout
    assert (tmp_path / "made/7").read_bytes() == (tree / "inside/file-7").read_bytes()
    client.run("rsync", "-a", "-e", client.rsh(), f"{tree}/", f"{client.at()}:{tmp_path}/copied/")
    subprocess.run(["diff", "-r", tree, tmp_path / "copied"], check=True)
    git = ["git", "-c", "user.name=n", "-c", "user.email=e@example.com", "-c", "safe.directory=*"]
    subprocess.run([*git, "init", "-q", tree], check=True)
    subprocess.run([*git, "-C", tree, "add", "."], check=True)
    subprocess.run([*git, "-C", tree, "commit", "-q", "-m", "first"], check=True)
    client.run("git", "clone", "-q", f"ssh://{client.at()}{tree}", tmp_path / "cloned",
               env={"GIT_SSH_COMMAND": client.rsh()})
    subprocess.run(["diff", "-r", tree / "inside", tmp_path / "cloned/inside"], check=True)


# Other clients ----------------------------------------------------------------------------------------

PARAMIKO = """
import socket, sys, time, paramiko
port, name, secret = int(sys.argv[1]), sys.argv[2], sys.argv[3]
def until(channel, words):
    data = b""
    channel.settimeout(60)
    while words not in data:
        part = channel.recv(65536)
        assert part, data
        data += part
    return data
transport = paramiko.Transport(("127.0.0.1", port))
transport.start_client(timeout=60)
"""


def by_paramiko(tools, client, text, sign_in="transport.auth_password(name, secret)\n"):
    done = subprocess.run([f"{tools}/python", "-c", PARAMIKO + sign_in + text
                           + "\ntransport.close()\nprint('ok')", client.port, client.name, client.password],
                          capture_output=True, text=True, timeout=4 * PATIENCE, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()


def test_keyboard_interactive(tools, client):
    sign_in = "transport.auth_interactive(name, lambda title, words, asked: [secret] * len(asked))\n"
    assert by_paramiko(tools, client, """
channel = transport.open_session()
channel.exec_command("echo asked")
assert channel.recv(100) == b"asked\\n"
""", sign_in) == "ok"


def test_asyncssh(tools, client):
    done = subprocess.run([f"{tools}/python", "-c", """
import asyncio, sys, asyncssh
async def main():
    async with asyncssh.connect("127.0.0.1", int(sys.argv[1]), username=sys.argv[2], password=sys.argv[3],
                                known_hosts=None, config=None, client_keys=None) as conn:
        done = await conn.run("echo async; exit 4")
        assert (done.stdout, done.exit_status) == ("async\\n", 4), done
        async with conn.start_sftp_client() as sftp:
            assert await sftp.exists("/etc/passwd")
        try:
            await conn.create_connection(asyncssh.SSHTCPSession, "127.0.0.1", 22)
        except asyncssh.ChannelOpenError as error:
            print("refused", error.code)
asyncio.run(main())
""", client.port, client.name, client.password], capture_output=True, text=True, timeout=2 * PATIENCE,
                          check=False)
    assert done.returncode == 0 and done.stdout == "refused 1\n", done


def test_dropbear(client):
    done = subprocess.run(["dbclient", "-y", "-y", "-p", client.port, client.at(), "echo small; exit 5"],
                          env={**client.env, "DROPBEAR_PASSWORD": client.password}, capture_output=True,
                          timeout=2 * PATIENCE, check=False, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout) == (5, b"small\n"), done


def test_plink(gateway, client):
    line = host_key_line(client)
    key = fingerprint_of(client, line)
    done = subprocess.run(["plink", "-ssh", "-batch", "-hostkey", key, "-P", client.port, "-l", client.name,
                           "-pw", client.password, "127.0.0.1", "echo putty; exit 6"], env=client.env,
                          capture_output=True, timeout=2 * PATIENCE, check=False, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout) == (6, b"putty\n"), done


def host_key_line(client):
    done = subprocess.run(["ssh-keyscan", "-T", "30", "-p", client.port, "127.0.0.1"], capture_output=True, text=True,
                          check=True)
    [line] = [line for line in done.stdout.splitlines() if line and not line.startswith("#")]
    return line.partition(" ")[2]


def fingerprint_of(client, line):
    path = os.path.join(client.folder, "scanned.pub")
    with open(path, "w", encoding="ascii") as file:
        file.write(line + "\n")
    return fingerprint(path)


# Who is let in ----------------------------------------------------------------------------------------


def test_who_is_wrong_is_told_alike(gateway, admin, client, tmp_path):
    told = []
    for name, secret in [(client.name, "wrong"), ("nobody-of-this-name", client.password),
                         (client.name, ""), (client.name, client.password + "x")]:
        other = Client(gateway, {"connection_name": name, "connection_credentials": {"password": secret}},
                       tmp_path / unique("wrong"))
        done = other.ssh("id", options=("-o", "LogLevel=INFO"))
        assert done.returncode == 255 and b"uid" not in done.stdout
        told.append(done.stderr.replace(name.encode(), b"").splitlines()[-1])
    assert len(set(told)) == 1, told
    done = client.ssh("id", options=("-o", "PreferredAuthentications=publickey"))
    assert done.returncode == 255 and b"Permission denied" in done.stderr, done


@pytest.mark.parametrize("subtype", ["mysql", "postgres", "tcp"])
def test_connections_of_other_protocols_are_not_reached(gateway, admin, server, tmp_path, subtype):
    name = connection(admin, server.secret(), type="database", subtype=subtype)
    answer = admin.post(f"/connections/{name}/credentials", {})
    if answer.status == 201:
        done = Client(gateway, answer.json, tmp_path).ssh("id", options=("-o", "LogLevel=INFO"))
        assert done.returncode == 255 and b"uid" not in done.stdout, done
    else:  # nobody listens for it
        assert answer.status == 400 and subtype == "tcp", answer


def test_tries_are_counted(tools, client):
    told = by_paramiko(tools, client, """
tries = 0
try:
    while tries < 50:
        try:
            transport.auth_password(name, "no")
        except paramiko.AuthenticationException:
            tries += 1
except paramiko.SSHException:
    pass
assert 4 <= tries <= 8, tries  # the last are those that found nobody any more
""", "")
    assert told == "ok"


def test_an_inactive_person_is_not_let_in(gateway, admin, server, tmp_path):
    email = f"{unique('p')}@example.com"
    answer = admin.post("/users", {"name": "p", "email": email, "password": "a long password"})
    assert answer.status == 201, answer
    person = login(gateway, email, "a long password")
    made = credential(person, connection(admin, server.secret()))
    client = Client(gateway, made, tmp_path)
    assert client.ssh("true").returncode == 0
    staying = client.start("echo on; exec sleep 1000")
    assert staying.stdout.readline() == b"on\n"
    user = admin.get(f"/users/{answer.json['id']}").json
    changed = admin.put(f"/users/{answer.json['id']}", {
        "name": user["name"], "email": email, "status": "inactive", "groups": []})
    assert changed.status == 200, changed
    assert staying.wait(PATIENCE) == 255
    staying.communicate()
    assert client.ssh("true").returncode == 255


def test_the_host_key_stays(gateway, client, tmp_path):
    line = host_key_line(client)
    assert line.startswith("ssh-ed25519 ")
    assert line == host_key_line(client)
    gateway_of_now = Gateway(tmp_path, "--shutdown-seconds", "1")
    other = Client(gateway_of_now, {"connection_name": "x", "connection_credentials": {"password": "x"}},
                   tmp_path / "c")
    first = host_key_line(other)
    assert first != line  # it is the store's
    assert gateway_of_now.stop() == 0
    again = Gateway(tmp_path, "--shutdown-seconds", "1")
    other.port = str(ssh_port(again))
    assert host_key_line(other) == first
    assert again.stop() == 0


def test_the_credential_says_how_to_come(gateway, admin, server, tmp_path):
    made = credential(admin, connection(admin, server.secret()))
    given = made["connection_credentials"]
    client = Client(gateway, made, tmp_path)
    assert given["known_hosts"] == f"[127.0.0.1]:{client.port} {host_key_line(client)}"
    assert given["connection_string"] == f"ssh -p {client.port} {client.name}@127.0.0.1"
    (tmp_path / "known").write_text(given["known_hosts"] + "\n")
    (tmp_path / "config").write_text(given["ssh_config"])
    done = subprocess.run(["sshpass", "-e", "ssh", "-F", tmp_path / "config", "-o", "StrictHostKeyChecking=yes",
                           "-o", f"UserKnownHostsFile={tmp_path}/known", client.name, "echo by config"],
                          env=client.env, capture_output=True, stdin=subprocess.DEVNULL, timeout=2 * PATIENCE,
                          check=False)
    assert done.stdout == b"by config\n", done


@pytest.mark.parametrize("place", ["here", "elsewhere"])
def test_the_test_of_a_connection(admin, server, request, place):
    agent_id = request.getfixturevalue("elsewhere") if place == "elsewhere" else None
    right = fingerprint(server.host_key + ".pub")
    good = connection(admin, server.secret(), agent_id)
    answer = admin.get(f"/connections/{good}/test")
    assert answer.status == 200 and answer.json["success"], answer
    unknown = connection(admin, server.secret(HOST_KEY=None), agent_id)
    answer = admin.get(f"/connections/{unknown}/test")
    assert answer.status == 400 and right in answer.body.decode(), answer
    denied = connection(admin, server.secret(USER="nobody-of-this-name"), agent_id)
    answer = admin.get(f"/connections/{denied}/test")
    assert answer.status == 400 and "does not let" in answer.body.decode(), answer
    assert admin.get(f"/connections/{good}/tables").status == 400


@pytest.mark.parametrize("place", ["here", "elsewhere"])
def test_a_connection_opens_the_logins_that_it_names(gateway, admin, server, tmp_path, request, place):
    agent_id = request.getfixturevalue("elsewhere") if place == "elsewhere" else None
    name = connection(admin, server.secret(USER="nobody-of-this-name", LOGINS=f"x, {server.user}"), agent_id)
    client = Client(gateway, credential(admin, name), tmp_path / "client")

    def come(login, **changed):
        client.name = name + login
        client.env.update(changed)
        return client.ssh("id -un", options=("-o", "LogLevel=INFO"))
    assert come("+" + server.user).stdout.decode().strip() == server.user
    assert session_of(admin, name)["application_name"] == server.user
    for wanted, says in [("", b"does not let"), ("+other", b"does not allow this login"),
                        ("+x", b"does not let"), (f"+{server.user.upper()}", b"does not allow this login")]:
        done = come(wanted)
        assert done.returncode == 255 and done.stdout == b"" and says in done.stderr, (wanted, done)
    stranger = [come(login, SSHPASS="wrong").stderr for login in ("", "+" + server.user, "+other", "+")]
    assert len({said.replace(f"{name}{login}@".encode(), b"@") for said, login in
                zip(stranger, ("", "+" + server.user, "+other", "+"))}) == 1, stranger
    answer = admin.patch(f"/connections/{name}", {"secret": {"envvar:LOGINS": b64("a *")}})
    assert answer.status == 400 and "LOGINS" in answer.message, answer


# What is refused --------------------------------------------------------------------------------------


def test_forwards_of_any_kind_are_refused(admin, client):
    done = client.ssh("echo \"$SSH_AUTH_SOCK$DISPLAY\"", options=("-A", "-X"))
    assert done.stdout == b"\n", done
    done = client.ssh("true", options=("-o", "ExitOnForwardFailure=yes", "-R", "127.0.0.1:0:127.0.0.1:22"))
    assert done.returncode == 255, done
    done = client.ssh("echo on", options=("-o", "LogLevel=INFO", "-R", "127.0.0.1:7:127.0.0.1:22"))
    assert done.stdout == b"on\n" and b"forwarding failed" in done.stderr, done
    wait_for(lambda: "forwards back from 127.0.0.1:7" in "".join(
        admin.get(f"/sessions/{row['id']}?expand=event_stream&event_stream=utf8").body.decode()
        for row in admin.get(f"/sessions?connection={client.name}").json["data"]), what="what is on record of it")
    done = subprocess.run(client.command(options=("-o", "LogLevel=INFO", "-W", "127.0.0.1:22")), env=client.env,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=2 * PATIENCE, check=False)
    assert done.returncode == 255 and b"administratively prohibited" in done.stderr, done


def test_old_algorithms_are_refused(client):
    for option in ["KexAlgorithms=diffie-hellman-group14-sha1", "Ciphers=aes128-cbc",
                   "HostKeyAlgorithms=ssh-rsa", "MACs=hmac-sha1"]:
        ciphers = ("-o", "Ciphers=aes128-ctr") if option.startswith("MACs") else ()
        done = client.ssh("true", options=("-o", "LogLevel=INFO", "-o", option, *ciphers))
        assert done.returncode == 255 and b"no matching" in done.stderr, (option, done)


@pytest.mark.parametrize("place", ["here", "elsewhere"])
def test_a_host_key_must_be_known(gateway, admin, server, tmp_path, request, place):
    agent_id = request.getfixturevalue("elsewhere") if place == "elsewhere" else None
    right = fingerprint(server.host_key + ".pub")
    other = key_pair(str(tmp_path), "other")
    for key, says in [(None, ["is not known", right]),
                      (text_of(other + ".pub"), [right, fingerprint(other + ".pub")]),
                      (fingerprint(other + ".pub"), [right, fingerprint(other + ".pub")])]:
        made = credential(admin, connection(admin, server.secret(HOST_KEY=key), agent_id))
        done = Client(gateway, made, tmp_path / unique("c")).ssh("id", options=("-o", "LogLevel=INFO"))
        assert done.returncode == 255 and all(word.encode() in done.stderr for word in says), done
    known = f"[127.0.0.1]:{server.port} {text_of(server.host_key + '.pub')}"
    for secret in [{"HOST_KEY": right}, {"HOST_KEY": None, "KNOWN_HOSTS": known}]:
        made = credential(admin, connection(admin, server.secret(**secret), agent_id))
        assert Client(gateway, made, tmp_path / unique("c")).ssh("echo in").stdout == b"in\n"
    wrong = f"elsewhere.example {text_of(server.host_key + '.pub')}"
    made = credential(admin, connection(admin, server.secret(HOST_KEY=None, KNOWN_HOSTS=wrong), agent_id))
    assert b"is not known" in Client(gateway, made, tmp_path / unique("c")).ssh(
        "id", options=("-o", "LogLevel=INFO")).stderr


@pytest.mark.parametrize("place", ["here", "elsewhere"])
def test_an_unknown_host_key_is_confirmed_and_a_change_is_not_taken(gateway, admin, tmp_path, request, place):
    agent_id = request.getfixturevalue("elsewhere") if place == "elsewhere" else None
    server = Sshd(tmp_path / "sshd")
    try:
        name = connection(admin, server.secret(HOST_KEY=None), agent_id)
        client = Client(gateway, credential(admin, name), tmp_path / "client")
        first = fingerprint(server.host_key + ".pub")
        shown = admin.get(f"/connections/{name}/test")
        assert shown.status == 400 and shown.json["host_key"] == first, shown
        assert b"is not known" in client.ssh("true", options=("-o", "LogLevel=INFO")).stderr
        for bad in ("SHA256:short", first + "=", first.replace("SHA256", "MD5"), ""):
            assert admin.put(f"/connections/{name}/host-key", {"fingerprint": bad}).status == 400, bad
        assert admin.put(f"/connections/{name}/host-key", {"fingerprint": shown.json["host_key"]}).status == 200
        assert "host_key" not in admin.get(f"/connections/{name}/test").json
        assert client.ssh("echo in").stdout == b"in\n"
        server.stop()
        os.rename(key_pair(str(tmp_path), "changed"), server.host_key)
        os.rename(tmp_path / "changed.pub", server.host_key + ".pub")
        server.start()
        changed = fingerprint(server.host_key + ".pub")
        done = client.ssh("echo in", options=("-o", "LogLevel=INFO"))
        assert done.returncode == 255 and done.stdout == b"", done
        assert first.encode() in done.stderr and changed.encode() in done.stderr, done
        assert admin.get(f"/connections/{name}/test").json["host_key"] == changed
        answer = admin.put(f"/connections/{name}/host-key", {"fingerprint": changed})
        assert answer.status == 200 and set(answer.json["secret"]) >= {"envvar:HOST_KEY"}, answer
        assert client.ssh("echo again").stdout == b"again\n"
        told = [row for row in admin.get("/audit/logs?page_size=100").json["data"] if row["action"] == "update" and
                name in str(row["request_payload_redacted"])]
        assert len(told) == 2 and all("HOST_KEY" in str(row) for row in told), told
    finally:
        server.stop()


@pytest.mark.parametrize("subtype", ["postgres", "mysql", "tcp"])
def test_a_host_key_is_confirmed_only_where_servers_have_one(admin, subtype):
    secret = {"envvar:HOST": b64("db.internal"), "envvar:PORT": b64("5432"), "envvar:USER": b64("u")}
    name = connection(admin, secret, type="custom" if subtype == "tcp" else "database", subtype=subtype)
    answer = admin.put(f"/connections/{name}/host-key", {"fingerprint": "SHA256:" + 43 * "a"})
    assert answer.status == 409 and "no host key" in answer.json["message"], answer
    assert "envvar:HOST_KEY" not in admin.get(f"/connections/{name}").json["secret"]


@pytest.mark.parametrize("place", ["here", "elsewhere"])
def test_a_connection_to_the_gateway_itself_opens_once(gateway, admin, server, tmp_path, request, place):
    agent_id = request.getfixturevalue("elsewhere") if place == "elsewhere" else None
    name = connection(admin, server.secret(), agent_id)
    made = credential(admin, name)
    client = Client(gateway, made, tmp_path)
    assert client.ssh("echo there").stdout == b"there\n"  # it is a target like any other
    key = made["connection_credentials"]["known_hosts"].split(" ", 1)[1]
    secret = server.secret(PORT=str(ssh_port(gateway)), USER=name, PRIVATE_KEY=None, HOST_KEY=key,
                           PASS=made["connection_credentials"]["password"])
    assert admin.patch(f"/connections/{name}", {"secret": secret}).status == 200
    done = client.ssh("true", options=("-o", "LogLevel=INFO"))
    assert done.returncode == 255 and b"lead to itself" in done.stderr, done
    assert len(admin.get(f"/sessions?connection={name}").json["data"]) <= 2


# The way to the target --------------------------------------------------------------------------------


def test_the_targets_ways_in(gateway, admin, server, tmp_path):
    closed = key_pair(str(tmp_path), "closed", passphrase="open sesame")
    with open(os.path.join(server.folder, "authorized"), "a", encoding="ascii") as file:
        file.write(text_of(closed + ".pub"))
    for secret, says in [
            ({"PRIVATE_KEY": text_of(closed), "PASSPHRASE": "open sesame"}, None),
            ({"PRIVATE_KEY": text_of(closed), "PASSPHRASE": "wrong"}, b"PASSPHRASE"),
            ({"PRIVATE_KEY": "nonsense"}, b"PRIVATE_KEY"),
            ({"PRIVATE_KEY": None}, b"does not let"),
            ({"USER": "nobody-of-this-name"}, b"does not let"),
            ({"PORT": "1"}, b"cannot be reached")]:
        made = credential(admin, connection(admin, server.secret(**secret)))
        done = Client(gateway, made, tmp_path / unique("c")).ssh("echo in", options=("-o", "LogLevel=INFO"))
        if says is None:
            assert done.stdout == b"in\n", done
        else:
            assert done.returncode == 255 and says in done.stderr, (secret, done)
            assert b"sesame" not in done.stderr and b"nonsense" not in done.stderr


PASSWORD_SERVER = """
import asyncio, sys, asyncssh
class Server(asyncssh.SSHServer):
    def begin_auth(self, user): return True
    def password_auth_supported(self): return sys.argv[2] == "password"
    def validate_password(self, user, password): return (user, password) == ("joe", "only the gateway knows")
    def kbdint_auth_supported(self): return sys.argv[2] == "questions"
    def get_kbdint_challenge(self, user, lang, submethods):
        return "", "", "", [("Password: ", False)]
    def validate_kbdint_response(self, user, answers):
        return (user, list(answers)) == ("joe", ["only the gateway knows"])
def serve(process):
    process.stdout.write(f"{process.command} by {sys.argv[2]}\\n")
    process.exit(0)
async def main():
    server = await asyncssh.create_server(Server, "127.0.0.1", 0, server_host_keys=[sys.argv[1]],
                                          process_factory=serve)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.sleep(3600)
asyncio.run(main())
"""


@pytest.mark.parametrize("way", ["password", "questions"])
def test_a_target_with_a_password(gateway, admin, server, tools, tmp_path, way):
    process = subprocess.Popen([f"{tools}/python", "-c", PASSWORD_SERVER, server.host_key, way],
                               stdout=subprocess.PIPE, text=True)
    try:
        port = process.stdout.readline().strip()
        for password, says in [("only the gateway knows", b"hello by " + way.encode()), ("wrong", b"")]:
            secret = server.secret(PORT=port, USER="joe", PASS=password, PRIVATE_KEY=None)
            made = credential(admin, connection(admin, secret))
            done = Client(gateway, made, tmp_path / unique("c")).ssh("hello")
            assert done.stdout.strip() == says, done
    finally:
        process.kill()
        process.communicate()


def test_a_target_that_is_killed_ends_the_session(gateway, admin, tmp_path):
    server = Sshd(tmp_path / "own")
    made = credential(admin, connection(admin, server.secret()))
    client = Client(gateway, made, tmp_path / "c")
    process = client.start("echo on; exec sleep 1000")
    try:
        assert process.stdout.readline() == b"on\n"
        children = subprocess.run(["pgrep", "-P", str(server.process.pid)], capture_output=True, text=True,
                                  check=True).stdout.split()
        for child in [*children, str(server.process.pid)]:
            os.kill(int(child), signal.SIGKILL)
        server.process.wait(PATIENCE)
        assert process.wait(PATIENCE) == 255
        session_of(admin, made["connection_name"])
        done = client.ssh("true", options=("-o", "LogLevel=INFO"))
        assert done.returncode == 255 and b"cannot be reached" in done.stderr, done
        server.start()
        assert client.ssh("echo back").stdout == b"back\n"
    finally:
        process.kill()
        process.communicate()
        server.stop()


# The end ----------------------------------------------------------------------------------------------


def test_kill_and_revoke_end_it(gateway, admin, server, tmp_path):
    for end in ["kill", "revoke"]:
        made = credential(admin, connection(admin, server.secret()))
        client = Client(gateway, made, tmp_path / end)
        process = client.start("echo on; exec sleep 1000")
        assert process.stdout.readline() == b"on\n"
        row = session_of(admin, made["connection_name"], "open")
        if end == "kill":
            assert admin.post(f"/sessions/{row['id']}/kill").status in (200, 202, 204)
        else:
            revoke(admin, made)
        assert process.wait(PATIENCE) == 255
        process.communicate()
        session_of(admin, made["connection_name"])


def test_many_come_at_once(gateway, admin, server, tmp_path):
    made = credential(admin, connection(admin, server.secret()))
    client = Client(gateway, made, tmp_path)
    assert client.ssh("true").returncode == 0
    processes = [client.start(f"echo {i}") for i in range(200 if HAS_MANY else 40)]
    for i, process in enumerate(processes):
        out, err = process.communicate(timeout=8 * PATIENCE)
        assert (process.returncode, out) == (0, f"{i}\n".encode()), err


@pytest.mark.parametrize("size", [9, 10, 11, 255])
def test_packets_too_small_end_the_session(tools, client, size):
    """libssh would fill 256 MB with empty packets for a channel that takes ten bytes."""
    by_paramiko(tools, client, f"""
paramiko.Transport._sanitize_packet_size = lambda self, size: size
try:
    channel = transport.open_session(max_packet_size={size})
    channel.exec_command("echo hello")
    assert channel.recv(100) == b""
except (paramiko.SSHException, EOFError, OSError):
    pass
""")
    assert client.ssh("echo fine").stdout == b"fine\n"


def test_nothing_is_left_of_a_session(gateway, client):
    def descriptors():
        return len(os.listdir(f"/proc/{gateway.process.pid}/fd"))
    assert client.ssh("true").returncode == 0
    staying = [client.start("echo on; exec sleep 1000") for _ in range(5)]
    for process in staying:
        assert process.stdout.readline() == b"on\n"
    many = descriptors()
    for process in staying:
        process.kill()
        process.communicate()
    # Each has its client, its target, two pairs and a recording; others may come and go meanwhile.
    wait_for(lambda: descriptors() <= many - 5 * 7, what="the descriptors of five sessions")


def test_nonsense_ends_alone(gateway, client):
    for said in [b"GET / HTTP/1.1\r\n\r\n", b"SSH-2.0-" + b"x" * (1 << 20), b"SSH-1.5-old\r\n",
                 b"SSH-2.0-x\r\n" + os.urandom(10000), b"\0" * 5000]:
        with socket.create_connection(("127.0.0.1", int(client.port)), timeout=PATIENCE) as conn:
            try:
                conn.sendall(said)
                while conn.recv(65536):
                    pass
            except OSError:
                pass
    assert client.ssh("echo fine").stdout == b"fine\n"
