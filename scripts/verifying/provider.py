"""A token endpoint that accepts a request only if PyJWT accepts its assertion and the assertion is new."""

import http.server
import json
import secrets
import threading
import time
import urllib.parse

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"


def make_key(path, algorithm):
    """Creates a private key, writes it to the file that the configuration names, and returns it."""
    if algorithm == "RS256":
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    else:
        key = ec.generate_private_key(ec.SECP256R1())
    path.touch(mode=0o600)
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return key


class Provider:
    def __init__(self, public_key, algorithm, issuer, key_id, field):
        self.public_key, self.algorithm, self.issuer, self.key_id, self.field = (
            public_key, algorithm, issuer, key_id, field,
        )
        self.claims = {"sub": issuer}
        self.refresh_token = secrets.token_urlsafe(24)
        self.lose_next_answer = False
        self.seen, self.assertions, self.faults = set(), [], []
        provider = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                form = self.rfile.read(int(self.headers["Content-Length"])).decode()
                status, answer = provider.answer(dict(urllib.parse.parse_qsl(form, strict_parsing=True)), self.headers)
                if answer is None:
                    return self.close_connection
                body = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.origin = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, form, headers):
        try:
            self.check(form, headers)
        except (jwt.PyJWTError, ValueError, KeyError) as fault:
            self.faults.append(f"{type(fault).__name__}: {fault}")
            return 401, {"error": "invalid_client"}
        if self.lose_next_answer:
            self.lose_next_answer = False
            return None, None
        answer = {"access_token": secrets.token_urlsafe(24), "token_type": "Bearer", "expires_in": 3600}
        return 200, answer

    def check(self, form, headers):
        assertion = form[self.field]
        self.assertions.append(assertion)
        header = jwt.get_unverified_header(assertion)
        claims = jwt.decode(
            assertion,
            self.public_key,
            algorithms=[self.algorithm],
            audience=f"{self.origin}/token",
            issuer=self.issuer,
            options={"require": ["iss", "aud", "exp", "iat", "jti"]},
        )
        expected = dict(self.claims)
        if self.field == "client_assertion":
            self.expect(form["client_assertion_type"], TYPE, "client_assertion_type")
            self.expect(form["client_id"], self.issuer, "client_id")
            self.expect(form["refresh_token"], self.refresh_token, "refresh_token")
        else:
            self.expect(form["grant_type"], GRANT, "grant_type")
            self.expect(form["scope"], expected["scope"], "scope")
        for name, value in expected.items():
            self.expect(claims.get(name), value, name)
        self.expect(header.get("kid"), self.key_id, "kid")
        self.expect(header.get("typ"), "JWT", "typ")
        self.expect(headers.get("Authorization"), None, "Authorization")
        self.expect(claims["exp"] - claims["iat"], 60, "lifetime")
        if abs(time.time() - claims["iat"]) > 5:
            raise ValueError("iat is not now")
        if claims["jti"] in self.seen:
            raise ValueError("jti was used before")
        self.seen.add(claims["jti"])

    @staticmethod
    def expect(value, wanted, name):
        if value != wanted:
            raise ValueError(f"{name} is {value!r}, not {wanted!r}")

    def verdict(self, at_least, log):
        faults = list(self.faults)
        if len(self.seen) < at_least:
            faults.append(f"{len(self.seen)} assertions were received, at least {at_least} were expected")
        if any(part in log for one in self.assertions for part in one.split(".")[1:]):
            faults.append("the log contains an assertion")
        return faults
