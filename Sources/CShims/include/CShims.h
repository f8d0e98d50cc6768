// The few C lines that Swift cannot say.
#ifndef MARTLET_CSHIMS_H
#define MARTLET_CSHIMS_H

#include <stddef.h>
#include <stdint.h>

/// Overwrites `count` bytes with zeroes in a way the optimizer may not drop.
void martlet_zero(void *bytes, size_t count);

/// Nanoseconds of CLOCK_BOOTTIME: it counts suspended time too and never jumps with the wall clock.
int64_t martlet_boottime_nanoseconds(void);

#endif
