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

/// Makes a pipe, whose ends no program inherits (pipe2(2), O_CLOEXEC). Returns 0, or -1 with errno.
int martlet_pipe(int ends[2]);

/// Has the kernel write no core of this process and let no other process of the same user read its memory (prctl(2),
/// PR_SET_DUMPABLE). Returns 0, or -1 with errno.
int martlet_forbid_dumps(void);

/// Has no program that this process starts gain rights that it has not (prctl(2), PR_SET_NO_NEW_PRIVS). Returns 0, or -1
/// with errno.
int martlet_forbid_new_privileges(void);

/// How many cores this process may run on (sched_getaffinity(2)), or 0 where that can't be told.
int martlet_allowed_cores(void);

/// Gives free memory back to the system (malloc_trim(3)). free(3) has overwritten it by then, as always in a program with
/// these shims.
void martlet_release_freed(void);

#endif
