"""The test setup for the API: a provider, and two gateways that share a store."""

import json
import pathlib
import re
import subprocess
import time
import urllib.error
import urllib.request

from harness.processes import Process

# The account that is used only after an approval.
APPROVED = "alice"
# The accounts by their grant; the first two get tokens.
ACCOUNTS = {"alice": "refresh_token", "bob": "refresh_token", "newcomer": "refresh_token", "robot": "client_credentials"}
IMPORTED = ["alice", "bob"]
ROLES = {"operator": "olga", "killer": "dana", "viewer": "wall"}


class House:
    def __init__(self, programs, home):
        self.programs, self.home, self.running = programs, pathlib.Path(home), []
        self.log = open(self.home / "log", "w")

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in reversed(self.running):
            process.end()
        self.log.close()

    def start(self):
        mock = self.run("martlet-mock", "--port", "0", "--rotate")
        self.provider = re.search(r"http://[0-9.:]+", mock.first_line())[0]
        (self.home / "state").mkdir(mode=0o700)
        self.write_secret("client-secret", "mock-secret")
        self.write_secret("state/admin.token", "".join(f"{name} {role} {self.token(role)}\n" for role, name in ROLES.items()))
        # Two replicas: a kill waits for the other, and the other can be forgotten. It joins again by itself.
        self.admin = self.gateway("gw-1")
        self.gateway("gw-2")

    @staticmethod
    def token(role):
        return f"for-the-api-as-{role}"

    def write_secret(self, name, text):
        path = self.home / name
        path.touch(mode=0o600)
        path.write_text(text)

    def gateway(self, name):
        accounts = "\n".join(f"  {account}: {{ provider: acme, grant: {grant} }}" for account, grant in ACCOUNTS.items())
        routes = "\n".join(
            f'  - {{ name: {account}, match: {{ path: /{account}/ }}, upstream: "{self.provider}/api/", account: {account}, cache: {{}} }}'
            for account in ACCOUNTS)
        path = self.home / f"{name}.yaml"
        path.write_text(f"""
listeners: [{{ address: 127.0.0.1:0 }}]
admin: {{ address: 127.0.0.1:0 }}
state_dir: {self.home}/state
replica: {{ name: {name}, lease: 5s }}
require_approval: {{ accounts: [{APPROVED}], for: 15m, wait: 0s }}
providers:
  acme: {{ issuer: {self.provider}, client_id: mock-client, client_secret: {{ file: client-secret }} }}
accounts:
{accounts}
routes:
{routes}
""")
        gateway = self.run("martlet", "serve", "--config", path)
        text = gateway.first_line()
        while "admin:" not in text:
            text += gateway.first_line()
        return re.search(r"admin: (http://[0-9.:]+)", text)[1]

    def run(self, program, *arguments):
        process = Process(program, [self.programs / program, *arguments], self.log, stdout=subprocess.PIPE)
        self.running.append(process)
        return process


class Operator:
    """Uses the API as an operator, to put everything in order between the cases."""

    def __init__(self, admin, provider, token):
        self.admin, self.provider, self.token = admin, provider, token

    def tidy(self):
        """Revives all that is killed and gives the accounts tokens that work."""
        for scope in self.ask("GET", "/v1/status")["killed"]:
            self.ask("POST", "/v1/revive", {"scope": scope, "reason": "the next cases need it"})
        for account in IMPORTED:
            self.ask("PUT", f"/v1/accounts/{account}/tokens", {
                name: value for name, value in self.send("POST", self.provider + "/_control/grants", {"account": account}).items()
                if name in ("refresh_token", "access_token", "expires_in", "scope")})

    def lock(self):
        self.ask("POST", "/v1/lock", {"reason": "the next case needs it"})
        self.await_lock("locked")

    def unlock(self):
        """Opens the gateway if it is not open: every later case would meet a locked one."""
        if self.await_lock("open", "locked") == "locked":
            self.ask("POST", "/v1/unlock", {})
            self.await_lock("open")

    def await_lock(self, *states):
        """Waits until the lock is in one of the states, and returns it."""
        for _ in range(200):
            if (state := self.ask("GET", "/v1/lock")["state"]) in states:
                return state
            time.sleep(0.1)
        raise ValueError(f"the lock stays {state}")

    def approve(self, url):
        """Opens the address as a browser does. The mock approves at once; returns where it sends the browser."""
        class Stay(urllib.request.HTTPRedirectHandler):
            def redirect_request(self, *_):
                return None

        try:
            with urllib.request.build_opener(Stay).open(url, timeout=20) as answer:
                raise ValueError(f"the provider sends nobody on, it answers {answer.status}")
        except urllib.error.HTTPError as answer:
            return answer.headers["Location"]

    def ask(self, method, path, content=None):
        return self.send(method, self.admin + path, content)

    def send(self, method, url, content):
        body = None if content is None else json.dumps(content).encode()
        fields = {"Authorization": f"Bearer {self.token}"} if url.startswith(self.admin) else {}
        with urllib.request.urlopen(urllib.request.Request(url, body, fields, method=method), timeout=20) as answer:
            return json.load(answer)
