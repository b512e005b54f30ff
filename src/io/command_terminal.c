/* SPDX-License-Identifier: MIT */
#include "io/command_terminal.h"

#include "base/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#define PAUSE_MS_MIN 4
#define PAUSE_MS_MAX 1024

void command_terminal_resize(int keeper_fd, const struct execwire_size *size)
{
    const struct winsize wanted = {.ws_col = size->columns, .ws_row = size->rows};
    (void)ioctl(keeper_fd, TIOCSWINSZ, &wanted);
}

/* The command's side by its descriptor, not by its path: nothing can stand in its place. */
bool command_terminal_open(const struct execwire_size *size, uid_t user, int *ret_keeper,
                           int *ret_command)
{
    int keeper = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    int command = -1;
    if (keeper >= 0 && grantpt(keeper) == 0 && unlockpt(keeper) == 0) {
        command = ioctl(keeper, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    }
    int cause = errno;
    if (command < 0) {
        if (keeper >= 0) {
            (void)close(keeper);
        }
        errno = cause;
        return false;
    }
    command_terminal_resize(keeper, size);
    *ret_keeper = keeper;
    *ret_command = command;
    return fchown(command, user, (gid_t)-1) == 0 &&
           fchmod(command, S_IRUSR | S_IWUSR) == 0; /* nobody else writes to it */
}

int command_terminal_take(int command_fd)
{
    return ioctl(command_fd, TIOCSCTTY, 0) == 0 ? 0 : errno;
}

/* Echo ---------------------------------------------------------------------------------------- */

void command_echo_init(struct command_echo *echo, bool is_watched)
{
    *echo =
        (struct command_echo){.is_watched = is_watched, .is_shown = true, .pause_ms = PAUSE_MS_MIN};
}

bool command_echo_changed(struct command_echo *echo, int keeper_fd)
{
    struct termios state;
    bool is_shown = echo->is_shown;
    if (tcgetattr(keeper_fd, &state) == 0) {
        bool is_by_line = (state.c_lflag & ICANON) != 0;
        bool has_signals = (state.c_lflag & ISIG) != 0;
        is_shown = (state.c_lflag & ECHO) != 0 || (!is_by_line && has_signals);
    }
    bool has_changed = is_shown != echo->is_shown;
    echo->is_shown = is_shown;
    return has_changed;
}

int command_echo_wait(struct command_echo *echo, int timeout_ms)
{
    if (!echo->is_watched) {
        return timeout_ms;
    }
    int wait_ms = echo->pause_ms < timeout_ms ? echo->pause_ms : timeout_ms;
    echo->pause_ms = echo->pause_ms < PAUSE_MS_MAX ? echo->pause_ms * 2 : PAUSE_MS_MAX;
    return wait_ms;
}

void command_echo_stir(struct command_echo *echo)
{
    echo->pause_ms = PAUSE_MS_MIN;
}
