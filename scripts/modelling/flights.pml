/*
 * The refresh of one account on a store that several hosts share and that does not keep its guarantees, for Spin.
 * scripts/model runs it; Model.md describes it. martlet.pml models flights on a store that keeps its guarantees, with kills
 * and imports.
 *
 * Each replica reads the record at any time, and repairs it. A replica runs one flight after the other: read, claim, POST,
 * commit. A replica may die at any step. A successful result may be in its journal at that time.
 *
 * store.pml lists the faults of the store.
 *
 * The rules:
 * - The lifetime of a claim counts from the time when its write was sent. If the write of a claim got no reply, the replica
 *   reads the record again before it sends the POST.
 * - A replica compares each record that it reads with the one that it knows. If the record read has a lower generation, or
 *   only lacks the claim, the replica writes the known record back as a whole. A replica does not send a refresh token if it
 *   knows a later generation by then.
 * - A replica never adopts a lower generation than the one it knows. This includes what its own flight has written.
 * - The journal of a process that is proven dead is taken over before its claims are broken. An entry of the journal is
 *   committed only over a lower generation.
 * - A lock proves the end of a process only under the same kernel boot.
 * - No two writes have the same version, even when a suffix was lost between them.
 *
 * Mutants, each without one rule: NO_REPAIR; SEND_OLD (sends the refresh token even if a later generation is known);
 * LAND_LOWER (adopts the result of a flight whatever is known); CLAIM_FROM_READ (the lifetime of a claim counts from when it
 * was found); BLIND_CLAIM (a claim that got no reply counts as written); BREAK_FIRST (breaks claims before the journal is
 * taken over); ANY_GENERATION (commits a journal over any generation); ANY_LOCK; SEQUENTIAL (a version is the previous
 * version plus one).
 *
 * What is excused:
 * - Two requests at once, if the claim of one of them was lost with a suffix. STRICT_CLAIM does not excuse this.
 * - A successful result that can no longer be committed, if a claim of its generation was broken by timeout or lost, or if
 *   the commit of a generation was lost.
 *
 * Not modelled: the kill log; imports; minted tokens; what a provider does with a second use of a refresh token (any outcome
 * is possible); the 3 s without claims after the store fell back, since each step may be late by more. A replica writes at
 * most CLAIMS claims.
 */

#include "store.pml"

#ifndef G
#define G 2                     /* generations; no flight begins at the last one */
#endif
#ifndef CLAIMS
#define CLAIMS 2
#endif
#define CLAIM 3                 /* ticks until a claim may be broken */
#define TERM 2                  /* the most ticks that a token exchange lasts */
#define SEND_BY 0               /* the most ticks between sending a claim and beginning its POST */

/* ---- The store: one record */

byte version[STATES];
byte generation[STATES];
byte claim[STATES];             /* 0, or the claim id of a flight */
byte author[STATES];            /* the replica that committed this generation, plus one */


#if defined(LOST_SUFFIX) && !defined(SEQUENTIAL)
byte writes;
#define DRAW writes++
#define NEXT(v) (writes + 1)
#else
#define DRAW skip
#define NEXT(v) ((v) + 1)
#endif

#ifdef LATE_WRITE
byte lates;
bit isLate;                     /* a late write is pending and may still take effect */
byte lateExpects, lateVersion, lateGeneration, lateClaim, lateAuthor;
#define MAY_BE_LATE (!isLate && lates < LATES)
#endif

byte i, x;                      /* used within a step, 0 between steps */

/* ---- Replicas */

bit hasDied[N];
bit isBuried[N];                /* it is proven dead and its journal is taken over */
#ifdef FALSE_DEATH
bit isElsewhere[N];             /* it runs under another kernel boot than the other replicas */
#endif

/* What a replica knows of the record. */
byte knownVersion[N];           /* 0: nothing */
byte knownGeneration[N];
byte knownClaim[N];
byte knownAuthor[N];
byte topGeneration[N];          /* ghost: the highest generation that it has known */
/* The claim of another replica that this replica is watching. */
byte watched[N];                /* the version of the record with that claim */
byte age[N];

mtype = { idle, claiming, rereading, claimed, posted, failed, success, conflicted };
mtype step[N];
bit parity[N];                  /* the parity of its flights, which tells a claim from that of the previous flight */
byte left[N];                   /* claim writes left */
byte myGeneration[N];
byte myVersion[N];
byte since[N];                  /* ticks since the first write of the current claim was sent */
byte sent[N];                   /* ticks since the current write of the claim was sent */
bit hasTerm[N];
byte asked[N];                  /* ticks since the POST */
byte journal[N];                /* the generation in the journal; 0: the journal is empty */
bit lostClaim[N];               /* ghost */
bit isUncertain[G + 1];         /* ghost: a claim of this generation was broken by timeout, or lost */
bit hasLostCommit;              /* ghost */
byte authorOf[G + 2];           /* ghost: the last replica to commit each generation, plus one */

#define MINE(r) (1 + 2 * (r) + parity[r])
#define HOLDER(c) (((c) - 1) / 2)
#ifdef STRICT_CLAIM
#define HAS_LOST_CLAIM(r) false
#else
#define HAS_LOST_CLAIM(r) lostClaim[r]
#endif
#ifdef FALSE_DEATH
#ifdef ANY_LOCK
#define IS_PROVEN_DEAD(r) (hasDied[r] || isElsewhere[r])
#else
#define IS_PROVEN_DEAD(r) (hasDied[r] && !isElsewhere[r])
#endif
#else
#define IS_PROVEN_DEAD(r) hasDied[r]
#endif

proctype Clock() {
end:
    do
    :: d_step {
        x = 1;
        do
        :: i < N -> if :: step[i] == posted && asked[i] >= TERM -> x = 0 :: else fi; i++
        :: else -> break
        od;
        i = 0;
        if :: x == 1 -> printf("  time passes\n") :: else fi;
        do
        :: x == 1 && i < N ->
            if :: step[i] == posted -> asked[i]++ :: else fi;
            if :: hasTerm[i] && since[i] <= SEND_BY -> since[i]++ :: else fi;
            if :: step[i] == claiming && sent[i] <= SEND_BY -> sent[i]++ :: else fi;
            if :: watched[i] != 0 && age[i] < CLAIM -> age[i]++ :: else fi;
            i++
        :: else -> break
        od;
        i = 0; x = 0 }
    od
}

#ifdef HAS_PAST
inline copy(to, from) {
    version[to] = version[from]; generation[to] = generation[from]; claim[to] = claim[from]; author[to] = author[from]
}

proctype Past() {
end:
    do
    :: d_step { saved == 0 ->
        printf("  this state is kept\n");
        saved = 1; copy(PAST, NOW);
        do
        :: i < N -> hasWritten[i] = 0; i++
        :: else -> break
        od;
        i = 0 }
#ifdef LOST_SUFFIX
    :: d_step { saved == 1 ->
        printf("  the store falls back to the state that was kept\n");
        saved = 2;
        if :: generation[PAST] < generation[NOW] -> hasLostCommit = 1 :: else fi;
        do
        :: i < N ->
            if :: (step[i] != idle || journal[i] != 0) && claim[NOW] == MINE(i) && version[PAST] != version[NOW] ->
                lostClaim[i] = 1; isUncertain[generation[NOW]] = 1
            :: else
            fi;
            hasWritten[i] = 0;
            i++
        :: else -> break
        od;
        i = 0;
        copy(NOW, PAST);
        version[PAST] = 0; generation[PAST] = 0; claim[PAST] = 0; author[PAST] = 0 }
#endif
    od
}
#endif

#ifdef LATE_WRITE
inline lag(r, g, c, b) {
    isLate = 1; lates++; DRAW;
    lateExpects = myVersion[r]; lateVersion = NEXT(myVersion[r]); lateGeneration = g; lateClaim = c; lateAuthor = b
}
proctype Late() {
end:
    do
    :: d_step { isLate ->
        if
        :: version[NOW] == lateExpects ->
            printf("  a write lands late\n");
            if :: lateClaim != 0 && claim[NOW] != 0 && lateClaim != claim[NOW] -> isUncertain[generation[NOW]] = 1 :: else fi;
            version[NOW] = lateVersion; generation[NOW] = lateGeneration; claim[NOW] = lateClaim; author[NOW] = lateAuthor;
            authorOf[lateGeneration] = lateAuthor
        :: else
        fi;
        isLate = 0; lateExpects = 0; lateVersion = 0; lateGeneration = 0; lateClaim = 0; lateAuthor = 0 }
    od
}
#endif

/* ---- A read of the record, and what the replica knows afterwards. `see` sets x to 1 if the replica may continue: the record
        has lost nothing, or the replica has repaired it. */

inline know(r, v, g, c, b) {
    knownVersion[r] = v; knownGeneration[r] = g; knownClaim[r] = c; knownAuthor[r] = b;
    if :: g > topGeneration[r] -> topGeneration[r] = g :: else fi
}

/* Adopts what a flight has written, or found, at its end. */
#ifdef LAND_LOWER
#define IS_NEWS(r, g) true
#else
#define IS_NEWS(r, g) ((g) >= knownGeneration[r])
#endif
inline land(r, v, g, c, b) { if :: IS_NEWS(r, g) -> know(r, v, g, c, b) :: else fi }

inline put(r, g, c, b) {
    DRAW; version[NOW] = NEXT(version[NOW]);
    generation[NOW] = g; claim[NOW] = c; author[NOW] = b; authorOf[g] = b;
    hasWritten[r] = 1
}

#ifdef NO_REPAIR
#define IS_OLDER(r, s) false
#else
#define IS_OLDER(r, s) (knownVersion[r] != 0 && (version[s] < knownVersion[r] || generation[s] < knownGeneration[r] \
    || (version[s] == knownVersion[r] \
        && (generation[s] != knownGeneration[r] || claim[s] != knownClaim[r] || author[s] != knownAuthor[r]))))
#endif
#define IS_LOST(r, s) (generation[s] < knownGeneration[r] \
    || (generation[s] == knownGeneration[r] && claim[s] == 0 && knownClaim[r] != 0))

/* The version that a repair writes: one that no process has seen. */
#if defined(LOST_SUFFIX) && !defined(SEQUENTIAL)
#define REPAIRED(r) NEXT(0)
#else
#define REPAIRED(r) ((knownVersion[r] > version[NOW] -> knownVersion[r] : version[NOW]) + 8)
#endif

inline see(r, s) {
    if
    :: IS_OLDER(r, s) && IS_LOST(r, s) ->
        if
        :: version[NOW] == version[s] ->
            printf("  replica %d puts the record back: generation %d, claim %d\n", r, knownGeneration[r], knownClaim[r]);
            DRAW; version[NOW] = REPAIRED(r);
            generation[NOW] = knownGeneration[r]; claim[NOW] = knownClaim[r]; author[NOW] = knownAuthor[r];
            hasWritten[r] = 1;
            knownVersion[r] = version[NOW];
            x = 1
        :: else
        fi
    :: else -> x = 1
    fi
}

inline forget(r) {
    step[r] = idle; parity[r] = 1 - parity[r];
    myGeneration[r] = 0; myVersion[r] = 0; since[r] = 0; sent[r] = 0; hasTerm[r] = 0; asked[r] = 0; journal[r] = 0;
    lostClaim[r] = 0
}

inline die(r) {
    step[r] = idle; myGeneration[r] = 0; myVersion[r] = 0; since[r] = 0; sent[r] = 0; hasTerm[r] = 0; asked[r] = 0;
    know(r, 0, 0, 0, 0); topGeneration[r] = 0; watched[r] = 0; age[r] = 0; left[r] = 0;
    if :: journal[r] == 0 -> lostClaim[r] = 0 :: else fi
}

#define HAS_NEWS(r, s) (knownVersion[r] != version[s] || knownGeneration[r] != generation[s] || knownClaim[r] != claim[s] \
    || knownAuthor[r] != author[s])

/* A replica reads the record, whether or not it has a flight. */
inline look(r, s) {
    see(r, s);
    if
    :: x == 1 && version[NOW] == knownVersion[r] -> skip
    :: x == 1 && version[NOW] != knownVersion[r] -> know(r, version[s], generation[s], claim[s], author[s])
    :: else
    fi;
    x = 0
}

/* Each read also tries the lock of the holder of the claim. */
#define IS_FREE(r, s) (claim[s] == 0 || HOLDER(claim[s]) == r || isBuried[HOLDER(claim[s])] \
    || (watched[r] == version[s] && age[r] == CLAIM && !IS_PROVEN_DEAD(HOLDER(claim[s]))))

/* Begins a flight, unless another replica's claim is in the way. */
inline begin(r, s) {
    see(r, s);
    if
    :: x == 1 && (s == NOW || version[NOW] == knownVersion[r]) -> i = NOW
    :: else -> i = s
    fi;
    if
    :: x == 1 && generation[i] < G ->
        if
        :: IS_FREE(r, i) ->
            printf("  replica %d reads the record: generation %d, claim %d\n", r, generation[i], claim[i]);
            step[r] = claiming; myGeneration[r] = generation[i]; myVersion[r] = version[i]; watched[r] = 0; age[r] = 0;
            sent[r] = 0
        :: else ->
            if :: watched[r] != version[i] -> watched[r] = version[i]; age[r] = 0 :: else fi
        fi
    :: else
    fi;
    i = 0; x = 0
}

/* Reads the record again after a claim write that got no reply or had a conflict. */
inline reread(r, s) {
    see(r, s);
    if :: x == 1 && version[NOW] == knownVersion[r] -> i = NOW :: else -> i = s fi;
    if
    :: x == 1 && claim[i] == MINE(r) && generation[i] == myGeneration[r] ->
        printf("  replica %d finds its claim\n", r);
        myVersion[r] = version[i];
#ifdef CLAIM_FROM_READ
        since[r] = 0; hasTerm[r] = 1;
#endif
        step[r] = (hasTerm[r] && since[r] <= SEND_BY -> claimed : claiming);
        sent[r] = 0
    :: x == 1 && !(claim[i] == MINE(r) && generation[i] == myGeneration[r]) -> forget(r)
    :: else
    fi;
    i = 0; x = 0
}

inline recommit(r, s) {
    see(r, s);
    if :: x == 1 && version[NOW] == knownVersion[r] -> i = NOW :: else -> i = s fi;
    if
    :: x == 1 && generation[i] == myGeneration[r] + 1 && author[i] == r + 1 ->
        printf("  replica %d finds its tokens\n", r);
        land(r, version[i], generation[i], claim[i], author[i]);
        forget(r)
    :: x == 1 && generation[i] > myGeneration[r] && author[i] != r + 1 ->
        printf("  replica %d has no place for its tokens\n", r);
        MUST(isUncertain[myGeneration[r]] || hasLostCommit || authorOf[myGeneration[r] + 1] == r + 1,
            "I2 is broken: a success in hand is thrown away\n");
        forget(r)
    :: x == 1 && generation[i] <= myGeneration[r] -> myVersion[r] = version[i]; step[r] = success
    :: else -> if :: x == 1 -> forget(r) :: else fi
    fi;
    i = 0; x = 0
}

#ifdef SEND_OLD
#define MAY_SEND(r) true
#else
#define MAY_SEND(r) (knownGeneration[r] <= myGeneration[r])
#endif

proctype Replica(byte r) {
end:
    do
    :: d_step { !hasDied[r] && HAS_NEWS(r, NOW) -> look(r, NOW) }
    :: d_step { !hasDied[r] && step[r] == idle && left[r] > 0 -> begin(r, NOW) }
#ifdef STALE_READ
    :: d_step { !hasDied[r] && SEES_PAST(r) && HAS_NEWS(r, PAST) -> look(r, PAST) }
    :: d_step { !hasDied[r] && SEES_PAST(r) && step[r] == idle && left[r] > 0 -> begin(r, PAST) }
#endif

    :: d_step { !hasDied[r] && step[r] == claiming && left[r] > 0 ->
        left[r]--;
        if
        :: version[NOW] == myVersion[r] ->
            printf("  replica %d claims generation %d\n", r, generation[NOW]);
            if
            :: claim[NOW] != 0 && HOLDER(claim[NOW]) != r && !isBuried[HOLDER(claim[NOW])] ->
                isUncertain[myGeneration[r]] = 1
            :: else
            fi;
            put(r, myGeneration[r], MINE(r), author[NOW]);
            myVersion[r] = version[NOW]; since[r] = sent[r]; hasTerm[r] = 1; step[r] = claimed
        :: else -> step[r] = rereading
        fi;
        sent[r] = 0 }
    :: d_step { !hasDied[r] && step[r] == claiming && left[r] == 0 -> step[r] = rereading; sent[r] = 0; since[r] = SEND_BY + 1 }
#ifdef LATE_WRITE
    :: d_step { !hasDied[r] && step[r] == claiming && left[r] > 0 && MAY_BE_LATE ->
        printf("  replica %d claims generation %d, without an answer\n", r, myGeneration[r]);
        left[r]--;
        lag(r, myGeneration[r], MINE(r), (myGeneration[r] == 0 -> 0 : author[NOW]));
        if :: !hasTerm[r] -> since[r] = sent[r]; hasTerm[r] = 1 :: else fi;
#ifdef BLIND_CLAIM
        step[r] = claimed;
#else
        step[r] = rereading;
#endif
        sent[r] = 0 }
#endif
    :: d_step { !hasDied[r] && step[r] == rereading -> reread(r, NOW) }
#ifdef STALE_READ
    :: d_step { !hasDied[r] && SEES_PAST(r) && step[r] == rereading -> reread(r, PAST) }
#endif

    :: d_step { !hasDied[r] && step[r] == claimed && since[r] > SEND_BY -> step[r] = claiming }
    :: d_step { !hasDied[r] && step[r] == claimed && !MAY_SEND(r) -> step[r] = failed }
    :: d_step { !hasDied[r] && step[r] == claimed && since[r] <= SEND_BY && MAY_SEND(r) ->
        printf("  replica %d asks the provider with generation %d\n", r, myGeneration[r]);
        step[r] = posted;
        x = 0;
        do
        :: x < N ->
            MUST(x == r || step[x] != posted || myGeneration[x] != myGeneration[r] || HAS_LOST_CLAIM(x) || HAS_LOST_CLAIM(r),
                "I1 is broken: another asks with the same refresh token\n");
            x++
        :: else -> break
        od;
        x = 0;
        MUST(topGeneration[r] <= myGeneration[r], "I2 is broken: it knows that this refresh token was rotated away\n") }
    :: d_step { step[r] == posted ->
        printf("  replica %d is given tokens\n", r);
        step[r] = success; asked[r] = 0 }
    :: d_step { step[r] == posted -> step[r] = failed; asked[r] = 0 }

    :: d_step { !hasDied[r] && step[r] == failed && left[r] > 0 -> step[r] = claiming }
    :: d_step { !hasDied[r] && step[r] == failed ->
        if
        :: version[NOW] == myVersion[r] || (claim[NOW] == MINE(r) && generation[NOW] == myGeneration[r]) ->
            put(r, generation[NOW], 0, author[NOW]); land(r, version[NOW], generation[NOW], 0, author[NOW])
        :: else
        fi;
        forget(r) }

#ifdef JOURNAL
    :: d_step { !hasDied[r] && step[r] == success && journal[r] == 0 ->
        printf("  the journal of replica %d has its tokens\n", r);
        journal[r] = myGeneration[r] + 1 }
#endif
    :: d_step { !hasDied[r] && step[r] == success ->
        if
        :: version[NOW] == myVersion[r] ->
            printf("  replica %d commits generation %d\n", r, myGeneration[r] + 1);
            MUST(generation[NOW] <= myGeneration[r], "I2 is broken: another result stands there\n");
            put(r, myGeneration[r] + 1, 0, r + 1);
            land(r, version[NOW], generation[NOW], 0, r + 1);
            forget(r)
        :: else -> step[r] = conflicted
        fi }
#ifdef LATE_WRITE
    :: d_step { !hasDied[r] && step[r] == success && MAY_BE_LATE ->
        printf("  replica %d commits generation %d, without an answer\n", r, myGeneration[r] + 1);
        lag(r, myGeneration[r] + 1, 0, r + 1);
        step[r] = conflicted }
#endif
    :: d_step { !hasDied[r] && step[r] == conflicted -> recommit(r, NOW) }
#ifdef STALE_READ
    :: d_step { !hasDied[r] && SEES_PAST(r) && step[r] == conflicted -> recommit(r, PAST) }
#endif

    :: d_step { !hasDied[r] -> printf("  replica %d dies\n", r); hasDied[r] = 1; die(r) }

    /* Another replica gets its lock. */
#ifdef BREAK_FIRST
    :: d_step { IS_PROVEN_DEAD(r) && !isBuried[r] -> printf("  replica %d is proven dead\n", r); isBuried[r] = 1 }
    :: d_step { IS_PROVEN_DEAD(r) && journal[r] != 0 ->
#else
    :: d_step { IS_PROVEN_DEAD(r) && (!isBuried[r] || journal[r] != 0) ->
        printf("  replica %d is proven dead\n", r);
        isBuried[r] = 1;
#endif
        if
#ifdef ANY_GENERATION
        :: journal[r] != 0 ->
#else
        :: journal[r] != 0 && generation[NOW] < journal[r] ->
#endif
            printf("  the journal of replica %d is taken over: generation %d\n", r, journal[r]);
            MUST(generation[NOW] < journal[r], "I2 is broken: another result stands there\n");
            put(r, journal[r], 0, r + 1); hasWritten[r] = 0
        :: journal[r] != 0 && generation[NOW] >= journal[r] && author[NOW] != r + 1 ->
            printf("  there is no place for what is in the journal of replica %d\n", r);
            MUST(isUncertain[journal[r] - 1] || hasLostCommit || authorOf[journal[r]] == r + 1,
                "I2 is broken: a success in hand is thrown away\n")
        :: else
        fi;
        if :: hasDied[r] -> journal[r] = 0; lostClaim[r] = 0 :: else fi }
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
        version[NOW] = 1;
        i = 0;
        do
        :: i < N ->
            step[i] = idle; left[i] = CLAIMS;
#ifdef FALSE_DEATH
            if :: isElsewhere[i] = 1 :: skip fi;
#endif
            run Replica(i);
            i++
        :: else -> break
        od;
        i = 0
    }
}
