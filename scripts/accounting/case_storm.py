"""A fifth of the accounts is in use and expires within a minute, at a provider that takes 50 token requests a second."""

import threading
import time

from accounting import crowd
from accounting.grants import Grants, unused
from accounting.imports import Import
from accounting.recorder import excess
from accounting.results import spread
from accounting.site import Gateway, member
from harness.checks import Check
from harness.processes import Failed

RATE = 50
# The tokens of the used accounts expire within this time.
WINDOW = 45
# While the storm is on, so many callers come for used accounts, and half as many for accounts that nobody has used.
MOST_CALLERS = 1000


def run(site, results):
    used = site.accounts // 5
    callers = min(MOST_CALLERS, used // 20)
    # From the import to the first expiry. Used accounts are refreshed from a minute before that on.
    lead = 100 + used // 500
    provider = site.provider()
    recorder, grants = site.recorder(provider), Grants(site, provider)
    origins = grants.origins()
    gateway = Gateway(site, provider, url=recorder.url, rates=f", refresh_rate: {{ per_second: {RATE}, burst: {RATE} }}").start()
    late = range(site.accounts - callers // 2, site.accounts)
    fill(gateway, grants, used, late, lead)
    expired = time.monotonic() + lead + WINDOW
    answers = crowd.ask(gateway, map(member, range(used)))
    results.equal(f"{used:,} accounts used before the storm", crowd.said(crowd.outcomes(answers)), f"{used:,} 200")
    results.at_least("time from their use to the storm", expired - WINDOW - 60 - time.monotonic(), 0, "s")

    time.sleep(max(0, expired - time.monotonic()))
    known = {origins[entry.origin] for entry in recorder.entries("token")}
    waiting = [number for number in range(used) if number not in known][:callers]
    results.figure("all expired: accounts with a new token by then", len(known))
    results.figure("all expired: callers that come", len(waiting) + len(late), "accounts")
    began = time.monotonic()
    waits = Waits(gateway, [*waiting, *late], limit=used / RATE * 1.5 + 120)
    drained(recorder, origins, range(used), results)
    waits.check(results, (len(waiting) + len(late)) / RATE)
    entries = recorder.entries("token")
    order(entries, origins, began, {*waiting, *late}, results)
    rate(entries, bool(waiting), results)
    outcome(gateway, provider, entries, origins, used, late, results)


def fill(gateway, grants, used, late, lead):
    """Imports the accounts that are not used first. Those that callers come for later have no access token."""
    first, _ = grants.write("unused.jsonl", lambda number, tokens: None if number < used else unused(tokens) if number in late else tokens)
    second, _ = grants.write("used.jsonl", lambda number, tokens: tokens | {"expires_in": lead + number * WINDOW // used} if number < used else None)
    for path in (first, second):
        done = Import(gateway, path).end()
        if done.code:
            raise Failed(f"the import ends with {done.code}: {done.text[-300:]}")


class Waits:
    """Callers in a thread of their own."""

    def __init__(self, gateway, numbers, limit):
        self.answers = {}
        self.thread = threading.Thread(target=lambda: self.answers.update(crowd.insist(gateway, map(member, numbers), limit)), daemon=True)
        self.thread.start()

    def check(self, results, least):
        """`least` is how long the provider's rate alone takes for these callers."""
        self.thread.join()
        waits = [seconds for seconds, _ in self.answers.values() if seconds is not None]
        results.equal("callers that got no 200", len(self.answers) - len(waits), 0)
        if waits:
            median, late, longest = spread(waits)
            results.figure("callers waited until 200, median", round(median, 1), "s")
            results.at_most("callers waited until 200, 95th percentile", late, 2 * least + 15, "s")
            results.figure("callers waited until 200, longest", round(longest, 1), "s")
        tries = sum((tried for _, tried in self.answers.values()), start=crowd.collections.Counter())
        results.figure("what they got", crowd.said(tries))


def drained(recorder, origins, used, results):
    """Waits until each used account has a new token."""
    limit = len(used) / RATE * 1.5 + 120
    deadline, missing = time.monotonic() + limit, set(used)
    while missing and time.monotonic() < deadline:
        time.sleep(1)
        missing -= {origins[entry.origin] for entry in recorder.entries("token")}
    results.equal("used accounts that were not refreshed", len(missing), 0)


def order(entries, origins, began, waiting, results):
    """Accounts that somebody waits for come before those that are only in use."""
    since = [origins[entry.origin] in waiting for entry in entries if entry.at >= began]
    places = [place for place, is_waiting in enumerate(since) if is_waiting]
    if not places:
        return results.append(Check("the order", "no caller needed a token request", "", None))
    others = places[-1] + 1 - len(places)
    results.figure("token requests for accounts without a caller, after the callers came", len(since) - len(places))
    results.at_most("of those, before the last one with a caller", others, len(places) + 15 * RATE, "requests")


def rate(entries, is_crowded, results):
    """`is_crowded` if accounts waited for a token request all the time."""
    results.at_most(f"most token requests beyond {RATE} a second, in any period", excess(entries, RATE), RATE + RATE / 10, "requests")
    took = entries[-1].at - entries[0].at
    results.figure("from the first token request to the last", round(took, 1), "s")
    if is_crowded:
        results.at_least("token requests a second", len(entries) / took, 0.9 * RATE, "a second")


def outcome(gateway, provider, entries, origins, used, late, results):
    asked = [origins[entry.origin] for entry in entries]
    results.equal("token requests for accounts that nobody asked for", sum(used <= number < late.start for number in asked), 0)
    results.equal("token requests for accounts that had one already", len(asked) - len(set(asked)), 0)
    before = provider.token_requests
    answers = crowd.ask(gateway, map(member, range(used)))
    results.equal("a request for each used account", crowd.said(crowd.outcomes(answers)), f"{used:,} 200")
    results.equal("token requests meanwhile", provider.token_requests - before, 0)
    stats = provider.stats()
    results.equal("how often a refresh token was used", {uses for account in stats["refresh_token_uses"].values() for uses in account}, {1})
    results.equal("refresh tokens that were used twice", stats["reuse_detections"], 0)
    results.equal("token requests that the provider refused", stats["token_requests"]["invalid_grant"] + stats["token_requests"]["fault"], 0)
    results.equal("most token requests at once for one refresh token", stats["token_requests_at_once"]["per_refresh_token"], 1)
