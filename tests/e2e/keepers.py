# SPDX-License-Identifier: MIT
"""Keepers of secrets on this machine: moto in the place of AWS, behind a check of every signature by
botocore, and a Vault that knows engines, tokens, namespaces and roles, and forgives nothing."""
import http.server
import json
import os
import re
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request

from conftest import Program, lasting_port, wait_for


def serving(handler, context=None):
    """A server on a thread → (server, its address)."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    scheme = "http" if context is None else "https"
    return server, f"{scheme}://127.0.0.1:{server.server_port}"


class Quiet(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def body(self):
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def answer(self, status, value=None, raw=None):
        body = raw if raw is not None else json.dumps(value).encode() if value is not None else b""
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


SIGNATURE = """
import json, sys
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
import botocore.auth, datetime
for line in sys.stdin:
    seen = json.loads(line)
    request = AWSRequest("POST", seen["url"], data=seen["body"], headers=seen["headers"])
    request.context["timestamp"] = seen["headers"]["X-Amz-Date"]
    signer = SigV4Auth(Credentials(*seen["keys"]), "secretsmanager", seen["region"])
    canonical = signer.canonical_request(request)
    print(signer.signature(signer.string_to_sign(request, canonical), request), flush=True)
"""


class Aws:
    """Secrets Manager: moto, behind a front that refuses wrong signatures as AWS does."""
    KEYS = ("AKIAEXAMPLE", "s3cret/access+key")
    TOKEN = "s3cret-session-token=="

    def __init__(self, tools, folder):
        port = lasting_port()
        self.folder = folder
        self.requests = []
        self.throttled = 0  # answers of ThrottlingException that are still to come
        env = {"PATH": os.environ["PATH"], "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
        self.moto = Program([os.path.join(tools, "moto_server"), "-H", "127.0.0.1", "-p", str(port)],
                            env, os.path.join(folder, "moto.txt"))
        self.address = f"http://127.0.0.1:{port}"
        self.signer = subprocess.Popen([os.path.join(tools, "python"), "-c", SIGNATURE], text=True,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.lock = threading.Lock()
        wait_for(self.is_up, 60, "moto")
        aws = self

        class Front(Quiet):
            def do_POST(self):
                aws.handle(self)
        self.server, self.url = serving(Front)

    def is_up(self):
        assert self.moto.is_alive(), self.moto.text()
        try:
            return urllib.request.urlopen(self.address + "/moto-api/", timeout=5).status == 200
        except (urllib.error.URLError, ConnectionError):
            return False

    def stop(self):
        self.server.shutdown()
        self.signer.stdin.close()
        self.signer.wait()
        self.signer.stdout.close()
        self.moto.process.terminate()
        self.moto.process.wait()

    def call(self, action, region="eu-west-1", **arguments):
        request = urllib.request.Request(
            self.address + "/", json.dumps(arguments).encode(),
            {"X-Amz-Target": f"secretsmanager.{action}",
             "Content-Type": "application/x-amz-json-1.1",
             "Authorization": f"AWS4-HMAC-SHA256 Credential=a/20260101/{region}/secretsmanager/"
                              "aws4_request, SignedHeaders=host, Signature=b"})
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.loads(answer.read())

    def signature_of(self, handler, body, keys):
        """The one that botocore makes of what came."""
        said = handler.headers["Authorization"]
        match = re.fullmatch(
            r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([a-z0-9-]+)/secretsmanager/aws4_request, "
            r"SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})", said or "")
        if not match or match.group(1) != keys[0]:
            return None
        names = match.group(4).split(";")
        assert {"host", "x-amz-date", "x-amz-target", "content-type"} <= set(names)
        sent = {name.lower() for name in handler.headers if name.lower().startswith("x-amz-")}
        assert sent <= set(names), "headers of AWS's own are all signed"
        headers = {name: handler.headers[name] for name in names if name != "host"}
        headers["X-Amz-Date"] = handler.headers["X-Amz-Date"]
        headers.pop("x-amz-date")
        with self.lock:
            self.signer.stdin.write(json.dumps({
                "url": self.url + handler.path, "body": body.decode(), "headers": headers,
                "keys": keys, "region": match.group(3)}) + "\n")
            self.signer.stdin.flush()
            return self.signer.stdout.readline().strip() == match.group(5)

    def handle(self, handler):
        body = handler.body()
        token = handler.headers.get("X-Amz-Security-Token")
        is_good = self.signature_of(handler, body, self.KEYS)
        when = time.strptime(handler.headers["X-Amz-Date"], "%Y%m%dT%H%M%SZ")
        assert abs(time.mktime(when) - time.mktime(time.gmtime())) < 60
        with self.lock:
            self.requests.append(json.loads(body)["SecretId"])
            is_throttled = self.throttled > 0
            self.throttled -= is_throttled
        if is_good is None:
            return handler.answer(400, {"__type": "UnrecognizedClientException",
                                        "message": "The security token included is invalid."})
        if not is_good or token not in (None, self.TOKEN):
            return handler.answer(400, {
                "__type": "InvalidSignatureException",
                "message": f"The canonical string should have been\n{token}"})
        if is_throttled:
            return handler.answer(400, {"__type": "ThrottlingException",
                                        "message": "Rate exceeded"})
        request = urllib.request.Request(self.address + "/", body, {
            name: handler.headers[name] for name in ("X-Amz-Target", "Content-Type",
                                                     "Authorization", "X-Amz-Date")})
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return handler.answer(answer.status, raw=answer.read())
        except urllib.error.HTTPError as error:
            return handler.answer(error.code, raw=error.read())


class Vault:
    """What the HTTP interface of Vault and OpenBao documents for key/value engines, tokens,
    AppRole and namespaces. Engines: kv (1), secret (2), team/kv (2)."""
    TOKEN = "hvs.s3cret-token"
    ROLE = ("role-1", "s3cret-role-id")

    def __init__(self, pem):
        self.secrets = {}     # (namespace, path as the interface has it) → data
        self.tokens = {self.TOKEN}
        self.requests = []
        self.logins = 0
        self.is_sealed = False
        vault = self

        class Handler(Quiet):
            def do_GET(self):
                vault.handle(self, "GET")

            def do_POST(self):
                vault.handle(self, "POST")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
        self.server, self.url = serving(Handler, context)

    def stop(self):
        self.server.shutdown()

    def handle(self, handler, method):
        body = handler.body()
        self.requests.append((method, handler.path))
        namespace = handler.headers.get("X-Vault-Namespace", "").strip("/")
        path = handler.path.removeprefix("/v1/")
        if handler.headers.get("X-Vault-Request") != "true" or path == handler.path:
            return handler.answer(400, {"errors": ["not a request to Vault"]})
        if self.is_sealed:
            return handler.answer(503, {"errors": ["Vault is sealed"]})
        if (method, path) == ("POST", "auth/approle/login"):
            return self.sign_in(handler, json.loads(body))
        token = handler.headers.get("X-Vault-Token")
        if token not in self.tokens or "denied" in path:
            return handler.answer(403, {"errors": ["1 error occurred:\n\t* permission denied\n\n"]})
        if (method, path) == ("POST", "auth/token/revoke-self"):
            self.tokens.discard(token)
            return handler.answer(204)
        if method != "GET":
            return handler.answer(405, {"errors": ["unsupported operation"]})
        return self.read(handler, namespace, path)

    def sign_in(self, handler, said):
        if (said.get("role_id"), said.get("secret_id")) != self.ROLE:
            return handler.answer(400, {"errors": ["invalid role or secret ID"]})
        self.logins += 1
        token = f"hvs.role-{self.logins}"
        self.tokens.add(token)
        return handler.answer(200, {"request_id": "1", "auth": {
            "client_token": token, "lease_duration": 2764800, "policies": ["default"]}})

    def read(self, handler, namespace, path):
        is_second = re.match(r"(secret|team/kv)/data/.", path)
        if not is_second and not path.startswith("kv/"):
            return handler.answer(404, {"errors": [f"no handler for route \"{path}\""]})
        if (namespace, path) not in self.secrets:
            return handler.answer(404, {"errors": []})
        data = self.secrets[namespace, path]
        if not is_second:
            return handler.answer(200, {"request_id": "1", "lease_duration": 2764800, "data": data})
        metadata = {"created_time": "2026-01-01T00:00:00Z", "custom_metadata": None,
                    "deletion_time": "" if data is not None else "2026-01-02T00:00:00Z",
                    "destroyed": False, "version": 2}
        return handler.answer(200 if data is not None else 404,
                              {"request_id": "1", "data": {"data": data, "metadata": metadata}})
