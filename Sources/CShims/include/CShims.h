// The few C lines that Swift cannot say.
#ifndef MARTLET_CSHIMS_H
#define MARTLET_CSHIMS_H

#include <spawn.h>
#include <stddef.h>
#include <stdint.h>

/// Overwrites `count` bytes with zeroes in a way the optimizer may not drop.
void martlet_zero(void *bytes, size_t count);

/// Nanoseconds of CLOCK_BOOTTIME: it counts suspended time too and never jumps with the wall clock.
int64_t martlet_boottime_nanoseconds(void);

/// Has a program that is to be spawned start in `directory`. Returns an error number.
int martlet_spawn_in(posix_spawn_file_actions_t *actions, const char *directory);

#endif
