# SPDX-License-Identifier: MIT
"""Pages of a long list, in any order, while names come, go and change: always the true ones."""
import random

from api import register, resource, role

COUNT = 700


def walk(admin, path, order, size):
    """The names on the pages, which are read in a shuffled order."""
    first = admin.get(f"{path}?page_size={size}").json
    total = first["pages"]["total"]
    numbers = list(range(1, (total + size - 1) // size + 2))
    order.shuffle(numbers)
    pages = {number: admin.get(f"{path}?page={number}&page_size={size}").json for number in numbers}
    assert all(page["pages"] == {"page": number, "size": size, "total": total}
               for number, page in pages.items())
    return total, [item["name"] for number in sorted(pages) for item in pages[number]["data"]]


def test_every_page_is_the_true_one(start, store_url):
    admin = register(start("--database-url", store_url))
    order = random.Random(3)
    names = [f"n-{order.randrange(10**9)}" for _ in range(COUNT)]
    for name in names:
        assert admin.post("/resources", resource(name, roles=[role(name)])).status == 201
    for change in range(4):
        for size in (7, 50):
            for path in ("/resources", "/connections"):
                total, found = walk(admin, path, order, size)
                assert total == len(names) and found == sorted(names)
        gone = names.pop(order.randrange(len(names)))
        assert admin.delete(f"/resources/{gone}?cascade=true").status == 204
        moved, place = order.randrange(len(names)), f"m-{change}"
        assert admin.post("/resources", resource(place, roles=[role(place)])).status == 201
        names.append(place)
        old, names[moved] = names[moved], f"z-{change}"
        answer = admin.put(f"/resources/{old}?prune_roles=true",
                           resource(names[moved], roles=[role(names[moved])]))
        assert answer.status == 200, answer
