/*
 * A store that several hosts reach and that does not keep its word. kills.pml, flights.pml and stamps.pml stand on it, each
 * with the records that it needs. martlet.pml stands on a store that keeps its word.
 *
 * What the store may do:
 * - STALE_READ: a read answers from an earlier state. It is never older than the last write of this store object that was
 *   acknowledged. A compare-and-set is never stale.
 * - LOST_SUFFIX: once, all records and the log go back to an earlier state.
 * - LATE_WRITE: a write is answered `unreachable`. It lands later, if the version that it expects is there then, or never.
 *   There are LATES such writes, one after the other.
 * - FALSE_DEATH: the lock of a process on another host is got although that process runs.
 * The earlier state is kept at any time, once. So each suffix that may be lost and each age of a read is looked at.
 */

#define MUST(holds, text) if :: holds :: else -> printf(text); assert(false) fi

#ifndef LATES
#define LATES 2
#endif

/* Records have two states: as they are now, and as they were when they were kept. */
#if defined(STALE_READ) || defined(LOST_SUFFIX)
#define HAS_PAST
#define STATES 2
byte saved;                     /* 0: not yet, 1: it is there, 2: the store has fallen back to it */
#else
#define STATES 1
#endif
#define NOW 0
#define PAST 1

bit hasWritten[N];              /* a write of this store object was acknowledged since the state was kept */
#define SEES_PAST(r) (saved == 1 && !hasWritten[r])
