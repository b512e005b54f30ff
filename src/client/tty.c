/* SPDX-License-Identifier: MIT */
#include "client/tty.h"

#include "base/memory.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

/* One process has one terminal; a handler of signals knows nothing else. */
static struct termios tty_before;
static volatile sig_atomic_t tty_is_raw;

void tty_restore(void)
{
    if (tty_is_raw) {
        tty_is_raw = 0;
        (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &tty_before);
    }
}

/* tcsetattr is one of the functions that a handler may call (POSIX, 2.4.3). */
static void tty_on_fatal(int number)
{
    tty_restore();
    (void)raise(number); /* as it would have ended: the handler is for once */
}

static void tty_guard(void)
{
    static const int fatal[] = {SIGSEGV, SIGBUS,  SIGABRT, SIGFPE,
                                SIGILL,  SIGQUIT, SIGPIPE, SIGALRM};
    struct sigaction action = {.sa_handler = tty_on_fatal, .sa_flags = (int)SA_RESETHAND};
    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < COUNT_OF(fatal); i++) {
        (void)sigaction(fatal[i], &action, NULL);
    }
    (void)atexit(tty_restore);
}

enum err tty_make_raw(struct error *reterr)
{
    if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0) {
        return fail(reterr, ERR_INPUT,
                    "standard input and output must be a terminal; 'gatehouse exec' takes scripts");
    }
    if (tcgetattr(STDIN_FILENO, &tty_before) != 0) {
        return fail(reterr, ERR_IO, "the terminal does not say how it is set: %s", strerror(errno));
    }
    struct termios raw = tty_before;
    cfmakeraw(&raw);
    tty_guard();
    tty_is_raw = 1;
    if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) != 0) {
        int problem = errno;
        tty_restore();
        return fail(reterr, ERR_IO, "the terminal cannot be set: %s", strerror(problem));
    }
    return ERR_NONE;
}

struct execwire_size tty_size(void)
{
    struct winsize size = {.ws_col = 0};
    bool is_known =
        ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
    return (struct execwire_size){
        .columns = !is_known                              ? 80
                   : size.ws_col > LIMIT_TERMINAL_COLUMNS ? LIMIT_TERMINAL_COLUMNS
                                                          : size.ws_col,
        .rows = !is_known                           ? 24
                : size.ws_row > LIMIT_TERMINAL_ROWS ? LIMIT_TERMINAL_ROWS
                                                    : size.ws_row,
    };
}

enum tty_wish tty_escape_take(struct tty_escape *escape, struct slice typed, char *out,
                              size_t *ret_len)
{
    *ret_len = 0;
    for (size_t i = 0; i < typed.len; i++) {
        char byte = typed.at[i];
        if (escape->has_tilde) {
            escape->has_tilde = false;
            if (byte == '.') {
                return TTY_LEAVES;
            }
            if (byte == '?') {
                return TTY_WANTS_HELP; /* nobody types more with it */
            }
            if (byte != '~') {
                out[(*ret_len)++] = '~'; /* it was meant, and so is what follows */
            }
        } else if (escape->is_at_start && byte == '~') {
            escape->has_tilde = true;
            continue;
        }
        out[(*ret_len)++] = byte;
        escape->is_at_start = byte == '\r' || byte == '\n';
    }
    return TTY_GOES_ON;
}
