"""What schemathesis loads into each of its runs: names that exist, order between the cases, and a check of the roles."""

import json
import os
import urllib.error

import schemathesis
from schemathesis.core.parameters import ParameterLocation

from describing.house import ACCOUNTS, APPROVED, IMPORTED, Operator

RIGHTS = {"viewer": {"viewer"}, "killer": {"viewer", "killer"}, "operator": {"viewer", "killer", "operator"}}
# So many changes are made before everything is put in order again: cases shall also meet what earlier ones left behind.
CHANGES = 6
# Where a sign-in's answer would come back to, if a browser took it there; nothing listens.
LISTENER = 9

admin, role = os.environ["VERIFY_ADMIN"], os.environ["VERIFY_ROLE"]
operator = Operator(admin, os.environ["VERIFY_PROVIDER"], os.environ["VERIFY_OPERATOR"])
presented = os.environ["VERIFY_TOKEN"]
kills, changes, cases, session = [], 0, 0, {}
# The id of the last sign-in of each account.
sign_ins = {}


def is_negative(case, *places):
    return case.meta is not None and any(case.meta.is_negative_at(place) for place in places)


@schemathesis.serializer("application/x-ndjson")
def lines(context, value):
    """Any bytes are lines: wrong ones are refused one by one in an answer that is a success."""
    return value.encode() if isinstance(value, str) else value if isinstance(value, bytes) else json.dumps(value).encode()


@schemathesis.hook
def before_call(context, case, kwargs):
    """Generated names are those of nothing. In four of five cases they are replaced by names that exist."""
    global cases
    cases += 1
    path = case.operation.path
    if path == "/session":
        return sign_in_and_out(case)
    if path in ("/v1/kill", "/v1/revive"):
        name_existing_scope(case.body)
    if path == "/v1/revive" and cases % 5 and not is_negative(case, ParameterLocation.BODY):
        kill_scope(case.body)
    if path == "/v1/cache/purge":
        name_existing_cache(case.body)
    if path == "/v1/unlock":
        return unlock_locked(case)
    if path == "/v1/approvals" and isinstance(case.body, dict) and cases % 5 and not is_negative(case, ParameterLocation.BODY):
        case.body["account"] = APPROVED
    if path.startswith("/v1/logins") and case.method.upper() == "POST":
        return complete_sign_in(case)
    if not case.path_parameters or cases % 5 == 0 or is_negative(case, ParameterLocation.PATH):
        return
    if path.startswith("/v1/accounts/"):
        case.path_parameters["name"] = list(ACCOUNTS)[cases % len(ACCOUNTS)]
    elif path.startswith("/v1/replicas/"):
        case.path_parameters["name"] = ["gw-1", "gw-2"][cases % 2]
    elif path.startswith("/v1/kills/") and kills:
        case.path_parameters["id"] = kills[cases % len(kills)]
    elif path.startswith("/v1/logins/") and sign_ins:
        case.path_parameters["id"] = list(sign_ins.values())[cases % len(sign_ins)]


def complete_sign_in(case):
    """An address of a browser can't be made up: the gateway refuses each that is not its sign-in's. So the provider makes it."""
    if is_negative(case, ParameterLocation.BODY, ParameterLocation.PATH) or not isinstance(case.body, dict):
        return
    if case.path_parameters:
        operator.tidy()
        begun = operator.ask("POST", "/v1/logins", {"account": IMPORTED[0], "way": "paste"})
        case.path_parameters["id"], case.body["answer"] = begun["id"], operator.approve(begun["url"])
        return
    if cases % 5:
        case.body["account"] = list(ACCOUNTS)[cases % len(ACCOUNTS)]
    case.body["redirect_uri"] = f"http://127.0.0.1:{LISTENER}/callback" if case.body.get("way") == "loopback" else None


def name_existing_scope(order):
    """Otherwise nearly every order is for an account that is unknown, and what else is wrong with it goes unnoticed."""
    scope = order.get("scope") if isinstance(order, dict) else None
    name = scope.get("account") if isinstance(scope, dict) and len(scope) == 1 else None
    if isinstance(name, str) and len(name) <= 64 and name.isprintable():
        scope["account"] = list(ACCOUNTS)[cases % len(ACCOUNTS)]


def kill_scope(order):
    """Only what is killed can be revived."""
    scope = order.get("scope") if isinstance(order, dict) else None
    try:
        operator.ask("POST", "/v1/kill", {"scope": scope, "reason": "the next case revives it"})
    except urllib.error.HTTPError:
        # Nobody has that account or provider.
        pass


def name_existing_cache(order):
    """As above, for a route and an account. Each route has the name of its account."""
    for member in ("route", "account"):
        name = order.get(member) if isinstance(order, dict) else None
        if isinstance(name, str) and len(name) <= 64 and name.isprintable():
            order[member] = list(ACCOUNTS)[cases % len(ACCOUNTS)]


def unlock_locked(case):
    """A gateway that is open refuses each unlock, and a key that was made up opens nothing."""
    if is_negative(case, ParameterLocation.BODY):
        return
    operator.lock()
    if isinstance(case.body, dict) and cases % 2:
        case.body.clear()


def sign_in_and_out(case):
    """Random tokens are wrong, and a wrong one costs the time that the gateway lets a guesser wait."""
    if not is_negative(case, ParameterLocation.HEADER) and cases % 5:
        case.headers["Origin"] = admin
        if case.method.upper() == "DELETE" and session:
            case.headers["Martlet-Session"], case.headers["Cookie"] = session["key"], session["cookie"]
    if case.method.upper() == "POST" and not is_negative(case, ParameterLocation.BODY) and cases % 3:
        case.body = {"token": presented}


@schemathesis.hook
def after_call(context, case, response):
    global changes
    path, method = case.operation.path, case.method.upper()
    if path == "/session" and method == "POST" and response.status_code == 200:
        session.update(key=response.json()["key"], cookie=response.headers["set-cookie"][0].split(";")[0])
    if path == "/v1/kill" and response.status_code == 200:
        kills[:] = [*kills[-3:], response.json()["id"]]
    if path in ("/v1/lock", "/v1/unlock") and method == "POST":
        operator.unlock()
    if path == "/v1/logins" and response.status_code == 200:
        sign_ins[response.json()["account"]] = response.json()["id"]
    # A purge leaves nothing behind that a later case would meet.
    if not path.startswith("/v1/") or path == "/v1/cache/purge" or method in ("GET", "HEAD") or not 200 <= response.status_code < 300:
        return
    changes += 1
    if changes % CHANGES == 0:
        operator.tidy()


@schemathesis.check
def import_rejection(context, response, case):
    """A request to import that is wrong elsewhere than in its lines is refused whole."""
    if case.operation.path == "/v1/imports" and response.status_code == 200 and is_negative(case, ParameterLocation.QUERY):
        raise AssertionError("the query is not as described, and the import is answered with 200")


@schemathesis.check
def role_conformance(context, response, case):
    """A request is refused for its role exactly where the description names a higher one."""
    needed = case.operation.definition.raw.get("x-martlet-role")
    if needed is None or case.meta is None or case.meta.generation.mode.is_negative or case.method.lower() != case.operation.method.lower():
        return
    is_refused = response.status_code == 403
    if is_refused == (needed in RIGHTS[role]):
        raise AssertionError(f"needs {needed}, was sent by a {role}, and the answer is {response.status_code}")


try:
    operator.tidy()
except urllib.error.HTTPError as error:
    raise SystemExit(f"{error.url}: {error.code} {error.read().decode()}") from None
