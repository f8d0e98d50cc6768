// C functions of the SQLite store that can't be written in Swift.
#ifndef MARTLET_CSQLITESHIMS_H
#define MARTLET_CSQLITESHIMS_H

#include <stdint.h>

struct sqlite3;

/// Disables the checkpoint on close of a connection (SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE). Returns SQLite's result code.
int martlet_forbid_checkpoint_on_close(struct sqlite3 *connection);

/// The number of the file system type of `path` (statfs(2), f_type), or -1 with errno set.
int64_t martlet_file_system(const char *path);

#endif
