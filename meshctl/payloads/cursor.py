"""Takes the values of a GGUF file one by one, and checks each claim before it is believed."""

from __future__ import annotations

from struct import Struct
from typing import Any

from meshctl.payloads.header import ByteOrder, Damaged
from meshctl.payloads.window import PIECE, Window

MAGIC = b"GGUF"
LONGEST_TEXT = 2**24
KEPT_IN_ALL = 500_000
"""Elements of all arrays that are kept, taken together."""
NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q",
           12: "d"}  # fmt: skip
"""The types of values that are numbers, as the struct module calls them."""


class Cursor:
    """A place in the file that moves on with every value read."""

    def __init__(self, window: Window) -> None:
        self.window, self.at, self.allowance = window, 8, KEPT_IN_ALL
        window.need(8)
        if window.data[:4] != MAGIC:
            raise Damaged("not-gguf", f"it begins with {bytes(window.data[:4])!r}, not with GGUF")
        version = int.from_bytes(window.data[4:8], "little")
        self.order: ByteOrder = "big" if version & 0xFFFF == 0 else "little"
        version = int.from_bytes(window.data[4:8], self.order)
        if version not in (2, 3):
            raise Damaged("version", f"GGUF version {version}; engines read 2 and 3")
        sign = "<" if self.order == "little" else ">"
        self.forms = {form: Struct(sign + form) for form in set("IQ") | set(NUMBERS.values())}

    def number(self, form: str) -> Any:
        packed = self.forms[form]
        self._need(packed.size)
        (value,) = packed.unpack_from(self.window.data, self.at)
        self.at += packed.size
        return value

    def raw(self, longest: int, what: str) -> bytes:
        length = self.number("Q")
        if length > longest:
            raise Damaged("damaged", f"{what} claims {length:,} bytes; no more than {longest:,}")
        self._need(length)
        found = bytes(self.window.data[self.at : self.at + length])
        self.at += length
        return found

    def name(self, longest: int, what: str) -> str:
        """A text that will be printed: not empty, and without control characters."""
        found = self.raw(longest, what).decode("utf-8", "replace")
        if not found or not found.isprintable():
            raise Damaged("damaged", f"{what} is empty or holds what cannot be printed")
        return found

    def skip_texts(self, count: int) -> None:
        """Step over texts: there is no way but to read each length."""
        window, unpack, at = self.window, self.forms["Q"].unpack_from, self.at
        data, known = window.data, len(window.data)
        for _ in range(count):
            if at + 8 > known:
                window.need(at + 8, ahead=PIECE)
                known = len(data)
            (length,) = unpack(data, at)
            if length > LONGEST_TEXT:
                raise Damaged("damaged", f"a text in an array claims {length:,} bytes")
            at += 8 + length
        self.at = at
        self._need(0)

    def keeps(self, count: int, most: int) -> bool:
        """Whether an array is short enough to keep, and not one of too many."""
        if count > min(most, self.allowance):
            return False
        self.allowance -= count
        return True

    def skip(self, length: int) -> None:
        self._need(length)
        self.at += length

    def afford(self, count: int, each: int, most: int, what: str) -> None:
        """Raises Damaged for more than there may be, or than the rest of the file could hold."""
        if count > most:
            raise Damaged("damaged", f"it claims {count:,} {what}; no more than {most:,} are read")
        if count * each > self.window.size - self.at:
            raise Damaged(
                "truncated", f"it claims {count:,} {what}, and {self.window.size - self.at:,} "
                "bytes are left for them"
            )  # fmt: skip

    def _need(self, length: int) -> None:
        self.window.need(self.at + length, ahead=PIECE)
