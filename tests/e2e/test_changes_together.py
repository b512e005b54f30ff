# SPDX-License-Identifier: MIT
"""Several changes in one request: all of them, or none."""
import json

from api import connection, unique


def operation(method, path, body=None):
    return {"method": method, "path": f"/api{path}",
            **({} if body is None else {"body": json.dumps(body)})}


def everything(admin, paths):
    return {path: admin.get(path).json for path in paths}


def test_changes_come_to_be_together_or_not_at_all(admin):
    """One of each kind, and one that fails: in the middle, at the end, and as a conflict."""
    tag = unique("all")
    paths = ["/users/groups", "/resources?page_size=100", "/connections?page_size=100",
             "/attributes?page_size=100", "/guardrails", "/datamasking-rules",
             "/access-requests/rules?page_size=100"]
    made = [
        operation("POST", "/users/groups", {"name": tag}),
        operation("POST", "/connections", connection(name=tag)),
        operation("PUT", f"/connections/{tag}/access", {"groups": [tag]}),
        operation("POST", "/attributes", {"name": tag, "connection_names": [tag]}),
        operation("POST", "/guardrails", {
            "name": tag, "connection_names": [tag],
            "input": {"rules": [{"type": "deny_words_list", "name": "w", "words": ["drop"]}]}}),
        operation("POST", "/datamasking-rules", {
            "name": tag, "connection_names": [tag],
            "supported_entity_types": [{"name": "MAIL", "entity_types": ["EMAIL_ADDRESS"]}]}),
    ]
    wrong = [("body", operation("POST", "/guardrails", {"name": tag, "wods": 1}), 400, "wods"),
             ("conflict", operation("POST", "/users/groups", {"name": tag}), 409, tag),
             ("not there", operation("PUT", "/guardrails/nobody", {"name": "nobody"}), 404, ""),
             ("no JSON", operation("POST", "/users/groups") | {"body": "{"}, 400, ""),
             ("not for this", operation("POST", "/agents", {"name": tag}), 400, "can be applied"),
             ("itself", operation("POST", "/apply", {"operations": made}), 400, "can be applied"),
             ("a read", operation("POST", "/connections/none/test"), 400, "can be applied")]
    before = everything(admin, paths)
    for what, operation_, status, said in wrong:
        for place in (len(made), len(made) // 2):
            if what == "conflict" and place < len(made):
                operation_ = operation("POST", "/connections", connection(name=tag))
            answer = admin.post("/apply", {
                "operations": made[:place] + [operation_] + made[place:]})
            assert answer.status == status and said in answer.message, (what, answer)
            assert f"operation {place + 1}: " in answer.message, (what, answer)
            assert everything(admin, paths) == before, what
    refused = admin.get("/audit/logs?page_size=1").json["data"][0]
    assert (refused["http_path"], refused["outcome"]) == ("/api/apply", False), refused
    answer = admin.post("/apply", {"operations": made})
    assert (answer.status, answer.json) == (200, {"operations": len(made)})
    assert admin.get(f"/connections/{tag}/access").json["groups"] == [tag]
    logged = [(row["http_path"], row["action"]) for row in
              admin.get("/audit/logs?page_size=10").json["data"]]
    assert logged[0] == ("/api/apply", "apply") and ("/api/guardrails", "create") in logged, logged
    gone = [operation("DELETE", f"/connections/{tag}"), operation("DELETE", f"/connections/{tag}")]
    assert admin.post("/apply", {"operations": gone}).status == 200
    assert admin.get(f"/connections/{tag}").status == 404
    for operations in ([{"method": "GET", "path": "/api/users/groups"}], [{}], None):
        assert admin.post("/apply", {"operations": operations}).status == 400
