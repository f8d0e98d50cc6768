"""`martlet login NAME --device`: a code on the terminal, which somebody types at the provider's page on another device."""

import time

from signing.person import Before, Person, prove

ACCOUNTS = {"dave": "acme", "denise": "globex", "doris": "globex"}
CODE, PAGE = r"code\s+([A-Z]{4}-[A-Z]{4})", r"^(http://\S+/oauth/device)\s*$"


def begin(site, gateway, account):
    """Returns the terminal, the code on it and the address."""
    terminal = site.terminal(gateway)
    terminal.run(f"martlet login {account} --device")
    return terminal, terminal.wait_for("the code", CODE)[1], terminal.wait_for("the address", PAGE)[1]


def type_code(site, checks, code, page):
    person = Person(site, checks, is_private=True)
    person.open(page)
    person.page.wait_for("the provider's page", "document.querySelector('[name=user_code]')")
    person.page.click("[name=user_code]")
    person.page.type(code)
    person.page.click("#continue")
    person.sees(f"the provider knows the code", "The device is approved")


def run(site, gateway, checks):
    # Its polls take 18 s, because the provider wants them slower twice. The others go on meanwhile, at the other provider.
    site.acme.rules(account="dave", slow_down=2)
    before = Before(site.acme)
    slow, code, page = begin(site, gateway, "dave")
    type_code(site, checks, code, page)

    gateway.hand_in("denise")
    site.globex.rules(error="access_denied")
    denied, *_ = begin(site, gateway, "denise")
    checks.equal("denied: the command's exit code", denied.exit_code(), 1)
    checks.equal("denied: it says so", "access_denied" in denied.screen())
    checks.equal("denied: the account's old tokens", gateway.serves("denise"), 200)

    site.globex.rules(account="doris")
    stopped, code, page = begin(site, gateway, "doris")
    stopped.press("C-c")
    checks.equal("Ctrl-C: the command's exit code", stopped.exit_code(), 1)
    checks.equal("Ctrl-C: it says so", "cancelled" in stopped.screen())
    # An approval that comes too late.
    mark = Before(site.globex)
    type_code(site, checks, code, page)
    time.sleep(3)
    checks.equal("Ctrl-C: polls afterwards", mark.requests, [])
    checks.equal("Ctrl-C: live tokens at the provider", site.globex.live("doris"), (0, 0))

    checks.equal("slowed down: the command's exit code", slow.exit_code(60), 0)
    polls = site.acme.recorder.since(before.mark)
    gaps = [later["at"] - earlier["at"] for earlier, later in zip(polls, polls[1:])]
    checks.equal("slowed down: polls and their statuses", [poll["status"] for poll in polls], [400, 400, 200])
    checks.equal("slowed down: seconds between them, at least", [gap > least for gap, least in zip(gaps, (5.9, 10.9))], [True, True])
    checks.equal("slowed down: codes redeemed", before.codes(), (0, 0))
    checks.equal("slowed down: a request through the gateway", gateway.serves("dave"), 200)
    checks.equal("slowed down: live tokens at the provider", site.acme.live("dave"), (1, 1))

    site.globex.rules(account="doris")
    again = Before(site.globex)
    terminal, code, page = begin(site, gateway, "doris")
    type_code(site, checks, code, page)
    checks.equal("another one after it: the command's exit code", terminal.exit_code(), 0)
    checks.equal("another one after it: token requests that brought tokens",
                 [request["status"] for request in site.globex.recorder.since(again.mark)].count(200), 1)
    checks.equal("another one after it: state", gateway.account("doris"), "valid")
