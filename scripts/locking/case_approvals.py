"""Accounts that are used only for a while after martlet approve."""

import statistics
import time

from harness.checks import Check, at_most
from locking.load import in_parallel
from locking.site import Gateway, wait_for
from signing.web import fetch

PAYMENTS = [f"payments-{number:02}" for number in range(20)]
REQUIRED = (503, "approval_required")
SERVED = (200, None)


def run(site, checks):
    provider = site.provider("--access-ttl", "1h")
    policy = 'require_approval: { accounts: ["payments-*"], for: 15m, wait: 5s }'
    gateway = Gateway(site, "gateway", provider, ["other", *PAYMENTS], more=policy).start()
    for account in ["other", *PAYMENTS]:
        gateway.sign_in(account)
    checks.equal("the accounts that need one", sorted(approvals(gateway)) == PAYMENTS)
    refused(gateway, checks)
    released(gateway, provider, checks)
    ends(gateway, provider, checks)
    runs_out(site, checks)


def approvals(gateway):
    return {one["account"]: one for one in gateway.done("GET", "/v1/approvals")["approvals"]}


def waits(gateway, account):
    wait_for(f"a request of {account} waits", lambda: approvals(gateway)[account]["waiting"])


def refused(gateway, checks):
    """A request without a yes, and other requests meanwhile."""
    got = []

    def ask(account):
        began = time.monotonic()
        answer = fetch(f"http://127.0.0.1:{gateway.port}/{account}/bytes/10")
        got.append((answer.status, answer.json["type"].rpartition(":")[2], answer.fields["Retry-After"], time.monotonic() - began))

    threads = in_parallel(ask, PAYMENTS)
    waits(gateway, PAYMENTS[0])
    checks.equal("a refresh while it waits", gateway.refresh(PAYMENTS[0]), "valid")
    times = []
    for _ in range(20):
        began = time.monotonic()
        got_meanwhile = gateway.get("other")
        times.append((time.monotonic() - began) * 1000)
    checks.equal("an account that needs none, meanwhile", got_meanwhile, SERVED)
    checks.append(at_most("an account that needs none, meanwhile: worst of 20", max(times), 100, "ms"))
    checks.equal("approve of that one: exit code", gateway.command("approve", "other").returncode, 1)
    checks.equal("approve of an unknown one: exit code", gateway.command("approve", "nobody").returncode, 64)
    for thread in threads:
        thread.join()
    checks.equal("without a yes: 20 requests get", {one[:2] for one in got}, {REQUIRED})
    checks.equal("without a yes: Retry-After is there", all(one[2] for one in got))
    waited = sorted(one[3] for one in got)
    checks.append(Check("without a yes: refused after", f"{waited[0]:.2f} to {waited[-1]:.2f} s", "4.9 to 6 s", 4.9 <= waited[0] and waited[-1] <= 6))


def released(gateway, provider, checks):
    """From the order to the moment when the API has read the head of the request that waited."""
    took, states = [], set()
    for account in PAYMENTS:
        got = []
        thread, = in_parallel(lambda account: got.append(gateway.get(account)), [account])
        waits(gateway, account)
        began = time.time()
        if account == PAYMENTS[0]:
            done = gateway.command("approve", account)
            checks.equal("martlet approve: exit code", done.returncode, 0)
        else:
            gateway.done("POST", "/v1/approvals", {"account": account})
        thread.join()
        states.update(got)
        took.append((provider.stats()["api_last_use"][account] - began) * 1000)
    checks.equal("20 requests that waited get", states, {SERVED})
    checks.append(Check("martlet approve, until the request is at the API", f"{took[0]:.0f} ms", "with the start of the program", True))
    checks.append(at_most("approve by the API, until the request is there: median", statistics.median(took[1:]), 100, "ms"))
    checks.append(at_most("approve by the API, until the request is there: worst of 19", max(took[1:]), 100, "ms"))
    checks.equal("each is served from then on", {gateway.get(account) for account in PAYMENTS}, {SERVED})


def ends(gateway, provider, checks):
    """A kill ends it; a lock does not."""
    killed, kept = PAYMENTS[:2]
    gateway.done("POST", "/v1/kill", {"scope": {"account": killed}, "reason": "trial"})
    checks.equal("killed: callers get", gateway.get(killed), (503, "killed"))
    checks.equal("killed: approve exits with", gateway.command("approve", killed).returncode, 1)
    gateway.done("POST", "/v1/revive", {"scope": {"account": killed}, "reason": "over"})
    gateway.sign_in(killed)
    checks.equal("revived: approved until", approvals(gateway)[killed]["until"], None)
    got, began = [], time.time()
    thread, = in_parallel(lambda account: got.append(gateway.get(account)), [killed])
    waits(gateway, killed)
    time.sleep(0.3)
    checks.equal("revived: a request has gone out without a new yes", provider.stats()["api_last_use"][killed] >= began, False)
    gateway.done("POST", "/v1/approvals", {"account": killed})
    thread.join()
    checks.equal("revived, and approved anew: it gets", got, [SERVED])
    gateway.locked()
    gateway.unlocked()
    wait_for("the account is valid", gateway.are_valid)
    checks.equal("after a lock and an unlock: an approved account gets", gateway.get(kept), SERVED)
    gateway.end()


def runs_out(site, checks):
    """The time ends it, also for stored responses."""
    provider = site.provider("--access-ttl", "1h")
    gateway = Gateway(site, "brief", provider, ["payments-eu"], more='require_approval: { accounts: ["payments-*"], for: 3s, wait: 0s }')
    gateway.cache = "max_size: 1MiB, max_object: 64KiB"
    gateway.start()
    gateway.sign_in("payments-eu")
    provider.faults({"on": "api", "path": "/api/stored", "times": 0, "headers": {"Cache-Control": "max-age=600"}, "body": "{}"})
    began = time.monotonic()
    checks.equal("wait: 0s: refused", gateway.get("payments-eu"), REQUIRED)
    checks.append(at_most("wait: 0s: refused after", (time.monotonic() - began) * 1000, 200, "ms"))
    ordered = time.monotonic()
    gateway.done("POST", "/v1/approvals", {"account": "payments-eu"})
    approved = time.monotonic()
    hits, last, first = 0, 0, None
    while first is None and time.monotonic() < approved + 10:
        began = time.monotonic()
        answer = fetch(f"http://127.0.0.1:{gateway.port}/payments-eu/stored")
        if answer.status == 200:
            hits, last = hits + ("martlet; hit" in (answer.fields["Cache-Status"] or "")), began
        else:
            first = began
        time.sleep(0.02)
    checks.append(Check("for: 3s: hits of the response cache", str(hits), "some", hits > 10))
    checks.append(Check("for: 3s: the last response, after the approval", f"{last - approved:.2f} s", "at most 3 s", last - approved <= 3.0))
    checks.append(Check("for: 3s: the first refusal, after the approval", f"{(first or 0) - approved:.2f} s", "2.9 to 3.5 s",
                        first is not None and 2.9 <= first - ordered and first - approved <= 3.5))
    checks.equal("for: 3s: then a stored response is refused", gateway.get("payments-eu", "stored"), REQUIRED)
