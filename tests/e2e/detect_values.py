# SPDX-License-Identifier: MIT
"""Values of every type that is detected, the same ones at each run.

Checksums are computed here, from the rules of who gives the numbers out, and not by the code that
is tested. samples() yields Sample: what stands in the text, and where.
"""
import base64
import collections
import datetime
import hashlib
import json
import random
import string
import zlib

Sample = collections.namedtuple("Sample", "type name text value")
UPPER = string.ascii_uppercase
ALNUM = string.ascii_letters + string.digits
BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase


def digits(rng, count, first="0123456789"):
    return rng.choice(first) + "".join(rng.choice(string.digits) for _ in range(count - 1))


def pick(rng, alphabet, count):
    return "".join(rng.choice(alphabet) for _ in range(count))


def dotted(rng, number, *patterns):
    """'123456789' in one of the patterns, '#' for a digit."""
    rest = iter(number)
    return "".join(next(rest) if sign == "#" else sign for sign in rng.choice(patterns))


def until(rng, make, good):
    while True:
        value = make(rng)
        if good(value):
            return value


def brute(prefix, good, alphabet=string.digits):
    """The prefix with the one last sign that makes it good, or None."""
    return next((prefix + last for last in alphabet if good(prefix + last)), None)


def complete(rng, make, good, alphabet=string.digits):
    while True:
        value = brute(make(rng), good, alphabet)
        if value is not None:
            return value


def total(number, weights):
    return sum(int(digit) * weight for digit, weight in zip(number, weights))


def luhn(number):
    values = [int(digit) for digit in reversed(number)]
    return sum(values[::2] + [sum(divmod(2 * value, 10)) for value in values[1::2]]) % 10 == 0


def day(rng, first=1940, last=2005):
    start = datetime.date(first, 1, 1).toordinal()
    return datetime.date.fromordinal(rng.randint(start, datetime.date(last, 1, 1).toordinal()))


def card(rng):
    kind = rng.choice(("4", "51", "55", "2300", "34", "37", "6011", "3530", "36", "62"))
    size = {"34": 15, "37": 15, "36": 14}.get(kind, 16)
    number = complete(rng, lambda r: kind + pick(r, string.digits, size - 1 - len(kind)), luhn)
    grouped = {15: "#### ###### #####", 16: "#### #### #### ####", 14: "#### ###### ####"}[size]
    return dotted(rng, number, "#" * size, grouped, grouped.replace(" ", "-"))


def mod97(text):
    return int("".join(str(int(sign, 36)) for sign in text)) % 97


IBANS = (("DE", 18, 0), ("GB", 18, 4), ("FR", 23, 0), ("NL", 14, 4), ("NO", 11, 0), ("ES", 20, 0),
         ("MT", 27, 4), ("PL", 24, 0), ("CH", 17, 0), ("IT", 23, 1), ("BE", 12, 0), ("SA", 20, 0))


def iban(rng):
    country, size, letters = rng.choice(IBANS)
    body = pick(rng, UPPER, letters) + pick(rng, string.digits, size - letters)
    number = f"{country}{98 - mod97(body + country + '00'):02}{body}"
    groups = " ".join(number[i:i + 4] for i in range(0, len(number), 4))
    return rng.choice((number, groups))


def ssn(rng):
    area = until(rng, lambda r: r.randint(1, 899), lambda n: n != 666)
    return dotted(rng, f"{area:03}{rng.randint(1, 99):02}{rng.randint(1, 9999):04}", "###-##-####",
                  "###-##-####", "### ## ####", "#########")


def itin(rng):
    group = rng.choice((*range(50, 66), *range(70, 89), *range(90, 93), *range(94, 100)))
    return dotted(rng, f"9{rng.randint(0, 99):02}{group}{rng.randint(0, 9999):04}", "###-##-####",
                  "#########")


def sin(rng):
    number = complete(rng, lambda r: digits(r, 8, "1234567"), luhn)
    return dotted(rng, number, "### ### ###", "###-###-###", "#########")


def aba(rng):
    number = complete(rng, lambda r: f"{r.randint(1, 12):02}{digits(r, 6)}",
                      lambda n: total(n, (3, 7, 1) * 3) % 10 == 0)
    return number


def nhs(rng):
    number = complete(rng, lambda r: digits(r, 9, "4679"),
                      lambda n: total(n, range(10, 0, -1)) % 11 == 0)
    return dotted(rng, number, "### ### ####", "##########", "###-###-####")


def nino(rng):
    unused = ("BG", "GB", "KN", "NK", "NT", "TN", "ZZ")
    prefix = until(
        rng, lambda r: r.choice("ABCEGHJKLMNOPRSTWXYZ") + r.choice("ABCEGHJKLMNPRSTWXYZ"),
        lambda p: p not in unused)
    number, suffix = digits(rng, 6), rng.choice("ABCD")
    spaced = dotted(rng, number, "## ## ##")
    return rng.choice((f"{prefix}{number}{suffix}", f"{prefix} {spaced} {suffix}"))


def tfn(rng):
    number = complete(rng, lambda r: digits(r, 8, "123456789"),
                      lambda n: total(n, (1, 4, 3, 7, 5, 8, 6, 9, 10)) % 11 == 0)
    return dotted(rng, number, "### ### ###", "#########")


def abn(rng):
    weights = (10, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19)
    number = until(rng, lambda r: digits(r, 11, "123456789"),
                   lambda n: (total(n, weights) - 10) % 89 == 0)
    return dotted(rng, number, "## ### ### ###", "###########")


def acn(rng):
    number = complete(rng, lambda r: digits(r, 8),
                      lambda n: (total(n, range(8, 0, -1)) + int(n[8])) % 10 == 0)
    return dotted(rng, number, "### ### ###", "#########")


def medicare(rng):
    number = complete(rng, lambda r: digits(r, 8, "23456"),
                      lambda n: total(n, (1, 3, 7, 9) * 2) % 10 == int(n[8]))
    number += digits(rng, 1, "12345")
    return dotted(rng, number, "#### ##### #", "##########")


def d5(one, other):
    """The product in the dihedral group of a pentagon: turns 0-4, reflections 5-9."""
    turn = (one % 5 + other % 5) % 5 if one < 5 else (one % 5 - other % 5) % 5
    return turn + (5 if (one >= 5) != (other >= 5) else 0)


def verhoeff(number):
    power, check = list(range(10)), 0
    for digit in reversed(number):
        check = d5(check, power[int(digit)])
        power = [power[(1, 5, 7, 6, 2, 8, 3, 0, 9, 4)[i]] for i in range(10)]
    return check == 0


def aadhaar(rng):
    number = complete(rng, lambda r: digits(r, 11, "23456789"), verhoeff)
    return dotted(rng, number, "#### #### ####", "############", "####-####-####")


def pan(rng):
    return (pick(rng, UPPER, 3) + rng.choice("ABCFGHJLPT") + rng.choice(UPPER) + digits(rng, 4) +
            rng.choice(UPPER))


def base36(code):
    signs = string.digits + UPPER
    check = 0
    for i, sign in enumerate(code):
        check += sum(divmod(signs.index(sign) * (1 if i % 2 == 0 else 2), 36))
    return signs[-check % 36]


def gstin(rng):
    code = f"{rng.randint(1, 37):02}{pan(rng)}{rng.choice('123456789')}Z"
    return code + base36(code)


CF_ODD = dict(zip(string.digits, (1, 0, 5, 7, 9, 13, 15, 17, 19, 21))) | dict(zip(UPPER, (
    1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)))


def fiscal_code(rng):
    code = (pick(rng, UPPER, 6) + digits(rng, 2) + rng.choice("ABCDEHLMPRST") +
            f"{rng.randint(1, 31):02}{rng.choice(UPPER)}{digits(rng, 3)}")
    even = sum(int(sign, 36) - (0 if sign.isdigit() else 10) for sign in code[1::2])
    return code + UPPER[(sum(CF_ODD[sign] for sign in code[::2]) + even) % 26]


def italian_vat(rng):
    number = complete(rng, lambda r: digits(r, 7, "0123") + f"{r.randint(1, 100):03}", luhn)
    return rng.choice((number, "IT" + number))


def nif(rng):
    number = digits(rng, 8)
    letter = "TRWAGMYFPDXBNJZSQVHLCKE"[int(number) % 23]
    return rng.choice((number + letter, f"{number}-{letter}"))


def nie(rng):
    first = rng.choice("XYZ")
    number = digits(rng, 7)
    return first + number + "TRWAGMYFPDXBNJZSQVHLCKE"[int(str("XYZ".index(first)) + number) % 23]


def fin(rng):
    first, number = rng.choice("STFG"), digits(rng, 7)
    rest = (total(number, (2, 7, 6, 5, 4, 3, 2)) + (4 if first in "TG" else 0)) % 11
    return first + number + ("JZIHGFEDCBA" if first in "ST" else "XWUTRQPNMLK")[rest]


def eleven(number, weights):
    rest = total(number, weights) % 11
    return str(0 if rest < 2 else 11 - rest)


def cpf(rng):
    number = digits(rng, 9)
    number += eleven(number, range(10, 1, -1))
    number += eleven(number, range(11, 1, -1))
    return dotted(rng, number, "###.###.###-##", "###########")


def cnpj(rng):
    number = digits(rng, 8, "123456789") + "0001"
    number += eleven(number, (5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2))
    number += eleven(number, (6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2))
    return dotted(rng, number, "##.###.###/####-##", "##############")


def cnh(rng):
    number = digits(rng, 9)
    first, second = total(number, range(9, 0, -1)) % 11, total(number, range(1, 10)) % 11
    minus = 2 if first >= 10 else 0
    second = 0 if second >= 10 else second - minus
    return cnh(rng) if second < 0 else number + str(first % 10) + str(second)


def pis(rng):
    number = digits(rng, 10, "12")
    number += eleven(number, (3, 2, 9, 8, 7, 6, 5, 4, 3, 2))
    return dotted(rng, number, "###.#####.##-#", "###########")


def pesel(rng):
    born = day(rng)
    month = born.month + (20 if born.year >= 2000 else 0)
    return complete(rng, lambda r: f"{born.year % 100:02}{month:02}{born.day:02}{digits(r, 4)}",
                    lambda n: total(n, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)) % 10 == 0)


def rrn(rng):
    number = complete(rng, lambda r: f"{day(r):%y%m%d}{digits(r, 6, '1234')}",
                      lambda n: (11 - total(n, (2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5)) % 11) % 10 ==
                      int(n[12]))
    return dotted(rng, number, "######-#######", "#############")


def hetu(rng):
    born, serial = day(rng), rng.randint(2, 899)
    sign = rng.choice("-YX") if born.year < 2000 else "A"
    check = "0123456789ABCDEFHJKLMNPRSTUVWXY"[int(f"{born:%d%m%y}{serial:03}") % 31]
    return f"{born:%d%m%y}{sign}{serial:03}{check}"


def thai(rng):
    number = complete(rng, lambda r: digits(r, 12, "12345678"),
                      lambda n: (11 - total(n, range(13, 1, -1)) % 11) % 10 == int(n[12]))
    return dotted(rng, number, "#-####-#####-##-#", "#############")


def german_tax_id(rng):
    order = list("123456789")
    rng.shuffle(order)
    body = order[:8] + [rng.choice(order[:8])]
    rng.shuffle(body)
    body = "".join(body) + "0"
    body = body[:9] + "0"
    product = 10
    for digit in body:
        product = ((int(digit) + product) % 10 or 10) * 2 % 11
    return dotted(rng, body + str((11 - product) % 10), "###########", "## ### ### ###")


def nir(rng):
    number = (rng.choice("12") + f"{rng.randint(0, 99):02}{rng.randint(1, 12):02}"
              f"{rng.randint(1, 95):02}{digits(rng, 6)}")
    return dotted(rng, number + f"{97 - int(number) % 97:02}", "###############",
                  "# ## ## ## ### ### ##", "############# ##")


def bsn(rng):
    return complete(rng, lambda r: digits(r, 8, "123456789"),
                    lambda n: (total(n, range(9, 1, -1)) - int(n[8])) % 11 == 0)


def personnummer(rng):
    born = day(rng)
    number = complete(rng, lambda r: f"{born:%y%m%d}{digits(r, 3)}", luhn)
    return rng.choice((f"{number[:6]}-{number[6:]}", number,
                       f"{born:%Y}{number[2:6]}-{number[6:]}"))


def dea(rng):
    number = digits(rng, 6)
    check = total(number[::2], (1, 1, 1)) + 2 * total(number[1::2], (1, 1, 1))
    return rng.choice("ABFGM") + rng.choice(UPPER) + number + str(check % 10)


def base58check(rng):
    raw = bytes([rng.choice((0, 5))]) + rng.randbytes(20)
    raw += hashlib.sha256(hashlib.sha256(raw).digest()).digest()[:4]
    number, text = int.from_bytes(raw, "big"), ""
    while number:
        number, rest = divmod(number, 58)
        text = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"[rest] + text
    return "1" * (len(raw) - len(raw.lstrip(b"\0"))) + text


def bech32(rng):
    def polymod(values):
        check = 1
        for value in values:
            top, check = check >> 25, (check & 0x1ffffff) << 5 ^ value
            for i, term in enumerate((0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3)):
                check ^= term if top >> i & 1 else 0
        return check
    values = [0] + [rng.randrange(32) for _ in range(31)] + [rng.choice((0, 16))]
    expanded = [3, 3, 0, 2, 3] + values
    check = polymod(expanded + [0] * 6) ^ 1
    values += [check >> 5 * (5 - i) & 31 for i in range(6)]
    return "bc1" + "".join("qpzry9x8gf2tvdw0s3jn54khce6mua7l"[value] for value in values)


def wallet(rng):
    return rng.choice((base58check, bech32, lambda r: "0x" + pick(r, "0123456789abcdef", 40)))(rng)


FIRST = ("anna", "bob", "carol", "d.ivanov", "eve+news", "frank_o", "g-h", "Hans", "i.j.k",
         "zoe1999")
HOSTS = ("example.com", "mail.example.org", "corp.example.co.uk", "xn--bcher-kva.example", "gmx.de",
         "uni-bonn.example", "a.io", "sub.domain.example.museum", "web.example.br")


def email(rng):
    local = rng.choice(FIRST) + rng.choice(("", ".", "_")) + pick(rng, ALNUM, 3)
    return f"{local}@{rng.choice(HOSTS)}"


def phone(rng):
    nanp = (digits(rng, 1, "2345678") + digits(rng, 1, "2345678") + digits(rng, 1) +
            digits(rng, 1, "23456789") + digits(rng, 1, "023456789") + digits(rng, 5))
    return rng.choice((
        "+1" + nanp, dotted(rng, nanp, "+1 (###) ###-####", "(###) ###-####", "###-###-####",
                            "+1-###-###-####", "###.###.####", "##########"),
        f"+49 {digits(rng, 2, '3')} {digits(rng, 7, '12345')}",
        f"+49 (0) {digits(rng, 2, '3')} {digits(rng, 7, '12345')}",
        f"0{digits(rng, 2, '3')} {digits(rng, 7, '12345')}",
        f"0{digits(rng, 3, '1')}/{digits(rng, 7, '12345')}",
        dotted(rng, "0" + digits(rng, 9, "12345679"), "## ## ## ## ##", "##.##.##.##.##"),
        "+33" + digits(rng, 9, "67"), f"+44 20 {digits(rng, 4)} {digits(rng, 4)}",
        f"+91 {digits(rng, 5, '789')} {digits(rng, 5)}",
        f"+55 (11) 9{digits(rng, 4)}-{digits(rng, 4)}",
        "+86" + digits(rng, 11, "1")))


def ip(rng):
    if rng.random() < 0.5:
        return ".".join(str(rng.randint(1, 254)) for _ in range(4))
    groups = [f"{rng.randrange(65536):x}" for _ in range(8)]
    groups[0] = rng.choice(("2001", "fe80", "fd12"))
    short = f"{groups[0]}:{groups[1]}::{groups[2]}"
    return rng.choice((":".join(groups), short, f"{groups[0]}::1"))


def mac(rng):
    sign = rng.choice(":-")
    return sign.join(pick(rng, rng.choice(("0123456789abcdef", "0123456789ABCDEF")), 2)
                     for _ in range(6))


def url(rng):
    return (rng.choice(("http", "https", "ftp", "wss")) + "://" + rng.choice(HOSTS) +
            rng.choice(("", ":8080")) + "/" + pick(rng, ALNUM, 5) +
            rng.choice(("", "?q=a&b=c", "#top")))


def birth(rng):
    return day(rng).strftime(rng.choice(("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y%m%d")))


def moment(rng):
    stamp = datetime.datetime(2024, 1, 1) + datetime.timedelta(seconds=rng.randrange(10 ** 8))
    return stamp.strftime(rng.choice((
        "%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%SZ", "%d.%m.%Y",
        "%Y-%m-%d %H:%M:%S.%f+00", "%m/%d/%Y")))


def bare64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def jwt(rng):
    head = json.dumps(rng.choice(({"alg": "HS256", "typ": "JWT"}, {"typ": "JWT", "alg": "RS256"})))
    body = json.dumps({"sub": pick(rng, ALNUM, 8), "iat": rng.randrange(10 ** 9)})
    return ".".join((bare64(head.encode()), bare64(body.encode()), bare64(rng.randbytes(32))))


def github(rng):
    body, crc, check = pick(rng, ALNUM, 30), None, ""
    crc = zlib.crc32(body.encode())
    for _ in range(6):
        crc, rest = divmod(crc, 62)
        check = BASE62[rest] + check
    return rng.choice((f"gh{rng.choice('pousr')}_{body}{check}",
                       f"github_pat_{pick(rng, ALNUM, 22)}_{pick(rng, ALNUM, 59)}"))


def slack(rng):
    team, bot = digits(rng, 12, "1"), digits(rng, 12, "1")
    return rng.choice((f"xoxb-{team}-{bot}-{pick(rng, ALNUM, 24)}",
                       f"xoxp-{team}-{bot}-{pick(rng, ALNUM, 32)}",
                       f"xapp-1-A{pick(rng, UPPER, 10)}-{bot}-{pick(rng, '0123456789abcdef', 64)}"))


def stripe(rng):
    kind = rng.choice(("sk_live_", "sk_test_", "rk_live_", "rk_test_"))
    return kind + pick(rng, ALNUM, rng.choice((24, 99)))


def aws(rng):
    return rng.choice(("AKIA", "ASIA")) + pick(rng, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16)


def aws_secret(rng):
    return pick(rng, ALNUM + "+/", 40)


def gcp(rng):
    return rng.choice(("AIza" + pick(rng, ALNUM + "-_", 34) + "x",
                       "GOCSPX-" + pick(rng, ALNUM + "-_", 27) + "x"))


def azure(rng):
    return f"{pick(rng, ALNUM, 3)}{digits(rng, 1)}Q~{pick(rng, ALNUM + '-_', 33)}x"


def azure_account(rng):
    return base64.b64encode(rng.randbytes(64)).decode()


def pem(rng):
    body = base64.b64encode(rng.randbytes(120)).decode()
    lines = "\n".join(body[i:i + 64] for i in range(0, len(body), 64))
    kind = rng.choice(("RSA ", "EC ", "", "OPENSSH ", "ENCRYPTED "))
    return f"-----BEGIN {kind}PRIVATE KEY-----\n{lines}\n-----END {kind}PRIVATE KEY-----"


def password(rng):
    return pick(rng, string.ascii_letters, 4) + rng.choice("!#$%*-") + pick(rng, ALNUM, 7)


def uen(rng):
    return (rng.choice("TS") + digits(rng, 2, "01") + rng.choice(("LL", "LP", "FC", "GB")) +
            digits(rng, 4) + rng.choice(UPPER))


def vehicle(rng):
    return (rng.choice(("KA", "MH", "DL", "TN")) + f"{rng.randint(1, 60):02}" +
            pick(rng, UPPER, 2) + f"{rng.randint(1, 9999):04}")


def routine(*parts):
    """A type's values from letters ('A') and digits ('9')."""
    return lambda rng: "".join(rng.choice(UPPER) if sign == "A" else rng.choice(string.digits)
                               if sign == "9" else sign for sign in rng.choice(parts))


# type: (values, names of columns that say so, whether it is known without them)
KINDS = {
    "EMAIL_ADDRESS": (email, ("email", "userMail", "contact_email", "correo"), True),
    "PHONE_NUMBER": (phone, ("phone", "mobile_no", "telefonnummer", "Tel", "celular"), False),
    "CREDIT_CARD": (card, ("card_number", "cc", "creditCardNo", "pan"), True),
    "CRYPTO": (wallet, ("wallet", "btc_address"), True),
    "IP_ADDRESS": (ip, ("ip", "client_ip"), True),
    "MAC_ADDRESS": (mac, ("mac", "hw_addr"), True),
    "URL": (url, ("url", "homepage"), True),
    "DATE_TIME": (moment, ("created_at", "updated"), True),
    "DATE_OF_BIRTH": (birth, ("date_of_birth", "dob", "birthDate", "geburtsdatum"), False),
    "IBAN_CODE": (iban, ("iban", "bank_account_iban"), True),
    "ABA_ROUTING": (aba, ("routing_number", "aba"), False),
    "US_BANK_NUMBER": (routine("9999999999", "999999999999", "99999999"),
                       ("account_number", "acct"), False),
    "US_SSN": (ssn, ("ssn", "social_security_number"), False),
    "US_ITIN": (itin, ("itin",), False),
    "US_PASSPORT": (routine("999999999", "A99999999"), ("passport_number", "passport"), False),
    "US_DRIVER_LICENSE": (routine("A9999999", "A999999999999", "A9999999999999"),
                          ("driver_license", "drivers_licence_no"), False),
    "MEDICAL_LICENSE": (dea, ("dea_number", "medical_license"), False),
    "CA_SIN": (sin, ("sin", "social_insurance_number"), False),
    "UK_NHS": (nhs, ("nhs_number", "nhs"), False),
    "UK_NINO": (nino, ("nino", "national_insurance"), True),
    "AU_TFN": (tfn, ("tfn", "tax_file_number"), False),
    "AU_ABN": (abn, ("abn",), False),
    "AU_ACN": (acn, ("acn",), False),
    "AU_MEDICARE": (medicare, ("medicare", "medicareNumber"), False),
    "IN_AADHAAR": (aadhaar, ("aadhaar", "aadhaar_no"), False),
    "IN_PAN": (pan, ("pan", "pan_card"), True),
    "IN_PASSPORT": (routine("A9999999"), ("passport_no",), False),
    "IN_VEHICLE_REGISTRATION": (vehicle, ("vehicle_registration",), True),
    "IN_VOTER": (routine("AAA9999999"), ("voter_id", "epic_no"), False),
    "IN_GSTIN": (gstin, ("gstin",), True),
    "IT_FISCAL_CODE": (fiscal_code, ("codice_fiscale", "fiscal_code"), True),
    "IT_VAT_CODE": (italian_vat, ("vat", "partita_iva"), False),
    "IT_IDENTITY_CARD": (routine("CA99999AA"), ("identity_card", "cie"), True),
    "IT_DRIVER_LICENSE": (routine("AA9999999A"), ("patente", "driving_licence"), False),
    "IT_PASSPORT": (routine("YA9999999", "AA9999999"), ("passaporto",), False),
    "ES_NIF": (nif, ("nif", "dni"), True),
    "ES_NIE": (nie, ("nie",), True),
    "SG_FIN": (fin, ("fin", "nric"), True),
    "SG_UEN": (uen, ("uen",), True),
    "BR_CPF": (cpf, ("cpf", "cliente_cpf"), False),
    "BR_CNPJ": (cnpj, ("cnpj",), False),
    "BR_RG": (routine("99.999.999-9"), ("rg",), True),
    "BR_CNH": (cnh, ("cnh",), False),
    "BR_PIS": (pis, ("pis", "pis_pasep"), False),
    "PL_PESEL": (pesel, ("pesel",), False),
    "KR_RRN": (rrn, ("rrn", "resident_registration"), False),
    "FI_PERSONAL_IDENTITY_CODE": (hetu, ("hetu", "henkilotunnus"), True),
    "TH_TNIN": (thai, ("tnin", "thai_national_id"), False),
    "DE_TAX_ID": (german_tax_id, ("steuer_id", "idnr"), False),
    "FR_NIR": (nir, ("nir", "numero_secu"), False),
    "NL_BSN": (bsn, ("bsn", "burgerservicenummer"), False),
    "SE_PERSONNUMMER": (personnummer, ("personnummer",), False),
    "JWT": (jwt, ("id_jwt",), True),
    "AWS_KEY": (aws, ("aws_id",), True),
    "GCP_KEY": (gcp, ("g",), True),
    "AZURE_KEY": (azure, ("a",), True),
    "GITHUB_TOKEN": (github, ("gh",), True),
    "SLACK_TOKEN": (slack, ("s",), True),
    "STRIPE_KEY": (stripe, ("s",), True),
    "PRIVATE_KEY": (pem, ("p",), True),
}


def words_of(name):
    split = "".join(" " + sign.lower() if sign.isupper() else sign for sign in name)
    return split.replace("_", " ").strip()


def around(rng, name, value):
    """The value alone, in a sentence, in JSON; the name stands beside it in each."""
    kind = rng.randrange(5)
    if kind == 0:
        return name, value
    if kind == 1:
        return "note", f"Please note: {words_of(name)} is {value}, as agreed."
    if kind == 2:
        return "note", f"the {words_of(name)} {value} was given"
    if kind == 3:
        return "data", json.dumps({"id": 7, name: value, "ok": True})
    return "log", f"level=info {name}={value} took=3ms"


def samples(seed=6, per_type=200):
    rng = random.Random(seed)
    for kind, (make, names, _) in KINDS.items():
        for _ in range(per_type):
            value = make(rng)
            name, text = around(rng, rng.choice(names), value)
            shown = json.dumps(value)[1:-1] if name == "data" else value
            yield Sample(kind, name, text, shown)
    for _ in range(per_type):
        user, secret = rng.choice(FIRST), pick(rng, ALNUM, 9)
        scheme, host = rng.choice(("postgres", "https", "amqp")), rng.choice(HOSTS)
        yield Sample("URL_WITH_CREDENTIALS", "dsn", f"use {scheme}://{user}:{secret}@{host}/db now",
                     f"{user}:{secret}")
        secret = password(rng)
        text = rng.choice((f"password={secret} x", f'{{"userPassword": "{secret}"}}',
                           f"pwd: {secret}", f"DB_PASSWORD='{secret}'"))
        yield Sample("PASSWORD", "log", text, secret)
        secret = aws_secret(rng)
        yield Sample("AWS_KEY", "env", f"AWS_SECRET_ACCESS_KEY={secret}", secret)
        secret = azure_account(rng)
        text = f"AccountName=x;AccountKey={secret};EndpointSuffix=y"
        yield Sample("AZURE_KEY", "env", text, secret)
