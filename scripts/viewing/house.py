"""The test setup for the dashboard: a provider, and two gateways that share a store."""

import collections
import json
import pathlib
import re
import signal
import subprocess
import urllib.error
import urllib.request

from harness.processes import Failed, Process, ask

LEASE_SECONDS = 5
ACCOUNTS = {"alice": "acme", "billing-export": "acme", "crm-sync": "globex", "forecast": "globex", "mailer": "acme"}
# The account whose route has a cache.
CACHED = "alice"
# The account that is used only after an approval.
APPROVED = "forecast"
# An account that is configured and has no tokens.
EMPTY = "newcomer"
# Accounts that come at run time.
FAMILY, CUSTOMERS, MOST_CUSTOMERS = "customer-*", 250, 1000
# The names of the other administrators, by role.
OTHERS = {"killer": "dana", "viewer": "wall"}


class House:
    def __init__(self, programs, home):
        self.programs, self.home, self.running = programs, pathlib.Path(home), []
        self.log = open(self.home / "log", "w")

    def start(self):
        mock = self.run("martlet-mock", "--port", "0", "--access-ttl", "40m", "--rotate")
        self.provider = re.search(r"http://[0-9.:]+", mock.first_line())[0]
        secret = self.home / "client-secret"
        secret.write_text("mock-secret")
        secret.chmod(0o600)
        (self.home / "state").mkdir(mode=0o700)
        tokens = self.home / "state/admin.token"
        tokens.touch(mode=0o600)
        tokens.write_text("\n".join([self.token_of("operator"), *(f"{name} {role} {self.token_of(role)}" for role, name in OTHERS.items()), ""]))
        self.first, self.second = self.gateway("gw-1"), self.gateway("gw-2")
        for account in ACCOUNTS:
            grant = self.post(self.provider + "/_control/grants", {"account": account})
            self.command("accounts", "import", account, text=json.dumps(grant))

    def import_customers(self):
        lines = [{"account": f"customer-{number}", "tokens": {"refresh_token": f"refresh-{number}"}} for number in range(1, CUSTOMERS + 1)]
        self.command("accounts", "import", "--all", text="\n".join(map(json.dumps, lines)))

    def traffic(self):
        """Sends requests as callers do, and has one account refreshed; returns the number of requests by the class of the status."""
        self.command("accounts", "refresh", "alice")
        classes = collections.Counter()
        for path in [*(f"/{account}/echo" for account in ACCOUNTS), f"/{EMPTY}/echo", "/no-such-route"] * 6:
            try:
                with urllib.request.urlopen(self.first.callers + path, timeout=10) as answer:
                    classes[answer.status // 100] += 1
            except urllib.error.HTTPError as error:
                classes[error.code // 100] += 1
        return classes

    def gateway(self, name):
        accounts = "\n".join(f"  {account}: {{ provider: {provider} }}" for account, provider in {**ACCOUNTS, EMPTY: "globex"}.items())
        routes = "\n".join(
            f'  - {{ name: {account}, match: {{ path: /{account}/ }}, upstream: "{self.provider}/api/", account: {account}'
            + (", cache: { max_size: 8MiB } }" if account == CACHED else " }")
            for account in [*ACCOUNTS, EMPTY])
        provider = f"{{ issuer: {self.provider}, client_id: mock-client, client_secret: {{ file: client-secret }} }}"
        path = self.home / f"{name}.yaml"
        path.write_text(f"""
listeners: [{{ address: 127.0.0.1:0 }}]
admin: {{ address: 127.0.0.1:0 }}
state_dir: {self.home}/state
replica: {{ name: {name}, lease: {LEASE_SECONDS}s }}
require_approval: {{ accounts: [{APPROVED}], for: 15m, wait: 0s }}
providers:
  acme: {provider}
  globex: {provider}
accounts:
{accounts}
  "{FAMILY}": {{ provider: globex, max: {MOST_CUSTOMERS} }}
routes:
{routes}
""")
        gateway = self.run("martlet", "serve", "--config", path)
        said = gateway.said()
        gateway.admin = re.search(r"admin: (http://[0-9.:]+)", said)[1]
        gateway.callers = re.search(r"callers: (http://[0-9.:]+)", said)[1]
        return gateway

    def run(self, program, *arguments):
        process = Saying(program, [self.programs / program, *arguments], self.log, stdout=subprocess.PIPE)
        self.running.append(process)
        return process

    @staticmethod
    def token_of(role):
        return f"for-the-dashboard-{role}"

    @property
    def token(self):
        return self.token_of("operator")

    def command(self, *arguments, text=None):
        done = ask([self.programs / "martlet", *arguments, "--admin", self.first.admin,
                    "--admin-token-file", self.home / "state/admin.token"], input=text)
        if done.returncode:
            raise Failed(f"martlet {' '.join(arguments)}: {done.stderr.strip()}")

    def get(self, path):
        """Sends a GET to the admin API with the operator's token, as any other client of the API does."""
        request = urllib.request.Request(self.first.admin + path, headers={"Authorization": f"Bearer {self.token}"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    def history(self):
        """The sums of the counts in the history of the first gateway."""
        counted = collections.Counter()
        for sample in self.get("/v1/history")["samples"]:
            counted.update({name: count for name, count in sample.items() if name != "at"})
        return counted

    @staticmethod
    def post(url, content):
        with urllib.request.urlopen(urllib.request.Request(url, json.dumps(content).encode()), timeout=10) as answer:
            return json.load(answer)

    def stop(self):
        for process in reversed(self.running):
            process.process.send_signal(signal.SIGCONT)
            process.end()
        self.log.close()


class Saying(Process):
    def said(self):
        """Reads standard output until it names the admin address, and returns the text."""
        text = self.first_line()
        while "admin:" not in text:
            text += self.first_line()
        return text
