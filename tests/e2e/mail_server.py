# SPDX-License-Identifier: MIT
"""A real mail server (aiosmtpd) with STARTTLS and accounts. What it does to a mail stands in the
address that the mail is for."""
import asyncio
import email
import email.policy
import socket
import ssl
import subprocess
import threading

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

HERE = "127.0.0.2"
USER, PASSWORD = "gatehouse", "pass 'word\" ü"
FROM = "gatehouse@example.com"


def make_certificate(folder, name=HERE):
    """The paths of an authority's certificate, and of a server's with its key."""
    ca, cert, key = (str(folder / f"{word}.pem") for word in ("ca", "cert", "key"))
    extensions = folder / "extensions"
    extensions.write_text(f"subjectAltName=IP:{name}\n")

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], check=True, capture_output=True)
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", str(folder / "ca.key"),
            "-out", ca, "-subj", "/CN=authority", "-days", "2")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out",
            str(folder / "request.pem"), "-subj", "/CN=mail")
    openssl("x509", "-req", "-in", str(folder / "request.pem"), "-CA", ca, "-CAkey",
            str(folder / "ca.key"), "-CAcreateserial", "-out", cert, "-days", "2", "-extfile",
            str(extensions))
    return ca, cert, key


class MailServer:
    def __init__(self, cert=None, key=None, needs_account=True):
        self.mails = []  # (envelope, message) of what was taken
        self.tried = []  # the addresses of whatever came as far as its text
        self.signed_in = []
        self.is_hanging = True
        self.lock = threading.Lock()
        context = None
        if cert is not None:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(cert, key)
        needs_account = needs_account and cert is not None
        self.controller = Controller(
            self, hostname=HERE, port=0, tls_context=context, require_starttls=cert is not None,
            authenticator=self.check if needs_account else None, auth_required=needs_account)
        self.controller.port = free_port()
        self.controller.start()
        self.port = self.controller.port

    def check(self, server, session, envelope, mechanism, data):
        self.signed_in.append((bytes(data.login).decode(), bytes(data.password).decode()))
        return AuthResult(success=self.signed_in[-1] == (USER, PASSWORD), handled=False)

    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith("nobody"):
            return "550 5.1.1 no such user \x1b[31mhere"
        if address.startswith("grey") and self.is_hanging:
            return "451 4.7.1 come back later"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        with self.lock:
            self.tried += envelope.rcpt_tos
        first = envelope.rcpt_tos[0]
        while first.startswith("slow") and self.is_hanging:
            await asyncio.sleep(0.05)
        if first.startswith("full") and self.is_hanging:
            return "452 4.2.2 mailbox full"
        if first.startswith("picky"):
            return "554 5.7.1 no such mail here"
        message = email.message_from_bytes(envelope.content, policy=email.policy.default)
        with self.lock:
            self.mails.append((envelope, message))
        return "250 2.0.0 taken"

    def to(self, address):
        with self.lock:
            return [message for envelope, message in self.mails if address in envelope.rcpt_tos]

    def close(self):
        self.is_hanging = False
        self.controller.stop()


def free_port():
    with socket.socket() as probe:
        probe.bind((HERE, 0))
        return probe.getsockname()[1]


class BadServer:
    """Says the given lines, one to each line that it hears, and then nothing more."""

    def __init__(self, *lines):
        self.heard = []
        self.listener = socket.create_server((HERE, 0))
        self.port = self.listener.getsockname()[1]
        self.lines = lines
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.talk, args=(connection,), daemon=True).start()

    def talk(self, connection):
        with connection, connection.makefile("rb") as reader:
            try:
                for line in self.lines:
                    connection.sendall(line.encode())
                    self.heard.append(reader.readline())
                while reader.readline():
                    pass
            except OSError:
                pass

    def close(self):
        self.listener.close()
