# SPDX-License-Identifier: MIT
"""What looks like personal data or a secret and is none, the same at each run."""
import base64
import json
import random
import string
import uuid

from detect_values import UPPER, Sample, bare64, card, digits, dotted, iban, luhn, pick


def off_by_one(rng, number):
    at = rng.choice([i for i, sign in enumerate(number) if sign.isdigit()])
    return number[:at] + str((int(number[at]) + rng.randint(1, 9)) % 10) + number[at + 1:]


def bad_card(rng):
    number = off_by_one(rng, card(rng))
    return number if not luhn([c for c in number if c.isdigit()]) else bad_card(rng)


def bad_iban(rng):
    """Other check digits, and not the ones that are the same modulo 97."""
    value = iban(rng)
    wrong = rng.choice([n for n in range(100) if (n - int(value[2:4])) % 97 != 0])
    return f"{value[:2]}{wrong:02}{value[4:]}"


def version(rng):
    numbers = [str(rng.randrange(30)) for _ in range(rng.choice((2, 3)))]
    return rng.choice(("", "v")) + ".".join(numbers) + rng.choice(("", "-rc1", "+build.5"))


WORDS = ("the", "quick", "brown", "fox", "shipped", "2 items", "for", "19.99", "in", "2024")


def lower(rng, count):
    return pick(rng, string.ascii_lowercase, count)


def numbers(rng, most, count, sign):
    return sign.join(str(rng.randint(0, most)) for _ in range(count))


def day_time(rng):
    return f"{rng.randint(0, 23):02}:{rng.randint(0, 59):02}:{rng.randint(0, 59):02}"


def order_number(rng):
    return rng.choice(("ORD-", "INV-", "PO-", "SO-")) + digits(rng, rng.choice((6, 8, 9, 10, 11)))


LOOK_ALIKES = {
    "uuid": lambda r: str(uuid.UUID(bytes=r.randbytes(16), version=4)),
    "git hash": lambda r: r.randbytes(20).hex(),
    "short hash": lambda r: r.randbytes(r.choice((4, 5, 6))).hex(),
    "sha256": lambda r: r.randbytes(32).hex(),
    "order number": lambda r: order_number(r),
    "number": lambda r: digits(r, r.choice((5, 6, 7, 8, 9, 10, 11, 12)), "123456789"),
    "seconds": lambda r: str(r.randrange(1600000000, 1800000000)),
    "milliseconds": lambda r: str(r.randrange(1600000000000, 1800000000000)),
    "microseconds": lambda r: str(r.randrange(1600000000000000, 1800000000000000)),
    "decimal": lambda r: f"{r.uniform(-1e6, 1e6):.{r.choice((2, 4, 8))}f}",
    "money": lambda r: f"{r.choice('$€£')}{r.uniform(0, 1e6):,.2f}",
    "float": lambda r: repr(r.uniform(0, 1)),
    "exponent": lambda r: f"{r.uniform(1, 10):.7f}e-{r.randint(1, 9)}",
    "version": version,
    "version of four": lambda r: "version " + numbers(r, 30, 4, "."),
    "bad card": bad_card,
    "bad iban": bad_iban,
    "phone-like id": lambda r: dotted(r, digits(r, 10), "###-###-####", "###.###.####"),
    "ticket": lambda r: f"#{digits(r, 7)}",
    "file with @": lambda r: f"{lower(r, 5)}@{r.choice('23')}x.{r.choice(('png', 'jpg', 'webp'))}",
    "package": lambda r: f"@{lower(r, 5)}/core@{numbers(r, 20, 3, '.')}",
    "go module": lambda r: f"{lower(r, 5)}.org/x/net@v0.{r.randint(1, 99)}.0",
    "git remote": lambda r: f"git@github.com:{lower(r, 5)}/repo.git",
    "handle": lambda r: f"@{lower(r, 8)}",
    "css": lambda r: f"margin:{numbers(r, 99, 2, 'px ')}px;color:#{r.randbytes(3).hex()}",
    "media": lambda r: f"@media (min-width:{r.randint(300, 2000)}px){{a{{top:0}}}}",
    "base64": lambda r: base64.b64encode(r.randbytes(r.randint(20, 90))).decode(),
    "base64url": lambda r: bare64(r.randbytes(r.randint(20, 90))),
    "c++": lambda r: f"std::{lower(r, 6)}::{lower(r, 4)}(x)",
    "cast": lambda r: f"SELECT '{digits(r, 4)}'::{r.choice(('text', 'date', 'face', 'abc'))}",
    "time": lambda r: f"{day_time(r)}.{digits(r, 6)}",
    "path": lambda r: f"/var/lib/{lower(r, 5)}/{digits(r, 9)}/{digits(r, 3)}",
    "sku": lambda r: f"{pick(r, UPPER, 3)}-{digits(r, 4)}-{pick(r, UPPER, 2)}",
    "isbn": lambda r: f"978-{digits(r, 1)}-{digits(r, 4)}-{digits(r, 4)}-{digits(r, 1)}",
    "coordinates": lambda r: f"{r.uniform(-90, 90):.6f}, {r.uniform(-180, 180):.6f}",
    "range": lambda r: f"{r.randint(1, 500)}-{r.randint(501, 999)}",
    "lsn": lambda r: f"{r.randrange(16):X}/{r.randrange(1 << 32):X}",
    "oid list": lambda r: " ".join(str(r.randrange(16384, 99999)) for _ in range(5)),
    "arn": lambda r: f"arn:aws:iam::{digits(r, 12, '123456789')}:role/{lower(r, 6)}",
    "matrix": lambda r: f"[{r.random():.3f} {r.random():.3f} {r.random():.3f}]",
    "tracking": lambda r: f"1Z{pick(r, UPPER + string.digits, 16)}",
    "user agent": lambda r: f"Chrome/{r.randint(90, 130)}.0.{r.randint(1000, 9999)}.77 Safari/5.3",
    "ruler": lambda r: "+".join("-" * r.randint(5, 20) for _ in range(3)),
    "words": lambda r: " ".join(r.choice(WORDS) for _ in range(12)),
}


def look_alikes(seed=7, per_kind=240):
    rng = random.Random(seed)
    for kind, make in LOOK_ALIKES.items():
        for _ in range(per_kind):
            value = make(rng)
            style = rng.randrange(3)
            text = (value, f"we have {value} here", json.dumps({"id": value, "n": 1}))[style]
            yield Sample(kind, rng.choice(("id", "value", "code", "")), text, value)
