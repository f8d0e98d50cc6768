"""`martlet login NAME --paste`: the address that the browser was sent to is typed in, and not shown."""

from signing.person import Before, Person, prove
from signing.web import changed

ACCOUNTS = {"bob": "acme"}
# What is typed as soon as it is there must not be shown, and not be lost.
QUESTION = r"^Address that the browser was sent to \(not shown\):"
# As unlike any real state as its length permits.
FOREIGN = "0123456789abcdef" * 4


def run(site, gateway, checks):
    site.acme.rules(account="bob")
    before = Before(site.acme)
    terminal = site.terminal(gateway)
    terminal.run("martlet login bob --paste")
    url = terminal.wait_for("the address to open", r"^(http://\S+/oauth/authorize\S+)")[1]
    terminal.wait_for("the question", QUESTION)
    person = Person(site, checks)
    person.open(url)
    person.decide()
    address = site.learn(person.page.wait_for_address("the way back", "http://127.0.0.1/callback?"))

    terminal.type(changed(address, state=FOREIGN))
    terminal.press("Enter")
    complaint = terminal.wait_for("the complaint and the question again", r"^martlet: (.*); try again\n" + QUESTION)[1]
    checks.equal("after an address with another state: it is told", "state" in complaint)
    checks.equal("after an address with another state: token requests", before.requests, [])
    terminal.type(address)
    terminal.press("Enter")
    checks.equal("the command's exit code", terminal.exit_code(), 0)
    shown = [what for what, text in (("the address", "callback?"), ("the foreign state", FOREIGN), *((kind, value) for kind in ("code", "state")
             for value in site.learned[kind])) if text in terminal.everything()]
    checks.equal("what of the answer the terminal shows", shown, [])
    prove(checks, gateway, "bob", before)
