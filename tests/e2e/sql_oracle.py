# SPDX-License-Identifier: MIT
"""What a statement would write, by PostgreSQL's own grammar: libpg_query's tree, walked."""
import ctypes
import ctypes.util
import json

VERBS = {
    "SelectStmt": "select", "InsertStmt": "insert", "UpdateStmt": "update", "DeleteStmt": "delete",
    "MergeStmt": "merge", "TruncateStmt": "truncate", "DropStmt": "drop", "CopyStmt": "copy",
    "CallStmt": "call", "DoStmt": "do", "GrantStmt": None, "GrantRoleStmt": None,
    "ExplainStmt": "explain", "PrepareStmt": "prepare", "ExecuteStmt": "execute",
    "DeallocateStmt": "deallocate", "LockStmt": "lock", "VariableShowStmt": "show",
    "ListenStmt": "listen", "UnlistenStmt": "listen", "NotifyStmt": "notify",
    "DeclareCursorStmt": "declare", "FetchStmt": "fetch", "ClosePortalStmt": "close",
    "CheckPointStmt": "checkpoint", "DiscardStmt": "discard", "LoadStmt": "load",
    "RefreshMatViewStmt": "refresh", "ReindexStmt": "reindex", "ClusterStmt": "cluster",
    "ReassignOwnedStmt": "reassign", "ImportForeignSchemaStmt": "import", "CommentStmt": "comment",
}
# Compared: what changes data, or what may. Words of other statements are a matter of taste.
COMPARED = {"insert", "update", "delete", "merge", "truncate", "copy", "drop", "create", "alter",
            "grant", "revoke", "call", "do", "execute", "server_file"}
CREATES = {"CreateStmt", "CreateTableAsStmt", "ViewStmt", "IndexStmt", "RuleStmt",
           "CreateTrigStmt", "CreateSchemaStmt", "CreateSeqStmt", "CreateFunctionStmt",
           "CreateExtensionStmt", "CreateDomainStmt", "CreateEnumStmt", "CreateRangeStmt",
           "CompositeTypeStmt", "DefineStmt", "CreateCastStmt", "CreateRoleStmt", "CreatedbStmt",
           "CreateTableSpaceStmt", "CreatePolicyStmt", "CreatePublicationStmt",
           "CreateSubscriptionStmt", "CreateStatsStmt", "CreateFdwStmt", "CreateForeignServerStmt",
           "CreateForeignTableStmt", "CreateUserMappingStmt", "CreateEventTrigStmt",
           "CreateAmStmt", "CreateTransformStmt", "CreateConversionStmt", "CreateOpClassStmt",
           "CreateOpFamilyStmt", "CreatePLangStmt"}
DROPS = {"DropStmt", "DropRoleStmt", "DropdbStmt", "DropTableSpaceStmt", "DropOwnedStmt",
         "DropSubscriptionStmt", "DropUserMappingStmt"}
MODIFIES = {"InsertStmt": "insert", "UpdateStmt": "update", "DeleteStmt": "delete",
            "MergeStmt": "merge"}


class Result(ctypes.Structure):
    _fields_ = [("tree", ctypes.c_char_p), ("messages", ctypes.c_char_p),
                ("error", ctypes.c_void_p)]


class Grammar:
    """PostgreSQL 15's, of Debian's libpg_query."""

    def __init__(self):
        self.library = ctypes.CDLL("libpg_query.so")
        self.library.pg_query_parse.restype = Result
        self.library.pg_query_parse.argtypes = [ctypes.c_char_p]
        self.library.pg_query_free_parse_result.argtypes = [Result]

    def parse(self, text):
        """The statements' trees; None when it is none."""
        result = self.library.pg_query_parse(text.encode())
        try:
            return None if result.error else json.loads(result.tree)["stmts"]
        finally:
            self.library.pg_query_free_parse_result(result)

    def parse_all(self, texts):
        return [self.parse(text) for text in texts]


class Effects:
    def __init__(self):
        self.operations = set()
        self.written = set()
        self.read = set()
        self.columns = set()
        self.functions = set()
        self.is_query = False  # what is read is compared whole
        self.without_where = False
        self.where_is_doubtful = False
        self.is_open = False  # what it does is not in the text

    def write(self, relation, word):
        self.operations.add(word)
        if relation:
            self.written.add((relation.get("schemaname", ""), relation["relname"]))


QUERIES = {"SelectStmt", "InsertStmt", "UpdateStmt", "DeleteStmt", "MergeStmt"}
# What looks at a relation's rows, or has it go by another name, reads it.
# Statements that name relations without reading them.
READS_NONE = {"GrantStmt", "TruncateStmt", "ImportForeignSchemaStmt", "DropStmt", "CommentStmt",
              "VacuumStmt", "RenameStmt", "AlterSeqStmt", "CreateSeqStmt", "AlterObjectSchemaStmt",
              "RefreshMatViewStmt", "ClusterStmt", "ReindexStmt", "AlterDefaultPrivilegesStmt",
              "AlterObjectDependsStmt", "ConstraintsSetStmt", "SecLabelStmt", "AlterOwnerStmt", "CompositeTypeStmt"}
# Written without a schema; since 17 the grammar says whose it is.
GRAMMAR_NAMES = {("pg_catalog", "json_object")}
GRAMMAR_CALLS = {("pg_catalog", "similar_to_escape"), ("pg_catalog", "like_escape")}
READS = {"IndexStmt": "relation", "CreateTrigStmt": "relation", "CreatePolicyStmt": "table",
         "RuleStmt": "relation", "AlterTableStmt": "relation"}


def effects_of(tree):
    found = Effects()
    walk_statement(tree["stmt"], found)
    kind, body = next(iter(tree["stmt"].items()))
    found.is_query = kind in QUERIES
    if kind not in READS_NONE and body.get("objtype") != "OBJECT_TYPE":
        walk_reads(tree["stmt"], frozenset(), found)
    if kind in READS and body.get(READS[kind]) and body.get("objtype") != "OBJECT_TYPE":
        note_read(body[READS[kind]], frozenset(), found)
    if kind == "CopyStmt" and body.get("relation") and not body.get("is_from"):
        note_read(body["relation"], frozenset(), found)
    return found


def note_read(relation, ctes, found):
    relation = relation.get("RangeVar", relation)
    name = (relation.get("schemaname", ""), relation["relname"])
    if name[0] or name[1] not in ctes:
        found.read.add(name)


def words_of(items):
    """Of a name's parts; the last may be a star."""
    words = []
    for item in items:
        kind, value = next(iter(item.items()))
        words.append("*" if kind == "A_Star" else value.get("sval", value.get("str", "")))
    return words


def has_column(node):
    """Whether a name in it may be a column; what an EXISTS selects is seen by nobody."""
    stack = [node]
    while stack:
        node = stack.pop()
        if isinstance(node, list):
            stack.extend(node)
        elif isinstance(node, dict):
            if "ColumnRef" in node:
                return True
            for kind, body in node.items():
                stack.append(without_list(body) if kind == "SubLink" else body)
    return False


ALMOST_NAMES = ("XmlExpr", "XmlSerialize", "SubLink")


def is_doubtful(node):
    """Whether the only words in it that are like names stand where no plain column does: the names
    inside of XML functions and of an interval's fields, and a TABLE in the place of a SELECT."""
    if isinstance(node, list):
        return any(is_doubtful(item) for item in node)
    if not isinstance(node, dict):
        return False
    if "typmods" in node.get("TypeName", node.get("typeName", {})):
        return True
    return any(kind in ALMOST_NAMES or is_doubtful(body) for kind, body in node.items())


def has_plain_column(node):
    if isinstance(node, list):
        return any(has_plain_column(item) for item in node)
    if not isinstance(node, dict):
        return False
    return any(kind == "ColumnRef" or (kind not in ALMOST_NAMES and has_plain_column(body))
               for kind, body in node.items())


def note_where(found, clause):
    """A WHERE counts when it names what could be a column."""
    if clause and not has_plain_column(clause) and is_doubtful(clause):
        found.where_is_doubtful = True
    elif not has_column(clause):
        found.without_where = True


def without_list(link):
    """A sublink; of an EXISTS without the select list."""
    select = link.get("subselect", {}).get("SelectStmt")
    if link.get("subLinkType") != "EXISTS_SUBLINK" or select is None:
        return link
    return dict(link, subselect={"SelectStmt": {key: value for key, value in select.items()
                                                if key != "targetList"}})


def reads_target(kind, body):
    if kind == "MergeStmt" or "returningList" in body or "returningClause" in body:
        return True
    if kind == "InsertStmt":
        return "onConflictClause" in body
    parts = [body.get(name) for name in ("whereClause", "fromClause", "usingClause")]
    return has_column([parts, body.get("targetList")])


def note_column(body, found):
    words = words_of(body["fields"])
    found.columns.add((".".join(words[:-1]), words[-1]))


def note_function(body, found):
    words = words_of(body["funcname"])
    name = (words[-2] if len(words) > 1 else "", words[-1])
    name = ("", name[1]) if name in GRAMMAR_NAMES else name
    if body.get("funcformat") != "COERCE_SQL_SYNTAX" and name not in GRAMMAR_CALLS:
        found.functions.add(name)


def walk_reads(node, ctes, found):
    """Relations, columns and functions, each common table expression in its scope."""
    if isinstance(node, list):
        for item in node:
            walk_reads(item, ctes, found)
    if not isinstance(node, dict):
        return
    for kind, body in node.items():
        if kind in ("ExplainStmt",) or (kind == "RangeVar" and isinstance(body, dict)):
            if kind == "RangeVar":
                note_read(body, ctes, found)
                continue
        if kind == "ColumnRef":
            note_column(body, found)
        elif kind == "FuncCall":
            note_function(body, found)
        if kind == "SubLink":
            body = without_list(body)
        if isinstance(body, dict) and kind not in ("objects", "into", "intoClause"):
            walk_query(kind, body, ctes, found)
        elif isinstance(body, list):
            walk_reads(body, ctes, found)


def walk_query(kind, body, ctes, found):
    clause = body.get("withClause") or {}
    for cte in clause.get("ctes", []):
        cte = cte["CommonTableExpr"]
        if clause.get("recursive"):
            ctes = ctes | {cte["ctename"]}
        walk_reads(cte["ctequery"], ctes, found)
        ctes = ctes | {cte["ctename"]}
    if kind in MODIFIES and reads_target(kind, body):
        note_read(body["relation"], frozenset(), found)
    written = kind in MODIFIES or kind == "CopyStmt" or kind in READS
    hidden = {"withClause", "intoClause", "into", "lockingClause", "relation" if written else ""}
    walk_reads({key: value for key, value in body.items() if key not in hidden}, ctes, found)


def walk_statement(node, found):
    kind, body = next(iter(node.items()))
    if kind == "ExplainStmt":
        walk_explain(body, found)
        return
    word = VERBS.get(kind)
    if word:
        found.operations.add(word)
    found.is_open = found.is_open or kind in ("CallStmt", "DoStmt", "ExecuteStmt")
    if kind in CREATES:
        found.operations.add("create")
    if kind in DROPS:
        found.operations.add("drop")
    if kind.startswith("Alter") or kind in ("RenameStmt",):
        found.operations.add("alter")
    if kind in ("AlterTableStmt", "CompositeTypeStmt") and drops_values(body):
        found.operations.add("drop")
    if kind == "AlterDefaultPrivilegesStmt":
        found.operations.add("grant" if body["action"].get("is_grant") else "revoke")
    if kind in ("GrantStmt", "GrantRoleStmt"):
        found.operations.add("grant" if body.get("is_grant") else "revoke")
    if kind == "TruncateStmt":
        for relation in body["relations"]:
            found.write(relation["RangeVar"], "truncate")
    if kind == "CopyStmt":
        if body.get("filename"):
            found.operations.add("server_file")
        found.is_open = found.is_open or bool(body.get("is_program"))
        if body.get("is_from"):
            found.write(body.get("relation"), "copy")
    walk(node, found)


def drops_values(body):
    """ALTER TABLE … DROP COLUMN, ALTER TYPE … DROP ATTRIBUTE."""
    return any(command["AlterTableCmd"].get("subtype") == "AT_DropColumn"
               for command in body.get("cmds", []))


def says_no(argument):
    kind, value = next(iter(argument.items()), (None, {}))
    if kind == "Integer":
        return value.get("ival", 0) == 0
    if kind == "Boolean":
        return not value.get("boolval", False)
    return kind == "String" and value.get("sval", "").lower() in ("false", "off")


def walk_explain(body, found):
    analyzes = False
    for option in body.get("options", []):
        option = option["DefElem"]
        if option["defname"] == "analyze":
            analyzes = not says_no(option.get("arg", {}))
    found.operations.add("explain")
    if analyzes:
        walk_statement(body["query"], found)


def walk(node, found):
    """All that modifies, wherever it stands."""
    stack = [node]
    while stack:
        node = stack.pop()
        if isinstance(node, list):
            stack.extend(node)
            continue
        if not isinstance(node, dict):
            continue
        for kind, body in node.items():
            if isinstance(body, dict):
                look(kind, body, found)
        stack.extend(node.values())


def look(kind, body, found):
    if kind in MODIFIES:
        found.write(body["relation"], MODIFIES[kind])
    if kind in ("UpdateStmt", "DeleteStmt") and "CurrentOfExpr" not in body.get("whereClause", {}):
        note_where(found, body.get("whereClause"))
    if kind == "MergeStmt" and \
            any(when["MergeWhenClause"].get("commandType") in ("CMD_UPDATE", "CMD_DELETE")
                for when in body.get("mergeWhenClauses", [])):
        note_where(found, body.get("joinCondition"))
    if kind == "InsertStmt" and \
            body.get("onConflictClause", {}).get("action") == "ONCONFLICT_UPDATE":
        found.operations.add("update")
    if kind == "MergeWhenClause":
        word = {"CMD_INSERT": "insert", "CMD_UPDATE": "update",
                "CMD_DELETE": "delete"}.get(body.get("commandType"))
        if word:
            found.operations.add(word)
    if kind == "intoClause" or kind == "into":
        found.write(body.get("rel"), "create")
