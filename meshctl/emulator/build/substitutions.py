"""Substitutions: `$_NAME` and `${NAME}` in the texts of a build."""

from __future__ import annotations

import re
from typing import Any

from meshctl.emulator.failures import invalid

_VARIABLE = re.compile(r"\$(?:\$|\{(\w+)\}|([A-Za-z_]\w*))")
_USER_KEY = re.compile(r"^_[A-Z0-9_]+$")
_STEP_KEYS = ("name", "args", "env", "dir", "entrypoint")
BUILT_IN = (
    "PROJECT_ID",
    "PROJECT_NUMBER",
    "LOCATION",
    "BUILD_ID",
    "SERVICE_ACCOUNT",
    "SERVICE_ACCOUNT_EMAIL",
)


class Substitution:
    """The values of one build, and which of them its texts have used."""

    def __init__(self, user: dict[str, str], built_in: dict[str, str], loose: bool) -> None:
        for key in user:
            if not _USER_KEY.match(key):
                raise invalid(
                    f'invalid build: key "{key}" in the substitution data is not a valid '
                    "user-defined substitution: it must start with an underscore and use upper "
                    "case letters, digits and underscores"
                )
        self._values = built_in | user
        self._user, self._loose, self._used = user, loose, set[str]()

    def text(self, value: str) -> str:
        """The text with its variables replaced; `$$` is a dollar."""
        return _VARIABLE.sub(self._one, value)

    def _one(self, match: re.Match[str]) -> str:
        name = match.group(1) or match.group(2)
        if name is None:
            return "$"
        self._used.add(name)
        if name in self._values:
            return self._values[name]
        if name.startswith("_"):
            if not self._loose:
                raise invalid(
                    f'invalid build: key in the template "{name}" is not matched in the '
                    "substitution data"
                )
            return ""
        if not self._loose:
            raise invalid(
                f'invalid build: key in the template "{name}" is not a valid built-in substitution'
            )
        return match.group(0)

    def value(self, value: Any) -> Any:
        """A text, or every text inside lists and maps."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return {key: self.value(item) for key, item in value.items()}
        return value

    def finish(self) -> None:
        """facts s7: MUST_MATCH fails on a value that no text asked for."""
        for key in self._user:
            if key not in self._used and not self._loose:
                raise invalid(
                    f'invalid build: key "{key}" in the substitution data is not matched in the '
                    "template"
                )


def apply(build: dict[str, Any], built_in: dict[str, str]) -> dict[str, Any]:
    """The build with all its texts replaced; ApiError 400 under MUST_MATCH."""
    option = (build.get("options") or {}).get("substitutionOption", "MUST_MATCH")
    loose = option in (1, "ALLOW_LOOSE")
    values = Substitution(build.get("substitutions") or {}, built_in, loose)
    out = dict(build)
    out["steps"] = [
        {key: values.value(v) if key in _STEP_KEYS else v for key, v in step.items()}
        for step in build.get("steps", [])
    ]
    for key in ("images", "tags", "logsBucket"):
        if key in build:
            out[key] = values.value(build[key])
    options = build.get("options") or {}
    if options.get("env"):
        out["options"] = options | {"env": values.value(options["env"])}
    values.finish()
    return out
