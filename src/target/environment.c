/* SPDX-License-Identifier: MIT */
#include "target/environment.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define READ_STEP 4096

const char *environment_text(const char *name)
{
    const char *text = getenv(name);
    return text == NULL || text[0] == '\0' ? NULL : text;
}

struct slice environment_slice(const char *name)
{
    const char *text = environment_text(name);
    return text == NULL ? SLICE("") : slice_trim(slice_of_text(text), " \t\r\n");
}

static enum err environment_read_fd(int fd, const char *path, struct buf *buf, struct error *reterr)
{
    ssize_t len = 1;
    while (len > 0) {
        char *at = NULL;
        if (buf_reserve(buf, READ_STEP, &at) != ERR_NONE) {
            return fail(reterr, ERR_LIMIT, "'%s' is too large", path);
        }
        len = read(fd, at, READ_STEP);
        if (len < 0) {
            return fail(reterr, ERR_IO, "'%s': %s", path, strerror(errno));
        }
        buf_commit(buf, (size_t)len);
    }
    return ERR_NONE;
}

enum err environment_read_in(struct arena *arena, const char *path, struct slice *ret_text,
                             struct error *reterr)
{
    struct buf buf CLEANUP(buf_wipe);
    buf_init(&buf, LIMIT_AWS_FILE_SIZE + READ_STEP);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return fail(reterr, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "'%s': %s", path,
                    strerror(errno));
    }
    enum err err = environment_read_fd(fd, path, &buf, reterr);
    (void)close(fd);
    if (err == ERR_NONE) {
        *ret_text = arena_copy(arena, buf_view(&buf));
    }
    return err;
}
