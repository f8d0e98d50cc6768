"""A command that should print the key. What it prints instead opens nothing, and status says what that was."""

import base64
import os
import pathlib
import signal
import time

from harness.checks import Check, at_most
from harness.processes import ask
from locking.site import SHUT, Gateway, wait_for

# What the command does, and the words about that in martlet status.
BAD = {
    "no": ("exit code 3", "No secret key"),
    "two": ("more than one line",),
    "nothing": ("printed nothing",),
    "garbage": ("base64",),
    "short": ("32 random bytes",),
    "wrong": ("wrong sealing key",),
    "endless": ("more than 4",),
    "missing": ("exit code 127",),
}
NONSENSE = "this-is-no-key-but-perhaps-a-secret"
PROGRAM = """#!/bin/sh
cd {home}
echo run >> runs-$1
case $(cat mode-$1) in
good) cat good.key ;;
no) echo 'gpg: decryption failed: No secret key' >&2; echo 'a second line' >&2; exit 3 ;;
two) cat good.key good.key ;;
nothing) ;;
garbage) echo {nonsense} ;;
short) echo c2hvcnQga2V5 ;;
wrong) cat other.key ;;
endless) yes {nonsense} ;;
missing) exec no-such-program ;;
hangs) sleep 300 & echo $$ $! > processes; wait ;;
esac
"""


def run(site, checks):
    for name in "good.key", "other.key":
        site.file(name, base64.b64encode(os.urandom(32)).decode() + "\n")
    program = site.file("print-key", PROGRAM.format(home=site.home, nonsense=NONSENSE), 0o700)
    provider = site.provider("--rotate", "--access-ttl", "1h")
    many, alone, slow = (Gateway(site, name, provider, ["alice"], key=f"{{ command: [{program}, {name}] }}") for name in ("many", "alone", "slow"))
    for gateway in many, alone, slow:
        site.file(f"mode-{gateway.name}", "good")
        gateway.start()
        gateway.sign_in("alice")
        checks.equal(f"the command prints the key: {gateway.name} serves", gateway.get("alice"), (200, None))
        gateway.end()
    requests = provider.token_requests
    # This takes 30 s, in which the others go on.
    site.file("mode-slow", "hangs")
    slow.launch()
    began = time.monotonic()

    by_order(site, many, checks)
    by_itself(site, alone, checks)
    reload(site, alone, checks)
    hangs(site, slow, began, checks)
    checks.equal("token requests in all this", provider.token_requests - requests, 1)
    checks.equal("processes of the command that nobody has waited for", [zombies(one) for one in (many, alone, slow)], [0, 0, 0])


def by_order(site, gateway, checks):
    """Each kind of bad output, by `martlet unlock`; the first at the start."""
    site.file("mode-many", "no")
    gateway.start()
    for mode, words in BAD.items():
        site.file("mode-many", mode)
        done = gateway.command("unlock")
        line = gateway.waits_for
        checks.append(Check(f"{mode}: martlet status", line, "", True))
        checks.equal(f"{mode}: martlet unlock exits with", done.returncode, 1)
        checks.equal(f"{mode}: words in martlet status", [word for word in words if word in line], list(words))
        checks.equal(f"{mode}: of its output in an answer", [one for one in (NONSENSE, "a second line") if one in done.stderr + line], [])
        checks.equal(f"{mode}: state, what callers get, whether the store is open", gateway.outlook(), SHUT)
    site.file("mode-many", "good")
    checks.equal("mended: martlet unlock exits with", gateway.command("unlock").returncode, 0)
    wait_for("alice is served", lambda: gateway.get("alice") == (200, None))
    runs = (site.home / "runs-many").read_text()
    ask([site.programs / "martlet", "check", "--config", gateway.path])
    checks.equal("martlet check runs it", (site.home / "runs-many").read_text() != runs, False)


def by_itself(site, gateway, checks):
    site.file("mode-alone", "no")
    gateway.start()
    checks.equal("no at the start: state", gateway.lock_state, "locked")
    checks.equal("no at the start: health, health --live exit with", gateway.health, (1, 0))
    site.file("mode-alone", "good")
    began = time.monotonic()
    gateway.wait_until("open")
    checks.append(at_most("mended: open by itself after", time.monotonic() - began, 12, "s"))
    wait_for("alice is served", lambda: gateway.get("alice") == (200, None))


def reload(site, gateway, checks):
    """A command that fails on a reload takes nothing away."""
    site.file("mode-alone", "no")
    before = [line for line in gateway.log_lines if "config.code" in line]
    gateway.process.process.send_signal(signal.SIGHUP)
    wait_for("the reload has ended", lambda: len([line for line in gateway.log_lines if "config.code" in line]) > len(before))
    checks.equal("no on a reload: state, what callers get", (gateway.lock_state, gateway.get("alice")), ("open", (200, None)))
    checks.equal("no on a reload: a refresh", gateway.refresh("alice"), "valid")


def hangs(site, gateway, began, checks):
    gateway.wait()
    took = time.monotonic() - began
    checks.append(Check("hangs: the gateway listens after at most", f"{took:.0f} s", "20 s", took <= 20))
    checks.equal("hangs: state, and what callers get", gateway.outlook()[:2], ("unlocking", SHUT[1]))
    wait_for("the command to be given up", lambda: gateway.lock_state == "locked")
    took = time.monotonic() - began
    checks.append(Check("hangs: given up after", f"{took:.0f} s", "30 to 40 s", 30 <= took <= 40))
    checks.append(Check("hangs: martlet status", gateway.waits_for, "30 s", "30 s" in gateway.waits_for))
    checks.equal("hangs: state, what callers get, whether the store is open", gateway.outlook(), SHUT)
    left = [one for one in (site.home / "processes").read_text().split() if state_and_parent(one)[0] not in ("", "Z")]
    site.file("mode-slow", "good")
    checks.equal("hangs: processes of it that are left", left, [])
    gateway.wait_until("open")
    wait_for("alice is served", lambda: gateway.get("alice") == (200, None))


def zombies(gateway):
    """How many child processes have ended and were not waited for."""
    processes = [path.name for path in pathlib.Path("/proc").glob("[0-9]*")]
    return sum(state_and_parent(one) == ("Z", str(gateway.pid)) for one in processes)


def state_and_parent(process):
    """A letter, and the id of the parent, both empty if there is no such process."""
    try:
        return tuple(pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[:2])
    except OSError:
        return "", ""
