"""Searches logs, metrics, admin responses, Martlet's local replies and the state directory for tokens; none may be there."""

import asyncio
import base64
import re

# The length in bytes of the piece that is searched for, in each encoding of a token.
LENGTH = 20

WITHOUT_ZEROS = re.compile(rb"[^\0]{%d,}" % LENGTH)


def needles(token):
    """Returns the byte strings to search for: LENGTH bytes for each encoding of the token. They come from the token's end,
    because many tokens begin alike."""
    core = token[-40:].encode()
    spellings = [core[:LENGTH], core[:LENGTH // 2].hex().encode(), core[:LENGTH // 2].hex().upper().encode()]
    for alignment in range(3):
        spellings.append(base64.b64encode(core[alignment:alignment + LENGTH // 4 * 3]))
    return spellings


def search(places, secrets):
    """Returns which secret is in which place, as sorted texts "SECRET in PLACE". `places` and `secrets` are pairs of a name and
    a content (bytes or text)."""
    wanted = {needle: name for name, secret in secrets for needle in needles(secret)}
    found = set()
    for place, content in places:
        # A journal is mostly zeros, and no encoding contains a zero byte. To scan the zeros byte by byte would block every
        # other cluster in this process for seconds.
        for piece in WITHOUT_ZEROS.findall(content if isinstance(content, bytes) else content.encode()):
            for start in range(len(piece) - LENGTH + 1):
                name = wanted.get(piece[start:start + LENGTH])
                # A secret may be in its own file, such as admin.token.
                if name and not place.endswith(name):
                    found.add(f"{name} in {place}")
    return sorted(found)


async def scan(cluster):
    """Returns what was found, how many tokens were searched for, and a text that says in how many bytes and places."""
    # The tokens that the provider issued, and those that a case planted.
    tokens = cluster.provider.recorder.tokens | await cluster.provider.every_token()
    secrets = [("a token", token) for token in tokens] + cluster.secrets()
    places = [("one of Martlet's own answers", answer) for answer in cluster.answers]
    for gateway in cluster.up:
        for path in ("/metrics", "/v1/status", "/v1/accounts", f"/v1/accounts/{cluster.accounts[0]}"):
            places.append((f"{path} of {gateway.name}", (await gateway.ask("GET", path))[1]))
    places += await cluster.places()
    size = sum(len(content) for _, content in places)
    found = await asyncio.to_thread(search, places, secrets)
    return found, len(tokens), f"{size} bytes of {len(places)} places"

