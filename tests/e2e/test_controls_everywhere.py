# SPDX-License-Identifier: MIT
"""Each word of GET /connections/{}/controls, for every role, protocol and path to the target: what is
'enforced' is tried by whoever may come in (people, a program with an API key, a machine identity), as
a native client and by a script of the API, at the agent inside of the gateway and at one elsewhere. test_controls.py has the ways that PostgreSQL's
statements can take, and what is 'impossible'."""
import pymysql
import pytest

from api import PASSWORD, login, unique
from mariadb import MariadbServer, MysqlTarget, connect
from pgwire import Wire
from sshd import Client, Sshd
from sshd import connection as ssh_connection
from test_controls import MAIL, MASKED, PLACES, RULES, WORD, WORDS, House, flat, got, recorded, simple
from test_tls import make_certificate

ROLES = "admin", "member", "key", "machine"
KINDS = "client", "script"
ROWS = 9


class Sql:
    """What is asked of a database."""

    def deletes(self, above):
        return f"DELETE FROM {self.table} WHERE n > {above}"

    def says(self, word):
        return f"SELECT '{word}' AS said"

    def reads(self):
        return f"SELECT mail FROM {self.table} ORDER BY n"


class Postgres(Sql):
    def __init__(self, house):
        self.table, self.content = house.table, house.content
        self.connection = house.target.connection


class Mysql(Sql):
    """A target like that of the house, at MariaDB."""

    def __init__(self, folder):
        self.server = MariadbServer(make_certificate(folder, "target"))
        self.target, self.table = MysqlTarget(self.server), "held"
        self.connection = self.target.connection
        self.server.sql(f"USE {self.target.database}; CREATE TABLE held (n INT, mail TEXT); "
                        f"INSERT INTO held SELECT seq, '{MAIL}' FROM seq_1_to_{ROWS}")

    def content(self):
        return self.server.sql(f"SELECT COUNT(*), MIN(mail), MAX(mail) FROM {self.target.database}.held")


class Ssh:
    """A server with a file of addresses, and one to be deleted."""

    def __init__(self, folder):
        self.server, self.folder = Sshd(folder / "sshd"), folder
        self.mail, self.kept = folder / "mail", folder / "kept.3"
        self.mail.write_text(f"{MAIL}\n" * ROWS)
        self.kept.write_text("kept")

    def connection(self, admin, **members):
        return ssh_connection(admin, self.server.secret(), **members)

    def content(self):
        return self.kept.read_text() if self.kept.exists() else None

    def deletes(self, above):
        return f"rm -f {self.folder}/kept.{above} # delete"

    def says(self, word):
        return f"echo {word}"

    def reads(self):
        return f"cat {self.mail}"


class Everywhere:
    """Connections by protocol, place and control, made once for all who come."""

    def __init__(self, house, mysql, ssh):
        self.house, self.names = house, {}
        self.targets = {"postgres": Postgres(house), "mysql": mysql, "ssh": ssh}
        email = f"{unique('member')}@example.com"
        answer = house.admin.post("/users", {"email": email, "name": "Grace", "password": PASSWORD,
                                             "status": "active", "groups": []})
        assert answer.status == 201, answer
        self.callers = {"admin": house.admin, "member": login(house.gateway, email),
                        "key": house.admin.key("dev"), "machine": Machine(house.admin)}

    def at(self, protocol):
        return self.targets[protocol]

    def connection(self, protocol, place, control):
        """Its name: it has the rules of the control alone."""
        key = protocol, place, control
        if key not in self.names:
            admin, members = self.house.admin, {"agent_id": self.house.agents[place]}
            name = self.at(protocol).connection(admin, **members)
            own = admin.get(f"/connections/{name}").json["id"]
            for rule in RULES.get(control, []):
                answer = self.house.post(rule(connection_ids=[own]))
                assert answer.status == 201, (control, answer)
            if control == "review":
                assert admin.patch(f"/connections/{name}", {"reviewers": ["dev"]}).status == 200
            self.names[key] = name
        return self.names[key]


class Machine:
    """A machine identity for each connection: it asks for nothing, its credential is made with it."""

    def __init__(self, admin):
        self.admin, self.get = admin, admin.get

    def credential(self, name):
        """As the others' below."""
        answer = self.admin.post("/machineidentities", {"name": unique("machine"),
                                                        "connection_names": [name]})
        if answer.status == 400 and "must be reviewed" in answer.message:
            return None, answer.message
        assert answer.status == 201, answer
        made = answer.json["credentials"]
        return made and {**made[0], "connection_credentials": made[0]}, answer.body.decode()


def credential(caller, name):
    """(what was made, or None; what was said)"""
    if isinstance(caller, Machine):
        return caller.credential(name)
    answer = caller.post(f"/connections/{name}/credentials", {})
    return answer.json if answer.status == 201 else None, answer.body.decode()


@pytest.fixture(scope="module")
def everywhere(tmp_path_factory, postgres):
    house = House(tmp_path_factory.mktemp("everywhere"), postgres)
    mysql = Mysql(tmp_path_factory.mktemp("everywhere-mysql"))
    ssh = Ssh(tmp_path_factory.mktemp("everywhere-ssh"))
    yield Everywhere(house, mysql, ssh)
    house.stop()
    mysql.server.remove()
    ssh.server.stop()


# What came of a statement: (all that was seen, was it refused) ------------------------------------

def by_ssh(house, made, command):
    done = Client(house.gateway, made, house.gateway.folder).ssh(command)
    return (done.stdout + done.stderr).decode(), done.returncode != 0


def by_client(house, protocol, caller, name, statement):
    made, said = credential(caller, name)
    if not made:
        return said, True
    if protocol == "ssh":
        return by_ssh(house, made, statement)
    if protocol == "postgres":
        with Wire(made) as wire:
            seen, is_refused = got(wire, simple, statement)
            return seen.decode(), is_refused
    conn = connect(made, autocommit=True)
    try:
        with conn.cursor() as cursor:
            cursor.execute(statement)
            return repr(cursor.fetchall()), False
    except pymysql.MySQLError as error:
        return repr(error.args), True
    finally:
        conn.close()


def by_script(_house, _protocol, caller, name, statement):
    answer = caller.post("/sessions?results=text", {"connection": name, "script": statement})
    done = answer.json
    is_refused = answer.status != 200 or done["has_review"] or done["output_status"] != "success"
    return answer.body.decode(), is_refused


RUN = {"client": by_client, "script": by_script}


# The probes: each fails when the control does not hold --------------------------------------------

class Probe:
    def __init__(self, everywhere, protocol, role, place, kind):
        self.everywhere, self.protocol, self.place, self.kind = everywhere, protocol, place, kind
        self.caller, self.at = everywhere.callers[role], everywhere.at(protocol)

    def run(self, control, statement):
        name = self.everywhere.connection(self.protocol, self.place, control)
        return RUN[self.kind](self.everywhere.house, self.protocol, self.caller, name, statement)

    def is_stopped(self, control, statement):
        before = self.at.content()
        seen, is_refused = self.run(control, statement)
        assert is_refused, seen
        assert self.at.content() == before, seen

    def writes(self, control):
        self.is_stopped(control, self.at.deletes(3))

    def says_the_word(self, control):
        self.is_stopped(control, self.at.says(WORD))

    def reads_the_mail(self, control):
        seen, _ = self.run(control, self.at.reads())
        assert MAIL not in seen, seen

    def reads_what_is_masked(self, control):
        seen, is_refused = self.run(control, self.at.reads())
        assert not is_refused and MAIL not in seen and seen.count(MASKED) == ROWS, seen

    def reads_too_much(self, control):
        seen, is_refused = self.run(control, f"SELECT concat('row ', n) AS said FROM {self.at.table}")
        assert is_refused and seen.count("row ") <= 3, seen

    def is_recorded(self, control):
        house, said = self.everywhere.house, unique("said")
        name = self.at.connection(house.admin, agent_id=house.agents[self.place])
        seen, is_refused = RUN[self.kind](house, self.protocol, self.caller, name, self.at.says(said))
        assert not is_refused and said in seen, (control, seen)
        assert said in recorded(house, name)

    def waits_for_people(self, control):
        said = unique("said")
        seen, is_refused = self.run(control, self.at.says(said))
        assert is_refused and "success" not in seen, seen


PROBES = {
    "structural": Probe.writes, "text": Probe.says_the_word, "output": Probe.reads_the_mail,
    "read_only": Probe.writes, "row_limits": Probe.writes, "read_budgets": Probe.reads_too_much,
    "masking": Probe.reads_what_is_masked, "held_statements": Probe.writes,
    "rehearsed_statements": Probe.writes,
    "recording": Probe.is_recorded, "review": Probe.waits_for_people,
}
PROTOCOLS = "postgres", "mysql"
# Machines run no scripts; the script of an SSH connection is its command's at the agent.
WAYS = [(protocol, kind, role) for protocol in (*PROTOCOLS, "ssh") for kind in KINDS for role in ROLES
        if kind == "client" or (protocol != "ssh" and role != "machine")]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("protocol, kind, role", WAYS)
def test_every_word_holds_for_everybody(everywhere, protocol, place, kind, role):
    probe, wrong = Probe(everywhere, protocol, role, place, kind), []
    name = everywhere.connection(protocol, place, "nothing")
    words = flat(probe.caller.get(f"/connections/{name}/controls").json)
    expected = {control for control, word in WORDS[protocol].items() if word == "enforced"}
    assert set(words) == set(PROBES) and {c for c in words if words[c] == "enforced"} == expected
    for control in expected:
        try:
            PROBES[control](probe, control)
        except AssertionError as error:
            wrong.append(f"{control}: {error}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("protocol, kind", [*((protocol, kind) for protocol in PROTOCOLS
                                              for kind in KINDS), ("ssh", "client")])
def test_the_probes_see_what_is_not_held(everywhere, protocol, kind):
    """On a connection without rules each of them fails, but for the two that are always on."""
    for control, run in PROBES.items():
        if control in ("recording", "held_statements", "rehearsed_statements"):
            continue  # the first is always on; the others have the probe of 'structural'
        if protocol == "ssh" and WORDS[protocol][control] == "impossible":
            continue
        probe = Probe(everywhere, protocol, "member", "here", kind)
        probe.is_stopped = lambda _, statement: refused(probe, statement)
        with pytest.raises(AssertionError):
            run(probe, "nothing")


def refused(probe, statement):
    """Of a statement that does not change anything, should it pass."""
    seen, is_refused = probe.run("nothing", statement.replace("n > 3", "n > 999").replace("kept.3", "kept.999"))
    assert is_refused, seen
