/* SQLite as Swift sees it, and the few calls of it that Swift can't import: those with variable arguments and those
 * through tables of functions. Everything is a thin call; no logic lives here. */
#ifndef FLUXBUS_CSQLITE_H
#define FLUXBUS_CSQLITE_H

#include <sqlite3.h>

/* Makes a connection safe for a file that somebody may have prepared or damaged: no triggers of its own run. */
static inline int sqlite_distrust_schema(sqlite3 *database) {
    int code = sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, (int *)0);
    if (code != SQLITE_OK) return code;
    return sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)0);
}

/* Brings the write-ahead log to disk, without a transaction and without a checkpoint. */
static inline int sqlite_sync_wal(sqlite3 *database) {
    sqlite3_file *file = (sqlite3_file *)0;
    int code = sqlite3_file_control(database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);
    if (code != SQLITE_OK) return code;
    if (!file || !file->pMethods) return SQLITE_OK;
    return file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
}

/* Whether the file is no longer where it was opened: moved, replaced or deleted. */
static inline int sqlite_has_moved(sqlite3 *database) {
    int moved = 0;
    int code = sqlite3_file_control(database, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    return code == SQLITE_OK && moved;
}

#endif
