"""Signs in to the dashboard in a real browser, kills and revives an account there, locks and unlocks the gateway, and checks what the page shows."""

import argparse
import pathlib
import shutil
import signal
import sys
import tempfile
import time

from harness.checks import report
from harness.processes import Failed
from harness.programs import build, leave
from viewing import locking, paging
from viewing.chromium import Chromium
from viewing.house import APPROVED, CACHED, LEASE_SECONDS, House
from viewing.visit import WIDE, Visit


class Operator(Visit):
    """One operator who uses the dashboard."""

    def __init__(self, house, page, pictures):
        super().__init__(page, pictures)
        self.house = house

    def sign_in(self, token):
        self.page.evaluate("document.querySelector('#token').value = ''")
        self.page.focus("#token")
        self.page.type(token)
        self.page.enter()

    def kill_by_keyboard(self, account, reason):
        """Prepares a kill as a user without a mouse does: the link to the switch, the name, the reason."""
        self.page.evaluate("document.body.tabIndex = -1; document.body.focus(); document.body.removeAttribute('tabindex')")
        self.page.press("Tab")
        self.has("the first thing that Tab reaches leads to the switch", "document.activeElement.matches('.skip')")
        self.page.enter()
        self.has("it does", "document.activeElement.id === 'scope-name'")
        self.page.type(account[:-1])
        self.page.enter()
        self.has("a name that is not whole kills nothing", "document.querySelector('#kill-fault').textContent")
        self.page.type(account[-1:])
        self.page.press("Tab")
        self.page.type(reason)
        self.has("the button says what it would do", f"document.querySelector('.is-armed').textContent === 'Kill account {account}'")


def caches(visit):
    visit.has("the route with a cache is listed", "document.querySelector('#caches').checkVisibility()"
              f" && document.querySelector('#cache-list .name').textContent === '{CACHED}' && document.querySelectorAll('#cache-list li').length === 1")
    visit.has("and how full it is", "document.querySelector('#cache-list .detail').textContent.includes(' of 8 MiB')")


def visit(house, browser, pictures):
    page = browser.page()
    visit = Operator(house, page, pictures)
    page.size(WIDE)
    page.open(house.first.admin + "/")
    visit.has("the page asks for the admin token", "document.activeElement.id === 'token'")
    visit.picture("sign-in")
    visit.sign_in("not-the-token")
    visit.has("a wrong token is turned away", "document.querySelector('#sign-in-fault').textContent")
    page.expect("401", "/session")
    visit.sign_in(house.token)
    visit.has("the right one is let in", "document.querySelectorAll('#account-rows tr').length === 6")
    visit.check("scripts see no cookie", page.evaluate("document.cookie"), "")
    visit.check("the page keeps no admin token", page.evaluate(f"JSON.stringify(localStorage).includes('{house.token}')"), False)
    charts(visit)
    caches(visit)
    visit.picture("before")

    # A replica is silent: a kill must not be reported complete until the lease of that replica is over.
    house.second.process.send_signal(signal.SIGSTOP)
    visit.kill_by_keyboard("crm-sync", "laptop stolen")
    visit.picture("armed", ["light"])
    page.focus("#kill-reason")
    page.enter()
    visit.has("the kill is pending", "document.querySelector('.card.pending')")
    visit.has("it names who is missing", "document.querySelector('.pending-one')?.textContent.includes('gw-2')")
    visit.has("and until when", "/lease ends in [\\d.]+ s/.test(document.querySelector('.pending-one time').textContent)")
    visit.has("the verdict says pending", "document.querySelector('#verdict-text').textContent.includes('pending')")
    visit.check("the API says the same", house.get("/v1/kills")["kills"][0]["state"], "pending")
    visit.picture("pending")
    visit.has("the kill is complete", "document.querySelector('.card:not(.pending) .pill')?.textContent === 'complete'",
              LEASE_SECONDS * 3)
    visit.has("the verdict says complete", "document.querySelector('#verdict-note').textContent.startsWith('Complete')")
    visit.check("the API says the same", house.get("/v1/kills")["kills"][0]["state"], "complete")
    house.second.process.send_signal(signal.SIGCONT)
    visit.has("the tokens are revoked", "document.querySelector('.card .tally .part-revoked dd').textContent === '2'")
    visit.has("the account is shown as killed",
              "[...document.querySelectorAll('#account-rows tr')].some(row => /crm-sync.*killed/s.test(row.textContent))")
    visit.picture("killed")

    page.focus(".card [data-slot=revive]")
    page.enter()
    visit.has("reviving asks why", "document.querySelector('#revival').open && document.activeElement.id === 'revival-reason'")
    visit.picture("reviving", ["light"], whole=False)
    page.focus("#revival-reason")
    page.type("laptop replaced")
    page.enter()
    visit.has("nothing is killed any more", "document.querySelector('#held').hidden && !document.querySelector('#past').hidden")
    visit.check("the API says the same", house.get("/v1/status")["killed"], [])
    page.evaluate("document.querySelector('#past-list summary').click()")
    visit.has("the past kill tells the fate of each token", "document.querySelectorAll('#past-list .fates li').length === 2")
    visit.has("the changes are listed with their reasons", "['Killed', 'crm-sync', 'laptop stolen', 'Revived', 'laptop replaced', '127.0.0.1']"
              ".every(word => document.querySelector('#changes-list').textContent.includes(word))")
    visit.picture("revived")

    locking.approve(visit, APPROVED)
    locking.lock(visit)
    locking.kill(visit, "mailer")
    visit.check("the API says the same", house.get("/v1/lock")["state"], "locked")
    locking.unlock(visit)
    visit.has("a kill of the time when it was locked is carried out",
              "[...document.querySelectorAll('#account-rows tr')].some(row => /mailer.*killed/s.test(row.textContent))")
    house.command("revive", "--account", "mailer", "--reason", "laptop replaced")

    strangers(visit, browser)
    # A hidden page does not poll.
    page.call("Page.bringToFront")

    page.focus("#sign-out")
    page.enter()
    visit.has("who signs out is asked for the token again", "document.activeElement.id === 'token'")
    page.open(house.first.admin + "/")
    visit.has("also after the page was loaded anew", "document.activeElement?.id === 'token' && !document.querySelector('#sign-in').hidden")
    for role, name, kills in ("viewer", "wall", False), ("killer", "dana", True):
        visit.sign_in(house.token_of(role))
        visit.has(f"a {role} is let in by an own token", f"document.querySelector('#administrator').textContent === '{name}, {role}'"
                  " && document.querySelectorAll('#account-rows tr').length === 6")
        visit.check(f"the switch is shown to a {role}", page.evaluate("document.querySelector('#switch').checkVisibility()"), kills)
        # The rows of the administrator before stay until the first answers are there.
        visit.has(f"what kills an account is {'' if kills else 'not '}shown to a {role}",
                  f"[...document.querySelectorAll('#account-rows button')].some(one => one.checkVisibility()) === {str(kills).lower()}")
        visit.picture(role, ["light"])
        page.focus("#sign-out")
        page.enter()
        visit.has(f"the {role} signs out", "document.activeElement.id === 'token'")
    visit.sign_in(house.token)
    visit.has("and is let in again", "document.querySelectorAll('#account-rows tr').length === 6")

    house.import_customers()
    paging.family(visit)
    paging.turn(visit)
    paging.narrow(visit)
    paging.aim(visit)

    house.first.end()
    page.expect("ERR_CONNECTION", "/v1/")
    visit.has("a gateway that is gone is told of", "!document.querySelector('#outage').hidden")
    visit.has("with the age of what is shown", "/ old$/.test(document.querySelector('#freshness-text').textContent)")
    visit.check("which is grey", page.evaluate("document.querySelectorAll('main section:not(.is-stale)').length"), 1)
    visit.has("of its lease nothing is claimed", "document.querySelector('.is-this .detail').innerText.startsWith('Not heard since')")
    visit.picture("lost", ["light"])
    visit.check("complaints of the browser, of its policy among them", page.problems, [])
    return visit.checks


def charts(visit):
    """Checks the pictures of the last hour against the requests that were sent."""
    sent = visit.house.traffic()
    label = "document.querySelector('[data-key={}] svg').getAttribute('aria-label')".format
    # The interval with the last request ends within 15 seconds.
    deadline = time.monotonic() + 30
    while (counted := visit.house.history())["requests"] < sent.total() and time.monotonic() < deadline:
        time.sleep(0.5)
    for what, name, count in (("requests", "requests", sent.total()), ("4xx", "client_errors", sent[4]), ("5xx", "server_errors", sent[5]),
                              ("refreshes", "refreshes", 1), ("failed refreshes", "refresh_failures", 0)):
        visit.check(f"{what} in the history", counted[name], count)
    visit.has("the pictures show the requests", f"/at most [0-9.]+ at /.test({label('requests')})", 40)
    visit.has("and the errors of both kinds", f"/4xx .*at most .*5xx .*at most /.test({label('errors')})", 40)
    visit.has("and the refresh", f"/done .*at most 1 /.test({label('refreshes')})", 40)
    visit.check("nothing is drawn for the time before the process",
                visit.page.evaluate("[...document.querySelectorAll('#charts .base')].every(path => Number(/^M([0-9.]+)/.exec(path.getAttribute('d'))[1]) > 3000)"))
    visit.page.focus("#history-cursor")
    visit.page.press("ArrowLeft")
    visit.has("a sample can be read by keyboard, in all pictures at once",
              "[...document.querySelectorAll('#charts .when')].filter(one => /^[0-9:]{8}$/.test(one.textContent)).length === 4"
              " && /Requests .*Errors 5xx /.test(document.querySelector('#history-cursor').getAttribute('aria-valuetext'))")
    visit.page.evaluate("document.activeElement.blur()")
    visit.check("which ends with the focus", visit.page.evaluate("[...document.querySelectorAll('#charts .when')].some(one => one.textContent)"), False)


def strangers(visit, browser):
    """Attacks from a page on another port of the same host, to which the browser sends the same cookies."""
    page = visit.page
    stranger = browser.page(beside=page)
    stranger.open(visit.house.provider + "/.well-known/oauth-authorization-server")
    stranger.wait_for("the stranger's page", "document.body && location.href.startsWith('http')")
    before = len(visit.house.get("/v1/kills")["kills"])
    order = "JSON.stringify({ scope: { all: true }, reason: 'stranger' })"
    for extra in ("", ", mode: 'no-cors'", ", headers: { 'Martlet-Session': 'x' }"):
        stranger.evaluate(
            f"fetch('{visit.house.first.admin}/v1/kill', {{ method: 'POST', credentials: 'include', body: {order}{extra} }})"
            ".then(() => 'sent', () => 'refused')")
    visit.check("kills by a page of another port", len(visit.house.get("/v1/kills")["kills"]) - before, 0)
    visit.check("what it reads of the API", stranger.evaluate(
        f"fetch('{visit.house.first.admin}/v1/status', {{ credentials: 'include' }}).then(answer => answer.status, () => 'nothing')"), "nothing")
    for what, kind, script in (
        ("markup", "TrustedHTML", "document.createElement('p').innerHTML = '<b>'"),
        ("scripts", "TrustedScript", "document.createElement('script').textContent = '1'"),
    ):
        visit.check(f"{what} from text", browser_refuses(page, script))
        # The script above provoked this complaint; the page itself must cause none.
        visit.check(f"complaints of {what}", page.hear_out(kind), 1)


def browser_refuses(page, script):
    return page.evaluate(f"(() => {{ try {{ {script}; return false }} catch {{ return true }} }})()")


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/verify-dashboard",
        description="Runs two gateways on one store with martlet-mock, and uses the dashboard in headless Chromium: signs in, compares the "
        "charts with the requests sent, kills an account while a replica is silent, waits until the kill is complete, revives the account, approves an account, locks the gateway, kills while it is locked, unlocks it, signs out, turns the pages of 250 more accounts and filters them, and stops the gateway. "
        "Fails if something is not shown, not readable, not reachable by keyboard, or refused by the page's content security policy.")
    parser.add_argument("--programs", type=pathlib.Path, help="the directory of martlet and martlet-mock (default: builds a release)")
    parser.add_argument("--pictures", type=pathlib.Path, help="save screenshots of each step, at 1280 and 390 px, in this directory")
    parser.add_argument("--chromium", default=None, help="the browser (default: chromium on the PATH)")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, leave)

    root = pathlib.Path(__file__).resolve().parents[2]
    if options.programs is None:
        options.programs = build(root, "martlet", "martlet-mock")
    if options.pictures:
        options.pictures.mkdir(parents=True, exist_ok=True)

    browser = Chromium(options.chromium or shutil.which("chromium"))
    try:
        with tempfile.TemporaryDirectory(prefix="martlet-dashboard-") as home:
            house = House(options.programs.resolve(), home)
            try:
                house.start()
                checks = visit(house, browser, options.pictures)
            finally:
                house.stop()
    except Failed as failure:
        print(f"verify-dashboard: {failure}", file=sys.stderr)
        return 1
    finally:
        browser.end()
    report({"dashboard": checks})
    return 0 if all(check.holds for check in checks) else 1


if __name__ == "__main__":
    sys.exit(main())
