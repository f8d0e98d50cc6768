"""Checks of what was recorded: each refresh token is spent once, or a second time only for a permitted reason."""

import collections

from faulting.cluster import DEAD, REFRESHED
from faulting.load import unserved
from harness.checks import Check, equals

# The longest time from the end of an exchange to its commit, in seconds: two writes that wait for the write lock.
COMMIT_SECONDS = 2
# How many seconds each process has to serve each account in the end. A request may wait for its token meanwhile.
SERVED_SECONDS = 20


def counted(what, value):
    return Check(what, str(value), "-", True)


def spent_twice(cluster):
    """Returns the uses of each refresh token that was sent more than once."""
    return {token: uses for token, uses in cluster.provider.recorder.by_token().items() if len(uses) > 1}


def note_uses(cluster, uses, why):
    began = cluster.history.began
    words = ", ".join(f"{use.boot} at {use.at - began:.3f} s" + (
        f" ({use.status} at {use.answered - began:.3f} s)" if use.answered else " (no answer)") for use in uses)
    lines = [f"{uses[0].account}'s refresh token {uses[0].token} was spent {why}: {words}"]
    near = range(int(uses[0].at) - 3, int(uses[-1].at) + 4)
    for gateway in cluster.gateways:
        lines += [f"    {at - began:9.3f} s  {boot} was killed" for boot, at in gateway.kills.items() if int(at) in near]
    lines += [f"    {line['at'] - began:9.3f} s  {line['process']}: {line.get('message')}" for line in cluster.log_lines()
              if line.get("account.name") == uses[0].account and int(line["at"]) in near]
    cluster.history.find("\n".join(lines))


async def once_each(cluster, name=""):
    """Checks, by the provider's statistics and by the recorder, that no refresh token was sent twice."""
    stats = await cluster.provider.stats()
    twice = spent_twice(cluster)
    for uses in list(twice.values())[:20]:
        note_uses(cluster, uses, "more than once")
    most = max((count for counts in stats["refresh_token_uses"].values() for count in counts), default=0)
    return [counted(name + "refreshes", stats["token_requests"]["ok"]),
            equals(name + "most uses of a refresh token", most, 1),
            equals(name + "refresh tokens that the recorder saw twice", len(twice), 0),
            equals(name + "reuse detections", stats["reuse_detections"], 0)]


async def nothing_lost(cluster, name="", within=SERVED_SECONDS):
    """Checks that no account was declared dead, each refresh token was sent once, and each process serves each account."""
    left = await unserved(cluster, cluster.accounts, within)
    for process, account in left[:20]:
        cluster.history.note(f"{account} is not served by {process} in the end")
    return [equals(name + "accounts declared dead", len(await cluster.dead() | set(events(cluster))), 0),
            equals(name + "accounts that a process does not serve in the end", len({account for _, account in left}), 0),
            *await once_each(cluster, name)]


def acknowledged(cluster):
    """Returns, for each account, the token generations that a process has logged as committed."""
    told = collections.defaultdict(list)
    for line in cluster.log_lines(REFRESHED):
        told[line["account.name"]].append(line["token.generation"])
    return told


async def forgotten(cluster, accounts):
    """Returns the accounts with a commit that was acknowledged and is lost. Each commit increments the generation, so after a lost
    commit a generation would be used twice or be missing at the end."""
    told, states = acknowledged(cluster), await cluster.states()
    lost = [name for name in accounts if len(set(told[name])) < len(told[name]) or states[name]["generation"] < max(told[name], default=0)]
    for name in lost[:20]:
        cluster.history.find(f"{name} is at generation {states[name]['generation']}, and {told[name]} were acknowledged")
    return lost


class Commits:
    """When each process logged that it refreshed an account."""

    def __init__(self, cluster):
        self.lines = collections.defaultdict(list)
        for line in cluster.log_lines(REFRESHED):
            self.lines[line["process"], line.get("account.name")].append(line["at"])

    def after(self, use, until):
        # Log times are rounded to milliseconds, hence the tolerance.
        return any(use.at - 0.002 <= at <= until for at in self.lines[use.process, use.account])

    def of(self, process):
        """Returns when a process committed, in no order."""
        return [at for (name, _), times in self.lines.items() if name == process for at in times]


def explained_by_kill(cluster, use, second, commits):
    """Returns when the process that spent the token was killed, if the kill explains the `second` use: it came after the POST was
    sent, before the response was committed and before the second use. Otherwise returns None."""
    gateway = next(one for one in cluster.gateways if one.name == use.process)
    killed = gateway.kills.get(use.boot)
    # The recorder may read a request shortly after the process that sent it has ended.
    is_within = killed is not None and killed - 0.05 <= second.at and killed <= (use.answered or use.at) + COMMIT_SECONDS
    return killed if is_within and not commits.after(use, killed) else None


def events(cluster):
    """Returns how often each account was declared dead."""
    return collections.Counter(line.get("account.name") for line in cluster.log_lines(DEAD))


def deaths(cluster):
    """Returns which accounts are dead according to the logs of all processes, and which were declared dead again while they were
    dead. An account that a late success revived may be declared dead a second time."""
    again, told = set(), set()
    for line in cluster.log_lines():
        account = line.get("account.name")
        if line.get("message") == REFRESHED:
            told.discard(account)
        elif line.get("message", "").startswith(DEAD):
            if account in told:
                again.add(account)
            told.add(account)
    return told, again


def one_event_each(cluster, dead):
    """Checks that each dead account has one event and each living account has none."""
    told, again = deaths(cluster)
    wrong = sorted(told ^ dead | again)
    for name in wrong[:20]:
        cluster.history.note(f"{name} is {'dead' if name in dead else 'alive'} with {events(cluster)[name]} events")
    return equals("accounts without exactly one event for their death", len(wrong), 0)
