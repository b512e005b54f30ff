/* SPDX-License-Identifier: MIT */
/* What the words of one command run: other commands in front of which programs stand, command lines
 * in arguments, and programs that take their arguments or their input for a program of their own.
 */
#include "base/limits.h"
#include "base/memory.h"
#include "protocol/ssh/ssh_shell_internal.h"

/* Names and texts of a kind: a list that ends with NULL. */
static bool shell_is_in(const char *const *list, struct slice text)
{
    for (; *list != NULL; list++) {
        if (slice_equals(text, slice_of_text(*list))) {
            return true;
        }
    }
    return false;
}

/* Behind these a command begins. */
static const char *const shell_openings[] = {"if", "then", "elif", "else", "while", "until",
                                             "do", "{",    "!",    "time", NULL};
static const char *const shell_endings[] = {"fi", "done", "}", NULL};
/* What these say is not followed. */
static const char *const shell_constructs[] = {"for",    "case", "select", "function", "[[",
                                               "coproc", "in",   "esac",   "repeat",   "foreach",
                                               "switch", "end",  NULL};

/* A command with its words stands behind them and their options. */
static const char *const shell_wrappers[] = {
    "sudo",      "doas",      "env",      "nohup",       "nice",
    "ionice",    "timeout",   "stdbuf",   "setsid",      "exec",
    "command",   "builtin",   "busybox",  "toybox",      "chroot",
    "chrt",      "taskset",   "flock",    "setarch",     "linux32",
    "linux64",   "unshare",   "nsenter",  "systemd-run", "pkexec",
    "strace",    "ltrace",    "time",     "noglob",      "nocorrect",
    "-",         "xargs",     "find",     "watch",       "parallel",
    "unbuffer",  "setpriv",   "capsh",    "prlimit",     "runcon",
    "eatmydata", "catchsegv", "fakeroot", "daemonize",   "start-stop-daemon",
    "chpst",     "softlimit", "torsocks", NULL};

static const char *const shell_shells[] = {"sh",    "bash", "dash",  "ash",     "zsh",  "ksh",
                                           "ksh93", "mksh", "pdksh", "yash",    "posh", "lksh",
                                           "rbash", "rzsh", "su",    "runuser", NULL};

/* What their arguments, their input or a file say is a program, or is run by a shell; what that
 * would do cannot be told from here. */
static const char *const shell_interpreters[] = {
    "csh",      "tcsh",    "fish",      "rc",      "es",         "elvish",     "nu",
    "xonsh",    "pwsh",    "perl",      "ruby",    "irb",        "node",       "nodejs",
    "deno",     "bun",     "php",       "lua",     "luajit",     "tclsh",      "wish",
    "expect",   "guile",   "sbcl",      "clisp",   "emacs",      "scala",      "java",
    "jshell",   "julia",   "R",         "Rscript", "octave",     "gawk",       "mawk",
    "nawk",     "awk",     "sed",       "ed",      "ex",         "vi",         "vim",
    "nvim",     "view",    "vimdiff",   "gdb",     "lldb",       "make",       "gmake",
    "cmake",    "ninja",   "gcc",       "cc",      "tcc",        "go",         "cargo",
    "at",       "batch",   "crontab",   "xargs",   "parallel",   "watch",      "script",
    "screen",   "tmux",    "dtach",     "ssh",     "dbclient",   "slogin",     "rsh",
    "telnet",   "nc",      "ncat",      "netcat",  "socat",      "docker",     "podman",
    "kubectl",  "nerdctl", "ctr",       "crictl",  "lxc-attach", "machinectl", "eval",
    "source",   ".",       "alias",     "trap",    "enable",     "hash",       "bind",
    "complete", "shopt",   "set",       "fc",      "history",    "autoload",   "zmodload",
    "emulate",  "capsh",   "osascript", "m4",      "dc",         "bc",         "sqlite3",
    "psql",     "mysql",   "mariadb",   "mongo",   "mongosh",    "redis-cli",  "ftp",
    "lftp",     "gcore",   "ld.so",     "dialog",  "run-parts",  "logrotate",  "openssl",
    "dpkg",     "rpm",     "apt",       "apt-get", "yum",        "dnf",        "pip",
    "pip3",     "npm",     "npx",       "gem",     "cpan",       "ansible",    "puppet",
    NULL};

static const char *const shell_setters[] = {"export",   "declare", "typeset", "local",
                                            "readonly", "read",    "mapfile", "readarray",
                                            "getopts",  "let",     "integer", NULL};

/* Where programs of the system are. Others may be anything. */
static const char *const shell_folders[] = {
    "/bin", "/usr/bin", "/sbin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", NULL};

bool sshd_shell_is_variable(struct slice name)
{
    static const char *const names[] = {"PATH",
                                        "ENV",
                                        "IFS",
                                        "HOME",
                                        "SHELL",
                                        "SHELLOPTS",
                                        "BASHOPTS",
                                        "PS4",
                                        "CDPATH",
                                        "ZDOTDIR",
                                        "PAGER",
                                        "EDITOR",
                                        "VISUAL",
                                        "TERMINFO",
                                        "PROMPT_COMMAND",
                                        "GLOBIGNORE",
                                        "LESSOPEN",
                                        "LESSCLOSE",
                                        "MANPAGER",
                                        "BROWSER",
                                        "GCONV_PATH",
                                        "HOSTALIASES",
                                        "LOCPATH",
                                        "NLSPATH",
                                        "TMPDIR",
                                        "EXINIT",
                                        "VIMINIT",
                                        "FPATH",
                                        "PYTHONPATH",
                                        "PYTHONSTARTUP",
                                        "PYTHONHOME",
                                        "NODE_OPTIONS",
                                        "RUBYOPT",
                                        "RUBYLIB",
                                        "PERL5OPT",
                                        "PERL5LIB",
                                        "PERLLIB",
                                        "JAVA_TOOL_OPTIONS",
                                        "_JAVA_OPTIONS",
                                        NULL};
    static const char *const starts[] = {"LD_", "BASH_", "GIT_", "DYLD_", "MALLOC_", "GLIBC_"};
    bool is_one = shell_is_in(names, name);
    for (size_t i = 0; i < COUNT_OF(starts); i++) {
        is_one = is_one || slice_starts_with(name, slice_of_text(starts[i]));
    }
    return is_one;
}

/* Texts --------------------------------------------------------------------------------------- */

static struct slice shell_base(struct slice name)
{
    for (size_t i = name.len; i > 0; i--) {
        if (name.at[i - 1] == '/') {
            return slice_from(name, i);
        }
    }
    return name;
}

/* The words from 'from' on, the first without its folder. */
static void shell_add_words(struct shell_result *result, const struct shell_word *words,
                            size_t count, bool is_based)
{
    struct buf text;
    buf_init(&text, LIMIT_SSH_COMMAND_SIZE * 2);
    for (size_t i = 0; i < count; i++) {
        struct slice word = i == 0 && is_based ? shell_base(words[i].text) : words[i].text;
        const struct slice parts[] = {i == 0 ? SLICE("") : SLICE(" "), word};
        if (buf_append_parts(&text, parts, 2) != ERR_NONE) {
            shell_unknown(result, "it is too long to be looked through");
        }
    }
    shell_add_text(result, arena_copy(result->arena, buf_view(&text)));
    buf_release(&text);
}

/* As a shell further in would read it: without its quotes. */
static void shell_add_bare(struct shell_result *result, struct slice word)
{
    static const char quotes[] = "'\"\\`";
    struct buf text;
    buf_init(&text, word.len + 1);
    for (size_t i = 0; i < word.len; i++) {
        if (strchr(quotes, word.at[i]) == NULL) {
            (void)!buf_append(&text, slice_sub(word, i, 1)); /* it has room for all */
        }
    }
    if (text.len < word.len) {
        shell_add_text(result, arena_copy(result->arena, buf_view(&text)));
    }
    buf_release(&text);
}

/* One command --------------------------------------------------------------------------------- */

static bool shell_is_interpreter(struct slice name)
{
    static const char *const starts[] = {"python", "pypy", "perl5", "ruby2", "ruby3",
                                         "lua5",   "php",  "node",  "ld-",   "ld.so"};
    bool is_one = shell_is_in(shell_interpreters, name);
    for (size_t i = 0; i < COUNT_OF(starts); i++) {
        is_one = is_one || slice_starts_with(name, slice_of_text(starts[i]));
    }
    return is_one;
}

static bool shell_is_elsewhere(struct slice command, struct slice name)
{
    struct slice folder = slice_sub(command, 0, command.len - name.len);
    if (folder.len == 0) {
        return false;
    }
    bool is_ours =
        folder.len > 1 && shell_is_in(shell_folders, slice_sub(folder, 0, folder.len - 1));
    return !is_ours;
}

/* "sh -c 'line'": the line is read; without one it is the input, or a file. */
static void shell_examine_shell(struct shell_result *result, const struct shell_word *words,
                                size_t count, bool *ret_reads_script)
{
    bool wants_line = false;
    for (size_t i = 1; i < count; i++) {
        struct slice word = words[i].text;
        bool is_option = word.len > 1 && (word.at[0] == '-' || word.at[0] == '+');
        bool is_long = slice_starts_with(word, SLICE("--"));
        if (slice_starts_with(word, SLICE("--command="))) {
            shell_read_inside(result, slice_from(word, 10));
            return;
        }
        if (is_option && !is_long && slice_find_byte(word, 'c') < word.len) {
            wants_line = true;
        } else if (slice_equals(word, SLICE("--command"))) {
            wants_line = true;
        } else if (!is_option && wants_line) {
            shell_read_inside(result, word);
            return;
        } else if (is_option && (slice_find_byte(word, 'o') < word.len ||
                                 slice_find_byte(word, 'O') < word.len || is_long)) {
            shell_unknown(result, "a shell has options that change how it reads");
        } else if (!is_option && !shell_is_in((const char *const[]){"su", "runuser", NULL},
                                              shell_base(words[0].text))) {
            shell_unknown(result, "a shell runs a file");
            return;
        }
    }
    *ret_reads_script = true;
}

static void shell_examine_setter(struct shell_result *result, const struct shell_word *words,
                                 size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct slice value = SLICE_NONE;
        struct slice name = slice_cut(words[i].text, '=', &value);
        name = slice_ends_with(name, SLICE("+")) ? slice_sub(name, 0, name.len - 1) : name;
        if (sshd_shell_is_variable(name)) {
            shell_unknown(result, "it sets a variable by which programs are found or run");
        }
    }
}

static void shell_examine_eval(struct shell_result *result, const struct shell_word *words,
                               size_t count)
{
    struct buf line;
    buf_init(&line, LIMIT_SSH_COMMAND_SIZE * 2);
    for (size_t i = 1; i < count; i++) {
        const struct slice parts[] = {words[i].text, SLICE(" ")};
        if (buf_append_parts(&line, parts, 2) != ERR_NONE) {
            shell_unknown(result, "it is too long to be looked through");
        }
    }
    shell_read_inside(result, arena_copy(result->arena, buf_view(&line)));
    buf_release(&line);
}

/* What stands in front of the command that they run. */
static void shell_examine_wrapper(struct shell_result *result, const struct shell_word *words,
                                  size_t count, struct slice name)
{
    for (size_t i = 1; i < count; i++) {
        struct slice word = words[i].text;
        bool is_split =
            slice_equals(name, SLICE("env")) && word.len > 1 && word.at[0] == '-' &&
            (slice_find_byte(word, 'S') < word.len || slice_starts_with(word, SLICE("--s")));
        bool is_shell =
            (slice_equals(name, SLICE("sudo")) || slice_equals(name, SLICE("doas"))) &&
            (slice_equals(word, SLICE("-s")) || slice_equals(word, SLICE("-i")) ||
             slice_equals(word, SLICE("-e")) || slice_equals(word, SLICE("--shell")) ||
             slice_equals(word, SLICE("--login")) || slice_equals(word, SLICE("--edit")));
        bool is_each =
            slice_equals(name, SLICE("find")) &&
            (slice_starts_with(word, SLICE("-exec")) || slice_starts_with(word, SLICE("-ok")));
        if (is_split || is_shell || is_each) {
            shell_unknown(result, is_each ? "it runs a command on what it finds"
                                          : "a command splits its words once more");
        }
        if (is_split) {
            shell_read_inside(result, i + 1 < count ? words[i + 1].text : SLICE(""));
        }
    }
}

static bool shell_examine_at(struct shell_result *result, const struct shell_word *words,
                             size_t count, bool *ret_reads_script)
{
    struct slice name = shell_base(words[0].text);
    shell_add_words(result, words, count, true);
    if (!words[0].is_known) {
        return false;
    }
    if (shell_is_elsewhere(words[0].text, name)) {
        shell_unknown(result, "a program lies elsewhere than those of the system");
    }
    if (shell_is_in(shell_shells, name)) {
        shell_examine_shell(result, words, count, ret_reads_script);
    } else if (slice_equals(name, SLICE("eval"))) {
        shell_examine_eval(result, words, count);
    } else if (shell_is_interpreter(name)) {
        shell_unknown(result, "a program runs what its arguments, its input or a file say");
    } else if (shell_is_in(shell_setters, name) ||
               (slice_equals(name, SLICE("printf")) && count > 1 &&
                slice_starts_with(words[1].text, SLICE("-v")))) {
        shell_examine_setter(result, words, count);
    }
    bool is_wrapper = shell_is_in(shell_wrappers, name);
    if (is_wrapper) {
        shell_examine_wrapper(result, words, count, name);
    }
    return is_wrapper;
}

/* Words in front of the command: of the shell's language, and variables. */
static size_t shell_skip_front(struct shell_result *result, const struct shell_word *words,
                               size_t count)
{
    size_t index = 0;
    for (; index < count; index++) {
        const struct shell_word *word = &words[index];
        if (word->assigned > 0) {
            struct slice name = slice_sub(word->text, 0, word->assigned);
            name = slice_ends_with(name, SLICE("+")) ? slice_sub(name, 0, name.len - 1) : name;
            if (sshd_shell_is_variable(name)) {
                shell_unknown(result, "it sets a variable by which programs are found or run");
            }
        } else if (word->is_bare && shell_is_in(shell_constructs, word->text)) {
            shell_unknown(result, "it has a loop, a choice or a function");
        } else if (!word->is_bare || !(shell_is_in(shell_openings, word->text) ||
                                       shell_is_in(shell_endings, word->text))) {
            break;
        }
    }
    return index;
}

void shell_examine(struct shell_result *result, const struct shell_word *words, size_t count,
                   bool *ret_reads_script)
{
    shell_add_words(result, words, count, false);
    for (size_t i = 0; i < count; i++) {
        shell_add_bare(result, words[i].text);
    }
    size_t at = shell_skip_front(result, words, count);
    if (at > 0) {
        result->commands++; /* no plain command */
    }
    bool is_behind_wrapper = false;
    for (; at < count; at++) {
        bool is_option = words[at].text.len > 0 && words[at].text.at[0] == '-';
        if (is_behind_wrapper && (is_option || words[at].assigned > 0)) {
            struct slice name = slice_sub(words[at].text, 0, words[at].assigned);
            if (words[at].assigned > 0 && sshd_shell_is_variable(name)) {
                shell_unknown(result, "it sets a variable by which programs are found or run");
            }
            continue;
        }
        bool is_wrapper = shell_examine_at(result, &words[at], count - at, ret_reads_script);
        is_behind_wrapper = is_behind_wrapper || is_wrapper;
        if (!is_behind_wrapper) {
            return;
        }
        result->commands++;
    }
}
