/* SQLite as Swift sees it, and the few calls of it that Swift can't import: those with variable arguments and those
 * through tables of functions. Everything is a thin call; no logic lives here. */
#ifndef FLUXBUS_CSQLITE_H
#define FLUXBUS_CSQLITE_H

#include <sqlite3.h>
#include <stdint.h>
#include <string.h>

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

/* Brings what was moved into the database's file to disk. */
static inline int sqlite_sync_file(sqlite3 *database) {
    sqlite3_file *file = (sqlite3_file *)0;
    int code = sqlite3_file_control(database, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (code != SQLITE_OK) return code;
    if (!file || !file->pMethods) return SQLITE_OK;
    return file->pMethods->xSync(file, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY);
}

/* Frames of the write-ahead log that count, as all processes agree, and the size of the pages in them; 0 where that is not known. */
static inline int sqlite_count_frames(sqlite3 *database, uint32_t *frames, uint32_t *page) {
    sqlite3_file *file = (sqlite3_file *)0;
    void volatile *index = (void volatile *)0;
    *frames = 0;
    *page = 0;
    int code = sqlite3_file_control(database, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (code != SQLITE_OK) return code;
    if (!file || !file->pMethods || file->pMethods->iVersion < 2 || !file->pMethods->xShmMap) return SQLITE_OK;
    code = file->pMethods->xShmMap(file, 0, 32768, 0, &index);
    if (code != SQLITE_OK || !index) return code;
    /* The header of the index, as the description of the file format has it. */
    uint16_t size = *(uint16_t volatile *)((char volatile *)index + 14);
    *page = size == 1 ? 65536 : size;
    *frames = *(uint32_t volatile *)((char volatile *)index + 16);
    return SQLITE_OK;
}

/* Reads from the beginning of the write-ahead log. */
static inline int sqlite_read_wal(sqlite3 *database, void *bytes, int count) {
    sqlite3_file *file = (sqlite3_file *)0;
    int code = sqlite3_file_control(database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);
    if (code != SQLITE_OK) return code;
    if (!file || !file->pMethods) return SQLITE_IOERR_READ;
    return file->pMethods->xRead(file, bytes, count, 0);
}

/* How long the write-ahead log's file is. */
static inline int sqlite_size_wal(sqlite3 *database, int64_t *size) {
    sqlite3_file *file = (sqlite3_file *)0;
    sqlite3_int64 found = 0;
    int code = sqlite3_file_control(database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);
    if (code != SQLITE_OK) return code;
    if (!file || !file->pMethods) return SQLITE_IOERR_FSTAT;
    code = file->pMethods->xFileSize(file, &found);
    *size = found;
    return code;
}

/* Writes behind all that counts in the write-ahead log. */
static inline int sqlite_extend_wal(sqlite3 *database, const void *bytes, int count, int64_t place) {
    sqlite3_file *file = (sqlite3_file *)0;
    int code = sqlite3_file_control(database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);
    if (code != SQLITE_OK) return code;
    if (!file || !file->pMethods) return SQLITE_IOERR_WRITE;
    return file->pMethods->xWrite(file, bytes, count, place);
}

/* The connection leaves the write-ahead log as it is when it is closed. */
static inline int sqlite_leave_wal(sqlite3 *database) {
    return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}

/* Opens a file beside a database, in the storage that SQLite knows by a name (null: the file system): to be read, or to be written
 * and made. One that is made gets the owner and the mode of the database, whose name it begins with and which must be there, and its
 * own name is on disk with its first sync. */
static inline int sqlite_open_beside(const char *storage, const char *path, int makes, sqlite3_file **opened) {
    sqlite3_vfs *vfs = sqlite3_vfs_find(storage);
    *opened = (sqlite3_file *)0;
    if (!vfs) return SQLITE_ERROR;
    size_t length = strlen(path) + 1;
    /* The path stays with the file, which may use it as long as it is open. */
    sqlite3_file *file = (sqlite3_file *)sqlite3_malloc64((sqlite3_uint64)vfs->szOsFile + length + 1);
    if (!file) return SQLITE_NOMEM;
    memset(file, 0, (size_t)vfs->szOsFile + length + 1);
    char *name = (char *)file + vfs->szOsFile;
    memcpy(name, path, length);
    int flags = makes ? SQLITE_OPEN_WAL | SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_SUPER_JOURNAL | SQLITE_OPEN_READONLY;
    int code = vfs->xOpen(vfs, name, file, flags, (int *)0);
    if (code == SQLITE_OK && file->pMethods) {
        *opened = file;
        return SQLITE_OK;
    }
    sqlite3_free(file);
    return code == SQLITE_OK ? SQLITE_CANTOPEN : code;
}

/* Closes a file that was opened beside a database. */
static inline void sqlite_close_beside(sqlite3_file *file) {
    file->pMethods->xClose(file);
    sqlite3_free(file);
}

/* Whether there is a file beside a database. */
static inline int sqlite_find_beside(const char *storage, const char *path, int *found) {
    sqlite3_vfs *vfs = sqlite3_vfs_find(storage);
    return vfs ? vfs->xAccess(vfs, path, SQLITE_ACCESS_EXISTS, found) : SQLITE_ERROR;
}

/* Removes a file beside a database. */
static inline int sqlite_remove_beside(const char *storage, const char *path) {
    sqlite3_vfs *vfs = sqlite3_vfs_find(storage);
    return vfs ? vfs->xDelete(vfs, path, 0) : SQLITE_ERROR;
}

/* Writes less than 128 KiB. */
static inline int sqlite_write_beside(sqlite3_file *file, const void *bytes, int count, int64_t place) {
    return file->pMethods->xWrite(file, bytes, count, place);
}

/* Brings what was written to disk, and a new length only where the file has become longer. */
static inline int sqlite_sync_beside(sqlite3_file *file) {
    return file->pMethods->xSync(file, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY);
}

/* Reads less than 128 KiB; what the file lacks is zero. */
static inline int sqlite_read_beside(sqlite3_file *file, void *bytes, int count, int64_t place) {
    int code = file->pMethods->xRead(file, bytes, count, place);
    return code == SQLITE_IOERR_SHORT_READ ? SQLITE_OK : code;
}

/* Whether the file is no longer where it was opened: moved, replaced or deleted. */
static inline int sqlite_has_moved(sqlite3 *database) {
    int moved = 0;
    int code = sqlite3_file_control(database, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    return code == SQLITE_OK && moved;
}

#endif
