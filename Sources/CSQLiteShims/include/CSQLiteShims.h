// The C lines that the SQLite store needs and Swift cannot say.
#ifndef MARTLET_CSQLITESHIMS_H
#define MARTLET_CSQLITESHIMS_H

#include <stdint.h>

struct sqlite3;

/// Has the close of a connection make no checkpoint (SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE). Returns SQLite's result code.
int martlet_forbid_checkpoint_on_close(struct sqlite3 *connection);

/// The number of the kind of file system that `path` is on (statfs(2), f_type), or -1 with errno.
int64_t martlet_file_system(const char *path);

#endif
