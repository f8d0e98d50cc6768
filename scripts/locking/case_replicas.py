"""Three replicas on one store: a locked one is no member, a kill that is given to it waits, and a lock of all reaches all."""

import base64
import os
import time

from harness.checks import at_most
from locking.load import Load
from locking.site import LOCKED, Gateway, wait_for

ACCOUNTS = ("alice", "bob")


def run(site, checks):
    provider = site.provider("--access-ttl", "1h")
    key = site.file("shared/sealing.key", base64.b64encode(os.urandom(32)).decode())
    members = {"key": f"{{ file: {key} }}", "store": f"driver: sqlite, path: {key.parent}/tokens.db"}
    a, b, c = replicas = [Gateway(site, f"replica-{letter}", provider, ACCOUNTS, **members).start() for letter in "abc"]
    for account in ACCOUNTS:
        a.sign_in(account)
    for replica in replicas:
        wait_for(f"{replica.name} serves alice", lambda: replica.get("alice") == (200, None))
    checks.equal("the replicas that a kill waits for", names(a), ["replica-a", "replica-b", "replica-c"])

    kill_beside(a, b, c, checks)
    kill_given(a, b, c, checks)
    lock_of_all(site, provider, members, replicas, checks)


def names(replica):
    return sorted(one["name"] for one in replica.done("GET", "/v1/replicas")["replicas"])


def kill_beside(a, b, c, checks):
    """A kill at a running replica doesn't wait for the locked one."""
    done = c.command("lock", "--reason", "drill", "--wait", "10s")
    checks.equal("one is locked: martlet lock exits with", done.returncode, 0)
    checks.equal("one is locked: its callers get", c.get("alice"), LOCKED)
    checks.equal("one is locked: the replicas that a kill waits for", names(a), ["replica-a", "replica-b"])
    began = time.monotonic()
    done = a.command("kill", "--all", "--reason", "trial", "--wait", "20s")
    checks.equal("kill --all at another: exit code", done.returncode, 0)
    checks.append(at_most("kill --all at another: took", time.monotonic() - began, 3, "s"))
    checks.equal("kill --all at another: callers get there, and at the third", (a.get("alice"), b.get("alice")), ((503, "killed"), (503, "killed")))
    a.done("POST", "/v1/revive", {"scope": {"all": True}, "reason": "over"})
    for account in ACCOUNTS:
        a.sign_in(account)


def kill_given(a, b, c, checks):
    """A kill that is given to the locked replica holds as soon as that is unlocked."""
    done = c.command("kill", "--account", "alice", "--reason", "alice-leaked")
    text = done.stdout + done.stderr
    checks.equal("kill at the locked one: exit code", done.returncode, 1)
    checks.equal("kill at the locked one: it says", [word for word in ("pending", "locked", "replica-a", "replica-b") if word in text],
                 ["pending", "locked", "replica-a", "replica-b"])
    said = c.done("POST", "/v1/kill", {"scope": {"account": "alice"}, "reason": "alice-leaked-too"})
    checks.equal("kill at the locked one: state, store, who can do it now", (said["state"], said["store"], sorted(said.get("can_do_it_now", []))),
                 ("pending", "locked", ["replica-a", "replica-b"]))
    unknown = c.command("kill", "--account", "nobody", "--reason", "trial")
    checks.equal("kill at the locked one, of an unknown account: exit code", unknown.returncode, 64)
    checks.equal("meanwhile the others serve", (a.get("alice"), b.get("alice")), ((200, None), (200, None)))
    # It must survive a restart, as the lock does.
    c.kill()
    c.start()
    load = Load(c, ["alice"], callers=4)
    began = time.time()
    checks.equal("martlet unlock: exit code", c.command("unlock").returncode, 0)
    wait_for("the kill holds everywhere", lambda: [one.get("alice") for one in (a, b, c)] == [(503, "killed")] * 3)
    load.end()
    got = load.between(began)
    checks.equal(f"{sum(got.values())} requests for the killed account at it, during the unlock and after", set(got) <= {LOCKED, (503, "killed")})
    checks.equal("the other account is served", (a.get("bob"), c.get("bob")), ((200, None), (200, None)))
    # Each is recorded once it is in the store.
    both = {"alice-leaked", "alice-leaked-too"}
    wait_for("the audit log has both kills", lambda: both <= {record["reason"] for record in a.audit("kill")})
    recorded = {record["reason"] for record in a.audit("kill")} & both
    checks.equal("the audit log has both kills", sorted(recorded), sorted(both))
    began = time.monotonic()
    wait_for("the kills are complete", lambda: states(a) == ["complete"] * 2)
    checks.append(at_most("the kills are complete after", time.monotonic() - began, 10, "s"))
    a.done("POST", "/v1/revive", {"scope": {"account": "alice"}, "reason": "over"})
    a.sign_in("alice")


def states(replica):
    return [kill["state"] for kill in replica.done("GET", "/v1/kills")["kills"] if kill["reason"].startswith("alice-leaked")]


def lock_of_all(site, provider, members, replicas, checks):
    a, b, c = replicas
    began = time.monotonic()
    done = a.command("lock", "--reason", "intruder", "--all-replicas", "--wait", "20s")
    checks.equal("lock --all-replicas: exit code", done.returncode, 0)
    checks.append(at_most("lock --all-replicas: took", time.monotonic() - began, 8, "s"))
    checks.equal("lock --all-replicas: callers get", [one.get("bob") for one in replicas], [LOCKED] * 3)
    for one in (b, c):
        one.wait_until("locked")
    checks.equal("lock --all-replicas: reason at each", [one.lock["reason"] for one in replicas], ["intruder"] * 3)
    new = Gateway(site, "replica-d", provider, ACCOUNTS, **members).start()
    checks.equal("a replica that starts then: state, and what callers get", (new.lock_state, new.get("bob")), ("locked", LOCKED))
    new.end()
    checks.equal("unlock at one: exit code", a.command("unlock").returncode, 0)
    wait_for("it serves", lambda: a.get("bob") == (200, None))
    b.end()
    b.start()
    c.kill()
    c.start()
    checks.equal("the others, restarted after that: state", [one.lock_state for one in (b, c)], ["locked"] * 2)
    checks.equal("the others, restarted after that: callers get", [one.get("bob") for one in (b, c)], [LOCKED] * 2)
    checks.equal("unlock at them: exit codes", [one.command("unlock").returncode for one in (b, c)], [0, 0])
    for one in replicas:
        wait_for(f"{one.name} serves", lambda: one.get("bob") == (200, None))
    c.end()
    checks.equal("one that is restarted now: state", c.start().lock_state, "open")
