"""What is run: the configurations of the model that are searched, and the mutants that must be caught."""

import typing


class Run(typing.NamedTuple):
    """One search. `breaks` names the invariants one of which a mutant must break; none for what must hold.

    The kill log counts for nothing in flights.pml: there are no entries.
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
    """A kill on a store that does not keep its word."""
    return Run(name, says, replicas, 1, entries, defines, breaks, model="kills.pml")


def flights(name, says, *defines, breaks=()):
    """Flights on such a store."""
    return Run(name, says, 2, 1, 0, defines, breaks, model="flights.pml")


def stamps(name, says, *defines, breaks=()):
    """Which tokens a kill reaches, on such a store."""
    return Run(name, says, 1, 1, 3, defines, breaks, model="stamps.pml")


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

    # A store that does not keep its word. First what must hold on it.
    kills("stale-kills", "I3 I4: reads of the store are stale",
          "STALE_READ", "POLLS=2", replicas=3),
    kills("late-kills", "I3 I4: reads are stale, and writes land late",
          "STALE_READ", "LATE_WRITE"),
    kills("lost-kills", "I3 I4, but for what was lost: a suffix is lost, reads are stale, and writes land late",
          "LOST_SUFFIX", "STALE_READ", "LATE_WRITE", "POLLS=2"),
    kills("lost-log", "I3 I4, but for what was lost: a suffix is lost, and the log goes another way",
          "LOST_SUFFIX", "POLLS=2", entries=2),
    kills("false-kills", "I3 I4: the lock of a process that runs is got on another host",
          "FALSE_DEATH"),
    flights("stale-flights", "I1 I2: reads of the store are stale",
            "STALE_READ"),
    flights("late-flights", "I1 I2: writes land late",
            "LATE_WRITE"),
    flights("stale-late-flights", "I1 I2: reads are stale, and a write lands late",
            "STALE_READ", "LATE_WRITE", "LATES=1", "G=1"),
    flights("lost-flights", "I1 but for a lost claim, I2: a suffix is lost",
            "LOST_SUFFIX"),
    flights("stale-lost-flights", "I1 but for a lost claim, I2: a suffix is lost, and reads are stale",
            "LOST_SUFFIX", "STALE_READ", "G=1"),
    flights("journals", "I1 but for a lost claim, I2: journals are taken over, and a suffix is lost",
            "JOURNAL", "LOST_SUFFIX", "G=1"),
    flights("false-flights", "I1 I2: the lock of a process that runs is got on another host",
            "FALSE_DEATH", "JOURNAL"),
    stamps("adoptions", "I5: adoptions, and reads of the log are stale",
           "STALE_READ"),
    stamps("lost-stamps", "I5: adoptions, reads of the log are stale, and a suffix is lost",
           "LOST_SUFFIX", "STALE_READ"),

    # The rules as they were.
    kills("read-lease", "STALE_READ: a read of the log is a lease",
          "STALE_READ", "READ_LEASE", breaks=("I3", "I4")),
    kills("silence", "STALE_READ: who is silent has lapsed, without a compare-and-set",
          "STALE_READ", "SILENCE", breaks=("I3", "I4")),
    kills("no-restore", "LOST_SUFFIX: a lease is renewed though the log lacks what is known",
          "LOST_SUFFIX", "NO_RESTORE", breaks=("I3",)),
    kills("any-lock", "FALSE_DEATH: a lock proves a replica's end under any kernel boot",
          "FALSE_DEATH", "ANY_LOCK", breaks=("I3", "I4")),
    flights("stale-go", "STALE_READ: a flight goes by whatever record was read",
            "STALE_READ", "NO_REPAIR", breaks=("I2",)),
    flights("no-repair", "LOST_SUFFIX: a flight goes by whatever record was read",
            "LOST_SUFFIX", "NO_REPAIR", breaks=("I2",)),
    flights("any-claim-lock", "FALSE_DEATH: a lock proves a claim's end under any kernel boot",
            "FALSE_DEATH", "ANY_LOCK", breaks=("I1",)),

    # Without one rule.
    kills("blind-expel", "a replica is expelled at whatever version stands",
          "STALE_READ", "BLIND_EXPEL", breaks=("I3", "I4")),
    kills("unanswered-lease", "a heartbeat without an answer is a lease",
          "STALE_READ", "LATE_WRITE", "UNANSWERED_LEASE", breaks=("I3", "I4")),
    kills("join-found", "a replica that finds its record, by a write without an answer, reads the log at once",
          "STALE_READ", "LATE_WRITE", "JOIN_FOUND", breaks=("I3", "I4")),
    kills("record-found", "a heartbeat that finds another version of its record goes on by that, and by the log as it was read",
          "LOST_SUFFIX", "LATE_WRITE", "POLLS=2", "RECORD_FOUND", breaks=("I3", "I4")),
    kills("same-version", "the version of a replica's record is the one before, and one",
          "LOST_SUFFIX", "LATE_WRITE", "POLLS=2", "SEQUENTIAL", breaks=("I3", "I4")),
    kills("list-early", "the replicas are listed before an own write since the kill was read",
          "STALE_READ", "LIST_EARLY", breaks=("I3", "I4")),
    kills("list-once", "the replicas are not listed anew where the kill was lost meanwhile and is back",
          "LOST_SUFFIX", "LIST_ONCE", breaks=("I3", "I4")),
    kills("ack-number", "an acknowledgement is a number, of whatever log",
          "LOST_SUFFIX", "ACK_NUMBER", "POLLS=2", entries=2, breaks=("I3", "I4")),
    flights("late-claim", "a claim's time counts from when it was found",
            "LATE_WRITE", "CLAIM_FROM_READ", breaks=("I1",)),
    flights("blind-claim", "a claim without an answer is not read again before a send",
            "LATE_WRITE", "BLIND_CLAIM", breaks=("I1",)),
    flights("send-old", "a refresh token is sent whatever is known by then",
            "LOST_SUFFIX", "SEND_OLD", breaks=("I2",)),
    flights("land-lower", "a replica goes by what its own flight has written, whatever it knew",
            "LOST_SUFFIX", "LAND_LOWER", breaks=("I2",)),
    flights("sequential", "the version of an account's record is the one before, and one",
            "LOST_SUFFIX", "SEQUENTIAL", breaks=("I1", "I2")),
    flights("break-first", "a claim is broken before the journal of its holder is taken over",
            "JOURNAL", "G=1", "BREAK_FIRST", breaks=("I2",)),
    flights("any-generation", "a journal is committed whatever generation is there",
            "JOURNAL", "G=1", "ANY_GENERATION", breaks=("I2",)),
    stamps("forget-former", "an adoption forgets the provider before",
           "FORGET_FORMER", breaks=("I5",)),
    stamps("forget-history", "a commit over an adopted record forgets the adoption",
           "FORGET_HISTORY", breaks=("I5",)),
    stamps("repair-whole", "a repair over an adopted record forgets the adoption",
           "LOST_SUFFIX", "REPAIR_WHOLE", breaks=("I5",)),
    stamps("restamp", "a repair has a new stamp",
           "LOST_SUFFIX", "RESTAMP", breaks=("I5",)),
    stamps("number-stamp", "a stamp is a number, of whatever log",
           "LOST_SUFFIX", "NUMBER_STAMP", breaks=("I5",)),

    # No mutants, but limits: what is excused above.
    kills("lost-kill", "no mutant, but the limit: a complete kill was lost, and a replica polls before who knows it",
          "LOST_SUFFIX", "STRICT_KILL", breaks=("I3",)),
    kills("lost-join", "no mutant, but the limit: a replica's joining was lost, and it has its lease",
          "LOST_SUFFIX", "STRICT_JOIN", breaks=("I4",)),
    flights("lost-claim", "no mutant, but the limit: a claim was lost, and another asks too",
            "LOST_SUFFIX", "STRICT_CLAIM", breaks=("I1",)),
]
