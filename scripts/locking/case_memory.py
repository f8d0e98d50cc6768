"""Tokens, sealing keys and passphrases in the memory of the process: there before a lock, gone after it."""

import base64
import collections
import os
import sys

from harness.checks import Check, Skipped
from harness.processes import ask
from locking.memory import search
from locking.site import Gateway, wait_for

ACCOUNTS = [f"account-{number}" for number in range(6)]
PASSPHRASE = "correct horse battery staple 94871"


def run(site, checks):
    if os.geteuid() != 0:
        raise Skipped("reading the memory of a process that forbids it needs root")
    for form in ("file", "passphrase", "command"):
        Trial(site, form, checks).run()


class Trial:
    """One gateway whose key comes from a file, from a passphrase or from a command."""

    def __init__(self, site, form, checks):
        self.site, self.form, self.checks = site, form, checks
        # Random strings are rarely in memory by chance.
        self.provider = site.provider("--rotate", "--access-ttl", "1h", "--opaque")
        key = {"file": "", "passphrase": "{ passphrase: true }", "command": f"{{ command: [cat, {site.home}/printed.key] }}"}[form]
        if form == "command":
            site.file("printed.key", base64.b64encode(os.urandom(32)).decode() + "\n")
        self.gateway = Gateway(site, form, self.provider, ACCOUNTS, key=key)
        self.given = {"passphrase": PASSPHRASE} if form == "passphrase" else {}

    def run(self):
        self.gateway.start()
        if self.given:
            self.gateway.unlocked(**self.given)
        for account in ACCOUNTS:
            self.gateway.sign_in(account)
        self.key = self.sealing_key()
        self.use()
        self.look("open", is_open=True)
        self.gateway.locked()
        self.look("locked", is_open=False)
        self.gateway.unlocked(**self.given)
        self.use()
        self.look("unlocked and used", is_open=True)
        self.gateway.locked()
        self.look("locked again", is_open=False)
        self.gateway.unlocked(key=self.key_text)
        self.use()
        self.gateway.locked()
        self.look("unlocked with the key itself, and locked", is_open=False)
        self.gateway.end()

    def use(self):
        """Has tokens at every place where they may be: requests with them, refreshes, an import."""
        wait_for("the accounts are valid", self.gateway.are_valid)
        for _ in range(3):
            for account in ACCOUNTS:
                self.gateway.get(account)
        for account in ACCOUNTS[:3]:
            self.gateway.refresh(account)
        self.gateway.sign_in(ACCOUNTS[-1])
        for account in ACCOUNTS:
            self.gateway.get(account, "echo")

    def sealing_key(self):
        """The 32 bytes that seal."""
        if self.form == "passphrase":
            exported, passphrase = self.site.home / "exported.key", self.site.file("passphrase", PASSPHRASE)
            done = ask([self.site.programs / "martlet", "store", "passphrase", "--config", self.gateway.path, "--passphrase-file", passphrase,
                        "--to-key-file", exported])
            if done.returncode:
                raise OSError(done.stderr)
            text = exported.read_text()
        else:
            text = (self.site.home / "printed.key" if self.form == "command" else self.gateway.state / "sealing.key").read_text()
        self.key_text = next(line for line in text.splitlines() if line and not line.startswith("#")).strip()
        return base64.b64decode(self.key_text.split()[-1])

    def look(self, when, is_open):
        tokens = self.provider.tokens()
        needles = [("access tokens", token.encode()) for token in tokens if token.startswith("mat_")]
        needles += [("refresh tokens", token.encode()) for token in tokens if not token.startswith("mat_")]
        needles += [("the sealing key", self.key), ("the sealing key in base64", base64.b64encode(self.key))]
        needles += [("the passphrase", PASSPHRASE.encode())] if self.given else []
        found, hits = search(self.gateway.pid, needles)
        for kind, places in found.items():
            listing = ", ".join(f"{count} in {place}" for place, count in sorted(places.items())) or "none"
            what = f"{self.form}, {when}: {kind}"
            if not is_open:
                self.checks.append(Check(what, listing, "none", not places))
            elif kind in ("access tokens", "refresh tokens", "the sealing key"):
                self.checks.append(Check(what, listing, "some", bool(places)))
            else:
                self.checks.append(Check(what, listing, "", True))
        if not is_open:
            for around, count in collections.Counter(hits).most_common(6):
                print(f"verify-lock: {self.form}, {when}: {count} times {around}", file=sys.stderr)
