"""Two replicas on one PostgreSQL: what one has begun the other completes, the store goes away in between, and so does the account."""

import base64
import os
import time

from signing.front import Front
from signing.person import Before, Person, prove
from signing.postgres import Postgres
from signing.site import Gateway
from signing.web import fetch

# The gateway of the other cases does not serve them.
ACCOUNTS = {}
OWN = {"s-paste": "acme", "s-web": "acme-web", "s-device": "acme", "s-store": "acme-web", "s-command": "acme", "s-killed": "acme-web", "s-late": "acme-web"}


class Pair:
    """Replicas A and B, and what browsers know both by."""

    def __init__(self, site):
        self.site, self.front = site, Front()
        self.database = Postgres(site.home)
        site.stores += [self.front, self.database]
        key = site.home / "shared-sealing.key"
        key.write_text(base64.b64encode(os.urandom(32)).decode())
        key.chmod(0o600)
        store = f'store: {{ driver: postgres, url: "{self.database.url}", sealing_key: {{ file: {key} }} }}'
        self.a, self.b = (Gateway(site, name, OWN, store, authority=self.front.authority) for name in ("replica-a", "replica-b"))
        self.a.start()
        self.b.start()

    def turn_to(self, gateway):
        """Sends browsers to this replica from now on."""
        self.front.target = gateway.login_port


def run(site, gateway, checks):
    pair = Pair(site)
    killed_between(site, pair, checks)
    device(site, pair, checks)
    store_away(site, pair, checks)
    account_killed_between(site, pair, checks)
    account_killed_meanwhile(site, pair, checks)


def killed_between(site, pair, checks):
    """One replica begins, and is killed; the other gets the answer."""
    site.acme.rules()
    pair.turn_to(pair.a)
    first, second = pair.a.begin("s-paste"), pair.a.begin("s-web", "gateway")
    person = Person(site, checks)
    person.open(second["url"])
    person.wait_for_consent()
    address = site.decide(first["url"])
    pair.a.kill()
    pair.turn_to(pair.b)
    before = Before(site.acme)
    status, said = pair.b.answer(first, address)
    checks.equal("pasted at the other replica: the sign-in is", (status, said["state"]), (200, "done"))
    prove(checks, pair.b, "s-paste", before)
    before = Before(site.acme)
    person.decide()
    person.sees("in the browser, at the other replica: the page says that it is done", "Signed in")
    checks.equal("in the browser, at the other replica: the address bar", person.place, "http://127.0.0.1:PORT/login/done/ID")
    prove(checks, pair.b, "s-web", before)
    pair.a.start()


def device(site, pair, checks):
    """The other replica asks the provider about the code after the one that had begun was killed."""
    site.acme.rules()
    before = Before(site.acme)
    sign_in = pair.a.begin("s-device", "device")
    pair.a.kill()
    checks.equal("a device's code, at the other replica: the sign-in waits", pair.b.state_of(sign_in), "pending")
    checks.equal("a device's code: approved", fetch(sign_in["verification_uri_complete"]).status, 200)
    checks.equal("a device's code, at the other replica: the sign-in is", pair.b.end_of(sign_in), ("done", None))
    checks.equal("a device's code: token requests that brought tokens",
                 [request["status"] for request in site.acme.recorder.since(before.mark)].count(200), 1)
    checks.equal("a device's code: a request through the other replica", pair.b.serves("s-device"), 200)
    pair.a.start()


def store_away(site, pair, checks):
    pair.turn_to(pair.a)
    site.acme.rules(account="s-store")
    sign_in = pair.a.begin("s-store", "gateway")
    person = Person(site, checks)
    person.open(sign_in["url"])
    address = person.decide_aside()
    pasted = pair.b.begin("s-command")
    by_hand = site.decide(pasted["url"])
    before = Before(site.acme)
    pair.database.stop()
    person.open(address)
    person.sees("the store is away: the page says so", "store")
    person.visit.picture("gateway-store-away")
    checks.equal("the store is away: status", person.last_status(address), 503)
    status, said = pair.a.answer(pasted, by_hand)
    checks.equal("the store is away: an answer by the API gets", (status, said.get("type", "").rpartition(":")[2]), (503, "store_lost"))
    checks.equal("the store is away: token requests", before.requests, [])
    pair.database.start()
    wait_until_ready(pair.a)
    checks.equal("the store is back: the sign-in still waits", pair.a.state_of(sign_in), "pending")
    person.page.call("Page.reload")
    person.sees("the store is back: the page, loaded again, says that it is done", "Signed in")
    prove(checks, pair.a, "s-store", before)
    site.acme.rules(account="s-command")
    before = Before(site.acme)
    checks.equal("the store is back: the same answer by the API", pair.a.answer(pasted, by_hand)[1]["state"], "done")
    prove(checks, pair.a, "s-command", before)


def wait_until_ready(gateway, seconds=30):
    deadline = time.monotonic() + seconds
    while fetch(gateway.admin + "/readyz").status != 200 and time.monotonic() < deadline:
        time.sleep(0.2)


def kill(gateway, account, checks, what):
    done = gateway.command("kill", "--account", account, "--reason", "trial", "--wait", "25s")
    checks.equal(f"{what}: the kill is complete", done.returncode, 0)


def revive(site, gateway, account, checks, what):
    site.acme.rules(account=account)
    checks.equal(f"{what}: revived", gateway.command("revive", "--account", account, "--reason", "trial is over").returncode, 0)
    checks.equal(f"{what}: a new sign-in is", gateway.sign_in(account)["state"], "done")
    checks.equal(f"{what}: a request through the gateway", gateway.serves(account), 200)


def account_killed_between(site, pair, checks):
    what = "killed between"
    pair.turn_to(pair.b)
    site.acme.rules(account="s-killed")
    sign_in = pair.a.begin("s-killed", "gateway")
    person = Person(site, checks)
    person.open(sign_in["url"])
    address = person.decide_aside()
    before = Before(site.acme)
    kill(pair.a, "s-killed", checks, what)
    person.open(address)
    person.sees(f"{what}: the page says that it has failed", "failed")
    checks.equal(f"{what}: the sign-in is", pair.b.end_of(sign_in), ("failed", "killed"))
    checks.equal(f"{what}: token requests", before.requests, [])
    checks.equal(f"{what}: live tokens at the provider", site.acme.live("s-killed"), (0, 0))
    checks.equal(f"{what}: the account is", pair.b.account("s-killed"), "killed")
    revive(site, pair.b, "s-killed", checks, what)


def account_killed_meanwhile(site, pair, checks):
    """The kill comes while the provider works on the token request."""
    what = "killed meanwhile"
    pair.turn_to(pair.b)
    site.acme.rules(account="s-late", token_delay="4s")
    sign_in = pair.a.begin("s-late", "gateway")
    person = Person(site, checks)
    person.open(sign_in["url"])
    before = Before(site.acme)
    person.decide()
    deadline = time.monotonic() + 10
    while not before.requests and time.monotonic() < deadline:
        time.sleep(0.02)
    checks.equal(f"{what}: the token request is under way", before.requests, ["authorization_code"])
    kill(pair.a, "s-late", checks, what)
    checks.equal(f"{what}: the sign-in is", pair.b.end_of(sign_in), ("failed", "killed"))
    person.sees(f"{what}: the page says that it has failed", "failed")
    checks.equal(f"{what}: codes redeemed, and sent again", before.codes(), (1, 0))
    checks.equal(f"{what}: live tokens at the provider", site.acme.settled("s-late", (0, 0)), (0, 0))
    checks.equal(f"{what}: the account is", pair.b.account("s-late"), "killed")
    checks.equal(f"{what}: a request through the gateway", pair.b.serves("s-late"), 503)
    revive(site, pair.b, "s-late", checks, what)
