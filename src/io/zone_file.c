/* SPDX-License-Identifier: MIT */
#include "io/zone_file.h"

#include "base/limits.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define ZONE_FOLDER "/usr/share/zoneinfo"

/* No way out of the folder: letters, digits, and '_', '+', '-' and '/' between them. */
static bool zone_file_is_name(struct slice name)
{
    for (size_t i = 0; i < name.len; i++) {
        char letter = (char)(name.at[i] | 0x20);
        bool is_letter = letter >= 'a' && letter <= 'z';
        bool is_digit = name.at[i] >= '0' && name.at[i] <= '9';
        bool is_sign = name.at[i] == '_' || name.at[i] == '+' || name.at[i] == '-';
        bool is_between = name.at[i] == '/' && i > 0 && i + 1 < name.len && name.at[i - 1] != '/';
        if (!is_letter && !is_digit && !is_sign && !is_between) {
            return false;
        }
    }
    return name.len > 0;
}

static enum err zone_file_load(struct arena *arena, int fd, struct slice *ret_bytes)
{
    struct stat info;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) ||
        info.st_size > (off_t)LIMIT_ZONE_FILE_SIZE) {
        return ERR_INPUT;
    }
    char *bytes = arena_alloc_bare(arena, (size_t)info.st_size + 1);
    ssize_t size = pread(fd, bytes, (size_t)info.st_size, 0);
    *ret_bytes = slice_of(bytes, size > 0 ? (size_t)size : 0);
    return size == info.st_size ? ERR_NONE : ERR_IO;
}

enum err zone_file_read_in(struct arena *arena, struct slice name, struct zone *ret_zone,
                           struct error *reterr)
{
    struct slice bytes = SLICE_NONE;
    if (slice_equals(name, SLICE("UTC"))) {
        *ret_zone = (struct zone){.has_rule = true};
        return ERR_NONE;
    }
    bool is_name = zone_file_is_name(name);
    const char *path = arena_text(arena, arena_format(arena, ZONE_FOLDER "/%.*s", SLICE_ARG(name)));
    int fd = is_name ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    if (fd < 0 && is_name && access(ZONE_FOLDER, F_OK) != 0) {
        return fail(reterr, ERR_INPUT,
                    "this machine has no time zones: install the package tzdata, or say UTC");
    }
    enum err err = fd < 0 ? ERR_INPUT : zone_file_load(arena, fd, &bytes);
    if (fd >= 0) {
        (void)close(fd);
    }
    if (err == ERR_NONE) {
        err = zone_read(bytes, ret_zone);
    }
    return err == ERR_NONE
               ? err
               : fail(reterr, ERR_INPUT, "there is no time zone '%.*s' (a name like Europe/Berlin)",
                      SLICE_ARG(name));
}
