/* SPDX-License-Identifier: MIT */
#include "target/session_files.h"

#include "base/limits.h"
#include "base/memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define PAIR(k, v)                                                                                 \
    {                                                                                              \
        .key = SLICE_INIT(k), .value = SLICE_INIT(v)                                               \
    }
#define PAIRS(array) (&(struct shape_pairs){.pairs = (array), .count = COUNT_OF(array)})

static struct arena arena;
static struct error error;
static char parent[64];
static const char *folder;

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena);
    error.message[0] = '\0';
    (void)snprintf(parent, sizeof(parent), "/tmp/gatehouse-files-XXXXXX");
    assert_non_null(mkdtemp(parent));
    folder = arena_format(&arena, "%s/files", parent).at;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    struct session_files *files = NULL;
    if (session_files_new(folder, &files, NULL) == ERR_NONE) {
        session_files_free(files);
    }
    (void)rmdir(folder);
    assert_int_equal(rmdir(parent), 0);
    arena_release(&arena);
    return 0;
}

static struct session_files *open_files(void)
{
    struct session_files *files = NULL;
    assert_int_equal(session_files_new(folder, &files, &error), ERR_NONE);
    return files;
}

static const char *path_of(const char *rest)
{
    return arena_format(&arena, "%s/%s", folder, rest).at;
}

static mode_t mode_of(const char *path)
{
    struct stat status;
    assert_int_equal(lstat(path, &status), 0);
    return status.st_mode & 07777;
}

static size_t count_in(const char *path)
{
    size_t count = 0;
    DIR *entries = opendir(path);
    assert_non_null(entries);
    for (struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        count += entry->d_name[0] != '.';
    }
    (void)closedir(entries);
    return count;
}

static void check_file(const char *path, struct slice wanted)
{
    char bytes[64];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    ssize_t len = read(fd, bytes, sizeof(bytes));
    (void)close(fd);
    assert_true(len >= 0 && slice_equals(slice_of(bytes, (size_t)len), wanted));
}

static void write_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "secret", 6), 6);
    (void)close(fd);
}

static void files_are_private_and_their_paths_are_the_variables(void **state)
{
    (void)state;
    struct session_files *files = open_files();
    struct shape_pair secrets[] = {PAIR("envvar:USER_NAME", "app"),
                                   PAIR("filesystem:KEY", "a\0b\n"), PAIR("BARE", "x"),
                                   PAIR("filesystem:EMPTY", "")};
    struct shape_pairs variables;
    mode_t before = umask(0277); /* takes away what the owner needs */
    assert_int_equal(
        session_files_write(files, &arena, SLICE("2f1a-9"), PAIRS(secrets), &variables, &error),
        ERR_NONE);
    (void)umask(before);
    assert_int_equal(variables.count, 4);
    assert_true(slice_equals(variables.pairs[0].key, SLICE("USER_NAME")));
    assert_true(slice_equals(variables.pairs[0].value, SLICE("app")));
    assert_true(slice_equals(variables.pairs[1].key, SLICE("KEY")));
    assert_true(slice_equals(variables.pairs[2].value, SLICE("x")));
    const char *path = arena_text(&arena, variables.pairs[1].value);
    assert_string_equal(path, path_of("2f1a-9/KEY"));
    check_file(path, SLICE("a\0b\n"));
    check_file(path_of("2f1a-9/EMPTY"), SLICE(""));
    assert_int_equal(mode_of(path), 0600);
    assert_int_equal(mode_of(path_of("2f1a-9")), 0700);
    assert_int_equal(mode_of(folder), 0700);
    session_files_free(files);
}

static void a_session_without_files_has_no_folder(void **state)
{
    (void)state;
    struct session_files *files = open_files();
    struct shape_pair secrets[] = {PAIR("envvar:A", "1")};
    struct shape_pairs variables;
    assert_int_equal(
        session_files_write(files, &arena, SLICE("s"), PAIRS(secrets), &variables, &error),
        ERR_NONE);
    assert_int_equal(count_in(folder), 0);
    assert_int_equal(session_files_remove(files, SLICE("s"), &error), ERR_NONE);
    session_files_free(files);
}

static void the_end_of_a_session_takes_its_files_with_it(void **state)
{
    (void)state;
    struct session_files *files = open_files();
    struct shape_pair secrets[] = {PAIR("filesystem:KEY", "secret")};
    struct shape_pairs variables;
    for (int i = 0; i < 2; i++) {
        struct slice id = i == 0 ? SLICE("one") : SLICE("two");
        assert_int_equal(session_files_write(files, &arena, id, PAIRS(secrets), &variables, &error),
                         ERR_NONE);
    }
    assert_int_equal(
        session_files_write(files, &arena, SLICE("one"), PAIRS(secrets), &variables, &error),
        ERR_CONFLICT);
    /* A descriptor that somebody still has sees what the wiping left. */
    int fd = open(path_of("one/KEY"), O_RDONLY | O_CLOEXEC);
    char bytes[6];
    assert_int_equal(session_files_remove(files, SLICE("one"), &error), ERR_NONE);
    assert_int_equal(read(fd, bytes, sizeof(bytes)), 6);
    assert_memory_equal(bytes, "\0\0\0\0\0\0", 6);
    (void)close(fd);
    assert_int_equal(access(path_of("one"), F_OK), -1);
    assert_int_equal(access(path_of("two/KEY"), F_OK), 0);
    session_files_free(files);
    assert_int_equal(count_in(folder), 0);
}

static void what_a_program_left_beside_its_files_goes_too(void **state)
{
    (void)state;
    struct session_files *files = open_files();
    struct shape_pair secrets[] = {PAIR("filesystem:KEY", "secret")};
    struct shape_pairs variables;
    const char *outside = arena_format(&arena, "%s/outside", parent).at;
    const char *linked = arena_format(&arena, "%s/linked", parent).at;
    assert_int_equal(
        session_files_write(files, &arena, SLICE("s"), PAIRS(secrets), &variables, &error),
        ERR_NONE);
    write_file(outside);
    write_file(linked);
    assert_int_equal(mkdir(path_of("s/in"), 0700), 0);
    write_file(path_of("s/in/file"));
    assert_int_equal(symlink(outside, path_of("s/link")), 0);
    assert_int_equal(symlink(parent, path_of("s/in/up")), 0);
    assert_int_equal(link(linked, path_of("s/hard")), 0);
    assert_int_equal(mkfifo(path_of("s/fifo"), 0600), 0);
    assert_int_equal(session_files_remove(files, SLICE("s"), &error), ERR_NONE);
    assert_int_equal(count_in(folder), 0);
    check_file(outside, SLICE("secret"));
    check_file(linked, SLICE("secret"));
    (void)unlink(outside);
    (void)unlink(linked);
    session_files_free(files);
}

static void folders_in_folders_have_an_end(void **state)
{
    (void)state;
    struct session_files *files = open_files();
    struct shape_pair secrets[] = {PAIR("filesystem:KEY", "secret")};
    struct shape_pairs variables;
    assert_int_equal(
        session_files_write(files, &arena, SLICE("s"), PAIRS(secrets), &variables, &error),
        ERR_NONE);
    const char *path = path_of("s");
    const char *paths[LIMIT_SESSION_FILES_DEPTH + 2];
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        path = arena_format(&arena, "%s/d", path).at;
        paths[i] = path;
        assert_int_equal(mkdir(path, 0700), 0);
    }
    assert_int_equal(session_files_remove(files, SLICE("s"), &error), ERR_LIMIT);
    assert_int_equal(access(path_of("s/KEY"), F_OK), -1); /* what can go is gone */
    for (size_t i = COUNT_OF(paths); i > 0; i--) {
        (void)rmdir(paths[i - 1]);
    }
    session_files_free(files);
}

static void what_a_crash_left_goes_at_the_next_start(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        struct session_files *files = NULL;
        struct shape_pair secrets[] = {PAIR("filesystem:KEY", "secret")};
        struct shape_pairs variables;
        enum err err = session_files_new(folder, &files, NULL);
        if (err == ERR_NONE) {
            err = session_files_write(files, &arena, SLICE("s"), PAIRS(secrets), &variables, NULL);
        }
        _exit(err == ERR_NONE ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(access(path_of("s/KEY"), F_OK), 0);
    struct session_files *files = open_files();
    assert_int_equal(count_in(folder), 0);
    session_files_free(files);
}

static void a_folder_belongs_to_one_process(void **state)
{
    (void)state;
    struct session_files *files = open_files();
    struct session_files *second = NULL;
    assert_int_equal(session_files_new(folder, &second, &error), ERR_CONFLICT);
    assert_true(slice_ends_with(slice_of_text(error.message), SLICE("is used by another process")));
    session_files_free(files);
    files = open_files();
    session_files_free(files);
    session_files_free(NULL);
}

static void a_folder_is_made_private_and_is_never_a_link(void **state)
{
    (void)state;
    struct session_files *files = NULL;
    assert_int_equal(mkdir(folder, 0755), 0);
    assert_int_equal(chmod(folder, 0755), 0);
    session_files_free(open_files());
    assert_int_equal(mode_of(folder), 0700);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(symlink(parent, folder), 0);
    assert_int_equal(session_files_new(folder, &files, &error), ERR_IO);
    assert_int_equal(unlink(folder), 0);
    assert_int_equal(session_files_new("/nowhere/files", &files, &error), ERR_IO);
    write_file(folder);
    assert_int_equal(session_files_new(folder, &files, &error), ERR_IO);
    assert_int_equal(unlink(folder), 0);
}

static void no_name_leads_out_of_the_folder(void **state)
{
    (void)state;
    struct session_files *files = open_files();
    struct shape_pairs variables;
    static const char *const keys[] = {"filesystem:../KEY", "filesystem:",   "filesystem:/etc/x",
                                       "filesystem:.",      "filesystem:..", "filesystem:a/b",
                                       "envvar:LD_PRELOAD", "envvar:A B"};
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        struct shape_pair bad[] = {{.key = slice_of_text(keys[i]), .value = SLICE("x")}};
        assert_int_equal(
            session_files_write(files, &arena, SLICE("s"), PAIRS(bad), &variables, &error),
            ERR_INPUT);
    }
    struct shape_pair good[] = {PAIR("filesystem:KEY", "x")};
    static const struct slice ids[] = {SLICE_INIT(""),    SLICE_INIT("."),   SLICE_INIT(".."),
                                       SLICE_INIT("a/b"), SLICE_INIT("a.b"), SLICE_INIT("a\0b"),
                                       SLICE_INIT("a b")};
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        assert_int_equal(
            session_files_write(files, &arena, ids[i], PAIRS(good), &variables, &error), ERR_INPUT);
        assert_int_equal(session_files_remove(files, ids[i], &error), ERR_INPUT);
    }
    assert_int_equal(count_in(folder), 0);
    session_files_free(files);
}

static void two_secrets_cannot_be_one_variable(void **state)
{
    (void)state;
    struct session_files *files = open_files();
    struct shape_pair secrets[] = {PAIR("filesystem:KEY", "x"), PAIR("envvar:KEY", "y")};
    struct shape_pairs variables;
    assert_int_equal(
        session_files_write(files, &arena, SLICE("s"), PAIRS(secrets), &variables, &error),
        ERR_INPUT);
    assert_string_equal(error.message, "two secrets want to be 'KEY'");
    assert_int_equal(count_in(folder), 0);
    session_files_free(files);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(files_are_private_and_their_paths_are_the_variables),
        TEST(a_session_without_files_has_no_folder),
        TEST(the_end_of_a_session_takes_its_files_with_it),
        TEST(what_a_program_left_beside_its_files_goes_too),
        TEST(folders_in_folders_have_an_end),
        TEST(what_a_crash_left_goes_at_the_next_start),
        TEST(a_folder_belongs_to_one_process),
        TEST(a_folder_is_made_private_and_is_never_a_link),
        TEST(no_name_leads_out_of_the_folder),
        TEST(two_secrets_cannot_be_one_variable),
    };
    return cmocka_run_group_tests_name("target/session_files", tests, NULL, NULL);
}
