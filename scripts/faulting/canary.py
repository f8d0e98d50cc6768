"""Looks for tokens where none may stand: logs, metrics, admin answers, Martlet's own answers and the state directory."""

import asyncio
import base64
import re

# The piece of a token that is looked for, in each of the spellings that bytes take in files.
LENGTH = 20

WITHOUT_ZEROS = re.compile(rb"[^\0]{%d,}" % LENGTH)


def needles(token):
    """Pieces of one token of LENGTH bytes each. A token's beginning is the same in many."""
    core = token[-40:].encode()
    spellings = [core[:LENGTH], core[:LENGTH // 2].hex().encode(), core[:LENGTH // 2].hex().upper().encode()]
    for alignment in range(3):
        spellings.append(base64.b64encode(core[alignment:alignment + LENGTH // 4 * 3]))
    return spellings


def search(places, secrets):
    """Which secret, by its name, stands in which place. `places` and `secrets` are pairs of a name and of bytes or text."""
    wanted = {needle: name for name, secret in secrets for needle in needles(secret)}
    found = set()
    for place, content in places:
        # A journal is mostly zeros, and no spelling has one. To step over them byte by byte would hold up every other
        # cluster in this process for seconds.
        for piece in WITHOUT_ZEROS.findall(content if isinstance(content, bytes) else content.encode()):
            for start in range(len(piece) - LENGTH + 1):
                name = wanted.get(piece[start:start + LENGTH])
                # Where a secret is at home.
                if name and not place.endswith(name):
                    found.add(f"{name} in {place}")
    return sorted(found)


async def scan(cluster):
    """What was found, how many tokens were looked for, and in what, in words."""
    # The provider's own, and what else was planted.
    tokens = cluster.provider.recorder.tokens | await cluster.provider.every_token()
    secrets = [("a token", token) for token in tokens]
    secrets.append(("admin.token", cluster.admin_token))
    secrets += [("sealing.key", key) for key in sealing_keys(cluster.state)]
    places = [("one of Martlet's own answers", answer) for answer in cluster.answers]
    for gateway in cluster.up:
        for path in ("/metrics", "/v1/status", "/v1/accounts", f"/v1/accounts/{cluster.accounts[0]}"):
            places.append((f"{path} of {gateway.name}", (await gateway.ask("GET", path))[1]))
    for gateway in cluster.gateways:
        places.append((gateway.log_path.name, gateway.log_path.read_bytes()))
    # The database with its log, the journals, the kept copy of the kills, and what a crash may have left.
    places += [(f"state_dir/{file.name}", file.read_bytes()) for file in sorted(cluster.state.rglob("*")) if file.is_file()]
    places += [(file.name, file.read_bytes()) for file in sorted(cluster.work.glob("*core*")) if file.is_file()]
    size = sum(len(content) for _, content in places)
    found = await asyncio.to_thread(search, places, secrets)
    return found, len(tokens), f"{size} bytes of {len(places)} places"


def sealing_keys(state):
    """The keys that the store is sealed under, as they stand in their file."""
    return [line for path in state.glob("sealing.key") for line in path.read_text().split("\n") if line and not line.startswith("#")]
