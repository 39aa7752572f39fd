"""What a container said before it ended, taken out of the text a cloud tells it with. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

_EXIT = re.compile(r"^Container called exit\(([0-9]{1,3})\)\.$", re.MULTILINE)
_QUOTED = "\nLast output:\n"


@dataclass(frozen=True)
class LastWords:
    """`line` is the container's own, empty where the cloud quotes none; `cloud` is the first
    sentence of the cloud; `remedy` helps where the line names a known cause, else it is empty."""

    line: str
    cloud: str
    remedy: str


def last_words(reason: str) -> LastWords:
    """The quoted line that names a known cause, else the first that complains, else the last: a
    program may give advice after it has said what is wrong."""
    # Here, for hundreds of patterns are compiled, and most rollouts need none of them.
    from meshctl.engines.diagnosis import diagnosed

    cloud, _, quoted = reason.partition(_QUOTED)
    diagnosis = diagnosed(quoted.splitlines())
    if not diagnosis.last_lines:
        return LastWords("", reason, "")
    root, complaint = diagnosis.root, diagnosis.complaint
    named = root or complaint
    line = named.line if named else diagnosis.last_lines[-1]
    code = _EXIT.search(cloud)
    told = line + (f" (exit {code[1]})" if code else "")
    return LastWords(told, cloud.partition(". ")[0].strip(), root.signature.remedy if root else "")
