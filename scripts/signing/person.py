"""Somebody who signs in with a browser, and what must be true afterwards."""

import re

from viewing.visit import Visit


class Person:
    """Has a tab of the browser: of the profile that is searched for secrets in the end, or, if `is_private`, of another browser."""

    def __init__(self, site, checks, is_private=False, page=None):
        self.site = site
        self.page = page or site.browser.page(is_kept=not is_private)
        self.visit = Visit(self.page, site.pictures, checks)
        self.page.size(1280)

    def open(self, url):
        self.page.open(url)

    def wait_for_consent(self):
        self.page.wait_for("the provider's page", "document.querySelector('#approve')")

    def decide(self, decision="approve"):
        """Presses a button of the provider's page."""
        self.wait_for_consent()
        self.page.click(f"#{decision}")

    def decide_aside(self):
        """Has the provider approve, and returns the address to which it sends this browser, which does not go there yet."""
        self.wait_for_consent()
        return self.site.decide_page(self.page.address, self.page.evaluate("document.querySelector('[name=id]').value"))

    def sees(self, what, text):
        self.visit.has(what, f"document.body.innerText.includes({text!r})")

    @property
    def place(self):
        """The address bar, with the variable parts masked."""
        address = re.sub(r"[0-9a-f]{32}-[0-9a-f]{32}", "ID", self.page.address)
        return re.sub(r":\d+/", ":PORT/", address)

    def last_status(self, url):
        """The status of the last response to a request for this address."""
        return next((status for one, status in reversed(self.page.responses) if one == url), None)


class Before:
    """What a provider had counted at some moment."""

    def __init__(self, provider):
        self.provider, self.mark, self.stats = provider, provider.recorder.mark, provider.stats()["sign_ins"]

    @property
    def requests(self):
        """The grant types of the token requests since then."""
        return [request["grant_type"].rpartition(":")[2] for request in self.provider.recorder.since(self.mark)]

    def codes(self):
        """How many codes have yielded tokens since then, and how many were sent again."""
        now = self.provider.stats()["sign_ins"]
        return now["codes_redeemed"] - self.stats["codes_redeemed"], now["codes_replayed"] - self.stats["codes_replayed"]


def prove(checks, gateway, account, before, grant="authorization_code"):
    """Checks that an account has its tokens, by one token request."""
    checks.equal(f"{account}: state", gateway.account(account), "valid")
    checks.equal(f"{account}: token requests", before.requests, [grant])
    if grant == "authorization_code":
        checks.equal(f"{account}: codes redeemed, and sent again", before.codes(), (1, 0))
    checks.equal(f"{account}: a request through the gateway", gateway.serves(account), 200)
