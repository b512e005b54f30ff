# SPDX-License-Identifier: MIT
"""The filters of the list of connections, alone and together."""
import pytest

from api import connection, unique


@pytest.fixture(scope="module")
def filled(admin):
    word = unique("filters")
    made = {
        "a": connection(f"{word}-a", connection_tags={"env": "prod", "team": "x"},
                        attributes=["pci", "eu"]),
        "b": connection(f"{word}-b", connection_tags={"env": "test"}, attributes=["eu"],
                        subtype="mysql"),
        "c": connection(f"{word}-c", type="custom", subtype="ssh", resource_name=f"{word}-a"),
    }
    admin.ids = {}
    for letter, body in made.items():
        answer = admin.post("/connections", body)
        assert answer.status == 201, answer
        admin.ids[letter] = answer.json["id"]
    admin.word = word
    return admin


@pytest.mark.parametrize("query,found", [
    ("", "abc"), ("&type=custom", "c"), ("&subtype=mysql", "b"), ("&name={word}-a", "a"),
    ("&resource_name={word}-a", "ac"), ("&attribute=eu", "ab"), ("&attribute=pci,none", "a"),
    ("&attribute=none", ""), ("&tag_selector=env", "ab"), ("&tag_selector=env=prod", "a"),
    ("&tag_selector=env!=prod", "b"), ("&tag_selector=env=prod,team=x", "a"),
    ("&tag_selector=env=prod,team!=x", ""), ("&tag_selector=env!=prod,env!=test", ""),
    ("&connection_ids={a},{c}", "ac"), ("&connection_ids={a}&type=custom", ""),
    ("&agent_id=01900000-0000-7000-8000-000000000001", "abc"),
    ("&agent_id=01900000-0000-7000-8000-000000000002", ""), ("&managed_by=somebody", ""),
])
def test_each_filter_finds_what_it_says(filled, query, found):
    query = query.format(word=filled.word, **filled.ids)
    answer = filled.get(f"/connections?search={filled.word.upper()}{query}").json
    assert [c["name"][-1] for c in answer["data"]] == list(found)
    assert answer["pages"]["total"] == len(found)


def test_wildcards_are_letters(filled):
    for search in ("%25", "_", "%5C"):
        names = [c["name"] for c in filled.get(f"/connections?search={search}").json["data"]]
        assert not any(filled.word in name for name in names)


def test_search_looks_at_the_status(filled):
    total = filled.get("/connections").json["pages"]["total"]
    assert filled.get("/connections?search=onLINE").json["pages"]["total"] == total
    assert filled.get("/connections?search=offline").json["pages"]["total"] == 0


def test_more_terms_than_there_is_room_for_are_refused(filled):
    for query in ("attribute=" + "a," * 9, "tag_selector=" + "a=b," * 5,
                  "connection_ids=" + (filled.ids["a"] + ",") * 41):
        answer = filled.get("/connections?" + query)
        assert answer.status == 400 and query.split("=")[0] in answer.message
