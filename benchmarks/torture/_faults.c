/* Fails calls on files below $FAULT_PATH: $FAULT_CALL (write, sync, read) with $FAULT_ERRNO, from the $FAULT_AFTER-th
   on, $FAULT_TIMES times. Loaded with LD_PRELOAD into a process of the campaign `io_errors`. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

long fault_calls = 0;

static int fails(int fd, const char *call) {
    const char *wanted = getenv("FAULT_CALL"), *place = getenv("FAULT_PATH");
    if (!wanted || !place || strcmp(wanted, call)) return 0;
    char name[64], path[PATH_MAX];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(name, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    if (strncmp(path, place, strlen(place))) return 0;
    long now = __atomic_add_fetch(&fault_calls, 1, __ATOMIC_SEQ_CST);
    long after = atol(getenv("FAULT_AFTER")), times = atol(getenv("FAULT_TIMES"));
    if (now < after || now >= after + times) return 0;
    errno = atoi(getenv("FAULT_ERRNO"));
    return 1;
}

#define WRAP(result, name, call, parameters, arguments)                          \
    result name parameters {                                                     \
        static result(*real) parameters = NULL;                                  \
        if (!real) real = (result(*) parameters)dlsym(RTLD_NEXT, #name);         \
        if (fails(fd, call)) return -1;                                          \
        return real arguments;                                                   \
    }

WRAP(ssize_t, write, "write", (int fd, const void *data, size_t size), (fd, data, size))
WRAP(ssize_t, pwrite, "write", (int fd, const void *data, size_t size, off_t at), (fd, data, size, at))
WRAP(ssize_t, pwrite64, "write", (int fd, const void *data, size_t size, off64_t at), (fd, data, size, at))
WRAP(int, ftruncate, "write", (int fd, off_t size), (fd, size))
WRAP(int, ftruncate64, "write", (int fd, off64_t size), (fd, size))
WRAP(int, fsync, "sync", (int fd), (fd))
WRAP(int, fdatasync, "sync", (int fd), (fd))
WRAP(ssize_t, read, "read", (int fd, void *data, size_t size), (fd, data, size))
WRAP(ssize_t, pread, "read", (int fd, void *data, size_t size, off_t at), (fd, data, size, at))
WRAP(ssize_t, pread64, "read", (int fd, void *data, size_t size, off64_t at), (fd, data, size, at))
