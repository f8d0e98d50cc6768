"""A store that a passphrase opens: made at the first unlock, wrong ones are refused, then delayed, and change nothing."""

import stat
import time

from harness.checks import Check
from locking.load import in_parallel
from locking.site import SHUT, Gateway, wait_for
from signing.web import fetch

RIGHT, WRONG = "correct horse battery staple", "correct horse battery stable"


def run(site, checks):
    provider = site.provider("--rotate", "--access-ttl", "1h")
    gateway = Gateway(site, "gateway", provider, ["alice"], key="{ passphrase: true }").start()
    checks.equal("at first: state, what callers get, whether the store is open", gateway.outlook(), SHUT)
    checks.equal("at first: what unlock needs", gateway.lock["needs"], "new_passphrase")
    checks.equal("at first: health, health --live exit with", gateway.health, (1, 0))
    checks.equal("a short one: refused", gateway.refusal("POST", "/v1/unlock", {"passphrase": "short"}), (400, "invalid_field"))
    checks.equal("none: refused", gateway.refusal("POST", "/v1/unlock"), (400, "invalid_field"))
    done = gateway.command("unlock", text=RIGHT + "\n")
    checks.equal("the first one: martlet unlock exits with", done.returncode, 0)
    gateway.sign_in("alice")
    wait_for("alice is served", lambda: gateway.get("alice") == (200, None))
    checks.equal("the envelope's mode", stat.S_IMODE((gateway.state / "sealing.envelope").stat().st_mode), 0o600)
    requests, envelope = provider.token_requests, (gateway.state / "sealing.envelope").read_bytes()

    gateway.end()
    gateway.start()
    checks.equal("restarted: state, what unlock needs", (gateway.lock_state, gateway.lock["needs"]), ("locked", "passphrase"))
    tried = at_once(gateway, checks)
    ten_times(gateway, checks)
    checks.equal("a request for the account", gateway.get("alice"), (200, None))
    checks.equal("its state", gateway.account("alice")["state"], "valid")
    checks.equal("token requests in all this", provider.token_requests - requests, 0)
    checks.equal("the envelope has changed", (gateway.state / "sealing.envelope").read_bytes() != envelope, False)
    outcomes = [record["outcome"] for record in gateway.audit("unlock")]
    checks.equal("wrong ones in the audit log", outcomes.count("wrong_passphrase"), 5 + tried)
    checks.equal("passphrases in the log", [one for one in (RIGHT, WRONG) if one in gateway.log.read_text()], [])


def at_once(gateway, checks):
    """Eight attempts at the same time, of which one is made at a time. Returns how many were made."""
    got = []
    for thread in in_parallel(lambda _: got.append(gateway.refusal("POST", "/v1/unlock", {"passphrase": WRONG})), range(8)):
        thread.join()
    tried = got.count((422, "key_refused"))
    busy = got.count((409, "conflict"))
    checks.append(Check("8 wrong ones at once: tried, and refused since another is under way", f"{tried}, {busy}",
                        "8 in all, 4 tried at most", tried + busy == 8 and 1 <= tried <= 4))
    gateway.unlocked(passphrase=RIGHT)
    gateway.locked()
    return tried


def ten_times(gateway, checks):
    got, delay = [], 0
    done = gateway.command("unlock", text=WRONG + "\n")
    checks.equal("a wrong one: martlet unlock exits with", done.returncode, 1)
    checks.append(Check("a wrong one: martlet unlock says", done.stderr.strip(), "wrong passphrase", "wrong passphrase" in done.stderr))
    for _ in range(9):
        answer = fetch(f"http://127.0.0.1:{gateway.admin}/v1/unlock", "POST",
                       {"Authorization": f"Bearer {gateway.token}", "Content-Type": "application/json"}, {"passphrase": WRONG})
        got.append((answer.status, answer.json["type"].rpartition(":")[2]))
        delay = int(answer.fields["Retry-After"] or 0)
    checks.equal("9 more wrong ones", got, [(422, "key_refused")] * 4 + [(429, "unlock_limited")] * 5)
    checks.append(Check("the delay that the last one names", f"{delay} s", "1 to 2 s", 1 <= delay <= 2))
    checks.equal("the right one within the delay", gateway.refusal("POST", "/v1/unlock", {"passphrase": RIGHT}), (429, "unlock_limited"))
    time.sleep(delay)
    checks.equal("the right one after it: martlet unlock exits with", gateway.command("unlock", text=RIGHT + "\n").returncode, 0)
    wait_for("alice is served", lambda: gateway.get("alice") == (200, None))
