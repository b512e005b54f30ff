# SPDX-License-Identifier: MIT
"""What is embedded comes out of a program byte for byte, small where that pays."""
import gzip
import hashlib
import os
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = r"""
#include "console/assets.h"
#include <stdio.h>
static void print_part(const char *name, size_t index, struct slice part)
{
    char path[64];
    snprintf(path, sizeof(path), "%zu.%s", index, name);
    FILE *file = fopen(path, "wb");
    fwrite(part.at, 1, part.len, file);
    fclose(file);
}
int main(void)
{
    for (size_t i = 0; i < assets_count; i++) {
        printf("%.*s|%.*s|%.*s|%d|%d\n", SLICE_ARG(assets[i].path),
               SLICE_ARG(assets[i].content_type), SLICE_ARG(assets[i].etag), assets[i].immutable,
               assets[i].is_page);
        print_part("identity", i, assets[i].identity);
        print_part("gzip", i, assets[i].gzip);
        print_part("brotli", i, assets[i].brotli);
    }
    return 0;
}
"""


def embed(folder, files):
    """Makes the files and embeds them."""
    for name, content in files.items():
        path = folder / "static" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return subprocess.run(
        [f"{ROOT}/tools/embed-files", folder / "static", folder / "assets.c", folder / "assets.o",
         *[folder / "static" / name for name in files]], capture_output=True, text=True)


def read_back(folder):
    (folder / "program.c").write_text(PROGRAM)
    subprocess.run(["gcc", f"-I{ROOT}/src", "-o", folder / "program", folder / "program.c",
                    folder / "assets.c", folder / "assets.o"], check=True)
    lines = subprocess.run([folder / "program"], cwd=folder, check=True, capture_output=True,
                           text=True).stdout.splitlines()
    table = {}
    for index, line in enumerate(lines):
        path, content_type, etag, immutable, is_page = line.split("|")
        parts = {kind: (folder / f"{index}.{kind}").read_bytes()
                 for kind in ("identity", "gzip", "brotli")}
        table[path] = dict(parts, type=content_type, etag=etag, immutable=immutable == "1",
                           is_page=is_page == "1")
    return table


def test_what_is_in_a_folder_is_named_from_there(tmp_path):
    (tmp_path / "web/assets").mkdir(parents=True)
    (tmp_path / "web/index.html").write_text("<p>an app</p>")
    (tmp_path / "web/assets/app-3f9a2c1b.js").write_text("export {}")
    (tmp_path / "page.txt").write_text("x")
    embed_both = [f"{ROOT}/tools/embed-files", tmp_path, tmp_path / "assets.c", tmp_path / "assets.o",
                  tmp_path / "page.txt"]
    assert subprocess.run([*embed_both, tmp_path / "web"], check=False).returncode == 0
    table = read_back(tmp_path)
    assert list(table) == ["/assets/app-3f9a2c1b.js", "/index.html", "/page.txt"]
    assert table["/assets/app-3f9a2c1b.js"]["immutable"]
    (tmp_path / "web/page.txt").write_text("another")
    done = subprocess.run([*embed_both, tmp_path / "web"], check=False, capture_output=True, text=True)
    assert done.returncode != 0 and "the same path" in done.stderr


def test_bytes_come_out_as_they_went_in(tmp_path):
    style = b"p { color: inherit } /* a file that repeats itself */\n" * 50
    picture = bytes(range(256)) * 4
    assert embed(tmp_path, {"index.css": style, "assets/a.png": picture,
                            "short.txt": b"x"}).returncode == 0
    table = read_back(tmp_path)
    assert list(table) == sorted(table) == ["/assets/a.png", "/index.css", "/short.txt"]
    index = table["/index.css"]
    assert index["identity"] == style and gzip.decompress(index["gzip"]) == style
    assert subprocess.run(["brotli", "-dc"], input=index["brotli"], check=True,
                          capture_output=True).stdout == style
    assert index["type"] == "text/css; charset=utf-8"
    assert index["etag"] == f'W/"{hashlib.sha256(style).hexdigest()[:32]}"'
    assert table["/assets/a.png"]["identity"] == picture
    assert not any(row["is_page"] for row in table.values())
    for small in ("/assets/a.png", "/short.txt"):
        assert table[small]["gzip"] == table[small]["brotli"] == b""


NONCE = b'nonce="{{nonce:of-each-answer}}"'


def test_a_page_is_kept_as_it_is_for_its_nonces(tmp_path):
    page = b'<link rel="icon" href="a.svg"><script src="a.js" %s></script>\n' % NONCE * 50
    assert embed(tmp_path, {"index.html": page}).returncode == 0
    row = read_back(tmp_path)["/index.html"]
    assert row["is_page"] and row["identity"] == page and row["gzip"] == row["brotli"] == b""
    assert row["type"] == "text/html; charset=utf-8"


@pytest.mark.parametrize("markup", [
    b"<script src='a.js'></script>", b"<script nonce='x'></script>", b"<style>p{}</style>",
    b"<link rel='stylesheet' href='a.css'>", b"<p style='color: red'>", b"<p onclick='go()'>",
    b"<a href='javascript:go()'>", b"<svg><style>p{}</style></svg>"])
def test_what_the_policy_forbids_stops_the_build(tmp_path, markup):
    result = embed(tmp_path, {"index.html": b"<p>\n" + markup})
    assert result.returncode != 0 and "index.html:2: " in result.stderr


def test_names_with_a_hash_never_change(tmp_path):
    names = {"assets/app-3f9a2c1b.js": True, "assets/view-BbX_-q2Z.css": True,
             "web-manifest.json": False, "apple-touch-icon.png": False, "app.js": False,
             "code-highlighter.js": False, "notes-2026.txt": False}
    assert embed(tmp_path, dict.fromkeys(names, b"text")).returncode == 0
    table = read_back(tmp_path)
    assert {path[1:]: row["immutable"] for path, row in table.items()} == names


def test_the_same_files_make_the_same_bytes(tmp_path):
    made = []
    for _ in range(2):
        assert embed(tmp_path, {"index.css": b"p { color: red }" * 20}).returncode == 0
        made.append([(tmp_path / name).read_bytes() for name in ("assets.c", "assets.o")])
    assert made[0] == made[1]


@pytest.mark.parametrize("name", ["program.exe", "README"])
def test_a_file_of_an_unknown_type_stops_the_build(tmp_path, name):
    result = embed(tmp_path, {name: b"x"})
    assert result.returncode != 0 and name in result.stderr
