/* SPDX-License-Identifier: MIT */
#include "session/recording_lock.h"

#include <fcntl.h>

#define RECORDED_AT 0 /* the byte that a recorder alone locks */
#define CLOSED_AT   1
#define TO_THE_END  0

static bool recording_lock_from(int fd, off_t start)
{
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = start, .l_len = TO_THE_END};
    return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

static bool recording_is_locked_at(int fd, off_t size)
{
    struct flock lock = {
        .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = RECORDED_AT, .l_len = size};
    return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

bool recording_lock(int fd)
{
    return recording_lock_from(fd, RECORDED_AT);
}

bool recording_lock_to_close(int fd)
{
    return recording_lock_from(fd, CLOSED_AT);
}

bool recording_is_recorded(int fd)
{
    return recording_is_locked_at(fd, CLOSED_AT - RECORDED_AT);
}

bool recording_is_locked(int fd)
{
    return recording_is_locked_at(fd, TO_THE_END);
}
