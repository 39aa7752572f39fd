"""How two environments look beside each other, key by key. Pure."""

from __future__ import annotations

from meshctl.ui.federation import EnvDiff, EnvKey
from meshctl.ui.render.plan import values
from meshctl.ui.render.text import short, wrapped


def env_diff_lines(document: EnvDiff, width: int, verbose: bool = False) -> list[str]:
    """What differs and should not, then what differs as it should; `verbose` adds what is the
    same."""
    odd = [key for key in document.keys if key.state != "same" and not key.expected]
    meant = [key for key in document.keys if key.state != "same" and key.expected]
    same = [key for key in document.keys if key.state == "same"]
    lines = [f"a  {document.a}", f"b  {document.b}", ""]
    lines += [line for key in odd for line in _key(key)] if odd else ["✓ nothing differs"]
    if meant:
        lines += ["", "differs, and should:"]
        lines += [line for key in meant for line in wrapped(_why(key), width, "  ")]
    lines += ["", f"the same: {len(same)} key{'' if len(same) == 1 else 's'}"] if same else []
    return lines + ([f"  {key.name}  {short(key.a or '')}" for key in same] if verbose else [])


def _key(key: EnvKey) -> list[str]:
    a, b = values(key.a, key.b)
    return [key.name, f"  a  {a}", f"  b  {b}"]


def _why(key: EnvKey) -> str:
    return f"{key.name}: {key.why}" if key.why else key.name
