"""`martlet login NAME`: a browser opens, and comes back to a port on which the command listens."""

import contextlib
import re
import socket
import time
import urllib.parse

from harness.processes import Failed
from signing.person import Before, Person, prove

ACCOUNTS = {"alice": "acme"}


def browser_script(site, name):
    """Writes a program for BROWSER, which notes the address that it should open; returns its path and that of the note."""
    program, note = site.home / f"browser-{name}", site.home / f"opened-{name}"
    program.write_text(f"#!/bin/sh\nprintf '%s' \"$1\" > {note}.new && mv {note}.new {note}\n")
    program.chmod(0o755)
    return program, note


def opened(note, seconds=20):
    deadline = time.monotonic() + seconds
    while not note.exists():
        if time.monotonic() > deadline:
            raise Failed(f"no browser was opened within {seconds} s")
        time.sleep(0.05)
    return note.read_text()


def run(site, gateway, checks):
    site.acme.rules(account="alice")
    before = Before(site.acme)
    program, note = browser_script(site, "alice")
    terminal = site.terminal(gateway, BROWSER=program)
    terminal.run("martlet login alice")
    person = Person(site, checks)
    person.open(opened(note))
    person.decide()
    person.sees("the browser says that it is done", "Signed in")
    checks.equal("the address bar at the end", person.place, "http://127.0.0.1:PORT/done")
    checks.equal("complaints of the browser, of its policy among them", person.page.problems, [])
    person.visit.picture("loopback")
    checks.equal("the command's exit code", terminal.exit_code(), 0)
    checks.equal("it says so", bool(re.search(r"alice: signed in; valid until", terminal.screen())))
    prove(checks, gateway, "alice", before)
    port = urllib.parse.urlsplit(person.page.address).port
    listens = False
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        listens = True
    checks.equal("the port still listens", listens, False)
