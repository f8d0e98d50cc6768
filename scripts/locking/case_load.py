"""A lock under load, while the provider takes 5 s to answer token requests."""

import datetime
import time

from harness.checks import Check, at_most
from locking.load import Load, in_parallel
from locking.site import LOCKED, Gateway, wait_for
from signing.web import fetch

QUICK = [f"quick-{number:02}" for number in range(20)]
SLOW = [f"slow-{number:02}" for number in range(20)]
# How long after its head was written a request may be read by the provider, which shares two cores with all of this.
MARGIN = 0.1


def run(site, checks):
    provider = site.provider("--rotate", "--reuse-detection", "--access-ttl", "1h")
    gateway = Gateway(site, "gateway", provider, QUICK + SLOW).start()
    for account in QUICK:
        gateway.sign_in(account)
    provider.faults({"on": "token", "times": 0, "delay_answer": "5s"})
    for account in SLOW:
        gateway.sign_in(account, expires_in=0)
    load = Load(gateway, QUICK)
    waiting, began = [], time.time()
    callers = in_parallel(lambda account: waiting.append((*gateway.get(account), time.time())), SLOW)
    provider.wait_for_requests(len(SLOW))
    time.sleep(1)
    checks.equal("before: what the load gets", set(load.between(0)), {(200, None)})

    lock(gateway, provider, load, checks)
    for caller in callers:
        caller.join()
    checks.equal("what the 20 callers get that waited for token requests", {answer[:2] for answer in waiting}, {LOCKED})
    gateway.wait_until("locked")
    checks.append(Check("locked, after the first token request", f"{time.time() - began:.1f} s", "5 to 8 s", 5 <= time.time() - began <= 8))
    checks.equal("locked: token requests", provider.token_requests, len(SLOW))
    checks.equal("locked: GET /v1/accounts", gateway.refusal("GET", "/v1/accounts"), LOCKED)
    load.end()
    unlock(gateway, provider, checks)


def lock(gateway, provider, load, checks):
    ordered = time.time()
    done = gateway.command("lock", "--reason", "drill")
    returned = time.time()
    text = done.stdout + done.stderr
    checks.equal("martlet lock: exit code, with 20 token requests open", done.returncode, 1)
    checks.equal("martlet lock: the accounts that it names", sorted(account for account in QUICK + SLOW if account in text), SLOW)
    checks.append(at_most("martlet lock: took", returned - ordered, 3, "s"))
    status, said = gateway.ask("GET", "/v1/lock")
    checks.equal("then: status, state and open accounts", (status, said["state"], len(said["open_accounts"])), (200, "locking", 20))
    stopped = max(lock_times(gateway))
    time.sleep(1)
    last = max(provider.stats()["api_last_use"].values())
    checks.append(Check("the last token at the API, after martlet lock returned", f"{(last - returned) * 1000:.0f} ms", "not after it",
                        last <= returned))
    checks.append(at_most("the last token at the API, after the log says that none leaves", (last - stopped) * 1000, MARGIN * 1000, "ms"))
    answers = load.between(stopped + MARGIN)
    checks.equal(f"what {sum(answers.values())} requests get then", set(answers), {LOCKED})
    cut = load.between(ordered, stopped + MARGIN)
    checks.append(Check("what requests got meanwhile", ", ".join(f"{count} {got[1] or got[0]}" for got, count in cut.items()),
                        "200 or locked", set(cut) <= {(200, None), LOCKED}))
    checks.equal("Retry-After", fetch_field(gateway, "Retry-After"), "30")


def lock_times(gateway):
    """When the log says that no request gets a token any more, of the wall clock."""
    return [datetime.datetime.fromisoformat(line["time"].replace("Z", "+00:00")).timestamp()
            for line in gateway.log_lines if "no request gets a token any more" in str(line.get("message"))]


def fetch_field(gateway, name):
    return fetch(f"http://127.0.0.1:{gateway.port}/{QUICK[0]}/bytes/10").fields[name]


def unlock(gateway, provider, checks):
    provider.faults()
    before = provider.token_requests
    began = time.monotonic()
    done = gateway.command("unlock")
    checks.equal("martlet unlock: exit code", done.returncode, 0)
    wait_for("the accounts are valid", gateway.are_valid)
    checks.append(at_most("unlocked, with 40 accounts valid, after", time.monotonic() - began, 10, "s"))
    checks.equal("a request of each account", {gateway.get(account) for account in QUICK + SLOW}, {(200, None)})
    checks.equal("token requests meanwhile", provider.token_requests - before, 0)
    checks.equal("of 40 refreshes bring tokens", sum(gateway.refresh(account) == "valid" for account in QUICK + SLOW), 40)
    checks.equal("refresh tokens that were used twice", provider.stats()["reuse_detections"], 0)
