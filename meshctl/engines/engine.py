"""What one engine family is like: its flags, how it says that it is ready, how it fails. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from re import Pattern
from typing import Literal

Phase = Literal["load", "kv", "graphs", "warmup", "ready", "runtime", "exit", "system"]
"""Where a failure belongs: reading weights, sizing and making the KV cache, capturing graphs, the
first passes, getting a port, serving, the way out; `system` is the host, or the container."""
Course = Literal["start", "load", "kv", "graphs", "warmup", "ready", "stopping"]
"""How far a log has come: `start` before the first milestone, `stopping` once it was asked to."""
Severity = Literal["error", "warning"]
"""A warning did not end anything: the engine went on, worse than it was meant to."""


@dataclass(frozen=True)
class Milestone:
    """A line that shows how far a start has come; `phase` is what goes on from there.

    A `frame` is a line of a traceback: it names the function that failed, and so says no more than
    the milestones do once the engine is ready.
    """

    phase: Course
    pattern: Pattern[str]
    frame: bool = False


@dataclass(frozen=True)
class Signature:
    """A line that names a cause, and what to do about it.

    - `id` is for scripts and the docs; `cause` and `remedy` are for people, and `remedy` is the
      next command or setting.
    - `source` says where the wording is known from.
    - `phase` where the line itself tells it; None is the phase the log is in.
    - `when` limits it to these phases of a log; signatures of one pattern are so told apart.
    - `refines` names the start of an id: the line says more of that finding, which stays the first.
    - `follows`: it comes of something else, and never goes before a cause.
    """

    id: str
    pattern: Pattern[str]
    cause: str
    remedy: str
    source: str
    phase: Phase | None = None
    when: tuple[Course, ...] = ()
    refines: str = ""
    follows: bool = False
    severity: Severity = "error"


@dataclass(frozen=True)
class Flags:
    """How the family takes what a model declares; an empty `model` takes it without a flag."""

    model: str
    context: str
    parallel: str
    port: str
    names: str
    projector: str | None = None


@dataclass(frozen=True)
class Engine:
    """One family.

    - `program` is started with `arguments`, then the flags; empty: the model must bring a command.
    - `whole_payload`: the engine is given the payload's folder, not its first file.
    - `total_context`: the context flag means all requests together, not each.
    - `names_separator` joins id and aliases into one argument; None gives them one by one.
    - `port_line` finds the port in the log of an engine told to take port 0; None means that a
      free port must be chosen beforehand.
    - `prefix` is what a log line starts with before it says anything.
    - `error` finds lines that complain; `wrappers` are complaints that only repeat an earlier one.
    """

    name: str
    program: str
    arguments: tuple[str, ...]
    flags: Flags | None
    whole_payload: bool
    total_context: bool
    names_separator: str | None
    port_line: Pattern[str] | None
    ready_path: str
    metric_prefix: str
    prefix: Pattern[str]
    error: Pattern[str]
    wrappers: Pattern[str]
    milestones: tuple[Milestone, ...]
    signatures: tuple[Signature, ...]
