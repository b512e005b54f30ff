# SPDX-License-Identifier: MIT
"""The checks find what they are there for, and are quiet on what is right."""
import os
import subprocess

import pytest

TOOLS = os.path.join(os.path.dirname(__file__), "..", "..", "tools")
SPDX = "/* SPDX-License-Identifier: MIT */\n"


def layers(tmp_path, files):
    (tmp_path / "src").mkdir()
    (tmp_path / "src/LAYERS").write_text("base pure\nio\nprotocol\napp\n")
    for name, text in files.items():
        path = tmp_path / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return subprocess.run([f"{TOOLS}/check-layers", str(tmp_path)], capture_output=True, text=True)


def test_layers_may_include_what_is_below(tmp_path):
    result = layers(tmp_path, {"app/a.c": '#include "base/b.h"\n#include <unistd.h>\n',
                               "base/b.h": "#ifndef GH_BASE_B_H\n#endif\n",
                               "base/b.c": '#include "base/b.h"\n#include <string.h>\n',
                               "io/i.c": "#if 1\n#endif\n",
                               "app/protocols.c": '#include "protocol/postgres/p.h"\n',
                               "protocol/postgres/p.c": '#include "protocol/postgres/q.h"\n'
                                                        '#include "protocol/sql/s.h"\n'
                                                        '#include "protocol/pump.h"\n'})
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("name,text,says", [
    ("base/b.c", '#include "io/i.h"\n', "later layer"),
    ("base/b.c", "#include <unistd.h>\n", "pure layer"),
    ("app/a.c", '#include "a.h"\n', "from src/"),
    ("app/a.c", "#ifdef X\n", "condition"),
    ("app/a.c", "#ifndef X\n", "condition"),
    ("extra/e.c", "\n", "not in src/LAYERS"),
    ("protocol/mysql/m.c", '#include "protocol/postgres/p.h"\n', "another protocol"),
    ("protocol/sql/s.c", '#include "protocol/postgres/p.h"\n', "another protocol"),
    ("protocol/p.c", '#include "protocol/postgres/p.h"\n', "another protocol"),
    ("app/a.c", '#include "protocol/postgres/p.h"\n', "another protocol"),
])
def test_layers_finds(tmp_path, name, text, says):
    result = layers(tmp_path, {name: text})
    assert result.returncode == 1 and says in result.stdout


def sizes(tmp_path, text):
    path = tmp_path / "file.c"
    path.write_text(text)
    return subprocess.run([f"{TOOLS}/check-sizes", str(path)], capture_output=True, text=True)


def function(lines, head="int f(void)"):
    return SPDX + f"{head}\n{{\n" + "    ;\n" * lines + "}\n"


def test_sizes_takes_what_is_small(tmp_path):
    result = sizes(tmp_path, function(60))
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("text,says", [
    ("int x;\n", "SPDX"),
    (function(80), "lines in a function"),
    (function(1, "int f(int a, int b, int c, int d,\n      int e, int g, int h)"), "7 parameters"),
    (SPDX + "int x;\n" * 700, "lines in the file"),
    (SPDX + "int " + "x" * 120 + ";\n", "columns"),
    (SPDX + "int x; // no\n", "// comment"),
    (SPDX + "/* TODO: later */\n", "TODO"),
    (SPDX + "int f(void)\n{\n" + " " * 20 + "if (x) {\n}\n", "nested"),
])
def test_sizes_finds(tmp_path, text, says):
    result = sizes(tmp_path, text)
    assert result.returncode == 1 and says in result.stdout, result.stdout
