/* SPDX-License-Identifier: MIT */
#include "app/file_copy.h"

#include "base/memory.h"
#include "base/must.h"

#include <openssl/evp.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_PART_SIZE 65536

static bool copy_write(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t written = write(fd, bytes, size);
        if (written < 0 && errno != EINTR) {
            return false;
        }
        bytes += written < 0 ? 0 : written;
        size -= written < 0 ? 0 : (size_t)written;
    }
    return true;
}

/* errno says what went wrong. */
static bool copy_bytes(int from, int to, EVP_MD_CTX *hash)
{
    char part[COPY_PART_SIZE];
    bool is_good = true;
    ssize_t size = 1;
    while (is_good && size != 0) {
        size = read(from, part, sizeof(part));
        if (size < 0) {
            is_good = errno == EINTR;
            continue;
        }
        must(EVP_DigestUpdate(hash, part, (size_t)size) == 1);
        is_good = to < 0 || copy_write(to, part, (size_t)size);
    }
    explicit_bzero(part, sizeof(part));
    return is_good;
}

static void copy_hash_end(EVP_MD_CTX *hash, char text[FILE_HASH_SIZE])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    must(EVP_DigestFinal_ex(hash, digest, &size) == 1 && size * 2 + 1 == FILE_HASH_SIZE);
    for (unsigned i = 0; i < size; i++) {
        (void)snprintf(text + 2 * (size_t)i, 3, "%02x", digest[i]);
    }
}

static enum err copy_open(const char *to, const struct file_owner *owner, int *ret_fd,
                          struct error *reterr)
{
    int fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return fail(reterr, errno == EEXIST ? ERR_CONFLICT : ERR_IO, "cannot write '%s': %s", to,
                    strerror(errno));
    }
    if (owner->is_given && fchown(fd, owner->user, owner->group) != 0) {
        enum err err = fail(reterr, ERR_IO, "cannot give '%s' away: %s", to, strerror(errno));
        (void)close(fd);
        return err;
    }
    *ret_fd = fd;
    return ERR_NONE;
}

enum err file_copy(const char *from, const char *to, const struct file_owner *owner,
                   char hash[FILE_HASH_SIZE], struct error *reterr)
{
    int source = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    int target = -1;
    if (source < 0) {
        return fail(reterr, ERR_IO, "cannot read '%s': %s", from, strerror(errno));
    }
    enum err err = to == NULL ? ERR_NONE : copy_open(to, owner, &target, reterr);
    if (err != ERR_NONE) {
        (void)close(source);
        return err;
    }
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    must(context != NULL && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1);
    bool is_good = copy_bytes(source, target, context) && (target < 0 || fsync(target) == 0);
    int cause = errno;
    copy_hash_end(context, hash);
    EVP_MD_CTX_free(context);
    (void)close(source);
    if (target >= 0) {
        (void)close(target);
    }
    return is_good ? ERR_NONE : fail(reterr, ERR_IO, "cannot copy '%s': %s", from, strerror(cause));
}

enum err folder_make(const char *path, const struct file_owner *owner, struct error *reterr)
{
    bool is_made = mkdir(path, 0700) == 0;
    bool is_good = is_made || errno == EEXIST;
    if (is_made && owner->is_given) {
        is_good = chown(path, owner->user, owner->group) == 0;
    }
    return is_good ? ERR_NONE
                   : fail(reterr, ERR_IO, "cannot make the folder '%s': %s", path, strerror(errno));
}

enum err folder_sync(const char *path, struct error *reterr)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool is_good = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0) {
        (void)close(fd);
    }
    return is_good ? ERR_NONE : fail(reterr, ERR_IO, "cannot sync '%s': %s", path, strerror(errno));
}
