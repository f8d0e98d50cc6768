"""The dialog of the dashboard: each of its three ways, and somebody else who signs in."""

from signing.person import Before, Person, prove

ACCOUNTS = {"dora": "globex-web", "dick": "acme", "dina": "acme"}
DONE = "document.querySelector('#login-state').textContent.startsWith('Signed in')"


class Operator(Person):
    """Has the dashboard open."""

    def __init__(self, site, checks, gateway):
        super().__init__(site, checks)
        self.open(gateway.admin + "/")
        self.page.wait_for("the page", "document.activeElement.id === 'token'")
        self.page.type(gateway.token)
        self.page.enter()
        self.page.wait_for("the accounts", "document.querySelectorAll('#account-rows tr').length")

    def begin(self, account, way):
        """Opens the dialog and chooses a way."""
        row = f"[...document.querySelectorAll('#account-rows tr')].find(row => row.textContent.includes({account!r}))"
        self.page.wait_for(f"the row of {account}", row)
        self.page.evaluate(f"{row}.querySelector('[data-slot=login]').id = 'sign-in-{account}'")
        self.page.click(f"#sign-in-{account}")
        self.page.wait_for("the dialog", "document.querySelector('#login').open")
        self.page.click(f"[name=way][value={way}]")

    def go(self):
        """Follows the dialog's link; returns the person in the tab that it opens."""
        self.page.wait_for("the link", "document.querySelector('#login-link').checkVisibility()")
        before = self.site.browser.targets()
        self.page.click("#login-link")
        return Person(self.site, self.visit.checks, page=self.site.browser.opened_page(before))

    def back(self):
        """Comes back to the dashboard's tab."""
        self.page.call("Page.bringToFront")

    def close(self):
        self.page.click("#login-cancel")
        self.page.wait_for("the dialog is closed", "!document.querySelector('#login').open")


def run(site, gateway, checks):
    operator = Operator(site, checks, gateway)
    by_gateway(site, gateway, checks, operator)
    by_paste(site, gateway, checks, operator)
    by_device(site, gateway, checks, operator)
    by_somebody_else(site, gateway, checks, operator)
    checks.equal("complaints of the browser, of its policy among them", operator.page.problems, [])


def by_gateway(site, gateway, checks, operator):
    site.globex.rules(account="dora")
    before = Before(site.globex)
    operator.begin("dora", "gateway")
    operator.visit.picture("dialog-ways", whole=False)
    operator.page.click("#login-button")
    operator.page.wait_for("the link", "document.querySelector('#login-link').checkVisibility()")
    operator.visit.picture("dialog-gateway", whole=False)
    other = operator.go()
    other.decide()
    other.sees("in this browser: the other tab says that it is done", "Signed in")
    checks.equal("in this browser: the address bar at the end", other.place, "http://127.0.0.1:PORT/login/done/ID")
    operator.back()
    operator.visit.has("in this browser: the dialog notices", DONE)
    operator.visit.picture("dialog-done", whole=False)
    operator.close()
    prove(checks, gateway, "dora", before)


def by_paste(site, gateway, checks, operator):
    site.acme.rules(account="dick")
    before = Before(site.acme)
    operator.begin("dick", "paste")
    operator.page.click("#login-button")
    other = operator.go()
    other.decide()
    address = site.learn(other.page.wait_for_address("the way back", "http://127.0.0.1/callback?"))
    operator.back()
    operator.visit.picture("dialog-paste", whole=False)
    operator.page.click("#login-answer")
    operator.page.type(address)
    operator.page.enter()
    operator.visit.has("by paste: the dialog says that it is done", DONE)
    checks.equal("by paste: what the field keeps", operator.page.evaluate("document.querySelector('#login-answer').value"), "")
    checks.equal("by paste: what the page and its storage keep of the answer", operator.page.evaluate(
        f"[document.documentElement.outerHTML, JSON.stringify(localStorage), JSON.stringify(sessionStorage), location.href]"
        f".filter(one => one.includes({address.partition('code=')[2][:20]!r})).length"), 0)
    operator.close()
    prove(checks, gateway, "dick", before)


def by_device(site, gateway, checks, operator):
    site.acme.rules(account="dina")
    before = Before(site.acme)
    operator.begin("dina", "device")
    operator.page.click("#login-button")
    operator.page.wait_for("the code", "document.querySelector('#login-code').textContent.length > 7")
    operator.visit.picture("dialog-device", whole=False)
    other = operator.go()
    other.sees("by device: the provider knows the code", "The device is approved")
    operator.back()
    operator.visit.has("by device: the dialog notices", DONE)
    operator.close()
    checks.equal("by device: state", gateway.account("dina"), "valid")
    checks.equal("by device: token requests that brought tokens",
                 [request["status"] for request in site.acme.recorder.since(before.mark)].count(200), 1)
    checks.equal("by device: a request through the gateway", gateway.serves("dina"), 200)


def by_somebody_else(site, gateway, checks, operator):
    """Another subject than before: refused, and offered to be meant."""
    site.globex.rules(account="dora-2")
    operator.begin("dora", "gateway")
    operator.page.click("#login-button")
    other = operator.go()
    other.decide()
    other.sees("somebody else: the other tab says so", "failed")
    other.visit.picture("gateway-failed")
    operator.back()
    operator.visit.has("somebody else: the dialog says so", "document.querySelector('#login-state').textContent.startsWith('It has failed')")
    operator.visit.picture("dialog-failed", whole=False)
    checks.equal("somebody else: the account's old tokens", gateway.serves("dora"), 200)
    checks.equal("somebody else: what the provider gave is revoked", site.globex.settled("dora-2", (0, 0)), (0, 0))
    operator.page.click("#login-button")
    operator.visit.has("somebody else: replacing the subject is offered", "document.querySelector('#login-replace').checkVisibility()")
    operator.visit.picture("dialog-replace", whole=False)
    operator.page.click("[name=way][value=gateway]")
    operator.page.click("#login-replace")
    operator.page.click("#login-button")
    operator.go().decide()
    operator.back()
    operator.visit.has("somebody else, meant: the dialog says that it is done", DONE)
    checks.equal("somebody else, meant: live tokens at the provider", site.globex.settled("dora-2", (1, 1)), (1, 1))
    operator.close()
