# SPDX-License-Identifier: MIT
"""What counts as changed, and what a change of a header reaches."""
import pytest

from repository import Repository

FILES = {"src__a__one_h": "", "src__a__two_h": '#include "a/one.h"\n',
         "src__a__one_c": '#include "a/one.h"\n', "src__b__user_c": '#include "a/two.h"\n',
         "src__b__other_c": "#include <stdio.h>\n", "tests__unit__help_h": '#include "a/two.h"\n',
         "tests__unit__one_test_c": '#include "help.h"\n'}


@pytest.fixture
def repository(tmp_path):
    made = Repository(tmp_path, "changed")
    made.write(**FILES)
    for _ in range(12):
        made.commit()
    return made


def lines(done):
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_nothing_has_changed(repository):
    assert lines(repository.run("changed")) == lines(repository.run("changed", "--sources")) == []


def test_a_header_reaches_what_includes_it_at_any_remove(repository):
    repository.write(src__a__one_h="/* changed */\n")
    assert lines(repository.run("changed")) == ["src/a/one.h"]
    reached = ["src/a/one.c", "src/b/user.c", "tests/unit/one_test.c"]
    assert lines(repository.run("changed", "--sources")) == reached
    repository.commit()
    assert lines(repository.run("changed", "--sources")) == reached
    assert lines(repository.run("changed", GATEHOUSE_BASE="HEAD")) == []
    assert lines(repository.run("changed", GATEHOUSE_BASE="HEAD~1")) == ["src/a/one.h"]
    for _ in range(10):
        repository.commit()
    assert lines(repository.run("changed")) == []


def test_what_is_new_and_what_is_gone_has_changed(repository):
    repository.write(src__b__new_c='#include "b/missing.h"\n')
    (repository.folder / "src/a/one.h").unlink()
    assert lines(repository.run("changed")) == ["src/a/one.h", "src/b/new.c"]
    assert "src/b/user.c" in lines(repository.run("changed", "--sources"))


def test_it_counts_from_where_the_branch_left_what_has_landed(repository):
    repository.git("update-ref", "refs/remotes/origin/main", "HEAD")
    repository.git("checkout", "-q", "-b", "topic")
    repository.write(src__b__other_c="int x;\n")
    for _ in range(12):
        repository.commit()
    assert lines(repository.run("changed")) == ["src/b/other.c"]


@pytest.mark.parametrize("path", ["meson.build", ".clang-tidy"])
def test_how_all_is_compiled_reaches_all(repository, path):
    (repository.folder / path).write_text("# changed\n")
    assert len(lines(repository.run("changed", "--sources"))) == 4


def test_without_history_everything_has_changed(tmp_path):
    repository = Repository(tmp_path, "changed")
    repository.write(**FILES)
    repository.commit()
    assert len(lines(repository.run("changed", "--sources"))) == 4
    assert "tools/changed" in lines(repository.run("changed"))


def test_a_base_that_is_none_is_an_error(repository):
    done = repository.run("changed", GATEHOUSE_BASE="nothing")
    assert done.returncode != 0 and "GATEHOUSE_BASE" in done.stderr
