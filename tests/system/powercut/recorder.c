/* Record what a program writes below a folder: preload this, with POWERCUT_FOLDER and POWERCUT_RECORD set.
 *
 * Each record: a byte for the kind, the inode, an offset, the length of what follows, and that: bytes of a write, or
 * names below the folder. Kinds: C create, W write, T truncate, S sync, D sync of the folder, R rename (two names,
 * separated by a zero byte), U unlink. Unlinking a name that is not there is recorded as M, a mark of the program.
 *
 * powercut_arm() records into another file from then on, and lets a call fail: the n-th of these or of those that open
 * a file, counted from then on. How: see the kinds below.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *folder;
static size_t folder_length;
static int record = -1, fail = -1, calls;
static enum {
    ONCE,  /* an error of the device, once */
    SPACE, /* no room: half of what is written, if it is written, and nothing of later writes */
    GONE,  /* all later calls fail too, whatever they are */
    PART,  /* half of what is written, once, which is no error; another call fails as with ONCE */
} failing_how;
static char ours[65536];

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("POWERCUT_RECORD");
    folder = getenv("POWERCUT_FOLDER");
    if (!folder) return;
    folder_length = strlen(folder);
    if (path) record = NEXT(open)(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

/* n 0 lets nothing fail; returns how many calls there were since the last time */
int powercut_arm(const char *path, int n, int how) {
    int found = calls;
    if (record >= 0) close(record);
    record = path ? NEXT(open)(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
    fail = n, failing_how = how, calls = 0;
    return found;
}

/* the name below the folder, "" for the folder itself, NULL for others */
static const char *below(const char *path) {
    if (!folder || strncmp(path, folder, folder_length)) return NULL;
    if (!path[folder_length]) return "";
    return path[folder_length] == '/' ? path + folder_length + 1 : NULL;
}

static void note(char kind, uint64_t inode, uint64_t offset, const void *body, uint64_t length) {
    if (record < 0) return;
    char head[25];
    head[0] = kind;
    memcpy(head + 1, &inode, 8);
    memcpy(head + 9, &offset, 8);
    memcpy(head + 17, &length, 8);
    ssize_t (*put)(int, const void *, size_t) = NEXT(write);
    if (put(record, head, 25) != 25 || (length && put(record, body, length) != (ssize_t)length)) abort();
}

/* whether this call is the one to fail; the lock is held */
static int failing(int writes) {
    calls++;
    if (fail <= 0 || calls < fail) return 0;
    if (calls > fail && !(failing_how == GONE || (failing_how == SPACE && writes))) return 0;
    errno = failing_how == SPACE ? ENOSPC : EIO;
    return 1;
}

static int is_folder(int fd) {
    struct stat found;
    return !fstat(fd, &found) && S_ISDIR(found.st_mode);
}

static uint64_t inode_of(int fd, off_t *size) {
    struct stat found;
    fstat(fd, &found);
    if (size) *size = found.st_size;
    return found.st_ino;
}

static int watched(int fd) { return fd >= 0 && fd < (int)sizeof ours && ours[fd]; }

static int opened(const char *path, int flags, int mode) {
    int (*next)(const char *, int, ...) = NEXT(open);
    const char *name = below(path);
    if (!name) return next(path, flags, mode);
    pthread_mutex_lock(&lock);
    int there = !access(path, F_OK), fd = -1;
    int changes = ((flags & O_CREAT) && !there) || (flags & O_TRUNC);
    if (!(there || (flags & O_CREAT)) || !failing(changes)) fd = next(path, flags, mode);
    int told = errno;
    if (fd >= 0 && fd < (int)sizeof ours) {
        ours[fd] = is_folder(fd) ? 2 : 1;
        if ((flags & O_CREAT) && !there) note('C', inode_of(fd, NULL), 0, name, strlen(name));
        else if (flags & O_TRUNC) note('T', inode_of(fd, NULL), 0, NULL, 0);
    }
    pthread_mutex_unlock(&lock);
    errno = told;
    return fd;
}

#define OPEN(name)                                         \
    int name(const char *path, int flags, ...) {           \
        va_list more;                                      \
        va_start(more, flags);                             \
        int mode = flags & O_CREAT ? va_arg(more, int) : 0; \
        va_end(more);                                      \
        return opened(path, flags, mode);                  \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                     \
    int name(int at, const char *path, int flags, ...) {                 \
        va_list more;                                                    \
        va_start(more, flags);                                           \
        int mode = flags & O_CREAT ? va_arg(more, int) : 0;              \
        va_end(more);                                                    \
        if (below(path)) return opened(path, flags, mode);               \
        int (*next)(int, const char *, int, ...) = NEXT(openat);         \
        return next(at, path, flags, mode);                              \
    }
OPENAT(openat)
OPENAT(openat64)

int close(int fd) {
    if (watched(fd)) ours[fd] = 0;
    return NEXT(close)(fd);
}

static ssize_t written(int fd, const void *body, size_t length, off_t offset, int appends) {
    ssize_t (*at)(int, const void *, size_t, off_t) = NEXT(pwrite);
    ssize_t (*on)(int, const void *, size_t) = NEXT(write);
    if (!watched(fd)) return appends ? on(fd, body, length) : at(fd, body, length, offset);
    pthread_mutex_lock(&lock);
    off_t size, place = offset;
    uint64_t inode = inode_of(fd, &size);
    if (appends) place = fcntl(fd, F_GETFL) & O_APPEND ? size : lseek(fd, 0, SEEK_CUR);
    ssize_t done = -1;
    if (!failing(1)) done = appends ? on(fd, body, length) : at(fd, body, length, offset);
    else if (length > 1 && calls == fail && (failing_how == SPACE || failing_how == PART))
        done = appends ? on(fd, body, length / 2) : at(fd, body, length / 2, offset);
    int told = errno;
    if (done > 0) note('W', inode, place, body, done);
    pthread_mutex_unlock(&lock);
    errno = told;
    return done;
}

ssize_t write(int fd, const void *body, size_t length) { return written(fd, body, length, 0, 1); }
ssize_t pwrite(int fd, const void *body, size_t length, off_t offset) { return written(fd, body, length, offset, 0); }
ssize_t pwrite64(int fd, const void *body, size_t length, off_t offset) { return written(fd, body, length, offset, 0); }

#define ON_FILE(name, kind, writes, arguments, call, offset)           \
    int name arguments {                                               \
        __typeof__(&name) next = NEXT(name);                           \
        if (!watched(fd)) return next call;                            \
        pthread_mutex_lock(&lock);                                     \
        int done = failing(writes) ? -1 : next call, told = errno;     \
        if (!done) note(kind, inode_of(fd, NULL), offset, NULL, 0);    \
        pthread_mutex_unlock(&lock);                                   \
        errno = told;                                                  \
        return done;                                                   \
    }
ON_FILE(ftruncate, 'T', 0, (int fd, off_t size), (fd, size), size)
ON_FILE(ftruncate64, 'T', 0, (int fd, off_t size), (fd, size), size)
ON_FILE(fsync, ours[fd] == 2 ? 'D' : 'S', 0, (int fd), (fd), 0)
ON_FILE(fdatasync, ours[fd] == 2 ? 'D' : 'S', 0, (int fd), (fd), 0)

int rename(const char *from, const char *to) {
    int (*next)(const char *, const char *) = NEXT(rename);
    const char *a = below(from), *b = below(to);
    if (!a || !b) return next(from, to);
    pthread_mutex_lock(&lock);
    int done = failing(0) ? -1 : next(from, to), told = errno;
    if (!done) {
        char both[8192];
        int length = snprintf(both, sizeof both, "%s%c%s", a, 0, b);
        note('R', 0, 0, both, length);
    }
    pthread_mutex_unlock(&lock);
    errno = told;
    return done;
}

int unlink(const char *path) {
    int (*next)(const char *) = NEXT(unlink);
    const char *name = below(path);
    if (!name) return next(path);
    pthread_mutex_lock(&lock);
    int there = !access(path, F_OK);
    int done = there && failing(0) ? -1 : next(path), told = errno;
    if (!done || !there) note(there ? 'U' : 'M', 0, 0, name, strlen(name));
    pthread_mutex_unlock(&lock);
    errno = told;
    return done;
}

int remove(const char *path) {
    struct stat found;
    if (below(path) && !lstat(path, &found) && !S_ISDIR(found.st_mode)) return unlink(path);
    return NEXT(remove)(path);
}

int unlinkat(int at, const char *path, int flags) {
    if (below(path) && !flags) return unlink(path);
    int (*next)(int, const char *, int) = NEXT(unlinkat);
    return next(at, path, flags);
}
