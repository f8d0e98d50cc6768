/*
 * A kill on a store that several hosts share and that does not keep its guarantees, for Spin. scripts/model runs it; Model.md
 * describes it. martlet.pml models the kill switch on a store that keeps its guarantees.
 *
 * Replica 0 waits for kill 1. Kill 1 was raised by replica 0, or by another process that is not modelled. The other replicas
 * join, poll, renew their leases and die. Another process raises kill 2, which only makes the log diverge.
 *
 * store.pml lists the faults of the store.
 *
 * The rules:
 * - A lease is a heartbeat. The lease exists once the replica's own record is written, and counts from when the poll began.
 * - A replica has lapsed only when it was expelled at the version that the waiter was watching.
 * - An expelled replica joins again before it gets a lease. Its first read of the log comes after an acknowledged write of
 *   its own. If the replica finds its record there already, through a write that got no reply, it writes the record again.
 *   If it finds the record in another version than it knows, it writes the record again and then reads the log again.
 * - No two writes of a record have the same version, even when a suffix was lost between them.
 * - If the log lacks entries that a replica knows, the replica writes them back before it renews its lease. A log that
 *   diverges from the known one ends the lease. Each write of an entry uses a new version.
 * - The waiter lists the replicas after one of its own writes was acknowledged since it read the kill. The waiter lists them
 *   again if the entry has another version in the end, since the entry was lost in between.
 * - An acknowledgement names the log that it belongs to, and counts only if that log contains this kill.
 * - A lock proves the end of a process only under the same kernel boot.
 *
 * Mutants, each without one rule: READ_LEASE (a read gives a lease, as on one host); SILENCE (silence alone counts as a
 * lapse); BLIND_EXPEL (expels at any version); UNANSWERED_LEASE (a heartbeat that got no reply gives a lease); JOIN_FOUND (a
 * record that the replica finds is not written again); RECORD_FOUND (a heartbeat continues with the version that it finds);
 * SEQUENTIAL (a version is the previous version plus one); NO_RESTORE; LIST_EARLY (lists before the waiter's own write);
 * LIST_ONCE (ignores the version of the entry); ACK_NUMBER (an acknowledgement is only the number of entries); ANY_LOCK.
 *
 * What is excused when a suffix is lost:
 * - `lostKill`: the entry of a kill that was reported complete is lost. A lease is excused if its read of the log came before
 *   the first lease, since the loss, of a replica that knows the kill. STRICT_KILL excuses only leases granted while no live
 *   replica knows the kill.
 * - `lostJoin`: the record of a replica is lost. The lease that this replica has is excused. STRICT_JOIN does not excuse it.
 *
 * Not modelled: heads, requests, event loops and revivals, which are in martlet.pml; the copy in `state_dir`; two waiters. A
 * process makes at most POLLS polls and joins at most twice. A failed poll is one that makes no further step.
 */

#include "store.pml"

#ifndef POLLS
#define POLLS 3
#endif
#ifndef LASTS
#define LASTS 1                 /* a lease in ticks, for its holder; it includes the pause between a check and its write */
#endif
#define WAIT (LASTS + 1)        /* a lease in ticks, for the waiter that watches it */
#define M 2                     /* memberships of a process; each has its own record */
#define KEY(r, m) ((r) * M + (m))

/* ---- The store */

byte at[STATES * K];            /* the kill log; 0: no entry */
byte entryVersion[STATES * K];  /* each write of an entry uses a new version */
byte writes;
byte record[STATES * N * M];    /* versions of the replicas' records; 0: no record */
byte drawn[N * M];              /* the last version drawn; each write of a record uses a new one */
byte acknowledged[STATES * N * M];      /* the log that the writer of the record knew: see LOG */
bit expelled[STATES * N * M];

/* The version of the next write. */
#ifdef SEQUENTIAL
#define DRAW(k) (record[k] + 1)
#define TAKE(k) skip
#else
#define DRAW(k) (drawn[k] + 1)
#define TAKE(k) drawn[k]++
#endif

#ifdef LATE_WRITE
mtype = { nothing, aRecord, anEntry };
byte lates;
#define MAY_BE_LATE (late == nothing && lates < LATES)
mtype late;                     /* a late write that is pending and may still take effect */
byte lateKey, lateExpects, lateVersion, lateAcknowledged;
bit lateExpelled;
#endif

byte i, j, x;                   /* used within a step, 0 between steps */

/* ---- Replicas */

mtype = { runs, died };
mtype life[N];
#ifdef FALSE_DEATH
bit isElsewhere[N];             /* it runs under another kernel boot than replica 0 */
#endif
mtype = { rests, joining, sent, hasRead, fenced };
mtype poll[N];
byte left[N];                   /* polls left */
byte member[N];                 /* 0: not a member, else 1 + the number of the membership */
byte memberships[N];            /* the memberships so far */
byte version[N];                /* the version of its own record, as the replica knows it */
byte known[N * K];              /* the log that this process has adopted */
byte readLog[N * K];            /* the log that a poll has read */
byte lease[N];                  /* ticks left; unused for replica 0 */
byte newLease[N];
bit raised[K];

#define LAST(r) ((K > 1 && known[(r) * K + K - 1] != 0) -> K : (known[(r) * K] != 0))
#if K > 1
#define LOG(r) (known[(r) * K] + 4 * known[(r) * K + 1])
#define COUNT(log) (((log) > 0) + ((log) > 3))
#define ENTRY(log, n) ((n) == 1 -> (log) % 4 : (log) / 4)
#define KNOWS(r) (known[(r) * K] == 1 || known[(r) * K + 1] == 1)
#define EPOCH (known[0] == 1 -> 1 : 2)
#define STANDS (at[0] == 1 || at[1] == 1)
#define STOOD (at[K] == 1 || at[K + 1] == 1)
#else
#define LOG(r) (known[r])
#define COUNT(log) (log)
#define ENTRY(log, n) (log)
#define KNOWS(r) (known[r] == 1)
#define EPOCH 1
#define STANDS (at[0] == 1)
#define STOOD (at[K] == 1)
#endif

/* ---- The state of the waiter */

bit isListed;
byte listedUnder;               /* the version of the entry at that time */
bit isDone[N * M];
byte watched[N * M];            /* the version of the record that the waiter is watching */
byte timer[N * M];
byte said;                      /* how far replica 0 has reported, in an acknowledged write, that it is fenced */
bit complete;

/* Ghosts */
bit lostKill;
bit lostJoin[N];
bit isAfterLoss[N];             /* this poll began after the loss */
bit isBack;                     /* a replica that knows the kill has renewed its lease since the loss */
bit hasReadBack[N];             /* the replica has read the log after that renewal */

/* ---- I3 and I4 */

#ifdef STRICT_KILL
#define IS_EXCUSED(r) (lostKill && !(life[0] == runs && KNOWS(0)))
#else
#define IS_EXCUSED(r) (lostKill && !hasReadBack[r])
#endif
#ifdef STRICT_JOIN
#define HAS_LOST_JOIN(r) false
#else
#define HAS_LOST_JOIN(r) lostJoin[r]
#endif

inline grant(r) {
    if
    :: r == 0 -> if :: isAfterLoss[0] && KNOWS(0) -> isBack = 1 :: else fi
    :: else ->
        lease[r] = newLease[r];
        MUST(!complete || lease[r] == 0 || KNOWS(r) || IS_EXCUSED(r),
            "I3 is broken: a replica has a lease and does not know a complete kill\n")
    fi;
    printf("  replica %d has a lease\n", r)
}

inline checkComplete() {
    i = 1;
    do
    :: i < N ->
        MUST(lease[i] == 0 || KNOWS(i) || HAS_LOST_JOIN(i),
            "I4 is broken: a replica has its lease and does not know the kill\n");
        i++
    :: else -> break
    od;
    i = 0
}

/* ---- Time */

proctype Clock() {
end:
    do
    :: d_step {
        printf("  time passes\n");
        i = 1;
        do
        :: i < N ->
            if :: lease[i] > 0 -> lease[i]-- :: else fi;
            if :: newLease[i] > 0 -> newLease[i]-- :: else fi;
            j = 0;
            do
            :: j < M -> if :: isListed && !isDone[KEY(i, j)] && timer[KEY(i, j)] < WAIT -> timer[KEY(i, j)]++ :: else fi; j++
            :: else -> break
            od;
            j = 0;
            i++
        :: else -> break
        od;
        i = 0 }
    od
}

/* ---- Faults of the store */

inline copy(to, from) {
    i = 0;
    do
    :: i < K -> at[to * K + i] = at[from * K + i]; entryVersion[to * K + i] = entryVersion[from * K + i]; i++
    :: else -> break
    od;
    i = 0;
    do
    :: i < N * M ->
        record[to * N * M + i] = record[from * N * M + i];
        acknowledged[to * N * M + i] = acknowledged[from * N * M + i];
        expelled[to * N * M + i] = expelled[from * N * M + i];
        i++
    :: else -> break
    od;
    i = 0
}

#ifdef HAS_PAST
proctype Past() {
end:
    do
    :: d_step { saved == 0 ->
        printf("  this state is kept\n");
        saved = 1;
        copy(PAST, NOW);
        j = 0;
        do
        :: j < N -> hasWritten[j] = 0; j++
        :: else -> break
        od;
        j = 0 }
#ifdef LOST_SUFFIX
    :: d_step { saved == 1 ->
        printf("  the store falls back to the state that was kept\n");
        saved = 2;
        if :: complete && !STOOD -> lostKill = 1 :: else fi;
        j = 1;
        do
        :: j < N ->
            if :: member[j] != 0 && record[N * M + KEY(j, member[j] - 1)] == 0 -> lostJoin[j] = 1 :: else fi;
            j++
        :: else -> break
        od;
        j = 0;
        copy(NOW, PAST);
        do
        :: i < N * M -> record[N * M + i] = 0; acknowledged[N * M + i] = 0; expelled[N * M + i] = 0; i++
        :: else -> break
        od;
        i = 0;
        do
        :: i < K -> at[K + i] = 0; entryVersion[K + i] = 0; i++
        :: else -> break
        od;
        i = 0;
        do
        :: i < N -> hasWritten[i] = 0; i++
        :: else -> break
        od;
        i = 0 }
#endif
    od
}
#endif

#ifdef LATE_WRITE
inline forgetLate() {
    late = nothing; lateKey = 0; lateExpects = 0; lateVersion = 0; lateAcknowledged = 0; lateExpelled = 0
}

proctype Late() {
end:
    do
    :: d_step { late == aRecord ->
        if
        :: record[lateKey] == lateExpects ->
            printf("  a write of replica %d's record lands late\n", lateKey / M);
            record[lateKey] = lateVersion; acknowledged[lateKey] = lateAcknowledged; expelled[lateKey] = lateExpelled
        :: else
        fi;
        forgetLate() }
    :: d_step { late == anEntry ->
        if
        :: at[lateKey] == 0 ->
            printf("  the kill lands late\n");
            at[lateKey] = 1; entryVersion[lateKey] = lateVersion
        :: else
        fi;
        forgetLate() }
    od
}
#endif

/* ---- A replica */

inline rest(r) {
    poll[r] = rests; newLease[r] = 0; isAfterLoss[r] = 0;
    i = 0;
    do
    :: i < K -> readLog[r * K + i] = 0; i++
    :: else -> break
    od;
    i = 0
}

/* The replica was expelled: no waiter waits for it any more. */
inline joinAnew(r) {
    printf("  replica %d is not listed any more\n", r);
    member[r] = 0; version[r] = 0; lease[r] = 0;
    poll[r] = joining
}

inline take(r, state) {
    i = 0;
    do
    :: i < K && at[state * K + i] != 0 -> readLog[r * K + i] = at[state * K + i]; i++
    :: else -> break
    od;
    printf("  replica %d reads the log, which has %d entries\n", r, i);
    do
    :: i < K -> readLog[r * K + i] = 0; i++
    :: else -> break
    od;
    i = 0;
    poll[r] = hasRead
}

/* Sets x to the first entry where the log read and the known log differ, or to K if they don't. */
inline compare(r) {
    x = 0;
    do
    :: x < K && (known[r * K + x] == 0 || known[r * K + x] == readLog[r * K + x]) -> x++
    :: else -> break
    od
}

proctype Replica(byte r) {
end:
    do
    :: d_step { life[r] == runs && poll[r] == rests && left[r] > 0 ->
        printf("  replica %d begins a poll\n", r);
        left[r]--;
#ifdef LOST_SUFFIX
        isAfterLoss[r] = (saved == 2);
#endif
        newLease[r] = (r == 0 -> 0 : LASTS);
        poll[r] = (member[r] == 0 -> joining : sent) }

    /* The replica writes its record. If an earlier write got no reply, the replica may find the record there. */
    :: d_step { life[r] == runs && poll[r] == joining && memberships[r] < M ->
        printf("  replica %d joins\n", r);
        x = KEY(r, memberships[r]);
        if
        :: record[x] == 0 -> record[x] = DRAW(x); TAKE(x); acknowledged[x] = LOG(r); hasWritten[r] = 1
        :: record[x] != 0 && !expelled[x] ->
            printf("  its record is there already\n");
#ifndef JOIN_FOUND
            record[x] = DRAW(x); TAKE(x); acknowledged[x] = LOG(r); hasWritten[r] = 1
#endif
        :: else
        fi;
        if :: expelled[x] -> memberships[r]++ :: else ->
            memberships[r]++; member[r] = memberships[r]; version[r] = record[x]; lostJoin[r] = 0;
            poll[r] = sent
        fi;
        x = 0 }
#ifdef LATE_WRITE
    :: d_step { life[r] == runs && poll[r] == joining && memberships[r] < M && MAY_BE_LATE ->
        printf("  replica %d joins, without an answer\n", r);
        late = aRecord; lates++; lateKey = KEY(r, memberships[r]);
        lateVersion = DRAW(lateKey); TAKE(lateKey); lateAcknowledged = LOG(r);
        rest(r) }
#endif

    /* The replica reads the log. */
    :: d_step { life[r] == runs && poll[r] == sent ->
        hasReadBack[r] = isBack;
        take(r, NOW) }
#ifdef STALE_READ
    :: d_step { life[r] == runs && poll[r] == sent && SEES_PAST(r) ->
        printf("  the read is stale:\n");
        take(r, PAST) }
#endif
    :: d_step { life[r] == runs && poll[r] == hasRead ->
        compare(r);
        if
        :: x == K ->
            do
            :: i < K -> known[r * K + i] = readLog[r * K + i]; readLog[r * K + i] = 0; i++
            :: else -> break
            od;
            i = 0;
            poll[r] = fenced;
            printf("  replica %d is fenced up to %d\n", r, LAST(r));
#ifdef READ_LEASE
            grant(r)
#endif
#ifdef NO_RESTORE
        :: x < K && readLog[r * K + x] == 0 -> poll[r] = fenced
#endif
        :: x < K && (readLog[r * K + x] != 0 || (at[x] != 0 && at[x] != known[r * K + x])) ->
            printf("  the log is not the one that replica %d went by\n", r);
            lease[r] = 0; rest(r)
        :: else ->
            if
            :: at[x] == 0 ->
                printf("  replica %d writes entry %d back\n", r, x + 1);
                at[x] = known[r * K + x]; writes++; entryVersion[x] = writes;
                hasWritten[r] = 1
            :: else
            fi;
            poll[r] = sent
        fi;
        x = 0 }

    /* The heartbeat, which reports how far the replica is fenced. */
    :: d_step { life[r] == runs && poll[r] == fenced ->
        x = KEY(r, member[r] - 1);
        if
        :: record[x] == version[r] && record[x] != 0 ->
            printf("  replica %d writes its record: it is fenced up to %d\n", r, LAST(r));
            record[x] = DRAW(x); TAKE(x); version[r] = record[x]; acknowledged[x] = LOG(r); expelled[x] = 0;
            hasWritten[r] = 1;
            if :: r == 0 -> said = LAST(0) :: else fi;
#ifndef READ_LEASE
            grant(r);
#endif
            rest(r)
        :: record[x] != version[r] && record[x] != 0 && !expelled[x] ->
            /* A write got no reply, or the store has lost a write. */
#ifdef RECORD_FOUND
            version[r] = record[x]
#else
            printf("  replica %d finds another version of its record\n", r);
            record[x] = DRAW(x); TAKE(x); version[r] = record[x]; hasWritten[r] = 1;
            poll[r] = sent
#endif
        :: else -> joinAnew(r)
        fi;
        x = 0 }
#ifdef LATE_WRITE
    :: d_step { life[r] == runs && poll[r] == fenced && MAY_BE_LATE ->
        printf("  replica %d writes its record, without an answer\n", r);
        late = aRecord; lates++; lateKey = KEY(r, member[r] - 1); lateExpects = version[r];
        lateVersion = DRAW(lateKey); TAKE(lateKey); lateAcknowledged = LOG(r);
#ifdef UNANSWERED_LEASE
        grant(r);
#endif
        rest(r) }
#endif

    :: d_step { life[r] == runs && r != 0 ->
        printf("  replica %d dies\n", r);
        life[r] = died; lease[r] = 0; rest(r); left[r] = 0; version[r] = 0 }
    od
}

/* ---- The kills */

inline raise(id) {
    raised[id - 1] = 1;
    i = 0;
    do
    :: i < K && at[i] != 0 -> i++
    :: else -> break
    od;
    printf("  kill %d is raised: entry %d of the log\n", id, i + 1);
    if :: i < K -> at[i] = id; writes++; entryVersion[i] = writes :: else fi;
    i = 0
}

proctype Operator() {
end:
    do
    :: d_step { !raised[0] -> raise(1) }
    :: d_step { !raised[0] && (LAST(0) == 0 || at[LAST(0) - 1] != 0) -> raise(1); hasWritten[0] = 1 }
#ifdef LATE_WRITE
    :: d_step { !raised[0] && MAY_BE_LATE ->
        printf("  kill 1 is raised, without an answer\n");
        raised[0] = 1; late = anEntry; lates++; lateKey = 0; writes++; lateVersion = writes }
    :: d_step { raised[0] && !STANDS && !KNOWS(0) && (LAST(0) == 0 || at[LAST(0) - 1] != 0) -> raise(1); hasWritten[0] = 1 }
#endif
#if K > 1
    :: d_step { !raised[1] -> raise(2) }
#endif
    od
}

/* ---- The waiter: replica 0 */

#ifdef READ_LEASE
#define LAPSES_BY_SILENCE
#endif
#ifdef SILENCE
#define LAPSES_BY_SILENCE
#endif
#ifdef LIST_EARLY
#define MAY_LIST KNOWS(0)
#else
#define MAY_LIST (KNOWS(0) && said >= EPOCH)
#endif
#ifdef FALSE_DEATH
#ifdef ANY_LOCK
#define IS_PROVEN_DEAD(r) (life[r] == died || isElsewhere[r])
#else
#define IS_PROVEN_DEAD(r) (life[r] == died && !isElsewhere[r])
#endif
#else
#define IS_PROVEN_DEAD(r) (life[r] == died)
#endif

#ifdef LIST_ONCE
#define IS_SAME true
#else
#define IS_SAME (entryVersion[EPOCH - 1] == listedUnder)
#endif

inline done(k) { isDone[k] = 1; watched[k] = 0; timer[k] = 0 }

#ifdef ACK_NUMBER
#define IS_ACKNOWLEDGED(log) (COUNT(log) >= EPOCH)
#else
#define IS_ACKNOWLEDGED(log) (ENTRY(log, EPOCH) == 1)
#endif

/* Judges a record that the waiter has read. */
inline see(k, state) {
    if
    :: record[state * N * M + k] == 0 -> done(k)
    :: record[state * N * M + k] != 0 && IS_ACKNOWLEDGED(acknowledged[state * N * M + k]) -> done(k)
    :: else ->
        if
        :: watched[k] != record[state * N * M + k] -> watched[k] = record[state * N * M + k]; timer[k] = 0
        :: else
        fi;
        if :: timer[k] == WAIT && expelled[state * N * M + k] -> done(k) :: else fi
    fi
}

inline list(state) {
    printf("  replica 0 lists the replicas\n");
    isListed = 1;
    listedUnder = entryVersion[state * K + EPOCH - 1];
    x = M;
    do
    :: x < N * M -> see(x, state); x++
    :: else -> break
    od;
    x = 0
}

inline expel(k) {
#ifdef BLIND_EXPEL
    if :: watched[k] != record[k] && record[k] != 0 -> watched[k] = record[k] :: else fi;
#endif
    if
    :: record[k] == watched[k] ->
        printf("  replica %d is expelled\n", k / M);
        record[k] = DRAW(k); TAKE(k); expelled[k] = 1; hasWritten[0] = 1; done(k)
    :: else -> see(k, NOW)
    fi
}

#if N > 2
#define ARE_DONE (isDone[2] && isDone[3] && isDone[4] && isDone[5])
#else
#define ARE_DONE (isDone[2] && isDone[3])
#endif

proctype Waiter() {
end:
    do
    :: d_step { MAY_LIST && !isListed && !complete && at[EPOCH - 1] == 1 -> list(NOW) }
#ifdef STALE_READ
    :: d_step { MAY_LIST && !isListed && !complete && SEES_PAST(0) && at[K + EPOCH - 1] == 1 ->
        printf("  the read is stale:\n"); list(PAST) }
#endif
    :: d_step { isListed && ARE_DONE && !complete && at[EPOCH - 1] == 1 && IS_SAME ->
        printf("  the kill is complete\n");
        complete = 1;
        checkComplete() }
    :: d_step { isListed && !complete && at[EPOCH - 1] == 1 && !IS_SAME ->
        printf("  the entry was lost and is back: the replicas have to be listed anew\n");
        isListed = 0; listedUnder = 0;
        x = M;
        do
        :: x < N * M -> isDone[x] = 0; watched[x] = 0; timer[x] = 0; x++
        :: else -> break
        od;
        x = 0 }
#ifdef STALE_READ
    :: d_step { isListed && ARE_DONE && !complete && SEES_PAST(0) && at[K + EPOCH - 1] == 1 ->
        printf("  the read is stale:\n  the kill is complete\n");
        complete = 1;
        checkComplete() }
#endif
    od
}

proctype Watch(byte k) {
end:
    do
    :: d_step { isListed && !isDone[k] && !complete -> see(k, NOW) }
#ifdef STALE_READ
    :: d_step { isListed && !isDone[k] && !complete && SEES_PAST(0) -> see(k, PAST) }
#endif
#ifdef LAPSES_BY_SILENCE
    :: d_step { isListed && !isDone[k] && timer[k] == WAIT ->
        printf("  replica %d has been silent for long enough\n", k / M); done(k) }
#else
    :: d_step { isListed && !isDone[k] && timer[k] == WAIT -> expel(k) }
#ifdef LATE_WRITE
    :: d_step { isListed && !isDone[k] && timer[k] == WAIT && MAY_BE_LATE ->
        late = aRecord; lates++; lateKey = k; lateExpects = watched[k]; lateVersion = DRAW(k); TAKE(k);
        lateAcknowledged = acknowledged[k]; lateExpelled = 1 }
#endif
#endif
    :: d_step { isListed && !isDone[k] && IS_PROVEN_DEAD(k / M) ->
        printf("  replica %d is proven dead\n", k / M);
        record[k] = 0; acknowledged[k] = 0; expelled[k] = 0; hasWritten[0] = 1; done(k) }
    od
}

init {
    atomic {
        run Clock();
#ifdef HAS_PAST
        run Past();
#endif
#ifdef LATE_WRITE
        run Late();
#endif
#ifdef LATE_WRITE
        late = nothing;
#endif
        i = 0;
        do
        :: i < N ->
            life[i] = runs; poll[i] = rests; left[i] = POLLS;
            if
            :: i == 0 || i < N - 1 -> 
                record[KEY(i, 0)] = 1; drawn[KEY(i, 0)] = 1; member[i] = 1; memberships[i] = 1; version[i] = 1;
                if :: i > 0 -> lease[i] = LASTS :: else fi
            :: else -> skip
            fi;
#ifdef FALSE_DEATH
            if :: i > 0 -> isElsewhere[i] = 1 :: i > 0 -> skip :: else fi;
#endif
            run Replica(i);
            i++
        :: else -> break
        od;
        i = M;
        do
        :: i < N * M -> run Watch(i); i++
        :: else -> break
        od;
        i = 0;
        run Operator();
        run Waiter()
    }
}
