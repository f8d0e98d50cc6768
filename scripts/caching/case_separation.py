"""Requests that differ in one thing never get each other's answers, and those that don't differ share one."""

import dataclasses
import json

from caching.site import FRESH, Route, target

OWN, SHARED = "max_size: 16MiB, max_object: 64KiB", "max_size: 16MiB, max_object: 64KiB, share: account"
FIELDS = f"{SHARED}, key_fields: [Tenant, Project]"


@dataclasses.dataclass
class Pair:
    """Two requests for one target. `one` and `other` are the caller, the route and the fields of each."""

    what: str
    one: tuple
    other: tuple
    is_shared: bool = False
    # What is behind the target's name in the second request.
    more: tuple = ("", "")


def by(account):
    return {"Martlet-Account": account}


PAIRS = [
    Pair("one caller, the same request", ("ann", "own", {}), ("ann", "own", {}), True),
    Pair("two callers", ("ann", "own", {}), ("bea", "own", {})),
    Pair("two callers, share: account", ("ann", "shared", {}), ("bea", "shared", {}), True),
    Pair("two accounts of one caller", ("ann", "own-any", by("alice")), ("ann", "own-any", by("bob"))),
    Pair("two accounts, share: account", ("ann", "shared-any", by("alice")), ("ann", "shared-any", by("bob"))),
    Pair("two callers and two accounts, share: account", ("ann", "shared-any", by("alice")), ("bea", "shared-any", by("bob"))),
    Pair("two routes to one upstream", ("ann", "shared", {}), ("ann", "shared-too", {})),
    Pair("two values of a key field", ("ann", "fields", {"Tenant": "a"}), ("ann", "fields", {"Tenant": "b"})),
    Pair("the same value of a key field", ("ann", "fields", {"Tenant": "a"}), ("bea", "fields", {"tenant": "a"}), True),
    Pair("a key field, and none", ("ann", "fields", {"Tenant": "a"}), ("ann", "fields", {})),
    Pair("an empty key field, and none", ("ann", "fields", {"Tenant": ""}), ("ann", "fields", {})),
    Pair("values of a key field in upper and lower case", ("ann", "fields", {"Tenant": "a"}), ("ann", "fields", {"Tenant": "A"})),
    Pair("values of two key fields, exchanged", ("ann", "fields", {"Tenant": "a", "Project": "b"}), ("ann", "fields", {"Tenant": "b", "Project": "a"})),
    Pair("one value, in two key fields", ("ann", "fields", {"Tenant": "a"}), ("ann", "fields", {"Project": "a"})),
    Pair("a value that looks like two", ("ann", "fields", {"Tenant": "a", "Project": "b"}), ("ann", "fields", {"Tenant": "ab"})),
    Pair("a field that is no key field", ("ann", "fields", {"Color": "a"}), ("ann", "fields", {"Color": "b"}), True),
    Pair("two queries", ("ann", "shared", {}), ("ann", "shared", {}), more=("&x=1", "&x=2")),
    Pair("a query that is longer", ("ann", "shared", {}), ("ann", "shared", {}), more=("", "&")),
    Pair("a percent-encoded letter of the query", ("ann", "shared", {}), ("ann", "shared", {}), more=("&x=a", "&x=%61")),
]


async def run(site, checks, options):
    gateway = await site.gateway(
        Route("own", cache=OWN), Route("shared", cache=SHARED), Route("shared-too", cache=SHARED), Route("fields", cache=FIELDS),
        Route("own-any", "{ from_header: Martlet-Account }", OWN), Route("shared-any", "{ from_header: Martlet-Account }", SHARED),
        accounts=("alice", "bob"), callers={"ann": "", "bea": ""})
    for number, pair in enumerate(PAIRS):
        await compare(site, gateway, checks, number, pair)
    for one in (scopes, route_changed, rights_taken):
        await one(site, gateway, checks)


async def compare(site, gateway, checks, number, pair):
    """Sends the one request, the other one, and both again: one, other, one, other."""
    callers = [(gateway.caller(name), route, fields) for name, route, fields in (pair.one, pair.other)]
    places = [target(f"pair-{number}", FRESH) + more for more in pair.more]
    answers = [await caller.get(f"/{route}{place}", fields)
               for _ in range(2) for place, (caller, route, fields) in zip(places, callers)]
    for caller, _, _ in callers:
        caller.close()
    order = sorted({answer.serial for answer in answers if answer.serial})
    seen = ", ".join(f"{'hit' if answer.is_hit else answer.status} {order.index(answer.serial) + 1 if answer.serial else '-'}" for answer in answers)
    checks.equal(pair.what, seen, "200 1, hit 1, hit 1, hit 1" if pair.is_shared else "200 1, 200 2, hit 1, hit 2")


async def is_served_again(gateway, place, serial, caller="ann"):
    """Whether an earlier answer is served, from memory, to somebody."""
    one = gateway.caller(caller)
    answer = await one.get(place)
    one.close()
    return (answer.status, answer.is_hit, answer.serial == serial)


async def stored(gateway, place, caller="ann"):
    """Has an answer stored; returns its serial number."""
    one = gateway.caller(caller)
    answer = await one.get(place)
    one.close()
    return answer.serial


AGAIN, ANEW = (200, True, True), (200, False, False)


async def scopes(site, gateway, checks):
    """The provider's answer to a refresh names the scopes that are granted from now on."""
    await gateway.sign_in("alice", scope="read write")
    for what, granted, bound in (("the same scopes", "write read", AGAIN), ("fewer scopes", "read", ANEW), ("other scopes", "read delete", ANEW)):
        place = "/shared" + target(f"scopes-{what.replace(' ', '-')}", FRESH)
        serial = await stored(gateway, place)
        checks.equal(f"a refresh, {what}: before, status, a hit, the earlier answer", await is_served_again(gateway, place, serial), AGAIN)
        token = {"access_token": f"access-{granted.replace(' ', '-')}", "refresh_token": f"refresh-{granted.replace(' ', '-')}",
                 "token_type": "Bearer", "expires_in": 3600, "scope": granted}
        await site.provider.control("PUT", "faults", [{"on": "token", "times": 1, "status": 200, "body": json.dumps(token)}])
        await gateway.done("POST", "/v1/accounts/alice/refresh")
        checks.equal(f"a refresh, {what}: after, status, a hit, the earlier answer", await is_served_again(gateway, place, serial), bound)
    await gateway.sign_in("alice")


async def route_changed(site, gateway, checks):
    """SIGHUP. The two upstreams have different answers for the same target."""
    place, fields = "/shared" + target("reload", FRESH), "/fields" + target("reload", FRESH)
    serial, other = await stored(gateway, place), await stored(gateway, fields)
    await gateway.reload()
    checks.equal("SIGHUP, nothing is changed: status, a hit, the earlier answer", await is_served_again(gateway, place, serial), AGAIN)
    route = next(one for one in gateway.routes if one.name == "shared")
    route.path = "elsewhere/"
    await gateway.reload()
    checks.equal("SIGHUP, the upstream's path is changed: status, a hit, the earlier answer", await is_served_again(gateway, place, serial), ANEW)
    checks.equal("the upstream was asked for the path of the new route", await site.upstream.count("/elsewhere" + place.removeprefix("/shared")), 1)
    checks.equal("another route: status, a hit, the earlier answer", await is_served_again(gateway, fields, other), AGAIN)
    serial = await stored(gateway, place)
    route.account = "bob"
    await gateway.reload()
    checks.equal("SIGHUP, the route's account is changed: status, a hit, the earlier answer", await is_served_again(gateway, place, serial), ANEW)
    route.account, route.path = "alice", ""
    serial = await stored(gateway, fields)
    next(one for one in gateway.routes if one.name == "fields").cache = f"{SHARED}, key_fields: [Color]"
    await gateway.reload()
    checks.equal("SIGHUP, key_fields are changed: status, a hit, the earlier answer", await is_served_again(gateway, fields, serial), ANEW)
    serial = await stored(gateway, fields)
    next(one for one in gateway.routes if one.name == "fields").cache = None
    await gateway.reload()
    checks.equal("SIGHUP, cache is removed: status, a hit, the earlier answer", await is_served_again(gateway, fields, serial), ANEW)


async def rights_taken(site, gateway, checks):
    """What is stored is no way around the rights of callers."""
    place = "/shared" + target("rights", FRESH)
    serial = await stored(gateway, place, "bea")
    checks.equal("a caller with rights: status, a hit, the earlier answer", await is_served_again(gateway, place, serial, "bea"), AGAIN)
    for what, callers, status in (("may not use the account", {"ann": "", "bea": ", accounts: [bob]"}, 403),
                                  ("may not use the route", {"ann": "", "bea": ", routes: [own]"}, 403),
                                  ("may not use the method", {"ann": "", "bea": ", methods: [POST]"}, 403),
                                  ("is removed", {"ann": ""}, 401)):
        gateway.callers = callers
        await gateway.reload()
        checks.equal(f"the caller {what}: status, a hit, the earlier answer", await is_served_again(gateway, place, serial, "bea"), (status, False, False))
    checks.equal("another caller: status, a hit, the earlier answer", await is_served_again(gateway, place, serial), AGAIN)
