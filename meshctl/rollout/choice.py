"""Which revision is meant by a release, a name, a tag, or nothing at all. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from meshctl.errors import Refused, UsageError
from meshctl.plan.move import Move
from meshctl.plan.observed import Revision, ServiceSeen


@dataclass(frozen=True)
class Choice:
    """Which revision a cutover is about: by release, by name or by tag."""

    release: str | None = None
    revision: str | None = None
    tag: str | None = None


def chosen(seen: ServiceSeen, move: Move, choice: Choice) -> Revision:
    """The revision that is meant; without a choice the one candidate that passed and has a tag.

    Raises Refused (an unknown release), UsageError (an unknown tag or revision).
    """
    if choice.tag:
        name = next((row.revision for row in seen.traffic if row.tag == choice.tag), None)
        if name is None:
            known = ", ".join(sorted(row.tag for row in seen.traffic if row.tag)) or "none"
            raise UsageError(f"{move.key} has no tag {choice.tag!r}", hint=f"its tags: {known}")
        return _revision(seen, seen.resolve(name) or name)
    if choice.revision:
        return _revision(seen, choice.revision)
    if choice.release:
        return _of_release(seen, move, choice.release)
    return _only_candidate(seen, move)


def _revision(seen: ServiceSeen, name: str) -> Revision:
    revision = seen.revision(name)
    if revision is None:
        hint = "`meshctl history` lists the known ones"
        raise UsageError(f"{seen.name} has no revision {name!r}", hint=hint)
    return revision


def _of_release(seen: ServiceSeen, move: Move, release: str) -> Revision:
    found = [revision for revision in seen.revisions if revision.release == release]
    if not found:
        raise Refused(
            f"{move.key} has no revision of release {release!r}",
            hint=f"see `meshctl history {move.key}`",
        )
    passed = [r for r in found if move.ledger.verdict_of(r.name, r.release) == "pass"]
    return (passed or found)[0]


def _only_candidate(seen: ServiceSeen, move: Move) -> Revision:
    """Never a release that served before: whoever wants one of those back says which."""
    whole = [row.revision for row in seen.serving if row.percent == 100]
    tagged = {row.revision: row.tag for row in seen.traffic if row.tag}
    passed = [
        revision
        for revision in seen.revisions
        if revision.name in tagged
        and revision.name not in whole
        and move.ledger.verdict_of(revision.name, revision.release) == "pass"
    ]
    if len(passed) == 1:
        return passed[0]
    known = ", ".join(sorted(str(tagged[revision.name]) for revision in passed))
    if passed:
        raise UsageError(f"{move.key} has several candidates: {known}", hint="choose: --tag TAG")
    if seen.on_host:
        raise Refused(
            f"{move.target} has one port for {move.key}: there is no traffic to be shared",
            hint=f"`meshctl deploy {move.key}` replaces what serves, `meshctl rollback {move.key}` "
            "goes back",
            place=f"{move.target}/{move.name}",
        )
    raise Refused(
        f"{move.key} has no candidate that passed and has a tag",
        hint=f"`meshctl canary {move.key}` makes one; an earlier release is named by --release",
    )
