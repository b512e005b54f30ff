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
        printf("%.*s|%.*s|%.*s|%d\n", SLICE_ARG(assets[i].path), SLICE_ARG(assets[i].content_type),
               SLICE_ARG(assets[i].etag), assets[i].immutable);
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
        path, content_type, etag, immutable = line.split("|")
        parts = {kind: (folder / f"{index}.{kind}").read_bytes()
                 for kind in ("identity", "gzip", "brotli")}
        table[path] = dict(parts, type=content_type, etag=etag, immutable=immutable == "1")
    return table


def test_bytes_come_out_as_they_went_in(tmp_path):
    page = b"<p>a page that repeats itself</p>\n" * 50
    picture = bytes(range(256)) * 4
    assert embed(tmp_path, {"index.html": page, "assets/a.png": picture,
                            "short.txt": b"x"}).returncode == 0
    table = read_back(tmp_path)
    assert list(table) == sorted(table) == ["/assets/a.png", "/index.html", "/short.txt"]
    index = table["/index.html"]
    assert index["identity"] == page and gzip.decompress(index["gzip"]) == page
    assert subprocess.run(["brotli", "-dc"], input=index["brotli"], check=True,
                          capture_output=True).stdout == page
    assert index["type"] == "text/html; charset=utf-8"
    assert index["etag"] == f'W/"{hashlib.sha256(page).hexdigest()[:32]}"'
    assert table["/assets/a.png"]["identity"] == picture
    for small in ("/assets/a.png", "/short.txt"):
        assert table[small]["gzip"] == table[small]["brotli"] == b""


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
        assert embed(tmp_path, {"index.html": b"<p>same</p>" * 20}).returncode == 0
        made.append([(tmp_path / name).read_bytes() for name in ("assets.c", "assets.o")])
    assert made[0] == made[1]


@pytest.mark.parametrize("name", ["program.exe", "README"])
def test_a_file_of_an_unknown_type_stops_the_build(tmp_path, name):
    result = embed(tmp_path, {name: b"x"})
    assert result.returncode != 0 and name in result.stderr
