/* SPDX-License-Identifier: MIT */
/* The kernel's list of its TCP sockets tells whose each of them is, to everybody. */
#include "client/peer.h"

#include "base/memory.h"
#include "base/slice.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define PEER_LIST "/proc/net/tcp"
/* Of the fields of a line, which blanks part. */
#define PEER_FIELD_LOCAL  1
#define PEER_FIELD_REMOTE 2
#define PEER_FIELD_USER   7
#define PEER_FIELD_INODE  9
#define PEER_FIELDS       10

/* As the list has it: "0100007F:1F90", the address as it lies in memory. */
static void peer_write(const struct sockaddr_in *address, char *text, size_t size)
{
    (void)snprintf(text, size, "%08X:%04X", address->sin_addr.s_addr, ntohs(address->sin_port));
}

static size_t peer_split(struct slice line, struct slice *ret_fields)
{
    size_t count = 0;
    while (line.at != NULL && count < PEER_FIELDS) {
        struct slice field = slice_cut(line, ' ', &line);
        if (field.len > 0) {
            ret_fields[count++] = field;
        }
    }
    return count;
}

/* The end of who has closed it is nobody's: its inode is 0, and its user root. */
static bool peer_is_own(const struct slice *fields)
{
    uint64_t user = 0;
    uint64_t inode = 0;
    return text_parse_u64(fields[PEER_FIELD_USER], &user) == ERR_NONE &&
           text_parse_u64(fields[PEER_FIELD_INODE], &inode) == ERR_NONE && user == getuid() &&
           inode != 0;
}

static bool peer_is_in(FILE *list, const char *peer, const char *own)
{
    char line[512];
    bool is_found = false;
    while (!is_found && fgets(line, sizeof(line), list) != NULL) {
        struct slice fields[PEER_FIELDS];
        is_found = peer_split(slice_trim(slice_of_text(line), "\n"), fields) == PEER_FIELDS &&
                   slice_equals(fields[PEER_FIELD_LOCAL], slice_of_text(peer)) &&
                   slice_equals(fields[PEER_FIELD_REMOTE], slice_of_text(own)) &&
                   peer_is_own(fields);
    }
    return is_found;
}

bool client_peer_is_own(int fd)
{
    struct sockaddr_in own = {0};
    struct sockaddr_in other = {0};
    socklen_t own_size = sizeof(own);
    socklen_t other_size = sizeof(other);
    char own_text[16];
    char other_text[16];
    if (getsockname(fd, (struct sockaddr *)&own, &own_size) != 0 ||
        getpeername(fd, (struct sockaddr *)&other, &other_size) != 0 || own.sin_family != AF_INET ||
        other.sin_family != AF_INET) {
        return false;
    }
    peer_write(&own, own_text, sizeof(own_text));
    peer_write(&other, other_text, sizeof(other_text));
    FILE *list = fopen(PEER_LIST, "re");
    if (list == NULL) {
        return false;
    }
    bool is_own = peer_is_in(list, other_text, own_text);
    (void)fclose(list);
    return is_own;
}
