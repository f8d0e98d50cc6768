"""The runs: the configurations of the model to search, and the mutants that the search must catch."""

import typing


class Run(typing.NamedTuple):
    """One search. A mutant must break one of the invariants in `breaks`; a run with an empty `breaks` must find no error.

    flights.pml has no kill log, and so its runs have no entries.
    """

    name: str
    says: str
    replicas: int
    accounts: int
    entries: int
    defines: tuple[str, ...]
    breaks: tuple[str, ...] = ()
    is_bitstate: bool = False
    model: str = "martlet.pml"


def kills(name, says, *defines, replicas=2, entries=1, breaks=()):
    """A kill on a store that does not keep its guarantees."""
    return Run(name, says, replicas, 1, entries, defines, breaks, model="kills.pml")


def flights(name, says, *defines, breaks=()):
    """Flights on a store that does not keep its guarantees."""
    return Run(name, says, 2, 1, 0, defines, breaks, model="flights.pml")


def stamps(name, says, *defines, breaks=()):
    """Which tokens a kill reaches, on a store that does not keep its guarantees."""
    return Run(name, says, 1, 1, 3, defines, breaks, model="stamps.pml")


RUNS = [
    Run("leases", "I3 I4: joins, polls, leases, the end of a replica, a kill that waits; the lease includes the pause before a write",
        3, 2, 1, ("KILLS", "SORTED", "LEASE=1")),
    Run("heads", "I3 I4 I6: as leases, with check and write as two steps",
        3, 1, 1, ("KILLS", "HEADS", "LEASE=1")),
    Run("log", "I3 I4: two kills at once, revivals, imports",
        2, 1, 2, ("KILLS", "SORTED", "KILLERS=2", "LEASE=1")),
    Run("flights", "I1 I2 I5: claims, POSTs, commits, sweeps, under kills, revivals and an import",
        3, 1, 2, ("FLIGHTS", "G=2")),
    Run("entries", "I1 I2 I5: as flights, with a longer log and one generation",
        3, 1, 3, ("FLIGHTS", "G=1")),
    Run("whole", "I1 to I6: all parts of the model together, searched for a minute",
        2, 1, 3, ("KILLS", "HEADS", "FLIGHTS", "G=2"), is_bitstate=True),
    Run("largest", "I1 to I6: as whole, with all replicas and accounts",
        3, 2, 3, ("KILLS", "HEADS", "FLIGHTS", "KILLERS=2", "G=2"), is_bitstate=True),
    Run("no-stamp", "a commit stamps its tokens with the log at the time of the commit",
        2, 1, 2, ("FLIGHTS", "NO_STAMP"), breaks=("I5",)),
    Run("no-wait", "a kill treats replicas that have not acknowledged as gone",
        2, 1, 1, ("KILLS", "NO_WAIT"), breaks=("I3", "I4")),
    Run("list-first", "a kill lists the replicas before its entry is durable",
        2, 1, 1, ("KILLS", "LIST_FIRST"), breaks=("I3", "I4")),
    Run("no-tick", "a fence and its acknowledgement may come between a check and its write",
        2, 1, 1, ("KILLS", "HEADS", "NO_TICK"), breaks=("I3",)),
    Run("late-lease", "a lease counts from when the log was read, not from when the read was sent",
        2, 1, 1, ("KILLS", "HEADS", "LATE_LEASE"), breaks=("I3", "I4", "I6")),
    Run("late-send", "a POST may begin at any time after its claim was sent",
        2, 1, 1, ("FLIGHTS", "LATE_SEND"), breaks=("I1",)),
    Run("blind-commit", "a commit does not check whether the record is the one that was claimed",
        2, 1, 1, ("FLIGHTS", "BLIND_COMMIT"), breaks=("I2",)),
    Run("long-pause", "a limit, not a mutant: a process is stopped for more than a second between check and write",
        2, 1, 1, ("KILLS", "HEADS", "LONG_PAUSE"), breaks=("I3", "I6")),

    # A store that does not keep its guarantees. First the runs that must find no error.
    kills("stale-kills", "I3 I4: reads of the store are stale",
          "STALE_READ", "POLLS=2", replicas=3),
    kills("late-kills", "I3 I4: reads are stale, and writes take effect late",
          "STALE_READ", "LATE_WRITE"),
    kills("lost-kills", "I3 I4, except for what was lost: a suffix is lost, reads are stale, and writes take effect late",
          "LOST_SUFFIX", "STALE_READ", "LATE_WRITE", "POLLS=2"),
    kills("lost-log", "I3 I4, except for what was lost: a suffix is lost, and the log diverges",
          "LOST_SUFFIX", "POLLS=2", entries=2),
    kills("false-kills", "I3 I4: a replica on another host gets the lock of a running process",
          "FALSE_DEATH"),
    flights("stale-flights", "I1 I2: reads of the store are stale",
            "STALE_READ"),
    flights("late-flights", "I1 I2: writes take effect late",
            "LATE_WRITE"),
    flights("stale-late-flights", "I1 I2: reads are stale, and a write takes effect late",
            "STALE_READ", "LATE_WRITE", "LATES=1", "G=1"),
    flights("lost-flights", "I1 except for a lost claim, I2: a suffix is lost",
            "LOST_SUFFIX"),
    flights("stale-lost-flights", "I1 except for a lost claim, I2: a suffix is lost, and reads are stale",
            "LOST_SUFFIX", "STALE_READ", "G=1"),
    flights("journals", "I1 except for a lost claim, I2: journals are taken over, and a suffix is lost",
            "JOURNAL", "LOST_SUFFIX", "G=1"),
    flights("false-flights", "I1 I2: a replica on another host gets the lock of a running process",
            "FALSE_DEATH", "JOURNAL"),
    stamps("adoptions", "I5: adoptions, and reads of the log are stale",
           "STALE_READ"),
    stamps("lost-stamps", "I5: adoptions, reads of the log are stale, and a suffix is lost",
           "LOST_SUFFIX", "STALE_READ"),

    # Mutants: the former rules, which assume a store that keeps its guarantees.
    kills("read-lease", "STALE_READ: a read of the log gives a lease",
          "STALE_READ", "READ_LEASE", breaks=("I3", "I4")),
    kills("silence", "STALE_READ: a silent replica counts as lapsed, without a compare-and-set",
          "STALE_READ", "SILENCE", breaks=("I3", "I4")),
    kills("no-restore", "LOST_SUFFIX: a replica renews its lease although the log lacks entries that it knows",
          "LOST_SUFFIX", "NO_RESTORE", breaks=("I3",)),
    kills("any-lock", "FALSE_DEATH: a lock proves a replica's end under any kernel boot",
          "FALSE_DEATH", "ANY_LOCK", breaks=("I3", "I4")),
    flights("stale-go", "STALE_READ: a flight uses any record that it reads",
            "STALE_READ", "NO_REPAIR", breaks=("I2",)),
    flights("no-repair", "LOST_SUFFIX: a flight uses any record that it reads",
            "LOST_SUFFIX", "NO_REPAIR", breaks=("I2",)),
    flights("any-claim-lock", "FALSE_DEATH: a lock proves a claim's end under any kernel boot",
            "FALSE_DEATH", "ANY_LOCK", breaks=("I1",)),

    # Mutants without one rule.
    kills("blind-expel", "a replica is expelled at any version of its record",
          "STALE_READ", "BLIND_EXPEL", breaks=("I3", "I4")),
    kills("unanswered-lease", "a heartbeat that got no reply gives a lease",
          "STALE_READ", "LATE_WRITE", "UNANSWERED_LEASE", breaks=("I3", "I4")),
    kills("join-found", "a replica that finds its record, through a write that got no reply, reads the log at once",
          "STALE_READ", "LATE_WRITE", "JOIN_FOUND", breaks=("I3", "I4")),
    kills("record-found", "a heartbeat that finds another version of its record continues with that version and the log already read",
          "LOST_SUFFIX", "LATE_WRITE", "POLLS=2", "RECORD_FOUND", breaks=("I3", "I4")),
    kills("same-version", "the version of a replica's record is the previous version plus one",
          "LOST_SUFFIX", "LATE_WRITE", "POLLS=2", "SEQUENTIAL", breaks=("I3", "I4")),
    kills("list-early", "the waiter lists the replicas before it has written anything since it read the kill",
          "STALE_READ", "LIST_EARLY", breaks=("I3", "I4")),
    kills("list-once", "the waiter does not list the replicas again after the kill was lost and written back",
          "LOST_SUFFIX", "LIST_ONCE", breaks=("I3", "I4")),
    kills("ack-number", "an acknowledgement is a number and does not name its log",
          "LOST_SUFFIX", "ACK_NUMBER", "POLLS=2", entries=2, breaks=("I3", "I4")),
    flights("late-claim", "the lifetime of a claim counts from when it was found",
            "LATE_WRITE", "CLAIM_FROM_READ", breaks=("I1",)),
    flights("blind-claim", "a flight does not read a claim that got no reply again before it sends the POST",
            "LATE_WRITE", "BLIND_CLAIM", breaks=("I1",)),
    flights("send-old", "a flight sends a refresh token even if a later generation is known",
            "LOST_SUFFIX", "SEND_OLD", breaks=("I2",)),
    flights("land-lower", "a replica adopts what its own flight has written, whatever it knew",
            "LOST_SUFFIX", "LAND_LOWER", breaks=("I2",)),
    flights("sequential", "the version of an account's record is the previous version plus one",
            "LOST_SUFFIX", "SEQUENTIAL", breaks=("I1", "I2")),
    flights("break-first", "a claim is broken before the journal of its holder is taken over",
            "JOURNAL", "G=1", "BREAK_FIRST", breaks=("I2",)),
    flights("any-generation", "a journal is committed over any generation",
            "JOURNAL", "G=1", "ANY_GENERATION", breaks=("I2",)),
    stamps("forget-former", "an adoption forgets the previous provider",
           "FORGET_FORMER", breaks=("I5",)),
    stamps("forget-history", "a commit over an adopted record forgets the adoption",
           "FORGET_HISTORY", breaks=("I5",)),
    stamps("repair-whole", "a repair over an adopted record forgets the adoption",
           "LOST_SUFFIX", "REPAIR_WHOLE", breaks=("I5",)),
    stamps("restamp", "a repair gets a new stamp",
           "LOST_SUFFIX", "RESTAMP", breaks=("I5",)),
    stamps("number-stamp", "a stamp is a number without the id of its entry",
           "LOST_SUFFIX", "NUMBER_STAMP", breaks=("I5",)),

    # Limits: the model without one of the excuses above.
    kills("lost-kill", "a limit, not a mutant: a complete kill was lost, and a replica polls before one that knows the kill",
          "LOST_SUFFIX", "STRICT_KILL", breaks=("I3",)),
    kills("lost-join", "a limit, not a mutant: the record of a replica was lost while it has its lease",
          "LOST_SUFFIX", "STRICT_JOIN", breaks=("I4",)),
    flights("lost-claim", "a limit, not a mutant: a claim was lost, and another replica sends the refresh token too",
            "LOST_SUFFIX", "STRICT_CLAIM", breaks=("I1",)),
]
