"""The test setup: two providers, gateways, a browser, terminals, and a list of the secrets and of the places where none may be."""

import json
import pathlib
import re
import subprocess
import time

from harness.processes import Failed, Process, ask, free_port
from signing.recorder import Recorder
from signing.terminal import Terminal
from signing.web import fetch, query

SECONDS = 30


class Provider:
    """martlet-mock, with a recorder before its token endpoint."""

    def __init__(self, site, name, host):
        self.name = name
        mock = site.run("martlet-mock", "--host", "127.0.0.1", "--port", "0", "--rotate", "--reuse-detection", "--access-ttl", "40m")
        self.url = re.search(r"http://[0-9.:]+", mock.first_line())[0].replace("127.0.0.1", host)
        self.recorder = Recorder(self.url)
        self.rules()

    def rules(self, **members):
        """Sets how sign-ins behave from now on. A person is asked each time."""
        fetch(f"{self.url}/_control/sign_in", "PUT", body={"consent": True, **members})

    def stats(self):
        return fetch(f"{self.url}/_control/stats").json

    def live(self, account):
        """How many refresh tokens and access tokens of an account still work."""
        count = self.stats()["live"].get(account, {"refresh": 0, "access": 0})
        return count["refresh"], count["access"]

    def settled(self, account, bound, seconds=SECONDS):
        """Waits until that many tokens work, because revocations take a moment; returns how many do in the end."""
        deadline = time.monotonic() + seconds
        while (live := self.live(account)) != bound and time.monotonic() < deadline:
            time.sleep(0.1)
        return live

    def grant(self, account):
        return fetch(f"{self.url}/_control/grants", "POST", body={"account": account}).json

    def tokens(self):
        return fetch(f"{self.url}/_control/tokens").json["tokens"]


class Site:
    def __init__(self, programs, home, browser, pictures):
        self.programs, self.home, self.browser, self.pictures = programs, pathlib.Path(home), browser, pictures
        self.running, self.gateways, self.terminals, self.stores = [], [], [], []
        # What was printed, by the name of the place; and the secrets that addresses had, by their kind.
        self.said, self.learned = {}, {"code": set(), "state": set(), "cookie": set()}
        # The addresses that answers went to, by their codes.
        self.callbacks = {}

    def start(self):
        secret = self.home / "client-secret"
        secret.write_text("mock-secret")
        secret.chmod(0o600)
        # By these names they are two sites for the browser, and each another site than the gateway or not.
        self.acme, self.globex = Provider(self, "acme", "127.0.0.1"), Provider(self, "globex", "localhost")
        self.providers = (self.acme, self.globex)

    def run(self, program, *arguments, log=None):
        log = log or self.home / f"{program}-{len(self.running)}.log"
        with open(log, "ab") as file:
            process = Process(program, [self.programs / program, *arguments], file, stdout=subprocess.PIPE)
        self.running.append(process)
        return process

    def terminal(self, gateway, **environment):
        terminal = Terminal(self.home / f"terminal-{len(self.terminals)}", {"MARTLET_CONFIG": gateway.path, **environment})
        terminal.environment["PATH"] = f"{self.programs}:{terminal.environment['PATH']}"
        self.terminals.append(terminal)
        terminal.run(f"PATH={self.programs}:$PATH")
        terminal.exit_code()
        return terminal

    def note(self, place, text):
        """Notes what some place has said, to look for secrets there."""
        self.said[place] = self.said.get(place, "") + text

    # What a person does without a browser.

    def visit(self, url):
        """Opens an address of a provider; returns the id of the page that asks for consent."""
        page = fetch(url)
        match = re.search(r'name="id" value="([^"]+)"', page.text)
        if not match:
            raise Failed(f"the provider asks for no consent: {page.status} {page.fields.get('Location', page.text)[:200]}")
        return match[1]

    def decide(self, url, decision="approve"):
        """Opens an address of a provider and decides; returns the address to which the browser would be sent."""
        return self.decide_page(url, self.visit(url), decision)

    def decide_page(self, url, page, decision="approve"):
        """Decides on a page of the provider at `url` that is open already, by its id."""
        provider = url.partition("/oauth/")[0]
        return self.learn(fetch(f"{provider}/oauth/consent?id={page}&decision={decision}").fields["Location"])

    def learn(self, url):
        """Notes the secrets in an address; returns the address."""
        values = query(url)
        for kind in "code", "state":
            if kind in values:
                self.learned[kind].add(values[kind])
        if "code" in values:
            self.callbacks[values["code"]] = url
        return url

    def learn_from_browser(self):
        for page in self.browser.pages.values():
            for url in page.requests:
                if "code=" in url and "response_type=" not in url:
                    self.learn(url)

    def stop(self):
        for terminal in self.terminals:
            terminal.end()
        for process in reversed(self.running):
            process.end()
        for store in self.stores:
            store.stop()
        for provider in getattr(self, "providers", ()):
            provider.recorder.stop()


class Gateway:
    """One `martlet serve`. `accounts` has the section of the provider for each account: `acme` and `globex` are for commands,
    `acme-web` and `globex-web` send the browser back to the gateway."""

    def __init__(self, site, name, accounts, store="", state=None, authority=None):
        self.site, self.name, self.accounts = site, name, accounts
        self.login_port = free_port()
        self.login = f"http://{authority or f'127.0.0.1:{self.login_port}'}"
        self.callback = f"{self.login}/login/callback"
        self.state = state or site.home / f"state-{name}"
        self.path, self.log = site.home / f"{name}.yaml", site.home / f"{name}.log"
        self.store, self.process = store, None
        site.gateways.append(self)

    def section(self, provider, is_web):
        redirect = f', redirect_uri: "{self.callback}"' if is_web else ""
        return (f'{{ issuer: "{provider.url}", token_endpoint: "{provider.recorder.url}",'
                # Of another origin than the token endpoint, so it must be named.
                f' revocation_endpoint: "{provider.url}/oauth/revoke", client_id: mock-client,'
                f' client_secret: {{ file: client-secret }}, login: {{ scopes: [openid]{redirect} }} }}')

    def write(self):
        providers = "\n".join(f"  {provider.name}{'-web' if is_web else ''}: {self.section(provider, is_web)}"
                              for provider in self.site.providers for is_web in (False, True))
        accounts = "\n".join(f"  {account}: {{ provider: {provider}, scopes: [read] }}" for account, provider in self.accounts.items())
        routes = "\n".join(f'  - {{ name: {account}, match: {{ path: /{account}/ }}, upstream: "{self.provider(account).url}/api/", account: {account} }}'
                           for account in self.accounts)
        self.path.write_text(f"""
listeners: [{{ address: 127.0.0.1:0 }}]
admin: {{ address: 127.0.0.1:0 }}
login: {{ address: 127.0.0.1:{self.login_port}, redirect_uri: "{self.callback}" }}
log: {{ level: trace, access: true }}
state_dir: {self.state}
replica: {{ name: {self.name}, lease: 5s }}
{self.store}
providers:
{providers}
accounts:
{accounts}
routes:
{routes}
""")

    def start(self):
        self.write()
        self.process = self.site.run("martlet", "serve", "--config", self.path, log=self.log)
        said, deadline = self.process.first_line(), time.monotonic() + SECONDS
        while "admin:" not in said and time.monotonic() < deadline:
            said += self.process.first_line()
        self.site.note(f"standard output of {self.name}", said)
        self.admin = re.search(r"admin: (http://[0-9.:]+)", said)[1]
        self.callers = re.search(r"callers: (http://[0-9.:]+)", said)[1]
        self.process.wait_for(self.login_port)
        self.token = next(line for line in (self.state / "admin.token").read_text().splitlines() if line and not line.startswith("#")).split()[-1]
        return self

    def lines(self):
        """The lines of the log so far, as objects."""
        return [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{") and line.endswith("}")]

    def kill(self):
        """Ends the process as the kernel does when memory runs out."""
        self.process.process.kill()
        self.process.process.wait()

    def provider(self, account):
        return next(one for one in self.site.providers if self.accounts[account].startswith(one.name))

    def ask(self, method, path, body=None):
        """Sends a request to the admin API; returns the status and the object."""
        answer = fetch(self.admin + path, method, {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}, body)
        self.site.note(f"answers of the admin API of {self.name}", answer.text)
        return answer.status, answer.json

    def command(self, *arguments, text=None):
        done = ask([self.site.programs / "martlet", *arguments, "--config", self.path], input=text)
        self.site.note("output of commands", done.stdout + done.stderr)
        return done

    def serves(self, account):
        """The status of a request with the account's token."""
        return fetch(f"{self.callers}/{account}/echo").status

    def account(self, name):
        return self.ask("GET", f"/v1/accounts/{name}")[1]["state"]

    def hand_in(self, account):
        """Imports tokens that the provider has given somebody else."""
        grant = self.provider(account).grant(account)
        if self.command("accounts", "import", account, text=json.dumps(grant)).returncode:
            raise Failed(f"the tokens of {account} can't be imported")

    # Sign-ins by the API.

    def begin(self, account, way="paste", **members):
        status, signIn = self.ask("POST", "/v1/logins", {"account": account, "way": way, **members})
        if status != 200:
            raise Failed(f"no sign-in for {account} begins: {status} {signIn.get('detail')}")
        return signIn

    def open(self, signIn):
        """Opens the gateway's own address in a browser that has no other cookies: returns the provider's address and the cookie."""
        answer = fetch(signIn["url"])
        if answer.status != 303:
            raise Failed(f"the gateway does not send the browser on: {answer.status}")
        cookie = answer.fields["Set-Cookie"].partition(";")[0]
        self.site.learned["cookie"].add(cookie.partition("=")[2])
        return answer.fields["Location"], cookie

    def answer(self, signIn, address):
        return self.ask("POST", f"/v1/logins/{signIn['id']}", {"answer": address})

    def state_of(self, signIn):
        return self.ask("GET", f"/v1/logins/{signIn['id']}")[1].get("state")

    def end_of(self, signIn, seconds=SECONDS):
        """Waits until a sign-in has ended; returns its state and the code of its error."""
        deadline = time.monotonic() + seconds
        while (said := self.ask("GET", f"/v1/logins/{signIn['id']}")[1]).get("state") in ("pending", "redeeming") and time.monotonic() < deadline:
            time.sleep(0.1)
        return said.get("state"), (said.get("error") or {}).get("code")

    def sign_in(self, account, **members):
        """A whole sign-in by the API: returns the object at its end."""
        signIn = self.begin(account, "gateway" if self.accounts[account].endswith("-web") else "paste", **members)
        if signIn["way"] == "gateway":
            address, cookie = self.open(signIn)
            fetch(self.site.decide(address), fields={"Cookie": cookie})
            self.end_of(signIn)
        else:
            self.answer(signIn, self.site.decide(signIn["url"]))
        return self.ask("GET", f"/v1/logins/{signIn['id']}")[1]
