# SPDX-License-Identifier: MIT
"""The description of the API, held against the API by programs that know nothing else of it."""
import os
import re
import subprocess
import textwrap

import pytest

from api import b64, resource, role
from plan import IS_LONG

CHECKS = ("not_a_server_error,status_code_conformance,content_type_conformance,"
          "response_schema_conformance,response_headers_conformance,negative_data_rejection,"
          "unsupported_method")


@pytest.fixture
def filled(admin):
    for i in range(3):
        answer = admin.post("/resources", resource(
            env_vars={"envvar:HOST": b64("h")},
            roles=[role(secret={"envvar:DB": b64("d")}, attributes=["a"]) for _ in range(2)]))
        assert answer.status == 201
    return admin


def test_the_description_is_of_this_version(admin):
    document = admin.get("/openapi.json").json
    assert document["openapi"].startswith("3.1") and document["info"]["version"] == "1.133.1"
    assert document["servers"] == [{"url": "/api"}]
    resource_answer = document["components"]["schemas"]["Resource"]
    assert {"id", "name", "type", "subtype", "agent_id", "env_vars", "roles", "created_at",
            "updated_at"} <= set(resource_answer["required"])
    assert "mcp_oauth_flow_id" not in document["components"]["schemas"]["Connection"]["properties"]


def test_a_property_based_tester_finds_nothing(filled, tools, tmp_path, request):
    gateway = filled.gateway
    # A value at each bound of each field is what test_bad_input.py sends, in a tenth of the time: a
    # short run has what is made at random, on the store that is stricter about types.
    if not IS_LONG and "sqlite" in request.node.name:
        pytest.skip("with --all")
    phases, examples = ("fuzzing", 10) if not IS_LONG else ("coverage,fuzzing", 80)
    # /apply is of bodies of the others, two thousand of a mebibyte each: making such takes a minute.
    result = subprocess.run(
        [f"{tools}/st", "run", gateway.url("/api/openapi.json"), "--url", gateway.url("/api"),
         "--exclude-path", "/apply",
         "-H", f"Authorization: Bearer {filled.key('admin').token}", "--max-examples", str(examples),
         "--request-timeout", "60",  # hashing a password on a busy machine
         "--phases", phases, "--checks", CHECKS, "--no-color", "--warnings", "off"],
        cwd=tmp_path, capture_output=True, text=True)
    cases = re.search(r"(\d+) generated", result.stdout)
    assert result.returncode == 0, result.stdout[-8000:]
    assert int(cases.group(1)) >= (5000 if IS_LONG else 1000), cases


def test_a_generated_client_works(filled, tools, tmp_path):
    gateway = filled.gateway
    environment = dict(os.environ, PATH=f"{tools}:{os.environ['PATH']}")
    result = subprocess.run(
        [f"{tools}/openapi-python-client", "generate", "--url", gateway.url("/api/openapi.json"),
         "--output-path", tmp_path / "gatehouse_client", "--meta", "none"],
        env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout
    script = textwrap.dedent("""
        import sys
        from gatehouse_client import AuthenticatedClient
        from gatehouse_client.api.resources import (
            get_resources, get_resources_name, post_resources, put_resources_name)
        from gatehouse_client.models import ResourceRequest
        client = AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2])
        body = ResourceRequest.from_dict({"name": "generated", "type": "database", "env_vars": {},
            "roles": [{"name": "generated-ro", "type": "database"}]})
        created = post_resources.sync(client=client, body=body)
        assert created.name == "generated" and created.roles[0].name == "generated-ro", created
        read = get_resources_name.sync("generated", client=client)
        assert read.roles[0].effective_features.guardrails is False
        body.subtype = "database"
        assert put_resources_name.sync("generated", client=client, body=body).id == created.id
        page = get_resources.sync(client=client, search="generated")
        assert page.pages.total == 1 and page.data[0].to_dict()["name"] == "generated"
        missing = get_resources_name.sync("nothing", client=client)
        assert "nothing" in missing.message
    """)
    result = subprocess.run([f"{tools}/python", "-c", script, gateway.url("/api"),
                             filled.key("admin").token],
                            cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
