"""The way back: undo is a function of a step, and says in words what it will do. Pure."""

from __future__ import annotations

from meshctl.plan import traffic
from meshctl.plan.steps import (
    Act,
    CreateService,
    PlaceRevision,
    RetireService,
    RetireTag,
    SetScaling,
    ShiftAccess,
    ShiftTraffic,
    StartRevision,
    StopRevision,
)


def undo_of(act: Act) -> Act | None:
    """The act that takes an act back; None where there is nothing to take back."""
    match act:
        case CreateService(revision=revision):
            return RetireService(revision=revision)
        case PlaceRevision(tag=tag, revision=revision, tagged=tagged):
            return RetireTag(tag=tag, revision=revision, back_to=tagged)
        case StopRevision(release=release, revision=revision, by=by):
            return StartRevision(release=release, revision=revision, instead_of=by)
        case StartRevision(revision=revision, instead_of=None):
            return RetireService(revision=revision)
        case StartRevision(release=release, revision=revision, instead_of=str(before)):
            return StopRevision(release=release, revision=revision, by=before)
        case SetScaling(to=to, was=was):
            return SetScaling(to=was, was=to, back=True)
        case ShiftTraffic(to=to, was=was, found=found):
            return ShiftTraffic(to=found, was=to, found=found, or_was=was)
        case ShiftAccess(public=public, found=None):
            return ShiftAccess(public=not public)
        case ShiftAccess(public=public, found=bool(found)) if found != public:
            return ShiftAccess(public=found)
        case _:
            return None


def text_of(act: Act) -> str:
    """What an act does, in words, for the way back."""
    match act:
        case RetireService():
            return "remove the service again"
        case RetireTag(tag=tag, back_to=str(revision)):
            return f"give tag {tag} back to {revision}"
        case RetireTag(tag=tag):
            return f"take tag {tag} away; the revision stays without traffic"
        case StopRevision(revision=revision):
            return f"stop {revision}"
        case StartRevision(revision=revision):
            return f"start {revision} again"
        case SetScaling(to=to):
            return f"minimum instances back to {to.min}"
        case ShiftTraffic(to=to):
            return f"traffic back to {traffic.shown(to)}"
        case ShiftAccess(public=public):
            return "open it again" if public else "close it again"
        case _:
            return ""


def undo_text(act: Act) -> str:
    """The way back from an act, in words; empty where there is none to go."""
    back = undo_of(act)
    return text_of(back) if back else ""
