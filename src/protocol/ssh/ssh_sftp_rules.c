/* SPDX-License-Identifier: MIT */
/* What rules say about operations on files: by what they do, and by paths. */
#include "base/limits.h"
#include "base/memory.h"
#include "protocol/ssh/ssh_sftp_internal.h"

#define OPEN_WRITES (SFTP_OPEN_WRITE | SFTP_OPEN_APPEND | SFTP_OPEN_CREATE | SFTP_OPEN_TRUNC)

static const struct {
    enum sftp_type type;
    struct slice operation;
    bool writes;
} sftp_operations[] = {
    {SFTP_LSTAT, SLICE_INIT("sftp stat"), false},
    {SFTP_STAT, SLICE_INIT("sftp stat"), false},
    {SFTP_SETSTAT, SLICE_INIT("sftp setstat"), true},
    {SFTP_FSETSTAT, SLICE_INIT("sftp setstat"), true},
    {SFTP_OPENDIR, SLICE_INIT("sftp list"), false},
    {SFTP_REMOVE, SLICE_INIT("sftp remove"), true},
    {SFTP_MKDIR, SLICE_INIT("sftp mkdir"), true},
    {SFTP_RMDIR, SLICE_INIT("sftp rmdir"), true},
    {SFTP_REALPATH, SLICE_INIT("sftp realpath"), false},
    {SFTP_RENAME, SLICE_INIT("sftp rename"), true},
    {SFTP_READLINK, SLICE_INIT("sftp readlink"), false},
    {SFTP_SYMLINK, SLICE_INIT("sftp symlink"), true},
    {SFTP_WRITE, SLICE_INIT(""), true},
};

static const struct {
    struct slice name;
    struct slice operation;
    bool writes;
} sftp_extensions[] = {
    {SLICE_INIT("posix-rename@openssh.com"), SLICE_INIT("sftp rename"), true},
    {SLICE_INIT("hardlink@openssh.com"), SLICE_INIT("sftp link"), true},
    {SLICE_INIT("lsetstat@openssh.com"), SLICE_INIT("sftp setstat"), true},
    {SLICE_INIT("copy-data"), SLICE_INIT("sftp copy"), true},
    {SLICE_INIT("statvfs@openssh.com"), SLICE_INIT("sftp stat"), false},
    {SLICE_INIT("fstatvfs@openssh.com"), SLICE_INIT(""), false},
    {SLICE_INIT("fsync@openssh.com"), SLICE_INIT(""), false},
    {SLICE_INIT("limits@openssh.com"), SLICE_INIT(""), false},
    {SLICE_INIT("expand-path@openssh.com"), SLICE_INIT("sftp realpath"), false},
};

struct slice sftp_operation(const struct sftp_packet *packet)
{
    if (packet->type == SFTP_OPEN) {
        bool writes = (packet->flags & OPEN_WRITES) != 0;
        return !writes                                 ? SLICE("sftp read")
               : (packet->flags & SFTP_OPEN_READ) != 0 ? SLICE("sftp read and write")
                                                       : SLICE("sftp write");
    }
    if (packet->type == SFTP_EXTENDED) {
        for (size_t i = 0; i < COUNT_OF(sftp_extensions); i++) {
            if (slice_equals(sftp_extensions[i].name, packet->extension)) {
                return sftp_extensions[i].operation;
            }
        }
        return SLICE("sftp extension");
    }
    for (size_t i = 0; i < COUNT_OF(sftp_operations); i++) {
        if (sftp_operations[i].type == packet->type) {
            return sftp_operations[i].operation;
        }
    }
    return SLICE("");
}

/* What is not known may. */
bool sftp_writes(const struct sftp_packet *packet)
{
    if (packet->type == SFTP_OPEN) {
        return (packet->flags & OPEN_WRITES) != 0 || (packet->flags & SFTP_OPEN_READ) == 0;
    }
    if (packet->type == SFTP_EXTENDED) {
        for (size_t i = 0; i < COUNT_OF(sftp_extensions); i++) {
            if (slice_equals(sftp_extensions[i].name, packet->extension)) {
                return sftp_extensions[i].writes;
            }
        }
        return true;
    }
    for (size_t i = 0; i < COUNT_OF(sftp_operations); i++) {
        if (sftp_operations[i].type == packet->type) {
            return sftp_operations[i].writes;
        }
    }
    return false;
}

/* A path, and what is done to it. */
static bool sftp_judge_path(struct sshd_passage *self, struct sshd_sftp *sftp,
                            struct slice operation, struct slice path, struct buf *words)
{
    struct buf normal;
    struct buf text;
    bool is_blocked = false;
    buf_init(&normal, LIMIT_SFTP_REQUEST_SIZE * 2);
    buf_init(&text, LIMIT_SFTP_REQUEST_SIZE * 2 + 64);
    bool is_known = sshd_path_normal(&normal, buf_view(&sftp->home), path);
    const struct slice parts[] = {operation, SLICE(" "), buf_view(&normal)};
    if (!is_known && sshd_stops_input(self)) {
        sshd_refuse(self, words, "what '..' leaves in the path is not known here");
        is_blocked = true;
    } else if (buf_append_parts(&text, parts, COUNT_OF(parts)) == ERR_NONE) {
        const struct slice texts[] = {buf_view(&text), buf_view(&normal), path};
        is_blocked = sshd_judge_texts(self, texts, COUNT_OF(texts), words);
    }
    buf_release(&normal);
    buf_release(&text);
    return is_blocked;
}

static bool sftp_is_link(const struct sftp_packet *packet)
{
    return packet->type == SFTP_SYMLINK ||
           (packet->type == SFTP_EXTENDED &&
            slice_equals(packet->extension, SLICE("hardlink@openssh.com")));
}

bool sftp_may_pass(struct sshd_passage *self, struct sshd_sftp *sftp,
                   const struct sftp_packet *packet, struct slice operation, struct buf *words)
{
    bool reads = packet->type == SFTP_READ ||
                 (packet->type == SFTP_OPEN && (packet->flags & SFTP_OPEN_READ) != 0);
    const char *why = NULL;
    if (!sshd_has_rules(self) && !sshd_masks(self)) {
        return true;
    }
    if (sshd_is_read_only(self) && sftp_writes(packet)) {
        why = "the connection's rules let it read only";
    } else if (sshd_looks_at_output(self) && reads) {
        why = "the connection's rules look at output: no file is read";
    } else if (sshd_stops_input(self) && sftp_is_link(packet)) {
        why = "a link gives a path another name, which the connection's rules would not know";
    } else if (sshd_stops_input(self) && slice_equals(operation, SLICE("sftp extension"))) {
        why = "the connection's rules do not know this extension";
    }
    if (why != NULL) {
        sshd_refuse(self, words, why);
        return false;
    }
    if (operation.len == 0 || !sshd_judges_input(self)) {
        return true;
    }
    const struct sftp_open *open =
        packet->handle.at == NULL ? NULL : sftp_open_find(sftp, packet->handle);
    struct slice path = open != NULL ? open->path : packet->path;
    bool has_path = path.at != NULL;
    return !(has_path && sftp_judge_path(self, sftp, operation, path, words)) &&
           !(packet->other.at != NULL &&
             sftp_judge_path(self, sftp, operation, packet->other, words)) &&
           !(!has_path && sshd_judge_texts(self, &operation, 1, words));
}
