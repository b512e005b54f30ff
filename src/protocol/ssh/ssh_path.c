/* SPDX-License-Identifier: MIT */
#include "protocol/ssh/ssh_passage.h"

/* Takes the last part away; false: there is none. */
static bool path_up(struct buf *buf)
{
    struct slice path = buf_view(buf);
    size_t len = path.len;
    while (len > 0 && path.at[len - 1] != '/') {
        len--;
    }
    bool is_above = path.len == 0 || slice_equals(slice_from(path, len), SLICE(".."));
    buf_truncate(buf, len > 1 ? len - 1 : len);
    return !is_above;
}

static bool path_add(struct buf *buf, struct slice path)
{
    bool is_known = true;
    while (path.at != NULL && path.len > 0) {
        struct slice part = slice_cut(path, '/', &path);
        bool is_root = slice_equals(buf_view(buf), SLICE("/"));
        const struct slice parts[] = {buf->len == 0 || is_root ? SLICE("") : SLICE("/"), part};
        if (part.len == 0 || slice_equals(part, SLICE("."))) {
            continue;
        }
        if (slice_equals(part, SLICE(".."))) {
            is_known = is_root || (path_up(buf) && is_known);
        } else if (buf_append_parts(buf, parts, 2) != ERR_NONE) {
            return false;
        }
    }
    return is_known;
}

bool sshd_path_normal(struct buf *buf, struct slice home, struct slice path)
{
    bool is_absolute = slice_starts_with(path, SLICE("/"));
    buf_truncate(buf, 0);
    if ((is_absolute || home.len > 0) && buf_append(buf, SLICE("/")) != ERR_NONE) {
        return false;
    }
    return (is_absolute || path_add(buf, home)) && path_add(buf, path);
}
