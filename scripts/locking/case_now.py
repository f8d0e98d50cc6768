"""A lock that doesn't wait for providers' answers."""

import time

from harness.checks import at_most
from locking.load import in_parallel
from locking.site import Gateway

# The provider has answered none of the requests of the first ones, and rotated their tokens.
LOST = [f"lost-{number}" for number in range(8)]
KEPT = [f"kept-{number}" for number in range(8)]


def run(site, checks):
    provider = site.provider("--rotate", "--reuse-detection", "--access-ttl", "1h")
    gateway = Gateway(site, "gateway", provider, LOST + KEPT).start()
    for account in KEPT:
        gateway.sign_in(account)
    # One that has refreshed before is not named either.
    gateway.refresh(KEPT[0])
    provider.faults({"on": "token", "times": 0, "delay_answer": "15s"})
    for account in LOST:
        gateway.sign_in(account, expires_in=0)
    callers = in_parallel(gateway.get, LOST)
    provider.wait_for_requests(len(LOST) + 1)

    began = time.monotonic()
    done = gateway.command("lock", "--reason", "drill", "--now", "--wait", "10s")
    checks.append(at_most("martlet lock --now: took", time.monotonic() - began, 5, "s"))
    text = done.stdout + done.stderr
    checks.equal("martlet lock --now: exit code", done.returncode, 0)
    checks.equal("the accounts that the command names", sorted(account for account in LOST + KEPT if account in text), LOST)
    checks.equal("the accounts that the API names", sorted(gateway.lock["lost_accounts"]), LOST)
    checks.equal("the state", gateway.lock_state, "locked")
    for caller in callers:
        caller.join()

    provider.faults()
    gateway.unlocked()
    states = {account: gateway.refresh(account) for account in LOST + KEPT}
    checks.equal("the accounts whose refresh fails then", sorted(account for account, state in states.items() if state != "valid"), LOST)
    checks.equal("their states", {gateway.account(account)["state"] for account in LOST}, {"reauthorization_required"})
    checks.equal("refresh tokens that were used twice", provider.stats()["reuse_detections"], len(LOST))
    named = [record["detail"] for record in gateway.audit("lock") if record["detail"] and "lost" in record["detail"]]
    checks.equal("the audit log names them", [all(account in detail for account in LOST) for detail in named], [True])
