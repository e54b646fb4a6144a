"""Ways in which files come damaged or dressed up; shared by every test of a reader."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable

Mutation = Callable[[bytes], bytes]


def lines(data: bytes) -> list[bytes]:
    return data.split(b"\n")


def cell(text: bytes, row: int = 1, column: int = 0) -> Mutation:
    """Replace one cell."""

    def change(data: bytes) -> bytes:
        rows = lines(data)
        cells = rows[min(row, len(rows) - 1)].split(b",")
        cells[min(column, len(cells) - 1)] = text
        rows[min(row, len(rows) - 1)] = b",".join(cells)
        return b"\n".join(rows)

    return change


def shuffled_columns(data: bytes) -> bytes:
    order = list(range(len(lines(data)[0].split(b","))))
    random.Random(3).shuffle(order)
    rows = [row.split(b",") for row in lines(data) if row]
    return b"\n".join(b",".join(row[i] for i in order if i < len(row)) for row in rows)


def decimal_commas(data: bytes) -> bytes:
    return data.replace(b",", b";").replace(b".", b",")


def noise(seed: int) -> Mutation:
    """Overwrite a few random bytes."""

    def change(data: bytes) -> bytes:
        dice = random.Random(seed)
        damaged = bytearray(data)
        for _ in range(5):
            if damaged:
                damaged[dice.randrange(len(damaged))] = dice.randrange(256)
        return bytes(damaged)

    return change


MUTATIONS: dict[str, Mutation] = {
    "as it is": lambda data: data,
    "empty": lambda _: b"",
    "only blanks": lambda _: b" \n \n",
    "only a header": lambda data: lines(data)[0],
    "no header": lambda data: b"\n".join(lines(data)[1:]),
    "cut in the middle": lambda data: data[: len(data) // 2],
    "cut in the header": lambda data: data[:7],
    "last line cut": lambda data: data.rstrip()[:-4],
    "windows line ends": lambda data: data.replace(b"\n", b"\r\n"),
    "old mac line ends": lambda data: data.replace(b"\n", b"\r"),
    "utf-8 bom": lambda data: b"\xef\xbb\xbf" + data,
    "utf-16": lambda data: data.decode("utf-8", "replace").encode("utf-16"),
    "utf-16 without bom": lambda data: data.decode("utf-8", "replace").encode("utf-16-le"),
    "latin-1 letters": lambda data: data.replace(b"e", b"\xe9", 3),
    "gzip": gzip.compress,
    "broken gzip": lambda data: gzip.compress(data)[:-9],
    "excel": lambda data: b"PK\x03\x04" + data,
    "binary": lambda _: bytes(range(256)) * 8,
    "nul bytes": lambda data: data.replace(b"2", b"\0", 4),
    "semicolons": lambda data: data.replace(b",", b";"),
    "tabs": lambda data: data.replace(b",", b"\t"),
    "semicolons and decimal commas": decimal_commas,
    "columns shuffled": shuffled_columns,
    "header twice": lambda data: lines(data)[0] + b"\n" + data,
    "a column twice": lambda data: b"\n".join(row + b"," + row.split(b",")[-1] for row in lines(data) if row),
    "upper-case header": lambda data: lines(data)[0].upper() + b"\n" + b"\n".join(lines(data)[1:]),
    "unbalanced quote": lambda data: data.replace(b",", b',"', 1),
    "quote in the middle": cell(b'"', 2, 1),
    "short row": lambda data: data + b"\nx",
    "long row": lambda data: data + b"\n" + b"," * 40,
    "every row repeated": lambda data: data + b"\n" + b"\n".join(lines(data)[1:]),
    "blank lines": lambda data: data.replace(b"\n", b"\n\n"),
    "first cell empty": cell(b"", 1, 0),
    "last cell nan": cell(b"NaN", 1, 99),
    "last cell infinite": cell(b"inf", 1, 99),
    "last cell 1e308": cell(b"1e308", 1, 99),
    "last cell -1e308": cell(b"-1e308", 2, 99),
    "last cell text": cell(b"n.d.", 2, 99),
    "last cell 1e999": cell(b"1e999", 2, 99),
    "million letters": cell(b"x" * 1_000_000, 1, 1),
    "million digits": cell(b"9" * 1_000_000, 1, 99),
    "html": cell(b"<img src=x onerror=alert(1)>", 1, 1),
    "formula": cell(b"=HYPERLINK()", 1, 1),
    "emoji and right-to-left": cell("🐝\u202e".encode(), 1, 1),
    "naive time": cell(b"2024-01-01 00:00:00", 1, 0),
    "time of another zone": cell(b"2024-01-01T03:00:00+14:00", 1, 0),
    "american time": cell(b"01/31/2024 5:00 PM", 1, 0),
    "unix time": cell(b"1704067200", 1, 0),
    "year 9999": cell(b"9999-12-31T23:59:59Z", 1, 0),
    "year 0": cell(b"0000-00-00T00:00:00Z", 1, 0),
    "negative number": cell(b"-5", 2, 99),
    "noise 1": noise(1),
    "noise 2": noise(2),
    "noise 3": noise(3),
    "noise 4": noise(4),
    "noise 5": noise(5),
}
