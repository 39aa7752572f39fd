"""What v1 writes as annotations and v2 as fields: one table (facts s3, s4, s6). Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from meshctl.emulator.failures import invalid

Json = dict[str, Any]
RUN = "run.googleapis.com/"
SCALE = "autoscaling.knative.dev/"
SYSTEM = (RUN, SCALE, "cloud.googleapis.com/", "serving.knative.dev/", "client.knative.dev/")
"""Prefixes of Google's own annotations; everything else is the user's."""


@dataclass(frozen=True)
class Spelling:
    """One annotation and the v2 field it stands for, with both ways between their values."""

    annotation: str
    path: tuple[str, ...]
    read: Callable[[str], Any]
    write: Callable[[Any], str]


def _words(pairs: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[Any], str]]:
    back = {value: key for key, value in pairs.items()}
    return lambda text: pairs[text], lambda value: back[value]


def _flag(text: str) -> bool:
    return {"true": True, "false": False}[text.lower()]


def _flag_text(value: bool) -> str:
    return "true" if value else "false"


_NUMBER = (int, str)
_FLAG = (_flag, _flag_text)
_TEXT = (str, str)
_INGRESS = _words(
    {
        "all": "INGRESS_TRAFFIC_ALL",
        "internal": "INGRESS_TRAFFIC_INTERNAL_ONLY",
        "internal-and-cloud-load-balancing": "INGRESS_TRAFFIC_INTERNAL_LOAD_BALANCER",
        "none": "INGRESS_TRAFFIC_NONE",
    }
)
_EXECUTION = _words({"gen1": "EXECUTION_ENVIRONMENT_GEN1", "gen2": "EXECUTION_ENVIRONMENT_GEN2"})
_MODE = _words({"automatic": "AUTOMATIC", "manual": "MANUAL"})
_LIST = (json.loads, json.dumps)

SERVICE = (
    Spelling(f"{RUN}ingress", ("ingress",), *_INGRESS),
    Spelling(f"{RUN}launch-stage", ("launchStage",), *_TEXT),
    Spelling(f"{RUN}description", ("description",), *_TEXT),
    Spelling(f"{RUN}client-name", ("client",), *_TEXT),
    Spelling(f"{RUN}client-version", ("clientVersion",), *_TEXT),
    Spelling(f"{RUN}minScale", ("scaling", "minInstanceCount"), *_NUMBER),
    Spelling(f"{RUN}maxScale", ("scaling", "maxInstanceCount"), *_NUMBER),
    Spelling(f"{RUN}scalingMode", ("scaling", "scalingMode"), *_MODE),
    Spelling(f"{RUN}manualInstanceCount", ("scaling", "manualInstanceCount"), *_NUMBER),
    Spelling(f"{RUN}invoker-iam-disabled", ("invokerIamDisabled",), *_FLAG),
    Spelling(f"{RUN}default-url-disabled", ("defaultUriDisabled",), *_FLAG),
    Spelling(f"{RUN}custom-audiences", ("customAudiences",), *_LIST),
)
TEMPLATE = (
    Spelling(f"{SCALE}minScale", ("scaling", "minInstanceCount"), *_NUMBER),
    Spelling(f"{SCALE}maxScale", ("scaling", "maxInstanceCount"), *_NUMBER),
    Spelling(f"{RUN}execution-environment", ("executionEnvironment",), *_EXECUTION),
    Spelling(f"{RUN}sessionAffinity", ("sessionAffinity",), *_FLAG),
    Spelling(f"{RUN}gpu-zonal-redundancy-disabled", ("gpuZonalRedundancyDisabled",), *_FLAG),
    Spelling(f"{RUN}health-check-disabled", ("healthCheckDisabled",), *_FLAG),
    Spelling(f"{RUN}encryption-key", ("encryptionKey",), *_TEXT),
)
THROTTLED = f"{RUN}cpu-throttling"
BOOST = f"{RUN}startup-cpu-boost"
CONTAINERS = (THROTTLED, BOOST)
"""Written on the template, meant for its containers."""
OUTPUTS = tuple(
    f"{prefix}{name}"
    for prefix, names in (
        (RUN, ("operation-id", "ingress-status", "urls")),
        ("serving.knative.dev/", ("creator", "lastModifier")),
    )
    for name in names
)
"""The server's own; gcloud sends them back as it read them."""
IGNORED = (f"{RUN}client-name", f"{RUN}client-version", f"{RUN}base-images", f"{RUN}operation-id")
"""Who wrote a template, beside who wrote the service; no part of either's meaning."""


def fields_of(found: Mapping[str, str], table: tuple[Spelling, ...], path: str) -> Json:
    """The v2 fields of v1 annotations, the user's own under `annotations`.

    ApiError 400 for a system annotation that is not known here: silence would lose a wish.
    """
    known = {spelling.annotation: spelling for spelling in table}
    out: Json = {}
    for name, text in found.items():
        if name in known:
            _put(out, known[name].path, _read(known[name], text, f"{path}[{name}]"))
        elif name.startswith(SYSTEM):
            if name not in (*OUTPUTS, *IGNORED, *CONTAINERS):
                raise invalid(f"The annotation {name} is not imitated here.", f"{path}[{name}]")
        else:
            out.setdefault("annotations", {})[name] = text
    return out


def annotations_of(document: Json, table: tuple[Spelling, ...]) -> dict[str, str]:
    """The v1 annotations of v2 fields."""
    out = dict(document.get("annotations", {}))
    for spelling in table:
        value = _get(document, spelling.path)
        if value is not None:
            out[spelling.annotation] = spelling.write(value)
    return out


def _read(spelling: Spelling, text: str, path: str) -> Any:
    try:
        return spelling.read(text)
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise invalid(f"Invalid value for {spelling.annotation}: {text!r}.", path) from error


def _get(document: Json, path: tuple[str, ...]) -> Any:
    for key in path:
        document = document.get(key, {}) if key != path[-1] else document
    return document.get(path[-1])


def _put(document: Json, path: tuple[str, ...], value: Any) -> None:
    for key in path[:-1]:
        document = document.setdefault(key, {})
    document[path[-1]] = value
