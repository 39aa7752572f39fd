"""What the status line of an answer says, before anyone looks at its body. Pure."""

from __future__ import annotations

from meshctl.outside.http import Response
from meshctl.verify.check import Finding, Silence, Transcript
from meshctl.verify.reading import error_text, text_of
from meshctl.verify.subject import Subject

NOT_NOW = (429, 503)
"""A front end says so while no instance is free (Cloud Run), an engine while it loads (llama-server
503 for every path): neither proof nor disproof. 502 and 504 are a front's word on a dead engine."""


def refused(subject: Subject, answer: Response | Transcript) -> Finding | None:
    """The finding for any status but 200, or None."""
    if answer.status == 200:
        return None
    said = error_text(text_of(answer))
    evidence = {"status": answer.status, "excerpt": said}
    if answer.status in NOT_NOW:
        return Finding("unclear", f"answered {answer.status}, not now: {said}", evidence)
    if answer.status in (401, 403):
        return Finding("fail", f"answered {answer.status}: {_way_in(subject, said)}", evidence)
    if 300 <= answer.status < 400:
        where = answer.headers.get("location", "nowhere")
        return Finding("fail", f"answered {answer.status}, a redirection to {where}", evidence)
    return Finding("fail", f"answered {answer.status}: {said}", evidence)


def silent(answer: Silence) -> Finding:
    """The finding for no answer: an unreachable network says nothing about the release."""
    return Finding("unclear", answer.reason, {})


def _way_in(subject: Subject, said: str) -> str:
    if "api key" in said.lower():  # a mesh says so, and llama-server
        return "it asks for a key of its own; ask with one of its keys in MESHCTL_API_KEY"
    if subject.token:
        return (
            "the identity token is not accepted; give the account that asks roles/run.invoker "
            "on the service, or get a new token"
        )
    return "no identity token was sent and the service is not public; ask with one"
