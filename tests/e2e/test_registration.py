# SPDX-License-Identifier: MIT
"""Who may become the first admin, and from where."""
import re

import pytest

from api import PASSWORD, Api

BODY = {"email": "root@example.com", "password": PASSWORD}


@pytest.mark.parametrize("headers", [
    {"Origin": "https://elsewhere.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"}])
def test_a_page_of_another_site_registers_and_signs_in_nobody(start, headers):
    api = Api(start())
    assert api.post("/localauth/register", BODY, headers=headers).status == 403
    assert api.get("/publicserverinfo").json["setup_required"] is True
    assert api.post("/localauth/register", BODY).status == 201
    assert api.post("/localauth/login", BODY, headers=headers).status == 403
    own = {"Sec-Fetch-Site": "same-origin"}
    assert api.post("/localauth/login", BODY, headers=own).status == 200


def test_through_a_proxy_it_takes_the_code(start):
    gateway = start()
    api = Api(gateway)
    for header in ({"X-Forwarded-For": "192.0.2.1"}, {"Forwarded": "for=192.0.2.1"}):
        assert api.post("/localauth/register", BODY, headers=header).status == 403
        wrong = {**BODY, "setup_code": "x" * 20}
        assert api.post("/localauth/register", wrong, headers=header).status == 403
    code = re.search(r"/register#setup_code=(\S+)", gateway.text()).group(1)
    answer = api.post("/localauth/register", {**BODY, "setup_code": code},
                      headers={"X-Forwarded-For": "192.0.2.1"})
    assert answer.status == 201
    assert api.post("/localauth/register", {**BODY, "email": "b@example.com"}).status == 403


def test_no_cache_keeps_a_token(start):
    api = Api(start())
    for path, body in (("register", BODY), ("login", BODY), ("login", {**BODY, "password": "x"}),
                       ("register", BODY)):
        answer = api.post(f"/localauth/{path}", body)
        assert answer.headers["Cache-Control"] == "no-store", answer
        assert ("Token" in answer.headers) == (answer.status < 400)
