/*
 * The kill switch and the refresh of several replicas on one store, for Spin. scripts/model runs it; Model.md describes it.
 *
 * The model contains: the kill log; the replicas' records; a replica that joins, polls, fences itself, acknowledges, depends
 * on its lease, checks and writes heads, is stopped, dies or leaves; kills that list replicas, wait and report complete;
 * revivals and imports; flights with their claims, POSTs and commits; the sweep of dead records.
 *
 * What is left out or simplified, and why that is sound:
 * - A step is one read or one compare-and-set of the store. The store is linearizable and loses no acknowledged write.
 *   kills.pml, flights.pml and stamps.pml have a store that does not keep its guarantees, the journal, expelling and adoption.
 *   Sealing and restored backups are not modelled.
 * - Any time may pass between any two steps. This covers a replica that is slow, stopped or cut off, and lost hints: the next
 *   step does not come. Only two things have a time limit: see Clock.
 * - Time is counted in whole ticks, the same for all replicas. The constants contain the clock drift: a lease is LEASE ticks
 *   for its holder (lease x 0.99 on a slow clock) and WAIT ticks for a waiter (lease x 1.01 + 1 s on a fast clock).
 * - A replica has one event loop. The loop inserts any token that ever existed and that is live by its log. Slots and
 *   announcements only make that set of tokens smaller.
 * - A waiter counts from the time of its listing. A replica that breaks a claim counts from the last write of the record,
 *   whatever was read in between. The program waits longer (its reads are at most 2 s apart). One bit for each reader says
 *   whether a compare-and-set finds the record as it was read: nobody has written the record since.
 * - A provider may give any response; a second use of a refresh token may succeed. An exchange ends at most TERM ticks after
 *   it began, or when its process has died.
 * - A process that has died does not come back. A process that starts is another replica, which joins.
 * - There are few grants and generations: no flight begins at the last generation. Minted tokens and `removed` are not
 *   modelled.
 *
 * Ghosts are variables that only assertions read. A token is `born` when its flight read the record; the time is the length of
 * the log. If the token that it comes from was dead by then, the new token has the birth of that token. The kill numbered n
 * kills the tokens born before n.
 *
 * The model is built with KILLS (leases, heads, waiting), FLIGHTS (claims, POSTs, commits) or both. Without KILLS the model
 * assumes what KILLS shows of the switch: a replica that inserts tokens knows some prefix of the log. Mutants: NO_STAMP,
 * NO_WAIT, LIST_FIRST, NO_TICK, LATE_LEASE, LATE_SEND, BLIND_COMMIT; and LONG_PAUSE, which breaks not the program but one of
 * its assumptions.
 */

#ifndef N
#define N 3                     /* replicas; the last one has not joined yet */
#endif
#ifndef A
#define A 2                     /* accounts */
#endif
#ifndef K
#define K 2                     /* the most entries of the log */
#endif
#ifndef KILLERS
#define KILLERS 1               /* kills that are waited for at the same time */
#endif
#ifndef G
#define G 2                     /* generations of a grant */
#endif

#ifndef LEASE
#define LEASE 2
#endif
#define WAIT (LEASE + 1)
#ifdef LONG_PAUSE
#define PAUSE 2
#else
#define PAUSE 1                 /* the most ticks between a check and its write */
#endif
#ifdef LATE_LEASE
#define GRANTED LASTS
#else
#define GRANTED newLease[r]
#endif
/* With HEADS a check and its write are two steps, and the replica does nothing else between them. Without HEADS they are one
   step, and the lease is longer by the pause. That is equivalent: the log that the loop knows can't change in between. */
#ifdef HEADS
#define LASTS LEASE
#else
#define LASTS (LEASE + PAUSE)
#endif

#define CLAIM 3                 /* ticks until a claim may be broken: timeout + 4 s */
#define TERM 2                  /* the most ticks that a token exchange lasts: timeout */
#define SEND_BY 0               /* the most ticks between sending a claim and beginning its POST: 3 s */

#define NOBODY 255
#define MUST(holds, text) if :: holds :: else -> printf(text); assert(false) fi
#define AT(a, n) ((a) * (K + 1) + (n))
#define FLIGHT(r, a) ((r) * A + (a))
#define TOKEN(b, s) (1 << ((b) * (K + 1) + (s)))

/* ---- The kill log, and what each prefix of it means */

mtype = { killAll, killFirst, reviveAll, reviveFirst };

byte top;                       /* how many entries there are */
bit heldAll[K + 1];
bit heldFirst[K + 1];           /* account 0 */
byte dead[A * (K + 1)];         /* stamps below this are dead */

#define HELD(a, n) (heldAll[n] || ((a) == 0 && heldFirst[n]))
#define LIVE(a, s, n) (!HELD(a, n) && (s) >= dead[AT(a, n)])

short tokens[A];                /* ghost: all tokens that ever existed, by birth and stamp; a short has room for 3 entries */
byte i, j, x, y;                /* used within a step, 0 between steps */

#ifdef KILLS
byte complete[A];               /* ghost: the last kill of the account that was reported complete */
byte record[N];                 /* 0: none, else 1 + the last entry that the replica has acknowledged */
mtype = { absent, runs, leaves, gone, died };
mtype life[N];
mtype = { rests, sent, hasRead };
mtype poll[N];
byte readUpTo[N];               /* the length of the log that a poll has read */
byte newLease[N];               /* the lease that the poll will give; it counts from when the read was sent */
byte known[N];                  /* the length of the log that the loop knows */
byte lease[N];
byte waited[KILLERS];           /* ticks since a kill listed the replicas */
byte listed[KILLERS];           /* the replicas that it listed, one bit each */
#ifdef HEADS
byte head[N];                   /* 0, or 1 + the account of a token that is checked and not yet written */
byte headBorn[N];
byte paused[N];                 /* ticks since the check */
byte age[N];                    /* ghost: ticks since the log was read */
#endif
#define IS_DEAD(r) (life[r] == died)
#if defined(HEADS) && !defined(NO_TICK)
#define MAY_ACT(r) (life[r] == runs && head[r] == 0)
#else
#define MAY_ACT(r) (life[r] == runs)
#endif
#else
bit hasDied[N];
#define IS_DEAD(r) hasDied[r]
#define MAY_ACT(r) (!hasDied[r])
#endif

#ifdef FLIGHTS
byte grant[A];
byte generation[A];
byte stamp[A];
byte born[A];                   /* ghost */
bit isEmpty[A];                 /* the tokens were removed from the record to be revoked */
byte claim[A];
byte stood[A];                  /* ticks since the last write of the record */

mtype = { idle, read, judged, claiming, claimed, posted, success, failed };
mtype step[N * A];
bit fresh[N * A];               /* nobody has written the record since this flight read or wrote it */
bit admitted[N * A];            /* the flight has read the log; it reads the log once */
byte epochs[N * A];             /* the length of the log that it read */
byte myGrant[N * A];
byte myGeneration[N * A];
byte myStamp[N * A];
byte myBorn[N * A];             /* ghost */
byte since[N * A];              /* ticks since the claim was sent */
byte asked[N * A];              /* ticks since the POST */
#endif

/* ---- What must hold of tokens and kills, whatever is waited for (I5): a token that is live by a prefix of the log was born
        after the last kill in that prefix. */

inline checkToken(a, b, s) {
    x = 0;
    do
    :: x <= top ->
        MUST(!LIVE(a, s, x) || b >= dead[AT(a, x)], "I5 is broken: a token of before a kill is live\n");
        x++
    :: else -> break
    od;
    x = 0
}

inline checkTokens() {
    i = 0;
    do
    :: i < A ->
        j = 0;
        do
        :: j < (K + 1) * (K + 1) ->
            if
            :: (tokens[i] >> j) & 1 -> checkToken(i, j / (K + 1), j % (K + 1))
            :: else
            fi;
            j++
        :: else -> break
        od;
        i++
    :: else -> break
    od;
    i = 0; j = 0
}

inline append(what) {
    top++;
    if
    :: what == killAll -> printf("  everything is killed: entry %d of the log\n", top)
    :: what == killFirst -> printf("  account 0 is killed: entry %d of the log\n", top)
    :: what == reviveAll -> printf("  everything is revived: entry %d of the log\n", top)
    :: else -> printf("  account 0 is revived: entry %d of the log\n", top)
    fi;
    heldAll[top] = (what == killAll -> 1 : (what == reviveAll -> 0 : heldAll[top - 1]));
    heldFirst[top] = (what == killFirst -> 1 : (what == reviveFirst -> 0 : heldFirst[top - 1]));
    i = 0;
    do
    :: i < A ->
        dead[AT(i, top)] = (what == killAll || (what == killFirst && i == 0) -> top : dead[AT(i, top - 1)]);
        i++
    :: else -> break
    od;
    checkTokens()
}

/* ---- Time. A tick waits for the two things that have a time limit: a write after its check, and an exchange with a provider. */

inline down(v) { if :: v > 0 -> v-- :: else fi }
inline up(v, limit) { if :: v < limit -> v++ :: else fi }

active proctype Clock() {
end:
    do
    :: d_step {
        /* May time pass? */
        y = 1;
        do
        :: i < N ->
#ifdef HEADS
            if :: head[i] != 0 && paused[i] >= PAUSE -> y = 0 :: else fi;
#endif
#ifdef FLIGHTS
            j = 0;
            do
            :: j < A -> if :: step[FLIGHT(i, j)] == posted && asked[FLIGHT(i, j)] >= TERM -> y = 0 :: else fi; j++
            :: else -> break
            od;
            j = 0;
#endif
            i++
        :: else -> break
        od;
        i = 0;
        if :: y == 1 -> printf("  time passes\n") :: else fi;
        do
        :: y == 1 && i < N ->
#ifdef KILLS
            down(lease[i]);
            down(newLease[i]);
#ifdef HEADS
            if :: head[i] != 0 -> paused[i]++ :: else fi;
            if :: life[i] == runs -> up(age[i], LEASE + PAUSE) :: else fi;
#endif
#endif
#ifdef FLIGHTS
            j = 0;
            do
            :: j < A ->
                if
                :: step[FLIGHT(i, j)] == claiming || step[FLIGHT(i, j)] == claimed ->
                    up(since[FLIGHT(i, j)], SEND_BY + 1)
                :: step[FLIGHT(i, j)] == posted -> asked[FLIGHT(i, j)]++
                :: else
                fi;
                j++
            :: else -> break
            od;
            j = 0;
#endif
            i++
        :: else -> break
        od;
        i = 0;
        do
        :: y == 1 && i < A + KILLERS ->
#ifdef FLIGHTS
            if :: i < A -> up(stood[i], CLAIM) :: else fi;
#endif
#ifdef KILLS
            if :: i >= A -> up(waited[i - A], WAIT) :: else fi;
#endif
            i++
        :: else -> break
        od;
        i = 0;
        y = 0
    }
    od
}

/* ---- A replica */

#ifdef FLIGHTS
inline forget(f) {
    step[f] = idle; fresh[f] = 0; admitted[f] = 0; epochs[f] = 0; myGrant[f] = 0; myGeneration[f] = 0; myStamp[f] = 0;
    myBorn[f] = 0; since[f] = 0; asked[f] = 0
}

inline forgetAll(r) {
    forget(FLIGHT(r, 0));
#if A > 1
    forget(FLIGHT(r, 1))
#endif
}

inline wrote(a) {
    x = 0;
    do
    :: x < N -> fresh[FLIGHT(x, a)] = 0; x++
    :: else -> break
    od;
    x = 0;
    stood[a] = 0
}
#else
inline forgetAll(r) { skip }
#endif

#ifdef KILLS
/* Asserts I3 for every token that this replica could write at this moment. */
inline checkHeads(r) {
#ifndef HEADS
    if
    :: lease[r] > 0 ->
        x = 0;
        do
        :: x < A ->
            y = 0;
            do
            :: y < (K + 1) * (K + 1) ->
                MUST(!((tokens[x] >> y) & 1) || !LIVE(x, y % (K + 1), known[r]) || y / (K + 1) >= complete[x],
                    "I3 is broken: a replica may put in a token that a complete kill has killed\n");
                y++
            :: else -> break
            od;
            x++
        :: else -> break
        od;
        x = 0; y = 0
    :: else
    fi
#else
    skip
#endif
}

inline checkAllHeads() {
    i = 0;
    do
    :: i < N -> checkHeads(i); i++
    :: else -> break
    od;
    i = 0
}

#ifdef SORTED
/* Replicas are interchangeable: of the states that differ only in the order of replicas, one is searched. */
#define KEY(r) (((((((life[r] * 16 + poll[r]) * 4 + readUpTo[r]) * 4 + newLease[r]) * 4 + known[r]) * 4 + lease[r]) * 8 \
    + record[r]) * 4 + ((listed[0] >> (r)) & 1) + 2 * ((listed[KILLERS - 1] >> (r)) & 1))
inline swap(p, q) { x = p; p = q; q = x }
inline swapBits(v) {
    x = ((v >> i) & 1) ^ ((v >> (i + 1)) & 1);
    v = v ^ ((x << i) | (x << (i + 1)))
}
inline sort() {
    j = 0;
    do
    :: j < N - 1 ->
        i = 0;
        do
        :: i < N - 1 ->
            if
            :: KEY(i) > KEY(i + 1) ->
                swap(life[i], life[i + 1]); swap(poll[i], poll[i + 1]); swap(readUpTo[i], readUpTo[i + 1]);
                swap(newLease[i], newLease[i + 1]); swap(known[i], known[i + 1]); swap(lease[i], lease[i + 1]);
                swap(record[i], record[i + 1]);
                swapBits(listed[0]);
#if KILLERS > 1
                swapBits(listed[1])
#endif
            :: else
            fi;
            i++
        :: else -> break
        od;
        j++
    :: else -> break
    od;
    i = 0; j = 0; x = 0
}
#else
inline sort() { skip }
#endif

inline finish(r) {
    lease[r] = 0; poll[r] = rests; newLease[r] = 0; readUpTo[r] = 0; known[r] = 0;
#ifdef HEADS
    head[r] = 0; headBorn[r] = 0; paused[r] = 0; age[r] = 0;
#endif
    forgetAll(r)
}

#ifdef HEADS
/* Of the tokens that are live by the loop's log, it is enough to check the oldest: no complete kill may have killed it. */
inline check(r, a) {
    i = 0;
    do
    :: i < (K + 1) * (K + 1) && head[r] == 0 ->
        if
        :: ((tokens[a] >> i) & 1) && LIVE(a, i % (K + 1), known[r]) ->
            printf("  replica %d has checked a token of account %d\n", r, a);
            head[r] = 1 + a; headBorn[r] = i / (K + 1)
        :: else
        fi;
        i++
    :: else -> break
    od;
    i = 0
}
#endif

proctype Replica(byte r) {
end:
    do
    /* A replica joins: it writes its record, then reads the log, which gives the first lease. */
    :: d_step { life[r] == absent ->
        printf("  replica %d joins\n", r);
        life[r] = runs; record[r] = 1; sort() }

    /* A poll. The lease counts from when the read was sent; the fence comes before the lease. If a step fails, the replica polls again. */
    :: d_step { MAY_ACT(r) && poll[r] == rests ->
        printf("  replica %d begins a poll\n", r);
        poll[r] = sent; newLease[r] = LASTS; sort() }
    :: d_step { MAY_ACT(r) && poll[r] == sent ->
        printf("  replica %d reads the log, which has %d entries\n", r, top);
        poll[r] = hasRead; readUpTo[r] = top;
#ifdef HEADS
        age[r] = 0;
#endif
        sort() }
    :: d_step { MAY_ACT(r) && poll[r] == sent -> poll[r] = rests; newLease[r] = 0; sort() }
    :: d_step { MAY_ACT(r) && poll[r] == hasRead ->
        printf("  replica %d is fenced up to %d and has its lease\n", r, readUpTo[r]);
        poll[r] = rests; known[r] = readUpTo[r]; lease[r] = GRANTED; readUpTo[r] = 0; newLease[r] = 0;
        checkHeads(r);
        sort() }
    /* The replica then acknowledges, at any later time or never. */
    :: d_step { MAY_ACT(r) && poll[r] == rests && record[r] <= known[r] ->
        printf("  replica %d acknowledges %d\n", r, known[r]);
        record[r] = 1 + known[r]; sort() }

#ifdef HEADS
    /* A head is checked, and then written. */
    :: d_step { life[r] == runs && head[r] == 0 && lease[r] > 0 -> check(r, 0) }
#if A > 1
    :: d_step { life[r] == runs && head[r] == 0 && lease[r] > 0 -> check(r, 1) }
#endif
    :: d_step { head[r] != 0 ->
        printf("  replica %d writes that token\n", r);
        MUST(headBorn[r] >= complete[head[r] - 1], "I3 is broken: a complete kill has killed it\n");
        MUST(age[r] < LEASE + PAUSE, "I6 is broken: the lease is over\n");
        head[r] = 0; headBorn[r] = 0; paused[r] = 0 }
#endif

    /* The replica ends, orderly or not. Afterwards others may get its lock and remove its record. */
    :: d_step { MAY_ACT(r) ->
        printf("  replica %d stops\n", r);
        finish(r); life[r] = leaves; sort() }
    :: d_step { life[r] == leaves -> life[r] = gone; record[r] = 0; sort() }
    :: d_step { life[r] == runs ->
        printf("  replica %d dies\n", r);
        finish(r); life[r] = died; sort() }
    :: d_step { life[r] == died && record[r] != 0 ->
        printf("  replica %d is proven dead\n", r);
        record[r] = 0; sort() }
    od
}

/* ---- A kill and its waiter; then the next kill */

#define IS_DONE_BY(r) ((((listed[k] >> (r)) & 1) == 0) || record[r] == 0 || record[r] > mine || LAPSED)
#ifdef NO_WAIT
#define LAPSED true
#else
#define LAPSED (waited[k] == WAIT)
#endif
#if N > 2
#define ARE_DONE (IS_DONE_BY(0) && IS_DONE_BY(1) && IS_DONE_BY(2))
#else
#define ARE_DONE (IS_DONE_BY(0) && IS_DONE_BY(1))
#endif

inline list() {
    x = 0;
    do
    :: x < N -> listed[k] = listed[k] | ((record[x] != 0) << x); x++
    :: else -> break
    od;
    x = 0;
    printf("  whoever waits for the kill lists the replicas\n");
    waited[k] = 0;
    sort()
}

/* I4: each replica that can still insert tokens knows the kill. */
inline checkComplete() {
    x = 0;
    do
    :: x < N -> 
        MUST(lease[x] == 0 || known[x] >= mine, "I4 is broken: a replica has its lease and does not know the kill\n");
        x++
    :: else -> break
    od;
    x = 0
}

proctype Kill(byte k) {
    byte mine;
    bit isAll;
end:
    do
    ::
#ifdef LIST_FIRST
        d_step { top < K -> list() };
#endif
        if
        :: d_step { top < K -> append(killAll); isAll = 1; mine = top }
#if A > 1
        :: d_step { top < K -> append(killFirst); mine = top }
#endif
        fi;
#ifndef LIST_FIRST
        d_step { list() };
#endif
        /* Each of these conditions stays true once it is true: testing them all at once is enough. */
        d_step { ARE_DONE ->
            printf("  kill %d is complete\n", mine);
            checkComplete();
            x = 0;
            do
            :: x < A -> if :: (isAll || x == 0) && complete[x] < mine -> complete[x] = mine :: else fi; x++
            :: else -> break
            od;
            x = 0;
            checkAllHeads();
            listed[k] = 0; mine = 0; isAll = 0; waited[k] = WAIT;
            sort() }
    od
}
#else
proctype Replica(byte r) {
end:
    do
    :: d_step { !hasDied[r] ->
        printf("  replica %d dies\n", r);
        forgetAll(r); hasDied[r] = 1 }
    od
}

proctype Kill(byte k) {
end:
    do
    :: d_step { top < K -> append(killAll) }
#if A > 1
    :: d_step { top < K -> append(killFirst) }
#endif
    od
}
#endif

/* ---- Revivals and imports. An account may be killed between the check of an import and its write. */

#ifdef FLIGHTS
#define MAY_IMPORT(a) (grant[a] == 0)
#else
#define MAY_IMPORT(a) true
#endif

inline import(a, e) {
    printf("  tokens of account %d are imported under %d\n", a, e);
    tokens[a] = tokens[a] | TOKEN(e, e);
    checkToken(a, e, e);
#ifdef FLIGHTS
    grant[a]++; generation[a] = 0; stamp[a] = e; born[a] = e; isEmpty[a] = 0; claim[a] = NOBODY;
    wrote(a);
#endif
#ifdef KILLS
    checkAllHeads()
#endif
}

proctype Operator() {
    byte e;
end:
    do
    :: d_step { top < K && heldAll[top] -> append(reviveAll) }
    :: d_step { top < K && heldFirst[top] -> append(reviveFirst) }
    :: d_step { top > 0 && !HELD(0, top) && MAY_IMPORT(0) -> e = top }; d_step { import(0, e); e = 0 }
#if A > 1
    :: d_step { top > 0 && !HELD(1, top) && MAY_IMPORT(1) -> e = top }; d_step { import(1, e); e = 0 }
#endif
    od
}

/* ---- A replica refreshes an account: one flight after the other */

#ifdef FLIGHTS
#define f FLIGHT(r, a)
/* Another replica's claim blocks a flight until the claim's time is over, or its holder is proven dead. */
#define IS_FREE (claim[a] == NOBODY || claim[a] == r || stood[a] == CLAIM || IS_DEAD(claim[a]))
#ifdef BLIND_COMMIT
#define IS_MINE_TO_WRITE true
#else
#define IS_MINE_TO_WRITE fresh[f]
#endif
#ifdef LATE_SEND
#define HAS_TIME true
#else
#define HAS_TIME (since[f] <= SEND_BY)
#endif
#define IS_SUPERSEDED (grant[a] != myGrant[f] || generation[a] > myGeneration[f])
#define LATEST (myStamp[f] > epochs[f] -> myStamp[f] : epochs[f])

proctype Flight(byte r; byte a) {
end:
    do
    /* A flight reads the record, then the log. A flight that lost against another writer keeps the log that it has read. */
    :: d_step { MAY_ACT(r) && step[f] == idle && generation[a] < G && !isEmpty[a] && IS_FREE ->
        printf("  replica %d reads the record of account %d\n", r, a);
        step[f] = read; fresh[f] = 1; myGrant[f] = grant[a]; myGeneration[f] = generation[a]; myStamp[f] = stamp[a];
        myBorn[f] = (born[a] < dead[AT(a, top)] -> born[a] : top) }
    :: d_step { MAY_ACT(r) && step[f] == read ->
        if
        :: !admitted[f] -> epochs[f] = top; admitted[f] = 1; printf("  replica %d reads the log, which has %d entries\n", r, top)
        :: else
        fi;
        if :: LIVE(a, myStamp[f], epochs[f]) -> step[f] = judged :: else -> forget(f) fi }
    :: d_step { step[f] == idle && admitted[f] -> forget(f) }

    /* The flight writes its claim. It writes the claim again if it is too late to send, and before a retry. */
    :: d_step { MAY_ACT(r) && step[f] == judged -> step[f] = claiming }
    :: d_step { MAY_ACT(r) && step[f] == claiming ->
        if
        :: fresh[f] ->
            printf("  replica %d claims account %d\n", r, a);
            wrote(a); fresh[f] = 1; claim[a] = r; step[f] = claimed
        :: else -> step[f] = idle; since[f] = 0; myGrant[f] = 0; myGeneration[f] = 0; myStamp[f] = 0; myBorn[f] = 0
        fi }
    :: d_step { MAY_ACT(r) && step[f] == claimed && since[f] > SEND_BY -> step[f] = claiming; since[f] = 0 }

    /* The POST: sent, or sent and answered. Both are the same to the record, which waits for the commit. */
    :: d_step { MAY_ACT(r) && step[f] == claimed && HAS_TIME ->
        step[f] = posted; since[f] = 0;
        printf("  replica %d asks the provider\n", r);
        x = 0;
        do
        :: x < N ->
            MUST(x == r || step[FLIGHT(x, a)] != posted || myGrant[FLIGHT(x, a)] != myGrant[f]
                || myGeneration[FLIGHT(x, a)] != myGeneration[f], "I1 is broken: another asks with the same refresh token\n");
            x++
        :: else -> break
        od;
        x = 0 }
    :: d_step { step[f] == posted ->
        printf("  replica %d is given tokens\n", r);
        step[f] = success; asked[f] = 0 }
    :: d_step { step[f] == posted -> step[f] = failed; asked[f] = 0 }

    /* No tokens: the flight retries with the claim written again, or removes the claim. */
    :: d_step { MAY_ACT(r) && step[f] == failed -> step[f] = claiming }
    :: d_step { MAY_ACT(r) && step[f] == failed ->
        if :: claim[a] == r && !IS_SUPERSEDED -> claim[a] = NOBODY; wrote(a) :: else fi;
        forget(f) }

    /* Tokens: the flight commits them over any record that is not past them. */
    :: d_step { MAY_ACT(r) && step[f] == success ->
        if
        :: IS_MINE_TO_WRITE ->
            /* I2: each generation of a grant has one successor, and generations only rise. */
            printf("  replica %d commits the tokens of account %d\n", r, a);
            MUST(grant[a] == myGrant[f] && generation[a] == myGeneration[f], "I2 is broken: another result stands there\n");
            generation[a]++;
#ifdef NO_STAMP
            stamp[a] = top;
#else
            stamp[a] = LATEST;
#endif
            born[a] = myBorn[f]; isEmpty[a] = 0; claim[a] = NOBODY;
            tokens[a] = tokens[a] | TOKEN(born[a], stamp[a]);
            wrote(a);
            checkToken(a, born[a], stamp[a]);
            forget(f)
        :: else ->
            if
            :: IS_SUPERSEDED -> forget(f)
            :: else -> fresh[f] = 1
            fi
        fi }
    od
}

/* The sweep removes dead tokens from the record, and also a claim whose time is over. */
proctype Sweep(byte a) {
end:
    do
    :: d_step { !isEmpty[a] && stamp[a] < dead[AT(a, top)] ->
        printf("  the dead tokens of account %d are taken away\n", a);
        isEmpty[a] = 1;
        if :: stood[a] == CLAIM -> claim[a] = NOBODY :: else fi;
        wrote(a) }
    od
}
#endif

init {
    atomic {
        i = 0;
        do
        :: i < A ->
            tokens[i] = TOKEN(0, 0);
#ifdef FLIGHTS
            claim[i] = NOBODY; stood[i] = CLAIM;
            run Sweep(i);
#endif
            i++
        :: else -> break
        od;
        i = 0;
        do
        :: i < N ->
#ifdef KILLS
            poll[i] = rests;
            if
            :: i < N - 1 -> life[i] = runs; record[i] = 1; lease[i] = LASTS
            :: else -> life[i] = absent
            fi;
#endif
            run Replica(i);
#ifdef FLIGHTS
            j = 0;
            do
            :: j < A -> step[FLIGHT(i, j)] = idle; run Flight(i, j); j++
            :: else -> break
            od;
            j = 0;
#endif
            i++
        :: else -> break
        od;
        i = 0;
        do
        :: i < KILLERS ->
#ifdef KILLS
            waited[i] = WAIT;
#endif
            run Kill(i); i++
        :: else -> break
        od;
        i = 0;
        run Operator()
    }
}
