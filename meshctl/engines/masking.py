"""Masks what looks like a secret in a line of a log. Pure.

It knows forms, not values: it is for lines of strangers that are shown, and no place to pass a
secret through that is known to be one (that is `secret.Secret`).
"""

from __future__ import annotations

from re import IGNORECASE, compile

MASK = "***"
_NAMES = r"[\w-]*(?:password|passwd|secret|api[_-]?key|access[_-]?key|credential|token)"
_FORMS = (
    # Keys that tell by themselves whose they are: the hub, model APIs, code hosts, clouds, JWT.
    compile(
        r"\b(?:hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{16,}"
        r"|github_pat_\w{16,}|glpat-[\w-]{16,}|xox[abprs]-[\w-]{10,}|(?:AKIA|ASIA)[0-9A-Z]{16}"
        r"|AIza[\w-]{30,}|ya29\.[\w-]{10,}|eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?)"
    ),
    compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*"),
    compile(r"(?<=://)[^\s/@:]*:[^\s/@]+(?=@)"),
    compile(
        r"(?i)(?<=[?&])(?:x-amz-signature|x-amz-credential|x-goog-signature|sig|key|token)=[^&\s]+"
    ),
    compile(r"(?i)\b(?:bearer|basic) +[\w.~+/=-]{8,}"),
)
_NAMED = compile(
    rf"(?P<name>\b{_NAMES}[\"']?(?: *[=:] *| +(?=\S{{12}}))[\"']?)"
    r"(?P<value>(?!\d+\b|None\b|null\b|True\b|False\b)[^\s\"',;&)}\]]{6,})",
    IGNORECASE,
)  # fmt: skip


def masked(line: str) -> str:
    """The line with stars for every known form of a key, and for values of names that tell."""
    for form in _FORMS:
        line = form.sub(MASK, line)
    return _NAMED.sub(lambda found: found["name"] + MASK, line)
