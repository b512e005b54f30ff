# SPDX-License-Identifier: MIT
"""A client of the API as one caller, and what tests of it need often."""
import base64
import http.client
import json
import uuid

EMBEDDED_AGENT = "01900000-0000-7000-8000-000000000001"
PASSWORD = "lamp under seven rivers"


def b64(text):
    return base64.b64encode(text.encode()).decode()


def unique(prefix):
    return f"{prefix}-{uuid.uuid4().hex[:10]}"


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def message(self):
        return self.json["message"]

    def __repr__(self):
        return f"<{self.status} {self.body[:500]!r}>"


class Api:
    """api.get("/resources") → Answer; a body that is bytes is sent as it is, others as JSON."""

    def __init__(self, gateway, token=None):
        self.gateway, self.token = gateway, token

    def call(self, method, path, body=None, headers=None, **options):
        all_headers = dict(headers or {})
        if self.token is not None:
            all_headers.setdefault("Authorization", f"Bearer {self.token}")
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        return Answer(*self.gateway.get("/api" + path, method=method, body=body,
                                        headers=all_headers, **options))

    def get(self, path, **options):
        return self.call("GET", path, **options)

    def post(self, path, body=None, **options):
        return self.call("POST", path, body, **options)

    def put(self, path, body=None, **options):
        return self.call("PUT", path, body, **options)

    def patch(self, path, body=None, **options):
        return self.call("PATCH", path, body, **options)

    def delete(self, path, **options):
        return self.call("DELETE", path, **options)

    def key(self, *groups):
        """A caller who is an API key in these groups."""
        answer = self.post("/api-keys", {"name": unique("key"), "groups": list(groups)})
        assert answer.status == 201, answer
        return Api(self.gateway, answer.json["key"])


class KeptApi(Api):
    """The same over one connection that is kept, for very many calls; for one thread alone."""

    def __init__(self, api):
        super().__init__(api.gateway, api.token)
        self.conn = http.client.HTTPConnection("127.0.0.1", api.gateway.port, timeout=60)

    def call(self, method, path, body=None, headers=None):
        all_headers = dict(headers or {})
        if self.token is not None:
            all_headers.setdefault("Authorization", f"Bearer {self.token}")
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        try:
            self.conn.request(method, "/api" + path, body=body, headers=all_headers)
            response = self.conn.getresponse()
            return Answer(response.status, dict(response.getheaders()), response.read())
        except (OSError, http.client.HTTPException):
            self.conn.close()  # the next call connects again
            raise


def setup_code(gateway):
    """As whoever runs the gateway gets it."""
    status, answer = gateway.control("GET", "/control/setup-code")
    assert status == 200, answer
    return answer["setup_code"]


def register(gateway, email="root@example.com"):
    """The first admin of a fresh gateway."""
    answer = Api(gateway).post("/localauth/register", {
        "email": email, "password": PASSWORD, "setup_code": setup_code(gateway)})
    assert answer.status == 201, answer
    return Api(gateway, answer.headers["Token"])


def login(gateway, email, password=PASSWORD):
    answer = Api(gateway).post("/localauth/login", {"email": email, "password": password})
    assert answer.status == 200, answer
    return Api(gateway, answer.headers["Token"])


def described_routes(gateway):
    """{"GET /resources": its operation}, from the description."""
    document = Api(gateway).get("/openapi.json").json
    assert [server["url"] for server in document["servers"]] == ["/api"]
    return {f"{method.upper()} {path}": operation for path, item in document["paths"].items()
            for method, operation in item.items()
            if method in ("get", "put", "post", "patch", "delete")}


def resource(name=None, **members):
    return {"name": name or unique("resource"), "type": "database", "subtype": "postgres",
            "env_vars": {}, **members}


def role(name=None, **members):
    return {"name": name or unique("role"), "type": "database", "subtype": "postgres", **members}


def connection(name=None, **members):
    return {"name": name or unique("connection"), "type": "database", "subtype": "postgres",
            "agent_id": EMBEDDED_AGENT, "access_mode_connect": "enabled",
            "access_mode_exec": "enabled", "access_mode_runbooks": "enabled",
            "access_schema": "enabled", **members}
