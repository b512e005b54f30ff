# SPDX-License-Identifier: MIT
"""What pgAdmin asks of a server, made of its own templates: pgadmin_questions.py FOLDER < CONTEXTS

FOLDER has the templates as the package has them. CONTEXTS is a JSON list: {"version": 150000,
"values": {…}}, each a place in the tree at which all templates are filled in. Printed is a JSON
list of {"template": NAME, "sql": TEXT}, each text once."""
import json
import os
import re
import sys

import jinja2
import psycopg.sql

# Of other servers than PostgreSQL, of extensions, and of pgAdmin's own tests.
OTHERS = ("/ppas/", "/debugger/", "/pgagent/", "/pgd_", "/resource_groups/", "/synonyms/",
          "/directories/", "/dbms_job_scheduler/", "/packages/", "/utils/tests/")
VERSIONS = r"(default|\d+_plus)"


class Connection:
    """Templates want one to be there; they ask nothing of it."""
    conn = None


def literal(value, _connection, force_quote=False):
    if isinstance(value, jinja2.Undefined):
        value = None
    quoted = psycopg.sql.Literal(value).as_string(None).strip()
    return f"'{quoted}'" if force_quote and not quoted.startswith("'") else quoted


def identifier(_connection, *parts):
    return ".".join('"' + str(part).replace('"', '""') + '"' for part in parts if str(part))


def type_identifier(_connection, *parts):
    return ".".join(str(part) if re.fullmatch(r"[a-z ]+(\[\])?", str(part))
                    else identifier(None, part) for part in parts if str(part))


def minimum(folder):
    return 0 if folder == "default" else int(folder.split("_")[0]) * 10000


def names_for(names, version):
    """Of the templates that a version of the server has several of, the one that it gets."""
    best = {}
    for name in names:
        parts = name.split("/")
        at = [n for n, part in enumerate(parts[:-1]) if re.fullmatch(VERSIONS, part)]
        since = minimum(parts[at[-1]]) if at else 0
        key = "/".join(part for n, part in enumerate(parts) if n not in at[-1:])
        if since <= version and since >= best.get(key, (0, ""))[0]:
            best[key] = (since, name)
    return sorted(name for _since, name in best.values())


def environment(root):
    folders = [os.path.join(path, "templates") for path, folders, _files in os.walk(root)
               if "templates" in folders
               and not any(other in path + "/templates/" for other in OTHERS)]
    made = jinja2.Environment(loader=jinja2.FileSystemLoader(sorted(folders)),
                              undefined=jinja2.ChainableUndefined, cache_size=-1,
                              extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols"])
    made.filters.update(qtLiteral=literal, qtIdent=identifier, qtTypeIdent=type_identifier,
                        hasAny=lambda data, keys: any(key in data for key in keys))
    made.globals.update(conn=Connection(), _=str, gettext=str)
    return made


def main():
    made = environment(sys.argv[1])
    names = [name for name in made.list_templates(extensions=["sql"])
             if not any(other in "/" + name for other in OTHERS)]
    found = {}
    for context in json.load(sys.stdin):
        for name in names_for(names, context["version"]):
            try:
                text = made.get_template(name).render(context["values"]).strip()
            except (jinja2.TemplateError, TypeError, AttributeError, KeyError, ValueError):
                continue  # wants more than a place in the tree: a form that somebody filled in
            found.setdefault(text, name)
    json.dump([{"template": name, "sql": text} for text, name in found.items()], sys.stdout)


main()
