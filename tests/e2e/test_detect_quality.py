# SPDX-License-Identifier: MIT
"""How much of what is there is found, and how much of what is found is there."""
import collections
import os
import random
import subprocess

import detect_look_alikes
import detect_values

THRESHOLD = 60
CHECKED = {"CREDIT_CARD", "CRYPTO", "IBAN_CODE", "ABA_ROUTING", "MEDICAL_LICENSE", "CA_SIN",
           "UK_NHS", "AU_TFN", "AU_ABN", "AU_ACN", "AU_MEDICARE", "IN_AADHAAR", "IN_GSTIN",
           "IT_FISCAL_CODE", "IT_VAT_CODE", "ES_NIF", "ES_NIE", "SG_FIN", "BR_CPF", "BR_CNPJ",
           "BR_CNH", "BR_PIS", "PL_PESEL", "KR_RRN", "FI_PERSONAL_IDENTITY_CODE", "TH_TNIN",
           "DE_TAX_ID", "FR_NIR", "NL_BSN", "SE_PERSONNUMMER"}


def probe(samples):
    """The findings of each sample as (type, offset, len)."""
    program = os.path.join(os.environ["GATEHOUSE_TEST_PROGRAMS"], "detect_probe")
    lines = "".join(
        sample.name + "\t" + sample.text.replace("\\", "\\\\").replace("\n", "\\n") + "\n"
        for sample in samples)
    answer = subprocess.run([program, str(THRESHOLD)], input=lines, stdout=subprocess.PIPE,
                            check=True, encoding="utf-8")
    rows = answer.stdout.split("\n")[:-1]
    assert len(rows) == len(samples)
    for row in rows:
        parts = (finding.split(":") for finding in row.split())
        yield [(kind, int(offset), int(size)) for kind, offset, size, _ in parts]


def place(sample):
    text = sample.text.encode()
    return text.index(sample.value.encode()), len(sample.value.encode())


class Tally:
    """By type: how many there are, how many of them are found, what is found and is not there."""

    def __init__(self):
        self.there, self.right, self.wrong = (collections.Counter() for _ in range(3))
        self.examples = []

    def add(self, sample, findings, is_value):
        expected = {(sample.type, *place(sample))} if is_value else set()
        self.there.update(kind for kind, *_ in expected)
        self.right.update(kind for kind, *_ in expected & set(findings))
        self.wrong.update(kind for kind, *_ in set(findings) - expected)
        if expected != set(findings):
            self.examples.append(f"{sample.type}: {sample.name!r} {sample.text!r} gave {findings}")

    def rows(self):
        for kind in sorted(self.there):
            found = self.right[kind] + self.wrong[kind]
            yield (kind, self.there[kind], self.right[kind] / self.there[kind],
                   self.right[kind] / found if found else 0.0)


def test_quality():
    values = list(detect_values.samples())
    others = list(detect_look_alikes.look_alikes())
    assert len(values) >= 10000 and len(others) >= 10000
    tally = Tally()
    for i, (sample, findings) in enumerate(zip(values + others, probe(values + others))):
        tally.add(sample, findings, i < len(values))
    print(f"\n{'type':28} {'values':>6} {'recall':>7} {'precision':>9}")
    low = []
    for kind, there, recall, precision in tally.rows():
        print(f"{kind:28} {there:6} {recall:7.4f} {precision:9.4f}")
        wanted = (0.99, 0.98) if kind in CHECKED else (0.95, 0.95)
        if recall < wanted[0] or precision < wanted[1]:
            low.append(kind)
    print(*tally.examples[:400], sep="\n")
    assert not low, low


def among_groups(rng, sign):
    """A card between other groups of digits, and what stands between is the same everywhere."""
    groups = [detect_values.digits(rng, rng.choice((1, 2, 4, 4, 4))) for _ in range(6)]
    cut = rng.randint(0, 6)
    number = detect_values.until(rng, detect_values.card, lambda n: sign in n)
    text = sign.join(groups[:cut] + [number] + groups[cut:])
    return detect_values.Sample("CREDIT_CARD", "id", f"see {text} there", number)


def test_cards_among_groups():
    """What whole groups make is a card, whatever stands around; of others few pass for one."""
    rng = random.Random(8)
    samples = [among_groups(rng, rng.choice(" -")) for _ in range(4000)]
    found = 0
    for sample, findings in zip(samples, probe(samples)):
        start, size = place(sample)
        found += any(kind == "CREDIT_CARD" and offset <= start and offset + length >= start + size
                     for kind, offset, length in findings)
    assert found / len(samples) >= 0.99
    others = [detect_values.Sample("none", "id", rng.choice(" -").join(
        detect_values.digits(rng, 4) for _ in range(6)), "") for _ in range(4000)]
    wrong = sum(any(kind == "CREDIT_CARD" for kind, *_ in findings) for findings in probe(others))
    print(f"\ncards among groups: {found / len(samples):.4f} found; "
          f"six groups that are none: {wrong / len(others):.4f}")
    assert wrong / len(others) <= 0.08  # three windows; one in ten has the digit, a quarter a range
