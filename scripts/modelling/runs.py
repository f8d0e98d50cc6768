"""What is run: the configurations of the model that are searched, and the mutants that must be caught."""

import typing


class Run(typing.NamedTuple):
    """One search. `breaks` names the invariants one of which a mutant must break; none for what must hold."""

    name: str
    says: str
    replicas: int
    accounts: int
    entries: int
    defines: tuple[str, ...]
    breaks: tuple[str, ...] = ()
    is_bitstate: bool = False


RUNS = [
    Run("leases", "I3 I4: joining, polls, leases, the end of a replica, a kill that waits; a stop within a lease longer by it",
        3, 2, 1, ("KILLS", "SORTED", "LEASE=1")),
    Run("heads", "I3 I4 I6: the same, with check and write as two steps",
        3, 1, 1, ("KILLS", "HEADS", "LEASE=1")),
    Run("log", "I3 I4: two kills at once, revivals, imports",
        2, 1, 2, ("KILLS", "SORTED", "KILLERS=2", "LEASE=1")),
    Run("flights", "I1 I2 I5: claims, POSTs, commits, sweeps, under kills, revivals and an import",
        3, 1, 2, ("FLIGHTS", "G=2")),
    Run("entries", "I1 I2 I5: the same with a longer log and one generation",
        3, 1, 3, ("FLIGHTS", "G=1")),
    Run("whole", "I1 to I6: all of it at once, as far as a minute goes",
        2, 1, 3, ("KILLS", "HEADS", "FLIGHTS", "G=2"), is_bitstate=True),
    Run("largest", "I1 to I6: the same, for all replicas and accounts",
        3, 2, 3, ("KILLS", "HEADS", "FLIGHTS", "KILLERS=2", "G=2"), is_bitstate=True),
    Run("no-stamp", "a commit stamps its tokens with the log of that moment",
        2, 1, 2, ("FLIGHTS", "NO_STAMP"), breaks=("I5",)),
    Run("no-wait", "a kill takes who has not acknowledged for gone",
        2, 1, 1, ("KILLS", "NO_WAIT"), breaks=("I3", "I4")),
    Run("list-first", "a kill lists the replicas before its entry is durable",
        2, 1, 1, ("KILLS", "LIST_FIRST"), breaks=("I3", "I4")),
    Run("no-tick", "the fence and its acknowledgement may come between a check and its write",
        2, 1, 1, ("KILLS", "HEADS", "NO_TICK"), breaks=("I3",)),
    Run("late-lease", "a lease runs from when the log was read, not from when the read was sent",
        2, 1, 1, ("KILLS", "HEADS", "LATE_LEASE"), breaks=("I3", "I4", "I6")),
    Run("late-send", "a POST may begin however long ago its claim was sent",
        2, 1, 1, ("FLIGHTS", "LATE_SEND"), breaks=("I1",)),
    Run("blind-commit", "a commit does not look whether the record is the one that was claimed",
        2, 1, 1, ("FLIGHTS", "BLIND_COMMIT"), breaks=("I2",)),
    Run("long-pause", "no mutant, but the limit: a process is stopped between check and write for longer than the second",
        2, 1, 1, ("KILLS", "HEADS", "LONG_PAUSE"), breaks=("I3", "I6")),
]
