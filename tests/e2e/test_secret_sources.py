# SPDX-License-Identifier: MIT
"""What an agent gets for the secrets of a connection, from keepers as they are out there."""
import base64
import json
import os
import signal
import stat
import subprocess

import pytest

from conftest import HTTP_TEST_SERVER, PATIENCE, wait_for
from keepers import Aws, Vault

PROBE = os.path.join(os.path.dirname(HTTP_TEST_SERVER), "secret_probe")
DATABASE = {"username": "app", "password": "pä\"ss\n", "port": 5432, "ssl": True,
            "ratio": 0.25, "nested": {"a": 1}, "null": None}
BINARY = {"key": "of bytes"}


def b64(text):
    return base64.b64encode(text.encode()).decode()


@pytest.fixture(scope="module")
def aws(tools, tmp_path_factory):
    aws = Aws(tools, str(tmp_path_factory.mktemp("moto")))
    made = aws.call("CreateSecret", Name="prod/db", SecretString=json.dumps(DATABASE))
    aws.arn = made["ARN"]
    aws.call("CreateSecret", Name="bytes",
             SecretBinary=base64.b64encode(json.dumps(BINARY).encode()).decode())
    aws.call("CreateSecret", Name="text", SecretString="s3cret text")
    aws.call("CreateSecret", Name="gone", SecretString="{}")
    aws.call("DeleteSecret", SecretId="gone")
    aws.call("CreateSecret", region="us-east-2", Name="far", SecretString='{"a":"b"}')
    yield aws
    aws.stop()


def make_certificate(folder):
    """A private issuer and a server's certificate → (the issuer, certificate and key)."""
    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=private issuer")
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-keyout", "vault.key", "-out", "vault.csr", "-subj", "/CN=vault")
    with open(os.path.join(folder, "names"), "w", encoding="utf-8") as file:
        file.write("subjectAltName=IP:127.0.0.1\n")
    openssl("x509", "-req", "-in", "vault.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-days", "2",
            "-CAcreateserial", "-extfile", "names", "-out", "vault.pem")
    path = os.path.join(folder, "both.pem")
    with open(path, "w", encoding="utf-8") as both:
        for name in ("vault.pem", "vault.key"):
            with open(os.path.join(folder, name), encoding="utf-8") as part:
                both.write(part.read())
    return os.path.join(folder, "ca.pem"), path


@pytest.fixture(scope="module")
def one_vault(tmp_path_factory):
    issuer, pem = make_certificate(str(tmp_path_factory.mktemp("vault")))
    vault = Vault(pem)
    vault.issuer = issuer
    vault.secrets = {
        ("", "secret/data/app"): DATABASE,
        ("", "secret/data/deep/er"): {"a": "deeper"},
        ("", "secret/data/deleted"): None,
        ("", "team/kv/data/app"): {"a": "of the team"},
        ("", "kv/app"): {"a": "of version 1"},
        ("", "kv/with%20space/%C3%BC"): {"a": "escaped"},
        ("one/two", "kv/app"): {"a": "of the namespace"},
    }
    yield vault
    vault.stop()


@pytest.fixture
def vault(one_vault):
    one_vault.requests.clear()
    one_vault.is_sealed = False
    return one_vault


def environment(aws=None, vault=None, **more):
    env = {"HOME": "/nonexistent", "AWS_EC2_METADATA_DISABLED": "true"}
    env.update({name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")})
    if aws:
        env.update(AWS_ENDPOINT_URL=aws.url, AWS_REGION="eu-west-1",
                   AWS_ACCESS_KEY_ID=aws.KEYS[0], AWS_SECRET_ACCESS_KEY=aws.KEYS[1])
    if vault:
        env.update(VAULT_ADDR=vault.url, VAULT_CACERT=vault.issuer, VAULT_TOKEN=vault.TOKEN)
    return {name: value for name, value in {**env, **more}.items() if value is not None}


def probe(secrets, env):
    done = subprocess.run([PROBE], input=json.dumps(secrets) + "\n", env=env, text=True,
                          capture_output=True, check=False, timeout=4 * PATIENCE)
    assert done.stderr == "", done.stderr
    return json.loads(done.stdout)


def resolve(secrets, env):
    answer = probe(secrets, env)
    assert "values" in answer, answer
    assert list(answer["values"]) == list(secrets)
    return {key: base64.b64decode(value).decode() for key, value in answer["values"].items()}


def refuse(secrets, env):
    """The failures by key, checked to be in the short form, too."""
    answer = probe(secrets, env)
    assert "error" in answer, answer
    assert "s3cret" not in json.dumps(answer)
    lines = answer["all"].split("\n")
    plural = "s" if len(lines) > 1 else ""
    assert answer["error"].startswith(f"cannot get {len(lines)} secret{plural}: "), answer
    return dict(line.split(" ", 1) for line in lines)


def test_secrets_of_aws_come_with_their_kinds(aws):
    assert resolve({
        "envvar:USER": "_aws:prod/db:username", "envvar:PASS": b64("_aws:prod/db:password"),
        "envvar:PORT": "_aws:prod/db:port", "envvar:SSL": "_aws:prod/db:ssl",
        "envvar:RATIO": "_aws:prod/db:ratio", "filesystem:KEY": "_aws:bytes:key",
        "envvar:INLINE": b64("as it is")}, environment(aws)) == {
            "envvar:USER": "app", "envvar:PASS": "pä\"ss\n", "envvar:PORT": "5432",
            "envvar:SSL": "true", "envvar:RATIO": "0.25", "filesystem:KEY": "of bytes",
            "envvar:INLINE": "as it is"}


def test_each_secret_is_asked_for_once_and_not_remembered(aws):
    aws.requests.clear()
    secrets = {f"envvar:A{i}": f"_aws:prod/db:{name}"
               for i, name in enumerate(("username", "password", "port"))}
    for _ in range(2):
        resolve({**secrets, "envvar:KEY": "_aws:bytes:key"}, environment(aws))
    assert sorted(aws.requests) == ["bytes", "bytes", "prod/db", "prod/db"]


def test_a_rotated_secret_is_seen_by_the_next_session(aws):
    aws.call("CreateSecret", Name="rotated", SecretString='{"a":"old"}')
    assert resolve({"envvar:A": "_aws:rotated:a"}, environment(aws)) == {"envvar:A": "old"}
    aws.call("PutSecretValue", SecretId="rotated", SecretString='{"a":"new"}')
    assert resolve({"envvar:A": "_aws:rotated:a"}, environment(aws)) == {"envvar:A": "new"}


def test_arns_have_colons_and_a_region(aws):
    assert resolve({"envvar:A": f"_aws:{aws.arn}:username"},
                   environment(aws)) == {"envvar:A": "app"}
    assert resolve({"envvar:A": f"_aws:{aws.arn}:username"},
                   environment(aws, AWS_REGION=None)) == {"envvar:A": "app"}
    assert resolve({"envvar:A": "_aws:far:a"},
                   environment(aws, AWS_REGION=None, AWS_DEFAULT_REGION="us-east-2")) == {
                       "envvar:A": "b"}


def test_session_tokens_are_signed_and_never_shown(aws):
    secrets = {"envvar:A": "_aws:prod/db:username"}
    assert resolve(secrets, environment(aws, AWS_SESSION_TOKEN=aws.TOKEN)) == {"envvar:A": "app"}
    failed = refuse(secrets, environment(aws, AWS_SESSION_TOKEN="s3cret-but-wrong"))
    assert failed["envvar:A"] == ("(_aws:prod/db:username): InvalidSignatureException: the secret "
                                  "access key is wrong, or the clock is")
    failed = refuse(secrets, environment(aws, AWS_SECRET_ACCESS_KEY="s3cret-but-wrong"))
    assert "InvalidSignatureException" in failed["envvar:A"]
    failed = refuse(secrets, environment(aws, AWS_ACCESS_KEY_ID="AKIAOTHER"))
    assert "UnrecognizedClientException: The security token included" in failed["envvar:A"]


def test_credentials_of_a_profile_are_used(aws, tmp_path):
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws/credentials").write_text(
        f"[prod]\naws_access_key_id = {aws.KEYS[0]}\naws_secret_access_key = {aws.KEYS[1]}\n")
    (tmp_path / ".aws/config").write_text("[profile prod]\nregion = eu-west-1\n")
    env = environment(aws, HOME=str(tmp_path), AWS_PROFILE="prod", AWS_REGION=None,
                      AWS_ACCESS_KEY_ID=None, AWS_SECRET_ACCESS_KEY=None)
    assert resolve({"envvar:A": "_aws:prod/db:username"}, env) == {"envvar:A": "app"}
    failed = refuse({"envvar:A": "_aws:prod/db:username"}, {**env, "AWS_PROFILE": "none"})
    assert "there is no profile 'none'" in failed["envvar:A"]


def test_all_failures_of_aws_are_told(aws):
    failed = refuse({
        "envvar:OK": "_aws:prod/db:username", "envvar:MISSING": "_aws:nowhere:a",
        "envvar:DELETED": "_aws:gone:a", "envvar:KEY": "_aws:prod/db:nope",
        "envvar:NESTED": "_aws:prod/db:nested", "envvar:NULL": "_aws:prod/db:null",
        "envvar:TEXT": "_aws:text:a"}, environment(aws))
    assert list(failed) == ["envvar:MISSING", "envvar:DELETED", "envvar:KEY", "envvar:NESTED",
                            "envvar:NULL", "envvar:TEXT"]
    assert failed["envvar:MISSING"].startswith("(_aws:nowhere:a): ResourceNotFoundException: ")
    assert failed["envvar:DELETED"].startswith("(_aws:gone:a): InvalidRequestException: ")
    assert failed["envvar:KEY"] == "(_aws:prod/db:nope): the secret has no 'nope'"
    assert failed["envvar:NESTED"].endswith("'nested' in the secret is an object")
    assert failed["envvar:NULL"].endswith("'null' in the secret is null")
    assert failed["envvar:TEXT"].endswith("the secret is not a JSON object: it is no JSON")


def test_throttling_is_waited_for(aws):
    aws.throttled = 2
    assert resolve({"envvar:A": "_aws:prod/db:username"}, environment(aws)) == {"envvar:A": "app"}
    assert aws.throttled == 0
    aws.throttled = 99
    failed = refuse({"envvar:A": "_aws:prod/db:username"}, environment(aws))
    assert failed["envvar:A"].endswith("ThrottlingException: Rate exceeded")
    aws.throttled = 0


def test_both_versions_of_vault_are_read(vault):
    assert resolve({
        "envvar:A": "_vaultkv2:secret/data/app:password", "envvar:B": "_vaultkv2:secret/app:port",
        "envvar:C": "_vaultkv1:kv/app:a", "envvar:D": "_vaultkv2:secret/deep/er:a",
        "envvar:E": "_vaultkv2:team/kv/data/app:a", "envvar:F": "_vaultkv1:kv/with space/ü:a",
        "envvar:G": b64("_vaultkv2:secret/data/app:username")},
        environment(vault=vault, VAULT_MOUNTS="secret, kv/,/team/kv")) == {
            "envvar:A": "pä\"ss\n", "envvar:B": "5432", "envvar:C": "of version 1",
            "envvar:D": "deeper", "envvar:E": "of the team", "envvar:F": "escaped",
            "envvar:G": "app"}


def test_a_namespace_of_vault_is_asked_for(vault):
    assert resolve({"envvar:A": "_vaultkv1:kv/app:a"},
                   environment(vault=vault, VAULT_NAMESPACE="one/two/")) == {
                       "envvar:A": "of the namespace"}


def test_a_role_signs_in_and_its_token_is_revoked(vault):
    env = environment(vault=vault, VAULT_TOKEN=None, VAULT_ROLE_ID=vault.ROLE[0],
                      VAULT_SECRET_ID=vault.ROLE[1])
    assert resolve({"envvar:A": "_vaultkv1:kv/app:a", "envvar:B": "_vaultkv2:secret/app:port"},
                   env) == {"envvar:A": "of version 1", "envvar:B": "5432"}
    assert vault.requests[0] == ("POST", "/v1/auth/approle/login")
    assert vault.requests[-1] == ("POST", "/v1/auth/token/revoke-self")
    assert vault.tokens == {vault.TOKEN}
    failed = refuse({"envvar:A": "_vaultkv1:kv/app:a"}, {**env, "VAULT_SECRET_ID": "wrong"})
    assert failed["envvar:A"] == ("(_vaultkv1:kv/app:a): cannot sign in as VAULT_ROLE_ID: Vault: "
                                  "invalid role or secret ID (status 400)")


def test_all_failures_of_vault_are_told(vault):
    failed = refuse({
        "envvar:OK": "_vaultkv1:kv/app:a", "envvar:DENIED": "_vaultkv2:secret/denied:a",
        "envvar:MISSING": "_vaultkv2:secret/nowhere:a",
        "envvar:DELETED": "_vaultkv2:secret/deleted:a", "envvar:ENGINE": "_vaultkv1:other/app:a",
        "envvar:KEY": "_vaultkv1:kv/app:b"}, environment(vault=vault))
    assert failed == {
        "envvar:DENIED": "(_vaultkv2:secret/denied:a): Vault: permission denied (status 403)",
        "envvar:MISSING": "(_vaultkv2:secret/nowhere:a): Vault has no such secret",
        "envvar:DELETED": "(_vaultkv2:secret/deleted:a): the newest version of the secret is "
                          "deleted",
        "envvar:ENGINE": "(_vaultkv1:other/app:a): the path is in none of the engines that "
                         "VAULT_MOUNTS of the agent's environment lists ('secret,kv')",
        "envvar:KEY": "(_vaultkv1:kv/app:b): the secret has no 'b'"}
    failed = refuse({"envvar:A": "_vaultkv1:kv/app:a"},
                    environment(vault=vault, VAULT_TOKEN="hvs.wrong"))
    assert failed["envvar:A"].endswith("permission denied (status 403)")
    vault.is_sealed = True
    failed = refuse({"envvar:A": "_vaultkv1:kv/app:a"}, environment(vault=vault))
    assert failed["envvar:A"].endswith("Vault is sealed (status 503)")


def test_only_the_named_issuer_of_vault_is_trusted(vault):
    failed = refuse({"envvar:A": "_vaultkv1:kv/app:a"},
                    environment(vault=vault, VAULT_CACERT=None))
    assert "127.0.0.1: " in failed["envvar:A"] and "certificate" in failed["envvar:A"]
    assert vault.requests == []


def test_a_variable_of_the_agent_holds_json(aws, vault):
    env = environment(aws, vault, APP=json.dumps(DATABASE))
    assert resolve({"envvar:A": "_envjson:APP:password", "envvar:B": "_aws:prod/db:username",
                    "filesystem:C": "_vaultkv1:kv/app:a"}, env) == {
                        "envvar:A": "pä\"ss\n", "envvar:B": "app", "filesystem:C": "of version 1"}
    failed = refuse({"envvar:A": "_envjson:NONE:a", "envvar:B": "_envjson:APP:b",
                     "envvar:C": "_aws:nowhere:a", "envvar:D": "_vaultkv1:kv/none:a"}, env)
    assert len(failed) == 4
    assert failed["envvar:A"].endswith("the agent's environment has no such variable")


class Session:
    """A program with the secrets of one connection."""

    def __init__(self, folder, secrets):
        self.process = subprocess.Popen([PROBE, folder], stdin=subprocess.PIPE, env=environment(),
                                        stdout=subprocess.PIPE, text=True, umask=0)
        self.process.stdin.write(json.dumps(secrets) + "\n")
        self.process.stdin.flush()
        self.answer = json.loads(self.process.stdout.readline())

    def end(self, with_signal=None):
        if with_signal:
            self.process.send_signal(with_signal)
        self.process.communicate("\n" if not with_signal else None, timeout=PATIENCE)
        return self.process.returncode


def test_files_are_private_and_end_with_the_session(tmp_path):
    folder = tmp_path / "files"
    session = Session(str(folder), {"envvar:A": b64("value"), "filesystem:KEY": b64("key\n")})
    path = session.answer["variables"]["KEY"]
    assert session.answer["variables"] == {"A": "value", "KEY": str(folder / "session-1" / "KEY")}
    with open(path, encoding="utf-8") as file:
        assert file.read() == "key\n"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    assert Session(str(folder), {}).answer["error"].endswith("is used by another process")
    assert session.end() == 0
    assert os.listdir(folder) == []


def test_files_of_a_process_that_was_killed_go_at_the_next_start(tmp_path):
    folder = tmp_path / "files"
    session = Session(str(folder), {"filesystem:KEY": b64("key")})
    path = session.answer["variables"]["KEY"]
    assert session.end(signal.SIGKILL) != 0
    assert os.path.exists(path)
    session = Session(str(folder), {"filesystem:OTHER": b64("key")})
    wait_for(lambda: not os.path.exists(path), what="the end of what was left")
    assert os.listdir(folder / "session-1") == ["OTHER"]
    assert session.end() == 0
