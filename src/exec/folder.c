/* folder.c: see folder.h.
 *
 * The key is 16 random bytes in the file `.key`, which only its owner may read, hashed together
 * with the number and the time of change of that file: neither can be chosen, so that whoever
 * brings a folder with entries and a key brings entries that do not fit.
 */
#include "exec/folder.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/mem.h"
#include "base/write.h"

enum { KEY_TRIES = 100, KEY_WAIT_NS = 1000000 };
static const char KEY_FILE[] = ".key";

char *exec_folder_find(const Ctx *cx)
{
    const char *named = cx->knobs.text[KNOB_cache_dir], *base = getenv("XDG_CACHE_HOME");
    char path[PATH_MAX];
    int n = 0;
    if (named) n = snprintf(path, sizeof path, "%s", named);
    else if (base && *base == '/') n = snprintf(path, sizeof path, "%s/sgl", base);
    else if ((base = getenv("HOME")) && *base)
        n = snprintf(path, sizeof path, "%s/.cache/sgl", base);
    if (n <= 0 || n >= (int)sizeof path) return NULL;
    while (n > 1 && path[n - 1] == '/')
        path[--n] = 0; /* what ends so is looked for behind a link */
    char *copy = base_mem_alloc((size_t)n + 1);
    return copy ? memcpy(copy, path, (size_t)n + 1) : NULL;
}

/* ---- trust */

static bool refuse(char *why, const char *path, const char *what, const char *way_out)
{
    snprintf(why, FOLDER_WHY, "%.300s %s: %s", path, what, way_out);
    return false;
}

static bool refuse_errno(char *why, const char *path)
{
    if (errno == ENOENT) return false;
    return refuse(why, path, "cannot be used", strerror(errno));
}

static const char ANOTHER[] = "set cache_dir to a folder of your own";

/* One folder above: who may rename what is in it? */
static bool check_above(const char *path, char *why)
{
    struct stat st;
    if (lstat(path, &st) != 0) return refuse_errno(why, path);
    if (st.st_uid != 0 && st.st_uid != geteuid())
        return refuse(why, path, "belongs to another user, who could replace what is in it",
                      ANOTHER);
    if ((st.st_mode & S_IWOTH) && !(st.st_mode & S_ISVTX))
        return refuse(why, path, "may be written to by everybody", ANOTHER);
    return true;
}

/* All folders above, behind links. */
static bool check_all_above(const char *path, char *why)
{
    char above[PATH_MAX], real[PATH_MAX];
    snprintf(above, sizeof above, "%s", path);
    char *slash = strrchr(above, '/');
    if (slash) slash[slash == above] = 0;
    if (!realpath(slash ? above : ".", real)) return refuse_errno(why, path);
    if (!check_above("/", why)) return false;
    for (char *at = real + 1; *at; at++) {
        if (*at != '/') continue;
        *at = 0;
        if (!check_above(real, why)) return false;
        *at = '/';
    }
    return check_above(real, why);
}

static bool check_itself(int fd, const char *path, char *why)
{
    struct stat st;
    if (fstat(fd, &st) != 0) return refuse_errno(why, path);
    if (st.st_uid != geteuid()) return refuse(why, path, "belongs to another user", ANOTHER);
    if (st.st_mode & (S_IWGRP | S_IWOTH))
        return refuse(why, path, "may be written to by others than its owner",
                      "chmod go-w it, or set cache_dir to another folder");
    return true;
}

static void make_folders(const char *folder)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", folder);
    for (char *at = path + 1; *at; at++) {
        if (*at != '/') continue;
        *at = 0;
        (void)mkdir(path, 0700);
        *at = '/';
    }
    (void)mkdir(path, 0700);
}

int exec_folder_open(const char *path, bool make, char why[FOLDER_WHY])
{
    *why = 0;
    if (make) make_folders(path);
    if (!check_all_above(path, why)) return -1;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
        refuse(why, path, "is a link or a file", "set cache_dir to the folder itself");
    else if (fd < 0) refuse_errno(why, path);
    else if (check_itself(fd, path, why)) return fd;
    else close(fd);
    return -1;
}

/* ---- the key */

/* 1: there; 0: not, or not yet whole; -1: what is there is none. */
static int read_key(int folder, MacKey *key)
{
    struct stat st;
    MacKey secret;
    int fd = openat(folder, KEY_FILE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return errno == ENOENT ? 0 : -1;
    ssize_t got = read(fd, &secret, sizeof secret);
    bool known = fstat(fd, &st) == 0;
    close(fd);
    if (!known || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink != 1 ||
        (st.st_mode & (S_IRWXG | S_IRWXO)) || st.st_size > (off_t)sizeof secret)
        return -1;
    if (got != (ssize_t)sizeof secret) return 0;
    const int64_t here[] = {(int64_t)st.st_ino, st.st_ctim.tv_sec, st.st_ctim.tv_nsec, 0};
    for (int i = 0; i < 2; i++) {
        int64_t words[sizeof here / sizeof *here];
        memcpy(words, here, sizeof here);
        words[3] = i;
        key->word[i] = base_mac(&secret, words, sizeof words);
    }
    return 1;
}

static void make_key(int folder)
{
    MacKey secret;
    if (getrandom(&secret, sizeof secret, 0) != (ssize_t)sizeof secret) return;
    int fd = openat(folder, KEY_FILE, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return;
    if (!base_write_all(fd, &secret, sizeof secret)) unlinkat(folder, KEY_FILE, 0);
    close(fd);
}

/* Another process may be making one, so one that is not whole is waited for a little. */
bool exec_folder_key(int folder, bool make, MacKey *key)
{
    int there = read_key(folder, key);
    for (int i = 0; make && there != 1 && i < KEY_TRIES; i++) {
        if (there < 0 || i == KEY_TRIES - 1) unlinkat(folder, KEY_FILE, 0);
        make_key(folder);
        there = read_key(folder, key);
        if (there == 0) nanosleep(&(struct timespec){.tv_nsec = KEY_WAIT_NS}, NULL);
    }
    return there == 1;
}
