"""Judges what a model is quantised to: by the types of its tensors, never by its label. Pure.

The rules and their numbers: facts/budget 5.1.
"""

from __future__ import annotations

import re
from collections import Counter

from meshctl.payloads.ggml import FILE_TYPES, FLOATS, WIDTHS, base_of, labels
from meshctl.payloads.header import Header, Problem

STRAYS = 0.001
"""Share of the elements that may be in other types than a pure quantisation has."""
PURE = 0.95
Q8_WIDTH = (1.05, 1.12)
"""Bytes an element of files that are genuinely Q8_0: 1.063 for 27B, 1.108 for 33 M."""
SLACK = (0.97, 1.055)
"""Of the pure width, for a file of which nothing but its size is known."""
_PACKED = ("I32", "U8", "U32", "I8")


def elements_by_type(header: Header) -> Counter[str]:
    """Elements of the weights, which have two dimensions or more; norms and biases say nothing."""
    found: Counter[str] = Counter()
    for tensor in header.tensors:
        if len(tensor.dims) > 1:
            found[tensor.type] += tensor.elements
    return found


def quantisation_of(header: Header) -> str | None:
    """The type that most elements have; for packed safetensors the method of config.json."""
    method = header.text("quantization_config.quant_method")
    if method is not None:
        bits = header.number("quantization_config.bits")
        return f"{method} {bits} bit" if bits else method
    found = elements_by_type(header)
    if not found.total():
        return None
    most = found.most_common(1)[0][0]
    return None if header.format == "safetensors" and most in _PACKED else most


def parameters_of(header: Header) -> int | None:
    """The elements; None where several weights are packed into one."""
    method = "quantization_config.quant_method" in header.metadata
    packed = any(elements_by_type(header)[type_] for type_ in _PACKED)
    return None if header.format == "safetensors" and (method or packed) else header.elements


def contradiction(header: Header, name: str) -> Problem | None:
    """A label that promises more than the tensors hold. Less than they hold is harmless: rows that
    no block fits take wider types, and dynamic mixtures are labelled as anything."""
    width, found = _width(header), elements_by_type(header)
    for where, label in _labels(header, name):
        base = base_of(label)
        if base is None or width is None or not found.total():
            continue
        narrow = _share(found, [t for t in found if WIDTHS.get(t, 9) < WIDTHS[base]])
        pure = base in ("Q8_0", *FLOATS)
        if width < WIDTHS[base] * SLACK[0] or (pure and narrow > STRAYS):
            return Problem(
                "label", f"{where} says {label}, and the tensors have {width:.3f} bytes an "
                f"element, {_histogram(found)}"
            )  # fmt: skip
    return None


def unmet(expected: str, header: Header) -> Problem | None:
    """Why the tensors are not what was expected; None when they are."""
    base, found, width = base_of(expected), elements_by_type(header), _width(header)
    if base is None or width is None or not found.total() or header.format != "gguf":
        return Problem("expect-unknown", f"its header does not show whether it is {expected}")
    narrow = [type_ for type_ in found if WIDTHS[type_] < WIDTHS[base]]
    if base == "Q8_0":
        good = _share(found, [base, *FLOATS]) >= 1 - STRAYS and _share(found, [base]) >= PURE
        good = good and Q8_WIDTH[0] <= width <= Q8_WIDTH[1]
    elif base in FLOATS:
        good = _share(found, [base]) >= PURE and _share(found, narrow) <= STRAYS
    else:
        good = found.most_common(1)[0][0] == base and width >= WIDTHS[base] * SLACK[0]
    if good:
        return None
    return Problem(
        "expect", f"expected {expected}, found {_histogram(found)}: {width:.3f} bytes an element"
    )


def unmet_by_size(expected: str, bytes_: int, parameters: int | None) -> Problem | None:
    """The same for a file of which only the size is known, and what was declared."""
    base = base_of(expected)
    if base is None or not parameters:
        why = "nothing declares how many parameters it has"
        return Problem("expect-unknown", f"its size does not show {expected}: {why}")
    low, high = Q8_WIDTH if base == "Q8_0" else tuple(WIDTHS[base] * slack for slack in SLACK)
    width = bytes_ / parameters
    if low <= width <= high:
        return None
    return Problem(
        "expect", f"expected {expected}, {low:.3f} to {high:.3f} bytes a parameter, "
        f"found {width:.3f}"
    )  # fmt: skip


def _labels(header: Header, name: str) -> list[tuple[str, str]]:
    """What the header and the file name call it, as far as these are labels of one type."""
    number = header.number("general.file_type")
    found = [("general.file_type", FILE_TYPES[number])] if number in FILE_TYPES else []
    known = set(labels())
    words = [w for w in re.split(r"[-. ]", name) if w.lower() in known and w.lower() != "i8"]
    return [*found, *(("its name", word.upper()) for word in words[-1:])]


def _width(header: Header) -> float | None:
    size, elements = header.tensor_bytes, header.elements
    return size / elements if size is not None and elements else None


def _share(found: Counter[str], types: list[str]) -> float:
    return sum(found[type_] for type_ in types) / found.total()


def _histogram(found: Counter[str]) -> str:
    """`Q4_K 82 %, Q6_K 18 %`, the four most."""
    total = found.total()
    return ", ".join(f"{type_} {100 * n / total:.0f} %" for type_, n in found.most_common(4))
