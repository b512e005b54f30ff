# SPDX-License-Identifier: MIT
"""PostgreSQL's own SQL: the tests of the server, of contrib, of its languages and modules, out of
Debian's source package; and other spellings of the same statements."""
import ctypes
import glob
import os
import random
import re
import shutil
import tarfile

from debian_source import debian_source
from installed import BUILD, made

PACKAGE = "postgresql-15"
SKIPPED = re.compile(r"^\\(?!\.$).*$", re.M)  # what psql reads itself
AT_END = re.compile(r"\\(g|gset|gexec|gdesc|crosstabview|bind)\b.*$", re.M)
DATA = re.compile(r"(?im)^(copy\b[^;]*\bfrom\s+stdin\b[^;]*;)[^\n]*\n(?:.*\n)*?\\\.\n")
VARIABLE = re.compile(r"(?<![:\w\[]):(['\"]?)(\w+)\1(?!:)")
TOKEN = re.compile(r"""
    (?P<space>\s+|--[^\n]*) | (?P<comment>/\*.*?\*/)
    | (?P<string>(?:[bBeExXnN]|[uU]&)?'(?:[^'\\]|''|\\.)*') | (?P<quoted>(?:[uU]&)?"(?:[^"]|"")*")
    | (?P<dollar>(?P<tag>\$\w*\$).*?(?P=tag)) | (?P<word>[A-Za-z_\x80-\U0010ffff][\w$]*)
    | (?P<number>\d[\w.]*|\$\d+) | (?P<other>[-+*/<>=~!@#%^&|`?]+|::|:=|.)""", re.X | re.S)


class Piece(ctypes.Structure):
    _fields_ = [("location", ctypes.c_int), ("length", ctypes.c_int)]


class Pieces(ctypes.Structure):
    _fields_ = [("items", ctypes.POINTER(ctypes.POINTER(Piece))), ("count", ctypes.c_int),
                ("messages", ctypes.c_char_p), ("error", ctypes.c_void_p)]


def fetch(folder):
    """All SQL of the source package, and the list of key words."""
    archive = debian_source(os.path.join(folder, "source"), PACKAGE)
    with tarfile.open(archive) as files:
        for member in files:
            if member.isfile() and re.search(r"\.sql$|/kwlist\.h$", member.name):
                name = member.name.replace("/", "__")
                with open(os.path.join(folder, name), "wb") as file:
                    file.write(files.extractfile(member).read())
    shutil.rmtree(os.path.join(folder, "source"))


def source_folder():
    """Raises OSError where the package cannot be had."""
    assert BUILD
    return made("sql-corpus", [__file__], fetch)


def split(library, text):
    """The statements of a text, as PostgreSQL's scanner cuts it."""
    data = text.encode()
    library.pg_query_split_with_scanner.restype = Pieces
    library.pg_query_split_with_scanner.argtypes = [ctypes.c_char_p]
    pieces = library.pg_query_split_with_scanner(data)
    if pieces.error:
        return []
    found = []
    for index in range(pieces.count):
        piece = pieces.items[index].contents
        found.append(data[piece.location:piece.location + piece.length].decode(errors="replace"))
    return found


def statements(library):
    texts = []
    for path in sorted(glob.glob(os.path.join(source_folder(), "*.sql"))):
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        text = DATA.sub(r"\1\n", text.replace("\0", ""))
        text = AT_END.sub(";", SKIPPED.sub("", text))
        text = VARIABLE.sub(lambda found: f"'{found[2]}'" if found[1] == "'" else found[2], text)
        texts += [piece.strip() for piece in split(library, text)]
    return sorted({text for text in texts if text})


def key_words():
    [path] = glob.glob(os.path.join(source_folder(), "*kwlist.h"))
    with open(path, encoding="ascii") as file:
        return set(re.findall(r'PG_KEYWORD\("(\w+)"', file.read()))


class Rewriter:
    """The same statement in other words: case, quotes, blanks and comments."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.key_words = key_words()

    def space(self):
        return self.random.choice([" ", "\n", "\t ", " /* ; ' */ ", "/*/**/*/ ", " -- x;\n"])

    def rewrite(self, text):
        out, last = [], None
        for found in TOKEN.finditer(text):
            kind, token = found.lastgroup, found[0]
            kind = "dollar" if found["dollar"] else kind
            if kind in ("space", "comment"):
                keeps_line = "\n" in token and last == "string"  # 'a' on two lines is one string
                out.append("\n" if keeps_line else self.space())
                continue
            if kind == "word":
                token = self.word(token)
            if kind == "other" and token in ",()" and self.random.random() < 0.3:
                token += self.space()
            out.append(token)
            last = kind
        return "".join(out)

    def word(self, token):
        chance = self.random.random()
        if not token.isascii():
            return token
        if chance < 0.3 and token.lower() not in self.key_words:
            return f'"{token.lower()}"'
        return token.swapcase() if chance < 0.6 else token
