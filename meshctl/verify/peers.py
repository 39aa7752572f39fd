"""Asks the peers of a coordinator through it, and sees who really answered.

Each model of a peer is asked for one completion, at the coordinator's address. It proves the peer
only when the answer carries the peer's own id and release in the headers that the mesh writes: the
coordinator may own the name itself, or another peer may be asked before this one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from meshctl.outside.clock import Clock
from meshctl.outside.http import Http
from meshctl.secret import Secret
from meshctl.state.evidence import Evidence, Verdict, overall
from meshctl.verify.battery import examine, ignore
from meshctl.verify.check import Answer, Check, Finding, Question, Silence
from meshctl.verify.checks import completion
from meshctl.verify.checks.identity import HEADER as RELEASE
from meshctl.verify.questions import chat
from meshctl.verify.status import refused, silent
from meshctl.verify.subject import ModelAsked, Subject

PEER = "x-mesh-peer"
"""The mesh names there which peer it asked, also where the peer gave no answer."""
NO_ENTRY = (401, 403)


@dataclass(frozen=True)
class PeerAsked:
    """One peer. `release` is None where nobody knows which one serves. `deadline_s` is the longest
    wait for one answer, waking included; `way_in` is said when it does not let the mesh in."""

    id: str
    release: str | None
    models: tuple[ModelAsked, ...]
    deadline_s: float
    way_in: str = ""


def ask_peers(
    url: str,
    token: Secret | None,
    peers: tuple[PeerAsked, ...],
    *,
    http: Http,
    clock: Clock,
    confirm: int = 5,
    note: Callable[[Evidence], None] = ignore,
) -> Verdict:
    """The verdict on all of them: one evidence a peer, `peer chat-peer`."""
    done = []
    for peer in peers:
        models = tuple(replace(model, default=False) for model in peer.models)  # all are asked
        subject = Subject(url=url, token=token, models=models, token_deadline_s=peer.deadline_s)
        evidence = examine(check_of(peer), subject, http, clock, confirm)
        note(evidence)
        done.append(evidence)
    return Verdict(verdict=overall(tuple(done)), checks=tuple(done))


def check_of(peer: PeerAsked) -> Check:
    """A completion of each model, judged by who gave it."""

    def judge(subject: Subject, question: Question, answer: Answer) -> Finding:
        return _judge(peer, subject, question, answer)

    return Check(f"peer {peer.id}", lambda subject: chat(subject, stream=False), judge)


def _judge(peer: PeerAsked, subject: Subject, question: Question, answer: Answer) -> Finding:
    if isinstance(answer, Silence):
        return silent(answer)
    by, release = answer.headers.get(PEER), answer.headers.get(RELEASE)
    if by == peer.id and answer.status in NO_ENTRY:
        why = f"peer {peer.id} answered {answer.status} to the coordinator: {peer.way_in}"
        return Finding("fail", why, {"status": answer.status, "peer": by})
    model = question.model.id if question.model else ""
    evidence = {"peer": by, "release": release, "model": model}
    found = refused(subject, answer) or _other(peer, model, by, release)
    if found is None:
        found = completion.judge(subject, question, answer)
    return replace(found, evidence=evidence | dict(found.evidence))


def _other(peer: PeerAsked, model: str, by: str | None, release: str | None) -> Finding | None:
    """The finding where somebody else answered, or another release of the peer."""
    if by != peer.id:
        who = f"peer {by}" if by else "the coordinator itself"
        return Finding("fail", f"{model} was answered by {who}, not by peer {peer.id}")
    if peer.release is not None and release != peer.release:
        said = release or "none"
        return Finding("fail", f"peer {peer.id} answered as release {said}, not {peer.release}")
    return None
