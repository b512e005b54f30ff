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
        self.without_where = False
        self.is_open = False  # what it does is not in the text

    def write(self, relation, word):
        self.operations.add(word)
        if relation:
            self.written.add((relation.get("schemaname", ""), relation["relname"]))


def effects_of(tree):
    found = Effects()
    walk_statement(tree["stmt"], found)
    return found


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
    if kind in ("UpdateStmt", "DeleteStmt") and "whereClause" not in body:
        found.without_where = True
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
