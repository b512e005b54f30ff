# SPDX-License-Identifier: MIT
"""kill -9 at any moment of a PUT: the old state or the new one, never a mix, and what was
acknowledged is there."""
import http.client
import random
import threading
import time

import pytest

from api import Api, register, resource, role
from conftest import IS_SANITIZED

ROUNDS = 4 if IS_SANITIZED else 12
WRITERS = 4


def body_of(writer, version):
    """All parts of a version tell its number."""
    return resource(f"crash-{writer}", env_vars={"VERSION": str(version)},
                    roles=[role(f"crash-{writer}-{version}-{i}", command=[str(version)])
                           for i in range(3)])


class Writer(threading.Thread):
    def __init__(self, admin, number, version):
        super().__init__()
        self.admin, self.number = admin, number
        self.acknowledged = self.tried = version

    def run(self):
        while True:
            version = self.tried = self.acknowledged + 1
            try:
                answer = self.admin.put(f"/resources/crash-{self.number}?prune_roles=true",
                                        body_of(self.number, version))
            except (OSError, http.client.HTTPException):  # killed in the middle of an answer
                return
            assert answer.status == 200, answer
            self.acknowledged = version


def version_of(admin, writer):
    found = admin.get(f"/resources/crash-{writer}").json
    version = int(found["env_vars"]["VERSION"])
    assert [r["name"] for r in found["roles"]] == [f"crash-{writer}-{version}-{i}" for i in range(3)]
    assert all(r["command"] == [str(version)] for r in found["roles"])
    return version


def changes(admin, writer):
    answer = admin.get(f"/audit/logs?action=update&http_path=crash-{writer}&page_size=1")
    return answer.json["pages"]["total"]


@pytest.mark.parametrize("seed", [1])
def test_kill_9_leaves_the_old_or_the_new_state(start, store_url, tmp_path, seed):
    arguments = ["--database-url", store_url, "--master-key-file", tmp_path / "key"]
    moments = random.Random(seed)
    gateway = start(*arguments, folder=tmp_path / "gateway")
    admin = register(gateway)
    for writer in range(WRITERS):
        assert admin.post("/resources", body_of(writer, 0)).status == 201
    versions = [0] * WRITERS
    for _ in range(ROUNDS):
        writers = [Writer(admin, i, versions[i]) for i in range(WRITERS)]
        for writer in writers:
            writer.start()
        time.sleep(moments.uniform(0.02, 0.2))
        gateway.kill()
        for writer in writers:
            writer.join()
        gateway = start(*arguments, folder=tmp_path / "gateway")
        admin = Api(gateway, admin.token)
        for writer in writers:
            versions[writer.number] = version_of(admin, writer.number)
            assert versions[writer.number] in (writer.acknowledged, writer.tried)
            assert changes(admin, writer.number) == versions[writer.number]
        for path, count in (("/resources", WRITERS), ("/connections", WRITERS * 3)):
            listed = admin.get(path + "?page_size=100").json
            assert listed["pages"]["total"] == len(listed["data"]) == count
    assert sum(versions) > ROUNDS
