"""Looks for every token, code, state, verifier and cookie of the sign-ins where it must not be, after all cases."""

import gzip
import pathlib
import re
import zlib

from signing.web import fetch

# A browser keeps addresses, so it may keep these, once they are worth nothing.
SPENT = ("code", "state")


def search(site, gateway, checks):
    site.learn_from_browser()
    secrets = sorted({(kind, part) for kind, value in everything(site) for part in parts(value)})
    checks.equal("secrets to look for: tokens, codes, states, verifiers", [any(kind == wanted for kind, _ in secrets) for wanted in (
        "token", "code", "state", "code_verifier")], [True] * 4)
    planted(secrets, checks)
    for one in (one for one in site.gateways if one.process and one.process.is_alive):
        for path in "/v1/audit", "/v1/status", "/v1/accounts", "/v1/kills", "/v1/history":
            one.ask("GET", path)
    for terminal in site.terminals:
        terminal.leave()
    checks.equal("the shells' histories have all commands", [terminal.place.name for terminal in site.terminals
                                                             if terminal.history.read_text().count("ended-") != terminal.commands], [])
    site.browser.close()

    found = {}
    for kind, name, content in places(site):
        size, names = found.setdefault(kind, (0, []))
        names += [f"{secret} in {name}" for secret in look(content, secrets)]
        found[kind] = (size + len(content), names)
    for kind, (size, names) in found.items():
        checks.equal(f"{kind}: searched {size >> 10} KiB, found", sorted(set(names))[:10], [])
    profile(site, gateway, secrets, checks)


def planted(secrets, checks):
    """The search itself must find what is there."""
    for what, hide in (("in a text", lambda secret: b"xx" + secret + b"yy"), ("as text of 16 bits", lambda secret: secret.decode().encode("utf-16")),
                       ("compressed", lambda secret: b"xx" + gzip.compress(b"{" + secret + b"}") + b"yy")):
        missed = [kind for kind, secret in secrets if kind not in look(hide(secret), [(kind, secret)])]
        checks.equal(f"a search for each that was planted {what}: missed", missed, [])


def everything(site):
    for provider in site.providers:
        yield from (("token", token) for token in provider.tokens())
        yield from provider.recorder.secrets()
    for kind, values in site.learned.items():
        yield from ((kind, value) for value in values)


def parts(secret):
    """What to look for: of a signed token also its signature, which no other text has."""
    pieces = [secret, secret.rpartition(".")[2]]
    return [piece.encode() for piece in pieces if len(piece) >= 16]


def look(content, secrets):
    """The kinds of the secrets in some bytes, also as text of 16 bits and in compressed parts."""
    variants = [content, content.replace(b"\0", b""), *unpacked(content)]
    return [kind for kind, value in secrets if any(value in variant for variant in variants)]


def unpacked(content):
    """The parts of a file that gzip has compressed."""
    for start in re.finditer(b"\x1f\x8b\x08", content):
        try:
            yield zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(content[start.start():], 1 << 24)
        except zlib.error:
            continue


def places(site):
    """The kind, the name and the content of each place where no secret may be."""
    logs = [path for path in site.home.glob("*.log") if path.name != "postgres.log" and not path.name.startswith("martlet-mock")]
    yield from (("the gateways' logs", path.name, path.read_bytes()) for path in logs)
    for name, text in site.said.items():
        kind = "answers of the admin API" if name.startswith("answers") else "outputs of the programs"
        yield kind, name, text.encode()
    for terminal in site.terminals:
        yield "the terminals", terminal.place.name, terminal.last_screen.encode()
        yield "the shells' histories", terminal.place.name, terminal.history.read_bytes() if terminal.history.exists() else b""
    for gateway in site.gateways:
        yield from (("the gateways' state", str(path), path.read_bytes()) for path in files(gateway.state))
    for store in site.stores:
        yield from (("the database's files", str(path), path.read_bytes()) for path in (*files(getattr(store, "place", None)), *site.home.glob("postgres.log")))


def files(place):
    return [path for path in sorted(place.rglob("*")) if path.is_file()] if place else []


def profile(site, gateway, secrets, checks):
    """The browser keeps no token, and no code that is worth anything. This comes last: a code that is sent again ends its tokens."""
    contents = [path.read_bytes() for path in files(pathlib.Path(site.browser.home))]
    checks.equal(f"the browser's profile: {len(contents)} files, the addresses of the provider are among them",
                 any(b"/oauth/" in content for content in contents))
    kept = {pair for content in contents for pair in secrets if look(content, [pair])}
    checks.equal("the browser's profile: tokens, verifiers and cookies", sorted({kind for kind, _ in kept if kind not in SPENT}), [])
    codes = [value.decode() for kind, value in kept if kind == "code"]
    sent = {request["code"]: (provider, request) for provider in site.providers for request in provider.recorder.since(0) if "code" in request}
    worth = []
    for code in codes:
        # The sign-in is over at the gateway, and the code is of no use even with its verifier.
        callback = site.callbacks[code]
        if any(callback.startswith(one.login) for one in site.gateways):
            answer = fetch(callback)
            # A sign-in that still waits wants its cookie first.
            if answer.status not in (400, 409) or "another browser" in answer.text:
                worth.append(f"a callback with status {answer.status}")
        if code in sent:
            provider, request = sent[code]
            if (answer := provider.recorder.redeem(request)) != (400, "invalid_grant"):
                worth.append(f"a code with answer {answer}")
    checks.equal(f"the browser's profile: {len(codes)} codes, of which are worth something", worth, [])
