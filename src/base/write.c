/* write.c: see write.h.
 *
 * Parts: a writer locks its part as long as it has it open, so a part that nobody locks is one
 *        that a killed process left. Whoever locks one looks whether its name still leads to it,
 *        because between opening and locking another may have renamed or removed it.
 * Holds: every message names the path and what the system said; nothing stays open, and no part
 *        stays behind, on any way out.
 */
#include "base/write.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PARTS_MAX = 100, IN_PLACE = -1 };
static const size_t PUT_MAX = 1 << 30; /* Linux moves at most 2 GiB in one call */

static int write_error(Err *e, const char *path)
{
    return base_err_set(e, errno == ENOMEM ? SGL_ENOMEM : SGL_EFILE, "%s: cannot write: %s", path,
                        strerror(errno));
}

/* ---- putting bytes */

/* A write beyond the limit of the size of files (RLIMIT_FSIZE) raises SIGXFSZ, which would end the
 * process; blocked, and taken if it was not pending before, it leaves EFBIG, an error as any. */
typedef struct Quiet {
    sigset_t only, before;
    bool pending;
} Quiet;

static Quiet quiet_begin(void)
{
    Quiet q;
    sigset_t pending;
    sigemptyset(&q.only);
    sigaddset(&q.only, SIGXFSZ);
    q.pending = sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
    pthread_sigmask(SIG_BLOCK, &q.only, &q.before);
    return q;
}

static void quiet_end(Quiet *q)
{
    int first = errno, signal;
    sigset_t pending;
    if (!q->pending && sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1)
        sigwait(&q->only, &signal);
    pthread_sigmask(SIG_SETMASK, &q->before, NULL);
    errno = first;
}

static bool put_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t put = write(fd, p, n < PUT_MAX ? n : PUT_MAX);
        if (put < 0 && errno != EINTR) return false;
        if (put > 0) {
            p += put;
            n -= (size_t)put;
        }
    }
    return true;
}

bool base_write_all(int fd, const void *bytes, size_t n)
{
    Quiet q = quiet_begin();
    bool well = put_all(fd, bytes, n);
    quiet_end(&q);
    return well;
}

bool base_write_put(FileWrite *w, const void *bytes, size_t n)
{
    if (w->memory) base_str_add(w->memory, bytes, n);
    if (w->memory) w->failure = w->memory->failed ? ENOMEM : 0;
    else if (!w->failure && !base_write_all(w->fd, bytes, n)) w->failure = errno;
    return !w->failure;
}

/* ---- the part */

static bool is_named(int folder, const char *name, int fd)
{
    struct stat here, there;
    return fstat(fd, &here) == 0 && fstatat(folder, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           here.st_ino == there.st_ino && here.st_dev == there.st_dev;
}

/* Not every file system has locks; without them a part is simply new, and none is removed. */
static bool lock(int fd, bool or_none)
{
    return flock(fd, LOCK_EX | LOCK_NB) == 0 || (or_none && errno != EWOULDBLOCK);
}

/* Removes the part if it is one of ours that no process has any more. */
static bool remove_left(int folder, const char *part)
{
    struct stat st;
    int fd = openat(folder, part, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return false;
    bool left = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
                lock(fd, false) && is_named(folder, part, fd) && unlinkat(folder, part, 0) == 0;
    close(fd);
    return left;
}

/* A new file of the first free name; -1 with errno. */
static int open_part(FileWrite *w, mode_t mode)
{
    for (int i = 0; i < PARTS_MAX; i++) {
        int fd;
        snprintf(w->part, sizeof w->part, ".sgl-%d.part", i);
        bool taken;
        do {
            fd = openat(w->folder, w->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
            taken = fd < 0 && errno == EEXIST;
        } while (taken && remove_left(w->folder, w->part));
        if (fd < 0 && !taken) return -1;
        if (fd >= 0 && lock(fd, true) && is_named(w->folder, w->part, fd)) return fd;
        if (fd >= 0) close(fd);
    }
    errno = EEXIST;
    return -1;
}

int base_write_begin_in(FileWrite *w, int folder, const char *name, mode_t mode, const char *shown,
                        Err *e)
{
    *w = (FileWrite){.folder = folder, .shown = shown};
    if (strlen(name) >= sizeof w->name) {
        errno = ENAMETOOLONG;
        return write_error(e, shown);
    }
    strcpy(w->name, name);
    w->fd = open_part(w, mode);
    return w->fd < 0 ? write_error(e, shown) : SGL_OK;
}

void base_write_begin_memory(FileWrite *w, Str *to)
{
    *w = (FileWrite){.fd = -1, .folder = IN_PLACE, .memory = to, .shown = "memory"};
}

void base_write_begin_nowhere(FileWrite *w)
{
    *w = (FileWrite){.fd = -1, .folder = IN_PLACE, .shown = "nowhere", .failure = ECANCELED};
}

static int begin_in_place(FileWrite *w, const char *path, Err *e)
{
    *w = (FileWrite){.folder = IN_PLACE, .shown = path};
    w->fd = open(path, O_WRONLY | O_CLOEXEC);
    return w->fd < 0 ? write_error(e, path) : SGL_OK;
}

/* Opens the folder of the file and its name in it; `target` is scratch. */
static int open_folder(char *target, const char **name)
{
    char *slash = strrchr(target, '/');
    *name = slash ? slash + 1 : target;
    if (!slash) return open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (slash == target) return open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    *slash = 0;
    return open(target, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int base_write_begin(FileWrite *w, const char *path, Err *e)
{
    struct stat st;
    char target[PATH_MAX]; /* behind links */
    const char *name;
    bool exists = stat(path, &st) == 0;
    if (exists && !S_ISREG(st.st_mode)) return begin_in_place(w, path, e);
    if (exists ? !realpath(path, target)
               : snprintf(target, sizeof target, "%s", path) >= (int)sizeof target) {
        if (!exists) errno = ENAMETOOLONG;
        return write_error(e, path);
    }
    int folder = open_folder(target, &name);
    if (folder < 0) return write_error(e, path);
    int status = base_write_begin_in(w, folder, name, 0666, path, e);
    w->own = status == SGL_OK;
    if (!w->own) close(folder);
    else if (exists && fchmod(w->fd, st.st_mode & 07777) != 0) w->failure = errno;
    return status;
}

/* ---- the end */

/* Makes the rename itself durable; not every file system can, and then nothing is lost by it. */
static void sync_folder(int folder)
{
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    (void)fsync(fd);
    close(fd);
}

static int end(FileWrite *w, bool durable, Err *e)
{
    bool renames = w->folder != IN_PLACE;
    if (!w->failure && renames && durable && fsync(w->fd) != 0) w->failure = errno;
    if (!w->failure && renames && renameat(w->folder, w->part, w->folder, w->name) != 0)
        w->failure = errno;
    if (w->failure && renames) unlinkat(w->folder, w->part, 0);
    if (w->fd >= 0 && close(w->fd) != 0 && !w->failure)
        w->failure = errno; /* only now: the lock goes with it */
    if (!w->failure && renames && durable) sync_folder(w->folder);
    if (w->own) close(w->folder);
    errno = w->failure;
    return w->failure ? write_error(e, w->shown) : SGL_OK;
}

int base_write_end(FileWrite *w, Err *e) { return end(w, true, e); }

int base_write_end_quick(FileWrite *w, Err *e) { return end(w, false, e); }

void base_write_drop(FileWrite *w)
{
    Err none = {0};
    w->failure = ECANCELED;
    (void)end(w, false, &none);
}

int base_file_write(const char *path, const void *data, size_t n, Err *e)
{
    FileWrite w;
    int status = base_write_begin(&w, path, e);
    if (status < 0) return status;
    base_write_put(&w, data, n);
    return base_write_end(&w, e);
}

int base_write_keep(const char *part, const char *path, Err *e)
{
    char target[PATH_MAX];
    const char *name;
    int fd = open(part, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    bool well = fd >= 0 && fsync(fd) == 0 && rename(part, path) == 0;
    int status = well ? SGL_OK : write_error(e, path);
    if (fd >= 0) close(fd);
    if (!well || snprintf(target, sizeof target, "%s", path) >= (int)sizeof target) return status;
    int folder = open_folder(target, &name);
    if (folder >= 0) sync_folder(folder);
    if (folder >= 0) close(folder);
    return status;
}
