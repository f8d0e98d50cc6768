/*
 * Which tokens a kill reaches, for Spin. scripts/model runs it; Model.md describes it. A kill reaches a record by the stamp of
 * the record, and by its present and former providers. While that happens, an operator adopts the account for another
 * provider, and the store does not keep its guarantees.
 *
 * There is one account, and there are two providers. Operators kill and revive a provider, kill another account, and adopt
 * this account for the other provider. A replica runs flights, knows the record, and repairs it.
 *
 * Faults of the store: STALE_READ of the log, by a flight or an adoption, and LOST_SUFFIX; see store.pml. A replica that knows
 * a lost entry of the log writes it back if its place in the log is free, or no such replica exists. A kill that is not in the
 * log kills nothing.
 *
 * The rules:
 * - A flight reads the record, then the log, then claims the record as it was read. The flight stamps what it commits with
 *   the last entry of that log.
 * - An adoption remembers the previous provider. So does a commit or a repair that overwrites a record adopted in between.
 * - A repair keeps the stamp that the record had.
 * - A stamp is the number of an entry and its id. If the log has another entry at that number, the tokens are dead.
 *
 * Mutants, each without one rule: FORGET_FORMER (an adoption forgets the previous provider); FORGET_HISTORY (a commit forgets
 * it); REPAIR_WHOLE (a repair forgets it); RESTAMP (a repair gets a new stamp); NUMBER_STAMP (a stamp is only a number).
 *
 * Ghosts: `ever`, the providers that a token was ever bound to, and `doomed`, the kills that have killed it. A kill of one of
 * these providers dooms a record, and a flight in progress. A write over a doomed record is doomed too. An adoption that was
 * lost with a suffix, and that nobody repeats, binds nothing.
 */

#include "store.pml"

#ifndef WRITES
#define WRITES 5                /* the most writes of the record */
#endif

mtype = { otherKilled, killed, revived };

/* The log. Entries that were lost are kept from index K on, for a replica that knows them. */
byte top;
mtype kind[2 * K];
byte scope[2 * K];              /* the provider */
byte id[2 * K];
byte raises;
byte lostTop;                   /* the number of entries before the loss */

/* The record in four states: the current one, the saved one, the one that a flight has read, and the one that a replica knows. */
#define READ 2
#define KNOWN 3
byte version[4];
byte generation[4];
byte provider[4];
byte former[4];                 /* one bit for each former provider */
byte stamp[4];                  /* the number of an entry */
byte stampID[4];                /* and its id */
byte ever[4];                   /* ghost */
byte doomed[4];                 /* ghost: ids */

byte oldTop;
byte writes;
mtype = { idle, read, judged, flying };
mtype step;
byte epoch, epochID;            /* the last entry of the log that the flight has read */
bit isLive;
byte i, x, y;

#define BIT(n) (1 << (n))

inline copy(to, from) {
    version[to] = version[from]; generation[to] = generation[from]; provider[to] = provider[from];
    former[to] = former[from]; stamp[to] = stamp[from]; stampID[to] = stampID[from]; ever[to] = ever[from];
    doomed[to] = doomed[from]
}

inline clear(s) {
    version[s] = 0; generation[s] = 0; provider[s] = 0; former[s] = 0; stamp[s] = 0; stampID[s] = 0; ever[s] = 0;
    doomed[s] = 0
}

#define IS_BOUND(s, p) (provider[s] == (p) || ((former[s] >> (p)) & 1))

/* What the first n entries say of a record. */
inline judge(s, n) {
    isLive = 1; x = 0; y = 0;
    do
    :: x < n ->
        if
        :: kind[x] == killed && IS_BOUND(s, scope[x]) ->
            y = y | BIT(scope[x]);
            if :: stamp[s] < x + 1 -> isLive = 0 :: else fi
        :: kind[x] == revived -> y = y & (3 - BIT(scope[x]))
        :: else
        fi;
#ifndef NUMBER_STAMP
        if :: stamp[s] == x + 1 && stampID[s] != id[x] -> isLive = 0 :: else fi;
#endif
        x++
    :: else -> break
    od;
    if :: y != 0 -> isLive = 0 :: else fi;
    x = 0; y = 0
}

inline check() {
    judge(NOW, top);
    do
    :: i < top ->
        MUST(!isLive || !((doomed[NOW] >> id[i]) & 1), "I5 is broken: a token of before a kill is live\n");
        i++
    :: else -> break
    od;
    i = 0; isLive = 0
}

inline doom(s, p) {
    if :: version[s] != 0 && ((ever[s] >> (p)) & 1) -> doomed[s] = doomed[s] | BIT(raises) :: else fi
}

inline append(what, p) {
    raises++;
    kind[top] = what; scope[top] = p; id[top] = raises;
    top++;
    if
    :: what == killed ->
        printf("  provider %d is killed: entry %d of the log\n", p, top);
        doom(NOW, p); doom(PAST, p); doom(READ, p); doom(KNOWN, p)
    :: what == revived -> printf("  provider %d is revived: entry %d of the log\n", p, top)
    :: else -> printf("  another account is killed: entry %d of the log\n", top)
    fi;
    check()
}

#define MAY_APPEND (top < K && raises < K)

proctype Operators() {
end:
    do
    :: d_step { MAY_APPEND -> append(killed, 0) }
    :: d_step { MAY_APPEND -> append(killed, 1) }
    :: d_step { MAY_APPEND -> append(revived, 0) }
    :: d_step { MAY_APPEND -> append(revived, 1) }
    :: d_step { MAY_APPEND -> append(otherKilled, 0) }
    od
}

inline write() { writes++; version[NOW] = writes; check() }

/* An adoption: the record must not have been written since it was read. The read of the log may be stale. */
proctype Adoption() {
    byte seen;
end:
    do
    :: d_step { seen == 0 && writes < WRITES -> judge(NOW, top); seen = (isLive -> version[NOW] : 0); isLive = 0 }
#ifdef STALE_READ
    :: d_step { seen == 0 && writes < WRITES && top > 0 ->
        judge(NOW, top - 1); seen = (isLive -> version[NOW] : 0); isLive = 0 }
#endif
    :: d_step { seen != 0 ->
        if
        :: seen == version[NOW] ->
            printf("  the account is adopted for provider %d\n", 1 - provider[NOW]);
#ifndef FORGET_FORMER
            former[NOW] = (former[NOW] | BIT(provider[NOW])) & (3 - BIT(1 - provider[NOW]));
#endif
            provider[NOW] = 1 - provider[NOW];
            ever[NOW] = ever[NOW] | BIT(provider[NOW]);
            write()
        :: else
        fi;
        seen = 0 }
    od
}

/* Keeps the providers of the record that is about to be overwritten. */
inline keepHistory(s) {
    former[s] = (former[s] | former[NOW] | BIT(provider[NOW])) & (3 - BIT(provider[s]))
}

inline readLog(n) {
    judge(READ, n);
    epoch = n; epochID = (n > 0 -> id[n - 1] : 0);
    if
    :: isLive -> step = judged; printf("  a flight has read the record and %d entries\n", n)
    :: else -> step = idle; clear(READ); epoch = 0; epochID = 0
    fi;
    isLive = 0
}

proctype Flight() {
end:
    do
    :: d_step { step == idle && writes < WRITES && generation[NOW] < 2 -> copy(READ, NOW); step = read }
    :: d_step { step == read -> readLog(top) }
#ifdef STALE_READ
    :: d_step { step == read && top > 0 -> readLog(top - 1) }
#endif
    :: d_step { step == judged ->
        if
        :: version[NOW] == version[READ] ->
            printf("  it claims the account\n");
            write(); version[READ] = version[NOW]; step = flying
        :: else -> step = idle; clear(READ); epoch = 0; epochID = 0
        fi }
    :: d_step { step == flying ->
        if
        :: generation[NOW] <= generation[READ] ->
            printf("  it commits its tokens\n");
#ifndef FORGET_HISTORY
            keepHistory(READ);
#endif
            if :: epoch >= stamp[READ] -> stamp[READ] = epoch; stampID[READ] = epochID :: else fi;
            generation[READ]++;
            ever[READ] = ever[READ] | ever[NOW]; doomed[READ] = doomed[READ] | doomed[NOW];
            copy(NOW, READ);
            write();
            if :: generation[NOW] >= generation[KNOWN] -> copy(KNOWN, NOW) :: else fi
        :: else -> printf("  there is no place for its tokens\n")
        fi;
        step = idle; clear(READ); epoch = 0; epochID = 0 }
    od
}

#ifdef LOST_SUFFIX
proctype Past() {
end:
    do
    :: d_step { saved == 0 -> printf("  this state is kept\n"); saved = 1; copy(PAST, NOW); oldTop = top }
    :: d_step { saved == 1 ->
        printf("  the store falls back to the state that was kept\n");
        saved = 2;
        copy(NOW, PAST); clear(PAST);
        i = oldTop;
        do
        :: i < top ->
            kind[K + i] = kind[i]; scope[K + i] = scope[i]; id[K + i] = id[i];
            kind[i] = 0; scope[i] = 0; id[i] = 0;
            i++
        :: else -> break
        od;
        i = 0; lostTop = top; top = oldTop; oldTop = 0 }

    /* A replica that knows what was lost writes it back. */
    :: d_step { top < lostTop && id[K + top] != 0 && (top == 0 || id[K + top - 1] == 0 || id[K + top - 1] == id[top - 1]) ->
        printf("  entry %d is written back\n", top + 1);
        kind[top] = kind[K + top]; scope[top] = scope[K + top]; id[top] = id[K + top];
        top++;
        check() }
    :: d_step { saved == 2 && generation[NOW] < generation[KNOWN] && writes < WRITES ->
        printf("  the record is put back\n");
#ifndef REPAIR_WHOLE
        keepHistory(KNOWN);
#endif
        ever[KNOWN] = ever[KNOWN] | ever[NOW]; doomed[KNOWN] = doomed[KNOWN] | doomed[NOW];
#ifdef RESTAMP
        stamp[KNOWN] = top; stampID[KNOWN] = (top > 0 -> id[top - 1] : 0);
#endif
        copy(NOW, KNOWN);
        write();
        version[KNOWN] = version[NOW] }
    od
}
#endif

init {
    atomic {
        step = idle;
        writes = 1; version[NOW] = 1; ever[NOW] = 1;
        run Operators();
        run Adoption();
        run Flight();
#ifdef LOST_SUFFIX
        run Past()
#endif
    }
}
