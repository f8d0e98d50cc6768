#include "CSQLiteShims.h"

#include <sqlite3.h>
#include <sys/vfs.h>

int martlet_forbid_checkpoint_on_close(struct sqlite3 *connection) {
    return sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}

int64_t martlet_file_system(const char *path) {
    struct statfs system;
    // The type of f_type differs between platforms. Its low 32 bits are the number.
    return statfs(path, &system) == 0 ? (int64_t)(uint32_t)system.f_type : -1;
}
