"""A lock outlives the process, however that ends, and a reload."""

import signal

from locking.load import in_parallel
from locking.site import LOCKED, SHUT, Gateway, wait_for


def run(site, checks):
    provider = site.provider("--access-ttl", "1h")
    gateway = Gateway(site, "gateway", provider, ["alice", "slow"]).start()
    gateway.sign_in("alice")
    gateway.locked(reason="the host moves")
    checks.equal("SIGTERM while locked: exit code", gateway.end(), 0)
    gateway.start()
    begins_locked(gateway, checks, "after SIGTERM")
    checks.equal("after SIGTERM: the reason", gateway.lock["reason"], "the host moves")
    checks.equal("after SIGTERM: health, health --live exit with", gateway.health, (1, 0))
    text = gateway.command("status").stdout
    checks.equal("after SIGTERM: martlet status says", [word for word in ("locked", "the host moves", "martlet unlock") if word in text],
                 ["locked", "the host moves", "martlet unlock"])
    gateway.kill()
    gateway.start()
    begins_locked(gateway, checks, "after kill -9")

    reload(gateway, checks)
    unlock(gateway, checks, "unlocked")
    gateway.end()
    checks.equal("restarted after the unlock: state", gateway.start().lock_state, "open")

    killed_while_locking(gateway, provider, checks)
    gateway.locked()
    gateway.end()
    (gateway.state / "locked").write_bytes(b"\0nonsense")
    gateway.start()
    begins_locked(gateway, checks, "with a damaged file")
    unlock(gateway, checks, "unlocked")


def begins_locked(gateway, checks, what):
    checks.equal(f"{what}: state, what callers get, whether the store is open", gateway.outlook(), SHUT)


def unlock(gateway, checks, what):
    checks.equal(f"{what}: martlet unlock exits with", gateway.command("unlock").returncode, 0)
    wait_for("alice is served", lambda: gateway.get("alice") == (200, None))
    checks.equal(f"{what}: health exits with", gateway.command("health").returncode, 0)


def reload(gateway, checks):
    checks.equal("a path without a route, while locked", gateway.get("late"), (404, "no_route"))
    gateway.accounts.append("late")
    gateway.write()
    before = reloads(gateway)
    gateway.process.process.send_signal(signal.SIGHUP)
    wait_for("the configuration is read again", lambda: len(reloads(gateway)) > len(before))
    checks.equal("SIGHUP while locked: outcome", reloads(gateway)[-1], "config_reloaded")
    begins_locked(gateway, checks, "SIGHUP while locked")
    checks.equal("SIGHUP while locked: callers of the new route get", gateway.get("late"), LOCKED)


def reloads(gateway):
    return [line["config.code"] for line in gateway.log_lines if "config.code" in line]


def killed_while_locking(gateway, provider, checks):
    provider.faults({"on": "token", "times": 0, "delay_answer": "5s"})
    before = provider.token_requests
    gateway.sign_in("slow", expires_in=0)
    in_parallel(lambda account: suppressed(gateway, account), ["slow"])
    provider.wait_for_requests(before + 1)
    said = gateway.done("POST", "/v1/lock", {"reason": "drill"})
    checks.equal("kill -9 while locking: state and open accounts before", (said["state"], said["open_accounts"]), ("locking", ["slow"]))
    gateway.kill()
    provider.faults()
    gateway.start()
    begins_locked(gateway, checks, "kill -9 while locking")
    unlock(gateway, checks, "kill -9 while locking, unlocked")
    checks.equal("kill -9 while locking, unlocked: a refresh of that account", gateway.refresh("slow"), "valid")


def suppressed(gateway, account):
    """A request whose answer may be cut."""
    try:
        gateway.get(account)
    except OSError:
        pass
