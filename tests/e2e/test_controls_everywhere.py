# SPDX-License-Identifier: MIT
"""Each word of GET /connections/{}/controls, for every role, protocol and path to the target: what is
'enforced' is tried by whoever may come in, as a native client and by a script of the API, at the
agent inside of the gateway and at one elsewhere. test_controls.py has the ways that PostgreSQL's
statements can take, and what is 'impossible'."""
import pymysql
import pytest

from api import PASSWORD, login, unique
from mariadb import MariadbServer, MysqlTarget, connect
from pgwire import Wire
from test_controls import MAIL, MASKED, PLACES, RULES, WORD, WORDS, House, flat, got, recorded, simple
from test_tls import make_certificate

ROLES = "admin", "member"
KINDS = "client", "script"
ROWS = 9


class Mysql:
    """A target like that of the house, at MariaDB."""

    def __init__(self, folder):
        self.server = MariadbServer(make_certificate(folder, "target"))
        self.target, self.table = MysqlTarget(self.server), "held"
        self.server.sql(f"USE {self.target.database}; CREATE TABLE held (n INT, mail TEXT); "
                        f"INSERT INTO held SELECT seq, '{MAIL}' FROM seq_1_to_{ROWS}")

    def content(self):
        return self.server.sql(f"SELECT COUNT(*), MIN(mail), MAX(mail) FROM {self.target.database}.held")


class Everywhere:
    """Connections by protocol, place and control, made once for all who come."""

    def __init__(self, house, mysql):
        self.house, self.mysql, self.names = house, mysql, {}
        email = f"{unique('member')}@example.com"
        answer = house.admin.post("/users", {"email": email, "name": "Grace", "password": PASSWORD,
                                             "status": "active", "groups": []})
        assert answer.status == 201, answer
        self.callers = {"admin": house.admin, "member": login(house.gateway, email)}

    def at(self, protocol):
        return self.mysql if protocol == "mysql" else self.house

    def connection(self, protocol, place, control):
        """Its name: it has the rules of the control alone."""
        key = protocol, place, control
        if key not in self.names:
            admin, members = self.house.admin, {"agent_id": self.house.agents[place]}
            name = self.at(protocol).target.connection(admin, **members)
            own = admin.get(f"/connections/{name}").json["id"]
            for rule in RULES.get(control, []):
                answer = self.house.post(rule(connection_ids=[own]))
                assert answer.status == 201, (control, answer)
            if control == "review":
                assert admin.patch(f"/connections/{name}", {"reviewers": ["dev"]}).status == 200
            self.names[key] = name
        return self.names[key]


@pytest.fixture(scope="module")
def everywhere(tmp_path_factory, postgres):
    house = House(tmp_path_factory.mktemp("everywhere"), postgres)
    mysql = Mysql(tmp_path_factory.mktemp("everywhere-mysql"))
    yield Everywhere(house, mysql)
    house.stop()
    mysql.server.remove()


# What came of a statement: (all that was seen, was it refused) ------------------------------------

def by_client(protocol, caller, name, statement):
    answer = caller.post(f"/connections/{name}/credentials", {})
    if answer.status != 201:
        return answer.body.decode(), True
    if protocol == "postgres":
        with Wire(answer.json) as wire:
            seen, is_refused = got(wire, simple, statement)
            return seen.decode(), is_refused
    conn = connect(answer.json, autocommit=True)
    try:
        with conn.cursor() as cursor:
            cursor.execute(statement)
            return repr(cursor.fetchall()), False
    except pymysql.MySQLError as error:
        return repr(error.args), True
    finally:
        conn.close()


def by_script(_, caller, name, statement):
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
        return RUN[self.kind](self.protocol, self.caller, name, statement)

    def is_stopped(self, control, statement):
        before = self.at.content()
        seen, is_refused = self.run(control, statement)
        assert is_refused, seen
        assert self.at.content() == before, seen

    def writes(self, control):
        self.is_stopped(control, f"DELETE FROM {self.at.table} WHERE n > 3")

    def says_the_word(self, control):
        self.is_stopped(control, f"SELECT '{WORD}' AS said")

    def reads_the_mail(self, control):
        seen, _ = self.run(control, f"SELECT mail FROM {self.at.table} ORDER BY n")
        assert MAIL not in seen, seen

    def reads_what_is_masked(self, control):
        seen, is_refused = self.run(control, f"SELECT mail FROM {self.at.table} ORDER BY n")
        assert not is_refused and MAIL not in seen and seen.count(MASKED) == ROWS, seen

    def reads_too_much(self, control):
        seen, is_refused = self.run(control, f"SELECT concat('row ', n) AS said FROM {self.at.table}")
        assert is_refused and seen.count("row ") <= 3, seen

    def is_recorded(self, control):
        name = self.everywhere.house.connection(
            self.protocol, self.place) if self.protocol == "postgres" else \
            self.at.target.connection(self.everywhere.house.admin,
                                      agent_id=self.everywhere.house.agents[self.place])
        said = unique("said")
        seen, is_refused = RUN[self.kind](self.protocol, self.caller, name, f"SELECT '{said}'")
        assert not is_refused and said in seen, (control, seen)
        assert said in recorded(self.everywhere.house, name)

    def waits_for_people(self, control):
        said = unique("said")
        seen, is_refused = self.run(control, f"SELECT '{said}x' AS said")
        assert is_refused and "success" not in seen, seen


PROBES = {
    "structural": Probe.writes, "text": Probe.says_the_word, "output": Probe.reads_the_mail,
    "read_only": Probe.writes, "row_limits": Probe.writes, "read_budgets": Probe.reads_too_much,
    "masking": Probe.reads_what_is_masked, "held_statements": Probe.writes,
    "rehearsed_statements": Probe.writes,
    "recording": Probe.is_recorded, "review": Probe.waits_for_people,
}
PROTOCOLS = "postgres", "mysql"


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("protocol", PROTOCOLS)
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


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_probes_see_what_is_not_held(everywhere, protocol, kind):
    """On a connection without rules each of them fails, but for the two that are always on."""
    for control, run in PROBES.items():
        if control in ("recording", "held_statements", "rehearsed_statements"):
            continue  # the first is always on; the others have the probe of 'structural'
        probe = Probe(everywhere, protocol, "member", "here", kind)
        probe.is_stopped = lambda _, statement: refused(probe, statement)
        with pytest.raises(AssertionError):
            run(probe, "nothing")


def refused(probe, statement):
    """Of a statement that does not change anything, should it pass."""
    seen, is_refused = probe.run("nothing", statement.replace("n > 3", "n > 999"))
    assert is_refused, seen
