/* LD_PRELOAD library: records all changes to the files below a folder, or lets some of them fail.

   DISK_ROOT      real path of the folder
   DISK_CONTROL   file with two numbers of 8 bytes: calls counted so far, and 1 if the disk is mended
   DISK_FAULT     "KIND NUMBER ERRNO MORE": the call with this number fails, and all later ones if
                  MORE is 1; KIND is write, sync, rename, truncate, create or remove
   DISK_LOG       file to which changes are appended, in their order over all processes and threads

   A lock around each call and its record makes the order of the records that of the changes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WRITE, SYNC, RENAME, TRUNCATE, CREATE, REMOVE, MKDIR, KINDS };
static const char *kinds[] = {"write", "sync", "rename", "truncate", "create", "remove", "mkdir"};

struct record {
    uint64_t kind, inode, offset, bytes, path, target; /* lengths of what follows, from `bytes` on */
};

#define REAL(name) static __typeof__(&name) real; if (!real) real = dlsym(RTLD_NEXT, #name)

static int real_open(const char *path, int flags) { REAL(open); return real(path, flags, 0600); }
static ssize_t real_pwrite(int f, const void *b, size_t n, off_t o) { REAL(pwrite); return real(f, b, n, o); }

/* Return 1 if the path is below the folder. The shared memory of SQLite does not count. */
static int is_inside(const char *path) {
    const char *root = getenv("DISK_ROOT");
    size_t length = root ? strlen(root) : 0, all = strlen(path);
    if (!length || strncmp(path, root, length) || (path[length] && path[length] != '/')) return 0;
    return all < 4 || strcmp(path + all - 4, "-shm");
}

static int path_of(int fd, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, PATH_MAX - 1);
    if (n < 0) return 0;
    path[n] = 0;
    return is_inside(path);
}

/* Make an absolute path of one that is relative to a folder; the last part is not resolved. */
static int path_at(int dir, const char *name, char *path) {
    char base[PATH_MAX];
    if (name[0] == '/') snprintf(path, PATH_MAX, "%s", name);
    else {
        char link[64];
        if (dir == AT_FDCWD) { if (!getcwd(base, sizeof base)) return 0; }
        else {
            snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
            ssize_t n = readlink(link, base, sizeof base - 1);
            if (n < 0) return 0;
            base[n] = 0;
        }
        if ((size_t)snprintf(path, PATH_MAX, "%s/%s", base, name) >= PATH_MAX) return 0;
    }
    return is_inside(path);
}

static int lock(void) {
    const char *control = getenv("DISK_CONTROL");
    int fd = control ? real_open(control, O_RDWR | O_CLOEXEC) : -1;
    if (fd >= 0) flock(fd, LOCK_EX);
    return fd;
}
static void unlock(int fd) { if (fd >= 0) { int e = errno; close(fd); errno = e; } }

static int is_own_log(const char *path) {
    const char *end = strrchr(path, '.');
    return end && (!strcmp(end, ".commits") || !strcmp(end, ".done"));
}

/* Count a call. Return 1, with errno set, if it has to fail; those on logs of the proof do not. */
static int fails(int control, int kind, const char *path) {
    const char *fault = getenv("DISK_FAULT");
    char wanted[16]; unsigned long at; int error, more; uint64_t state[2] = {0, 0};
    if (!fault || control < 0 || is_own_log(path) || sscanf(fault, "%15s %lu %d %d", wanted, &at, &error, &more) != 4) return 0;
    if (strcmp(wanted, kinds[kind])) return 0;
    if (pread(control, state, sizeof state, 0) < 0) return 0;
    state[0]++;
    real_pwrite(control, state, 8, 0);
    if (state[1] || state[0] < at || (state[0] > at && !more)) return 0;
    errno = error;
    return 1;
}

static void record(int kind, uint64_t inode, uint64_t offset, const void *data, uint64_t bytes,
                   const char *path, const char *target) {
    const char *name = getenv("DISK_LOG");
    if (!name) return;
    int e = errno, fd = real_open(name, O_WRONLY | O_APPEND | O_CLOEXEC);
    struct record head = {kind, inode, offset, bytes, strlen(path), strlen(target)};
    struct iovec parts[] = {{&head, sizeof head}, {(void *)path, head.path},
                            {(void *)target, head.target}, {(void *)data, bytes}};
    REAL(writev);
    if (fd < 0 || real(fd, parts, 4) < 0) abort();
    close(fd);
    errno = e;
}

static uint64_t inode_of(int fd) { struct stat s; return fstat(fd, &s) ? 0 : s.st_ino; }
static uint64_t inode_at(const char *path) { struct stat s; return lstat(path, &s) ? 0 : s.st_ino; }

/* ---- calls on open files ---- */

#define ON_FILE(kind, call, offset_, data_, bytes_) \
    char path[PATH_MAX]; \
    if (!path_of(fd, path)) return call; \
    int held = lock(); \
    if (fails(held, kind, path)) { unlock(held); return -1; } \
    __typeof__(call) done = call; \
    if (done >= 0) record(kind, inode_of(fd), offset_, data_, bytes_, path, ""); \
    unlock(held); \
    return done

static uint64_t place(int fd, ssize_t done) {
    off_t end = lseek(fd, 0, SEEK_CUR);
    return end < done ? 0 : end - done;
}
ssize_t write(int fd, const void *b, size_t n) { REAL(write); ON_FILE(WRITE, real(fd, b, n), place(fd, done), b, done); }
ssize_t pwrite(int fd, const void *b, size_t n, off_t o) { REAL(pwrite); ON_FILE(WRITE, real(fd, b, n, o), o, b, done); }
ssize_t pwrite64(int fd, const void *b, size_t n, off64_t o) { REAL(pwrite64); ON_FILE(WRITE, real(fd, b, n, o), o, b, done); }
int fsync(int fd) { REAL(fsync); ON_FILE(SYNC, real(fd), 0, "", 0); }
int fdatasync(int fd) { REAL(fdatasync); ON_FILE(SYNC, real(fd), 0, "", 0); }
int ftruncate(int fd, off_t n) { REAL(ftruncate); ON_FILE(TRUNCATE, real(fd, n), n, "", 0); }
int ftruncate64(int fd, off64_t n) { REAL(ftruncate64); ON_FILE(TRUNCATE, real(fd, n), n, "", 0); }
ssize_t writev(int fd, const struct iovec *v, int n) {
    char path[PATH_MAX];
    REAL(writev);
    if (path_of(fd, path)) abort(); /* nobody uses it here: the proof has to learn it then */
    return real(fd, v, n);
}

/* ---- calls on names ---- */

#define ON_NAME(kind, dir, name, call, inode_, offset_) \
    char path[PATH_MAX]; \
    if (!path_at(dir, name, path)) return call; \
    int held = lock(); \
    if (fails(held, kind, path)) { unlock(held); return -1; } \
    uint64_t inode = inode_; \
    __typeof__(call) done = call; \
    if (done >= 0) record(kind, inode ? inode : inode_at(path), offset_, "", 0, path, ""); \
    unlock(held); \
    return done

int truncate(const char *p, off_t n) { REAL(truncate); ON_NAME(TRUNCATE, AT_FDCWD, p, real(p, n), 0, n); }
int truncate64(const char *p, off64_t n) { REAL(truncate64); ON_NAME(TRUNCATE, AT_FDCWD, p, real(p, n), 0, n); }
int unlink(const char *p) { REAL(unlink); ON_NAME(REMOVE, AT_FDCWD, p, real(p), inode_at(path), 0); }
int rmdir(const char *p) { REAL(rmdir); ON_NAME(REMOVE, AT_FDCWD, p, real(p), inode_at(path), 0); }
int unlinkat(int d, const char *p, int f) { REAL(unlinkat); ON_NAME(REMOVE, d, p, real(d, p, f), inode_at(path), 0); }
int mkdir(const char *p, mode_t m) { REAL(mkdir); ON_NAME(MKDIR, AT_FDCWD, p, real(p, m), 0, 0); }
int mkdirat(int d, const char *p, mode_t m) { REAL(mkdirat); ON_NAME(MKDIR, d, p, real(d, p, m), 0, 0); }

int renameat(int d, const char *p, int e, const char *q) {
    char path[PATH_MAX], target[PATH_MAX];
    REAL(renameat);
    int is_ours = path_at(d, p, path);
    if (!path_at(e, q, target) || !is_ours) return real(d, p, e, q);
    int held = lock();
    if (fails(held, RENAME, path)) { unlock(held); return -1; }
    int done = real(d, p, e, q);
    if (!done) record(RENAME, inode_at(target), 0, "", 0, path, target);
    unlock(held);
    return done;
}
int rename(const char *p, const char *q) { return renameat(AT_FDCWD, p, AT_FDCWD, q); }

static int opened(int dir, const char *name, int flags, mode_t mode) {
    char path[PATH_MAX];
    REAL(openat);
    int changes = flags & (O_CREAT | O_TRUNC), is_unnamed = (flags & O_TMPFILE) == O_TMPFILE;
    if (!changes || is_unnamed || !path_at(dir, name, path)) return real(dir, name, flags, mode);
    int held = lock();
    int is_new = !inode_at(path);
    if ((is_new || (flags & O_TRUNC)) && fails(held, is_new ? CREATE : TRUNCATE, path)) { unlock(held); return -1; }
    int fd = real(dir, name, flags, mode);
    if (fd >= 0 && is_new) record(CREATE, inode_of(fd), 0, "", 0, path, "");
    else if (fd >= 0 && (flags & O_TRUNC)) record(TRUNCATE, inode_of(fd), 0, "", 0, path, "");
    unlock(held);
    return fd;
}
#define MODE mode_t mode = 0; if (flags & (O_CREAT | O_TMPFILE)) { va_list a; va_start(a, flags); mode = va_arg(a, int); va_end(a); }
int open(const char *p, int flags, ...) { MODE return opened(AT_FDCWD, p, flags, mode); }
int open64(const char *p, int flags, ...) { MODE return opened(AT_FDCWD, p, flags, mode); }
int openat(int d, const char *p, int flags, ...) { MODE return opened(d, p, flags, mode); }
int openat64(int d, const char *p, int flags, ...) { MODE return opened(d, p, flags, mode); }
