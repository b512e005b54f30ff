# SPDX-License-Identifier: MIT
"""An admin with an API key, over one connection that stays open."""
import http.client
import json
import ssl


class Caller:
    def __init__(self, port, key, has_tls=False):
        self.port, self.key = port, key
        self.conn = http.client.HTTPSConnection(
            "127.0.0.1", port, timeout=60, context=ssl._create_unverified_context()) if has_tls \
            else http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    @classmethod
    def register(cls, gateway, has_tls=False):
        port = gateway.port
        first = cls(port, "", has_tls)
        _, _, token = first.call("POST", "/localauth/register", {
            "email": "bench@example.com", "password": "lamp under seven rivers",
            "setup_code": gateway.setup_code()})
        first.key = token
        body = first.call("POST", "/api-keys", {"name": "bench", "groups": ["admin"]})[1]
        return cls(port, json.loads(body)["key"], has_tls)

    def call(self, method, path, body=None):
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        self.conn.request(method, "/api" + path, None if body is None else json.dumps(body), headers)
        answer = self.conn.getresponse()
        content = answer.read()
        assert answer.status < 300, (method, path, answer.status, content[:300])
        return answer.status, content, answer.getheader("Token")

    def create(self, body):
        self.call("POST", "/resources", body)

    def url(self, path):
        return f"http://127.0.0.1:{self.port}/api{path}"

    def wrk_arguments(self):
        return ["-H", f"Authorization: Bearer {self.key}"]


def resource(name, **members):
    return {"name": name, "type": "database", "subtype": "postgres", "env_vars": {}, **members}


def role(name, **members):
    return {"name": name, "type": "database", "subtype": "postgres", **members}
