"""`martlet login NAME --gateway`: the browser begins and ends at the gateway's own listener."""

from signing.person import Before, Person, prove

ACCOUNTS = {"carol": "globex-web"}


def run(site, gateway, checks):
    site.globex.rules(account="carol")
    before = Before(site.globex)
    terminal = site.terminal(gateway)
    terminal.run("martlet login carol --gateway")
    url = terminal.wait_for("the address to open", r"^(http://\S+/login/start/\S+)")[1]
    person = Person(site, checks)
    person.open(url)
    person.wait_for_consent()
    checks.equal("cookies for the gateway meanwhile", len(person.page.cookies(gateway.callback)), 1)
    person.decide()
    person.sees("the browser says that it is done", "Signed in")
    checks.equal("the address bar at the end", person.place, "http://127.0.0.1:PORT/login/done/ID")
    checks.equal("cookies for the gateway at the end", person.page.cookies(gateway.callback), {})
    checks.equal("complaints of the browser, of its policy among them", person.page.problems, [])
    person.visit.picture("gateway-done")
    checks.equal("the command's exit code", terminal.exit_code(), 0)
    prove(checks, gateway, "carol", before)
