/* SPDX-License-Identifier: MIT */
#include "io/command_family.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/slice.h"
#include "base/text.h"
#include "io/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FAMILY_MAX   4096
#define FAMILY_PAUSE (5 * 1000 * 1000) /* nanoseconds */

struct family_process {
    pid_t id;
    pid_t parent;
    bool is_member;
    bool is_stopped;
};

struct family {
    struct family_process *items; /* of the machine */
    size_t count;
};

void command_family_ask(pid_t leader, bool is_terminal)
{
    (void)kill(-leader, is_terminal ? SIGHUP : SIGTERM); /* shells ignore SIGTERM there */
    if (is_terminal) {
        (void)kill(-leader, SIGCONT); /* who was stopped hears of it, too */
    }
}

/* Its parent; 0: it is gone. The name of a program, in front of it, may hold anything. */
static pid_t family_parent_of(const char *id)
{
    char path[PATH_MAX];
    char text[1024];
    (void)snprintf(path, sizeof(path), "/proc/%s/stat", id);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0) {
        (void)close(fd);
    }
    text[len > 0 ? len : 0] = '\0';
    const char *behind = strrchr(text, ')'); /* ") R 123 …" */
    struct slice rest = behind == NULL ? SLICE("") : slice_from(slice_of_text(behind), 4);
    uint64_t parent = 0;
    return text_parse_u64(slice_cut(rest, ' ', &rest), &parent) == ERR_NONE ? (pid_t)parent : 0;
}

static void family_read(struct family *family)
{
    DIR *folder = opendir("/proc");
    family->count = 0;
    for (const struct dirent *entry = folder == NULL ? NULL : readdir(folder);
         entry != NULL && family->count < FAMILY_MAX; entry = readdir(folder)) {
        uint64_t id = 0;
        if (text_parse_u64(slice_of_text(entry->d_name), &id) == ERR_NONE) {
            family->items[family->count++] =
                (struct family_process){.id = (pid_t)id, .parent = family_parent_of(entry->d_name)};
        }
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
}

/* Children of members are members, whatever order they stand in. */
static size_t family_mark(struct family *family)
{
    size_t member_count = 0;
    size_t before = SIZE_MAX;
    while (member_count != before) {
        before = member_count;
        for (size_t i = 0; i < family->count; i++) {
            struct family_process *process = &family->items[i];
            bool is_member = process->parent == getpid();
            for (size_t j = 0; j < family->count && !is_member && !process->is_member; j++) {
                is_member = family->items[j].is_member && family->items[j].id == process->parent;
            }
            member_count += is_member && !process->is_member ? 1 : 0;
            process->is_member = process->is_member || is_member;
        }
    }
    return member_count;
}

static void family_signal(const struct family *family, int number)
{
    for (size_t i = 0; i < family->count; i++) {
        if (family->items[i].is_member) {
            (void)kill(family->items[i].id, number);
        }
    }
}

/* True: no child is left. */
static bool family_reap(void)
{
    pid_t id = 0;
    do {
        id = waitpid(-1, NULL, WNOHANG);
    } while (id > 0);
    return id < 0 && errno == ECHILD;
}

/* Who forks while others are killed is stopped first: a number of times that no family grows at. */
void command_family_kill(void)
{
    const struct timespec pause = {.tv_nsec = FAMILY_PAUSE};
    int64_t until = clock_monotonic() + LIMIT_COMMAND_KILL_MS * INT64_C(1000);
    struct family family = {.items = NULL};
    while (!family_reap() && clock_monotonic() < until) {
        size_t before = 0;
        if (family.items == NULL) {
            family.items = memory_new(FAMILY_MAX * sizeof(*family.items));
        }
        family_read(&family);
        size_t count = family_mark(&family);
        while (count > before && clock_monotonic() < until) {
            family_signal(&family, SIGSTOP);
            before = count;
            family_read(&family);
            count = family_mark(&family);
        }
        family_signal(&family, SIGKILL);
        (void)nanosleep(&pause, NULL);
    }
    memory_free(family.items);
}
