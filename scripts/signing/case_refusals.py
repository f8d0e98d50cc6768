"""What is no answer to a sign-in of this browser, and bad answers of the provider, at the gateway's own listener."""

import time

from signing.case_loopback import browser_script, opened
from signing.person import Before, Person, prove
from signing.stranger import WAYS, Stranger
from signing.web import changed, fetch, query

ACCOUNTS = {
    "r-replay": "acme-web", "r-swap-1": "acme-web", "r-swap-2": "acme-web", "r-mix-1": "acme-web", "r-mix-2": "globex-web",
    "r-mine": "acme-web", "r-theirs": "acme-web", "r-host": "globex-web", "r-iss": "acme-web", "r-html": "acme-web", "r-loop": "acme",
}
MARKUP = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"><b id=owned>bold</b>"


def run(site, gateway, checks):
    replayed(site, gateway, checks)
    swapped(site, gateway, checks)
    mixed_up(site, gateway, checks)
    other_browser(site, gateway, checks)
    foreign_host_and_pages(site, gateway, checks)
    issuer(site, gateway, checks)
    markup(site, gateway, checks)
    loopback(site, gateway, checks)


def at_consent(site, checks, gateway, account, is_private=False):
    """Begins a sign-in in a browser; returns the person, who is asked for consent, and the sign-in."""
    signIn = gateway.begin(account, "gateway")
    person = Person(site, checks, is_private)
    person.open(signIn["url"])
    person.wait_for_consent()
    for cookie in person.page.cookies(gateway.callback).values():
        site.learned["cookie"].add(cookie)
    return person, signIn


def cookie_of(person, gateway):
    return "; ".join(f"{name}={value}" for name, value in person.page.cookies(gateway.callback).items())


def replayed(site, gateway, checks):
    site.acme.rules(account="r-replay")
    before = Before(site.acme)
    person, signIn = at_consent(site, checks, gateway, "r-replay")
    cookie = cookie_of(person, gateway)
    address = person.decide_aside()
    person.open(address)
    person.sees("replayed: the first time it is taken", "Signed in")
    person.open(address)
    person.sees("replayed by the browser: the page says so", "over")
    checks.equal("replayed by the browser: status", person.last_status(address), 409)
    checks.equal("replayed with the cookie of before: status", fetch(address, fields={"Cookie": cookie}).status, 409)
    prove(checks, gateway, "r-replay", before)


def swapped(site, gateway, checks):
    """Two sign-ins of one browser at one provider. Their codes are swapped."""
    gateway.hand_in("r-swap-1")
    (one, first), (two, second) = (at_consent(site, checks, gateway, account) for account in ("r-swap-1", "r-swap-2"))
    addresses = []
    for account, person in ("r-swap-1", one), ("r-swap-2", two):
        site.acme.rules(account=account)
        addresses.append(person.decide_aside())
    one.open(changed(addresses[0], code=query(addresses[1])["code"]))
    one.sees("swapped: the page says that it has failed", "failed")
    checks.equal("swapped: the sign-in is", gateway.end_of(first), ("failed", "code_refused"))
    checks.equal("swapped: the account's old tokens", gateway.serves("r-swap-1"), 200)
    checks.equal("swapped: live tokens of the other account", site.acme.live("r-swap-2"), (0, 0))
    before = Before(site.acme)
    two.open(addresses[1])
    two.sees("swapped: the other one is taken with its own code", "Signed in")
    prove(checks, gateway, "r-swap-2", before)
    site.acme.rules(account="r-swap-1")
    checks.equal("swapped: a new sign-in of the first", gateway.sign_in("r-swap-1")["state"], "done")


def mixed_up(site, gateway, checks):
    """The answer of one provider to a request that went to another (RFC 9700 section 4.4)."""
    gateway.hand_in("r-mix-1")
    (one, first), (two, second) = (at_consent(site, checks, gateway, account) for account in ("r-mix-1", "r-mix-2"))
    site.acme.rules(account="r-mix-1")
    site.globex.rules(account="r-mix-2")
    mine, other = one.decide_aside(), two.decide_aside()
    before, elsewhere = Before(site.acme), Before(site.globex)
    one.open(changed(other, state=query(mine)["state"]))
    one.sees("of another provider: the page says that it has failed", "failed")
    checks.equal("of another provider: the sign-in is", gateway.end_of(first), ("failed", "iss_differs"))
    checks.equal("of another provider: token requests at either", before.requests + elsewhere.requests, [])
    checks.equal("of another provider: the account's old tokens", gateway.serves("r-mix-1"), 200)
    two.open(other)
    two.sees("of another provider: that one is taken for its own sign-in", "Signed in")
    prove(checks, gateway, "r-mix-2", elsewhere)
    checks.equal("of another provider: a new sign-in", gateway.sign_in("r-mix-1")["state"], "done")


def other_browser(site, gateway, checks):
    mine, sign_in = at_consent(site, checks, gateway, "r-mine")
    site.acme.rules(account="r-mine")
    address = mine.decide_aside()
    stranger = Person(site, checks, is_private=True)
    stranger.open(address)
    stranger.sees("in another browser without a cookie: the page says so", "another browser")
    stranger.visit.picture("gateway-refused")
    checks.equal("in another browser without a cookie: status", stranger.last_status(address), 400)
    theirs, other = at_consent(site, checks, gateway, "r-theirs", is_private=True)
    theirs.open(address)
    theirs.sees("in another browser with the cookie of its own sign-in: the page says so", "another browser")
    checks.equal("in another browser: the sign-in still waits", gateway.state_of(sign_in), "pending")
    # What an attacker would do to have somebody use the attacker's account.
    again = Person(site, checks, page=theirs.page)
    again.open(gateway.ask("GET", f"/v1/logins/{other['id']}")[1]["url"] or other["url"])
    site.acme.rules(account="r-theirs")
    planted = again.decide_aside()
    mine.open(planted)
    mine.sees("the answer of somebody else in this browser: the page says so", "another browser")
    checks.equal("the answer of somebody else in this browser: that sign-in still waits", gateway.state_of(other), "pending")
    before = Before(site.acme)
    mine.open(address)
    mine.sees("in its own browser it is taken", "Signed in")
    prove(checks, gateway, "r-mine", before)
    before = Before(site.acme)
    theirs.open(planted)
    theirs.sees("and that of the other in the other", "Signed in")
    prove(checks, gateway, "r-theirs", before)


def foreign_host_and_pages(site, gateway, checks):
    person, sign_in = at_consent(site, checks, gateway, "r-host")
    site.globex.rules(account="r-host")
    address, cookie = person.decide_aside(), cookie_of(person, gateway)
    for host in f"evil.example:{gateway.login_port}", f"localhost:{gateway.login_port}", "127.0.0.1", f"127.0.0.1:{gateway.login_port}.evil.example":
        what = f"a request with Host {host.replace(str(gateway.login_port), 'PORT')}"
        checks.equal(f"{what}: status", fetch(address, fields={"Cookie": cookie, "Host": host}).status, 421)
    by_name = address.replace("127.0.0.1", "localhost", 1)
    stray = Person(site, checks)
    stray.open(by_name)
    checks.equal("the browser at the address by another name: status", stray.last_status(by_name), 421)
    checks.equal("foreign hosts: the sign-in still waits", gateway.state_of(sign_in), "pending")

    stranger = Stranger()
    for host, what in ("127.0.0.1", "a page on another port"), ("localhost", "a page of another site"):
        for way in WAYS:
            count = refusals(gateway)
            Person(site, checks, page=stray.page).open(stranger.page(host, way, address))
            deadline = time.monotonic() + 5
            while (came := refusals(gateway)[len(count):]) == [] and time.monotonic() < deadline:
                time.sleep(0.05)
            checks.equal(f"{what}, {way}: refused with", came[:1], [405 if "form" in way else 403])
            checks.equal(f"{what}, {way}: the sign-in still waits", gateway.state_of(sign_in), "pending")
    stranger.stop()
    before = Before(site.globex)
    person.open(address)
    person.sees("after all of that it is taken", "Signed in")
    prove(checks, gateway, "r-host", before)


def refusals(gateway):
    """The statuses with which the listener has refused requests so far."""
    return [int(line["http.status"]) for line in gateway.lines() if line["message"] == "a request to the listener for sign-ins was refused"]


def issuer(site, gateway, checks):
    gateway.hand_in("r-iss")
    for flaw, code in ("missing", "iss_missing"), ("wrong", "iss_differs"):
        site.acme.rules(account="r-iss-again", iss=flaw)
        before = Before(site.acme)
        said = gateway.sign_in("r-iss")
        checks.equal(f"iss {flaw}: the sign-in is", (said["state"], said["error"]["code"]), ("failed", code))
        checks.equal(f"iss {flaw}: token requests", before.requests, [])
        checks.equal(f"iss {flaw}: the account's old tokens", gateway.serves("r-iss"), 200)
    site.acme.rules(account="r-iss")
    checks.equal("iss as promised: a new sign-in", gateway.sign_in("r-iss")["state"], "done")


def markup(site, gateway, checks):
    """The provider's error text has markup."""
    gateway.hand_in("r-html")
    site.acme.rules(account="r-html", error_description=MARKUP)
    person, sign_in = at_consent(site, checks, gateway, "r-html")
    person.decide("deny")
    person.sees("an error with markup: the page says that it has failed", "failed")
    checks.equal("an error with markup: the address bar", person.place, "http://127.0.0.1:PORT/login/done/ID")
    checks.equal("an error with markup: it runs", person.page.evaluate("document.title.includes('owned')"), False)
    checks.equal("an error with markup: it is markup", person.page.evaluate("document.querySelectorAll('script, img, #owned').length"), 0)
    checks.equal("an error with markup: the page names the error", person.page.evaluate("document.body.innerText.includes('access_denied')"))
    checks.equal("an error with markup: complaints of the browser", person.page.problems, [])
    person.visit.picture("gateway-denied")
    checks.equal("an error with markup: the sign-in is", gateway.end_of(sign_in), ("failed", "access_denied"))
    checks.equal("an error with markup: the account's old tokens", gateway.serves("r-html"), 200)
    site.acme.rules(account="r-html")
    checks.equal("an error with markup: a new sign-in", gateway.sign_in("r-html")["state"], "done")


def loopback(site, gateway, checks):
    """Foreign requests at the port of a command that waits."""
    site.acme.rules(account="r-loop")
    before = Before(site.acme)
    program, note = browser_script(site, "r-loop")
    terminal = site.terminal(gateway, BROWSER=program)
    terminal.run("martlet login r-loop")
    person = Person(site, checks)
    person.open(opened(note))
    address = person.decide_aside()
    port = address.split("/")[2].rpartition(":")[2]
    for what, url, fields, status in (
        ("another state", changed(address, state="0" * 64), {}, 400),
        ("no state", changed(address, state=None), {}, 400),
        ("a foreign Host", address, {"Host": f"evil.example:{port}"}, 403),
        ("the Host localhost", address, {"Host": f"localhost:{port}"}, 403),
        ("Sec-Fetch-Dest image", address, {"Sec-Fetch-Dest": "image"}, 403),
        ("Sec-Fetch-Dest iframe", address, {"Sec-Fetch-Dest": "iframe"}, 403),
    ):
        checks.equal(f"at the command's port, {what}: status", fetch(url, fields=fields).status, status)
    checks.equal("at the command's port, a form: status", fetch(address, "POST", body={}).status, 400)
    stranger = Stranger()
    for way in "an image", "a frame", "an object":
        Person(site, checks, is_private=True).open(stranger.page("127.0.0.1", way, address))
        time.sleep(0.5)
        checks.equal(f"at the command's port, {way} of another page: token requests", before.requests, [])
    stranger.stop()
    person.open(address)
    person.sees("at the command's port, the answer itself: the browser says that it is done", "Signed in")
    checks.equal("at the command's port, the answer itself: the command's exit code", terminal.exit_code(), 0)
    prove(checks, gateway, "r-loop", before)
