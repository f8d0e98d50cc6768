"""A lock while the database is away, and an unlock with the key of another store."""

import base64
import os
import time

from harness.checks import Check, at_most
from locking.load import Load, in_parallel
from locking.site import LOCKED, SHUT, Gateway, wait_for
from signing.postgres import Postgres


def run(site, checks):
    foreign_key(site, checks)
    away(site, checks)


def foreign_key(site, checks):
    provider = site.provider("--rotate", "--access-ttl", "1h")
    one, other = (Gateway(site, name, provider, ["alice"]).start() for name in ("one", "other"))
    one.sign_in("alice")
    other.end()
    one.locked()
    done = one.command("unlock", "--key-file", str(other.state / "sealing.key"))
    checks.equal("another store's key: martlet unlock exits with", done.returncode, 1)
    checks.append(Check("another store's key: martlet unlock says", done.stderr.strip(), "the key", "key" in done.stderr))
    foreign = (other.state / "sealing.key").read_text()
    checks.equal("another store's key: refused", one.refusal("POST", "/v1/unlock", {"key": foreign}), (422, "key_refused"))
    checks.equal("no key at all: refused", one.refusal("POST", "/v1/unlock", {"key": "bm9uc2Vuc2U="}), (422, "key_refused"))
    checks.equal("then: state, what callers get, whether the store is open", one.outlook(), SHUT)
    checks.equal("its own key: martlet unlock exits with", one.command("unlock", "--key-file", str(one.state / "sealing.key")).returncode, 0)
    wait_for("alice is served", lambda: one.get("alice") == (200, None))
    checks.equal("a refresh then", one.refresh("alice"), "valid")
    one.end()


def away(site, checks):
    """The database goes away while a token request is open. What that brings is kept in the journal."""
    database = Postgres(site.home)
    site.stores.append(database)
    key = site.file("shared.key", base64.b64encode(os.urandom(32)).decode())
    provider = site.provider("--rotate", "--reuse-detection", "--access-ttl", "1h")
    store = f'driver: postgres, url: "{database.url}"'
    gateway = Gateway(site, "away", provider, ["early", "late"], key=f"{{ file: {key} }}", store=store, lease="30s").start()
    gateway.sign_in("early")
    provider.faults({"on": "token", "times": 0, "delay_answer": "4s"})
    gateway.sign_in("late", expires_in=0)
    load = Load(gateway, ["early"])
    in_parallel(gateway.get, ["late"])
    provider.wait_for_requests(1)
    before = len(journal(gateway))
    database.stop()
    checks.equal("the database is away: callers get", gateway.get("early"), (200, None))

    ordered = time.time()
    status, said = gateway.ask("POST", "/v1/lock", {"reason": "drill"})
    returned = time.time()
    checks.equal("lock: status and state", (status, said.get("state")), (200, "locking"))
    checks.append(at_most("lock: took", returned - ordered, 3, "s"))
    time.sleep(0.5)
    last = max(provider.stats()["api_last_use"].values())
    checks.append(at_most("lock: the last token at the API, after the order", (last - ordered) * 1000, 1000, "ms"))
    checks.equal("lock: what requests get after it", set(load.between(returned)), {LOCKED})
    load.end()
    checks.append(at_most("locked after", gateway.wait_until("locked"), 25, "s"))
    written = len(journal(gateway)) - before
    checks.append(Check("the journal has got", f"{written} bytes that are not zero", "some", written > 0))
    checks.equal("unlock: refused", gateway.refusal("POST", "/v1/unlock"), (503, "store_lost"))
    checks.equal("then: state and what callers get", (gateway.lock_state, gateway.get("early")), ("locked", LOCKED))

    database.start()
    provider.faults()
    checks.equal("the database is back: martlet unlock exits with", gateway.command("unlock").returncode, 0)
    wait_for("both accounts are served", lambda: [gateway.get(account) for account in ("early", "late")] == [(200, None)] * 2)
    checks.equal("token requests since", provider.token_requests, 1)
    checks.equal("a refresh with the token from the journal", gateway.refresh("late"), "valid")
    checks.equal("refresh tokens that were used twice", provider.stats()["reuse_detections"], 0)
    checks.equal("the lock is in the audit log", len(gateway.audit("lock")) > 0)
    gateway.end()


def journal(gateway):
    """What is in the journal, whose file has more room."""
    return b"".join(path.read_bytes().replace(b"\0", b"") for path in (gateway.state / "journal").iterdir())
