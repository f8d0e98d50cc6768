/*
 * A store that several hosts share and that does not keep its guarantees. kills.pml, flights.pml and stamps.pml include this
 * file, and each adds the records that it needs. martlet.pml assumes a store that keeps its guarantees.
 *
 * Faults of the store:
 * - STALE_READ: a read returns an earlier state. That state is never older than the last acknowledged write of the same
 *   store object. A compare-and-set is never stale.
 * - LOST_SUFFIX: once, all records and the log return to an earlier state.
 * - LATE_WRITE: a write fails with `unreachable`. The write takes effect later, if the version that it expects is there at
 *   that time, or it never takes effect. There are LATES such writes, one after the other.
 * - FALSE_DEATH: a process gets the lock of a process on another host although that process is running.
 * The model saves the earlier state once, at any time. The search therefore covers every suffix that may be lost and every
 * age of a read.
 */

#define MUST(holds, text) if :: holds :: else -> printf(text); assert(false) fi

#ifndef LATES
#define LATES 2
#endif

/* Each record has two states: the current one, and the one at the time of the save. */
#if defined(STALE_READ) || defined(LOST_SUFFIX)
#define HAS_PAST
#define STATES 2
byte saved;                     /* 0: nothing saved yet, 1: an earlier state is saved, 2: the store has returned to it */
#else
#define STATES 1
#endif
#define NOW 0
#define PAST 1

bit hasWritten[N];              /* a write of this store object was acknowledged since the save */
#define SEES_PAST(r) (saved == 1 && !hasWritten[r])
