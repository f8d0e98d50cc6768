/*
 * The kill switch and the refresh of several replicas on one store, for Spin. scripts/model runs it; Model.md tells of it.
 *
 * Here are: the kill log; the replicas' records; a replica that joins, polls, fences itself, acknowledges, lives by its
 * lease, checks and writes heads, is stopped, dies or leaves; kills that list, wait and say complete; revivals and imports;
 * flights with their claims, POSTs and commits; the sweep of dead records.
 *
 * What is left out or made simple, and why it may be:
 * - A step is one read or one compare-and-set of the store, which is linearizable and loses no acknowledged write. A store
 *   that does not keep its word, the journal, expelling and adoption are in kills.pml, flights.pml and stamps.pml. Sealing and
 *   restored backups are not modelled.
 * - Nobody is ever in a hurry: any time may pass between any two steps, so a replica that is slow, stopped or cut off, and
 *   hints that are lost, are all here: the next step does not come. Only two things have an end: see Clock.
 * - Time is whole ticks, the same for all. How far clocks may differ is in the constants: a lease is LEASE ticks for its
 *   holder (lease x 0.99 on a slow clock) and WAIT for whoever waits for it (lease x 1.01 + 1 s on a fast one).
 * - A replica has one event loop, and puts in any token that there ever was and that its log calls live. What slots and
 *   announcements do makes that only less.
 * - A waiter counts from its listing, and whoever breaks a claim from the last write of the record, whatever reads there
 *   were: the program waits longer (reads at most 2 s apart). That a compare-and-set finds the record as it was read is a
 *   bit for each reader: has nobody written since?
 * - What a provider answers is free; a second use of a refresh token may succeed. An exchange is over TERM ticks after it
 *   began, or when its process has died.
 * - A process that has died does not come back: one that starts is another replica, which joins.
 * - Grants and generations are few: no flight begins at the last generation. Minted tokens and `removed` are not here.
 *
 * Ghosts, which only assertions read: a token is `born` when its flight read the record, at that length of the log; if what
 * it comes from was dead by then, when that was. The kill numbered n kills what was born before n.
 *
 * Built with KILLS (leases, heads, waiting), FLIGHTS (claims, POSTs, commits) or both. Without KILLS the switch is taken for
 * what KILLS shows of it: whoever puts tokens in goes by some prefix of the log. Mutants: NO_STAMP, NO_WAIT, LIST_FIRST,
 * NO_TICK, LATE_LEASE, LATE_SEND, BLIND_COMMIT; and LONG_PAUSE, which breaks not the program but what it stands on.
 */

#ifndef N
#define N 3                     /* replicas; the last one has not joined yet */
#endif
#ifndef A
#define A 2                     /* accounts */
#endif
#ifndef K
#define K 2                     /* entries that the log may get */
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
/* With HEADS a check and its write are two steps, and between them the replica does nothing else. Without, that is the same
   as one step and a lease that is longer by the pause: what the loop goes by can't change meanwhile. */
#ifdef HEADS
#define LASTS LEASE
#else
#define LASTS (LEASE + PAUSE)
#endif

#define CLAIM 3                 /* how long a claim stands: timeout + 4 s */
#define TERM 2                  /* how long an exchange lasts: timeout */
#define SEND_BY 0               /* no POST is begun later after its claim was sent: 3 s */

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

short tokens[A];                /* ghost: all there ever were, by birth and stamp; room for 3 entries */
byte i, j, x, y;                /* used within a step, 0 between steps */

#ifdef KILLS
byte complete[A];               /* ghost: the last kill of the account that was said to be complete */
byte record[N];                 /* 0 none, else 1 + how far it has acknowledged */
mtype = { absent, runs, leaves, gone, died };
mtype life[N];
mtype = { rests, sent, hasRead };
mtype poll[N];
byte readUpTo[N];               /* what a poll has read */
byte newLease[N];               /* and the lease that this will give, running from when it was sent */
byte known[N];                  /* what the loop goes by */
byte lease[N];
byte waited[KILLERS];           /* ticks since a kill has listed the replicas */
byte listed[KILLERS];           /* which */
#ifdef HEADS
byte head[N];                   /* 0, or 1 + the account of a token that was checked and is not written yet */
byte headBorn[N];
byte paused[N];                 /* ticks since it was checked */
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
bit isEmpty[A];                 /* its tokens were taken away to be revoked */
byte claim[A];
byte stood[A];                  /* ticks since the last write */

mtype = { idle, read, judged, claiming, claimed, posted, success, failed };
mtype step[N * A];
bit fresh[N * A];               /* nobody has written since this one read or wrote */
bit admitted[N * A];            /* the log was read, once for the flight */
byte epochs[N * A];             /* how far */
byte myGrant[N * A];
byte myGeneration[N * A];
byte myStamp[N * A];
byte myBorn[N * A];             /* ghost */
byte since[N * A];              /* ticks since the claim was sent */
byte asked[N * A];              /* ticks since the POST */
#endif

/* ---- What must hold of tokens and kills, whoever waits for what (I5): a token that is live by a prefix of the log was
        born behind the last kill of that prefix. */

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

/* ---- Time. It does not pass over what has an end: a write behind its check, an exchange with a provider. */

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
/* I3 and I5 of what this replica could write in this moment. */
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
/* Replicas are alike: of states that differ only in who is who, one is looked at. */
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
/* Of the tokens that the loop's log calls live the oldest is as good as any, since it must be of no complete kill. */
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
    /* It joins: its record first, then the read that gives the first lease. */
    :: d_step { life[r] == absent ->
        printf("  replica %d joins\n", r);
        life[r] = runs; record[r] = 1; sort() }

    /* A poll. The lease runs from when the read was sent; the fence comes before it. Where anything fails, another poll. */
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
    /* Then it says so, sooner or later or never. */
    :: d_step { MAY_ACT(r) && poll[r] == rests && record[r] <= known[r] ->
        printf("  replica %d acknowledges %d\n", r, known[r]);
        record[r] = 1 + known[r]; sort() }

#ifdef HEADS
    /* A head: checked, and written. */
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

    /* The end, in order or not. Afterwards others may get its lock, and take its record away. */
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

/* ---- A kill, and who waits for it; then another */

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

/* I4: whoever can still put tokens in has taken the kill up. */
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
        /* Each of these stays so once it is so: one look is as good as many. */
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

/* ---- Revivals and imports. What an import finds to be allowed may be killed when it writes. */

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

/* ---- The refresh of an account by a replica: one flight after the other */

#ifdef FLIGHTS
#define f FLIGHT(r, a)
/* Another's claim is in the way unless it has stood for its time, or its holder is proven dead. */
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
    /* The record, then the log. A flight that has lost against another writer goes by the log as it has read that. */
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

    /* The claim; it is written anew where it has become too late to send, and before another try. */
    :: d_step { MAY_ACT(r) && step[f] == judged -> step[f] = claiming }
    :: d_step { MAY_ACT(r) && step[f] == claiming ->
        if
        :: fresh[f] ->
            printf("  replica %d claims account %d\n", r, a);
            wrote(a); fresh[f] = 1; claim[a] = r; step[f] = claimed
        :: else -> step[f] = idle; since[f] = 0; myGrant[f] = 0; myGeneration[f] = 0; myStamp[f] = 0; myBorn[f] = 0
        fi }
    :: d_step { MAY_ACT(r) && step[f] == claimed && since[f] > SEND_BY -> step[f] = claiming; since[f] = 0 }

    /* The POST: sent, or sent and answered, which is all the same to a waiting record. */
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

    /* No tokens: once more under the claim written anew, or the claim goes. */
    :: d_step { MAY_ACT(r) && step[f] == failed -> step[f] = claiming }
    :: d_step { MAY_ACT(r) && step[f] == failed ->
        if :: claim[a] == r && !IS_SUPERSEDED -> claim[a] = NOBODY; wrote(a) :: else fi;
        forget(f) }

    /* Tokens: committed over whatever stands there, if only it is not past them. */
    :: d_step { MAY_ACT(r) && step[f] == success ->
        if
        :: IS_MINE_TO_WRITE ->
            /* I2: from each generation of a grant one way leads on, and it leads up. */
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

/* Dead tokens are taken out of the records, with a claim that has stood for its time. */
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
