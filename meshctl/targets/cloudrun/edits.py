"""What an act changes in a service as it was just read; None where all is as wanted. Pure."""

from __future__ import annotations

from typing import Any

from meshctl.errors import Refused
from meshctl.outside.gcp import OF_QUOTA, QUOTA_EXCEEDED, ApiError
from meshctl.plan import traffic
from meshctl.plan.observed import Carried, Revision, ServiceSeen, Split
from meshctl.plan.release import Release
from meshctl.plan.standing import merged
from meshctl.plan.steps import (
    CheckRelease,
    PlaceRevision,
    Remember,
    RetireTag,
    SetScaling,
    ShiftTraffic,
)
from meshctl.targets.cloudrun.carried import carrying
from meshctl.targets.cloudrun.lastwords import LastWords, last_words
from meshctl.targets.cloudrun.reading import traffic_json
from meshctl.targets.cloudrun.template import template_json

Json = dict[str, Any]
Edit = tuple[Json, list[str]]
"""A body and the mask of what in it is meant."""
NOTHING_CARRIED = Carried()


def placed(seen: ServiceSeen, act: PlaceRevision, run: str) -> Edit | None:
    """The revision and its tag in one write; what serves is named, for LATEST moves by itself."""
    kept = traffic.with_percents(seen.traffic, traffic.named(seen))
    rows = traffic.with_tag(kept, act.tag, act.revision)
    if seen.revision(act.revision) is None:
        template = named_template(act.release, act.revision, run, seen.carried)
        return {"template": template, "traffic": traffic_json(rows)}, ["template", "traffic"]
    tagged = any(row.tag == act.tag and row.revision == act.revision for row in seen.traffic)
    if tagged and traffic.same(seen.traffic, rows):
        return None
    return traffic_edit(seen, rows)


def shifted(seen: ServiceSeen, act: ShiftTraffic) -> Edit | None:
    """Only from where it was, or already there: traffic that a stranger moved is left alone.

    Raises Refused then.
    """
    now = traffic.named(seen)
    known = [resolved(seen, split) for split in (act.to, act.was, act.or_was) if split]
    if not any(traffic.same(now, split) for split in known):
        raise Refused(
            f"traffic was moved by somebody else meanwhile: it is "
            f"{traffic.shown(seen.traffic)}, this step knows {traffic.shown(act.was)}",
            place=seen.name,
            hint="look at `meshctl status`, then decide",
        )
    if traffic.same(seen.traffic, act.to):
        return None
    return traffic_edit(seen, traffic.with_percents(seen.traffic, act.to))


def resolved(seen: ServiceSeen, split: Split) -> Split:
    """The same split with LATEST as the revision it stands for now."""
    return traffic.named(seen.model_copy(update={"traffic": split}))


def untagged(seen: ServiceSeen, act: RetireTag) -> Edit | None:
    """Without the tag, or with it back where it was; a tag that was moved on is left alone."""
    if not any(row.tag == act.tag and row.revision == act.revision for row in seen.traffic):
        return None
    rows = traffic.without_tag(seen.traffic, act.tag)
    if act.back_to and seen.revision(act.back_to):
        rows = traffic.with_tag(rows, act.tag, act.back_to)
    return traffic_edit(seen, rows)


def scaled(seen: ServiceSeen, act: SetScaling) -> Edit | None:
    """The minimum of the service; its maximum and everything else stay. Raises Refused on the way
    back from a minimum that somebody else set since."""
    if seen.scaling.min == act.to.min:
        return None
    if act.back and seen.scaling.min != act.was.min:
        raise Refused(
            f"the minimum was set to {seen.scaling.min} by somebody else meanwhile",
            place=seen.name,
            hint="look at `meshctl status`, then decide",
        )
    return {"scaling": {"minInstanceCount": act.to.min}}, ["scaling.minInstanceCount"]


def remembered(seen: ServiceSeen, act: Remember) -> Edit | None:
    """The standings among the labels of the service; every other label stays."""
    wanted = merged(seen.labels, act.labels)
    return None if wanted == seen.labels else ({"labels": wanted}, ["labels"])


def traffic_edit(seen: ServiceSeen, rows: Split) -> Edit | None:
    """These rows and nothing else."""
    written = traffic_json(rows)
    if written == traffic_json(seen.traffic):
        return None
    return {"traffic": written}, ["traffic"]


def named_template(
    release: Release, revision: str, run: str, kept: Carried = NOTHING_CARRIED
) -> Json:
    """The template under the name that its revision shall have, with our labels and what others
    hung on the one before."""
    env = tuple(sorted([*release.template.env, ("MESH_RELEASE", release.id)]))
    template = release.template.model_copy(update={"env": env})
    labels = {"meshctl-release": release.id, "meshctl-run": label_value(run)}
    written = {**template_json(template), "revision": revision, "labels": labels}
    return carrying(written, kept)


def label_value(run: str) -> str:
    """A run's time and salt as a label: lower case, at most 63 letters, digits, `-` and `_`."""
    return "_".join(run.split(".")[-2:]).lower()[:63]


def proved(seen: ServiceSeen, name: str, release: Release) -> Revision:
    """The revision, ready and of exactly that release. Raises Refused."""
    revision = seen.revision(name)
    if revision is None or not revision.ready:
        raise not_ready(seen.name, name, revision.reason if revision else "it is not there")
    if revision.release != release.id:
        raise Refused(
            f"revision {name} is release {revision.release}, not {release.id}",
            place=seen.name,
            hint="something rewrote the template on its way; compare with `meshctl plan`",
        )
    return revision


def not_ready(service: str, revision: str, reason: str) -> Refused:
    """The container's own last line comes first: what the cloud says is the same for all."""
    words = last_words(reason)
    told = f"revision {revision} did not become ready: {words.cloud}"
    return Refused(
        f"{words.line}; {told}" if words.line else told,
        place=service,
        hint=_remedy(reason, words),
    )


def not_created(service: str, revision: str, error: ApiError) -> Refused:
    """The same for the answer to a creation; any other answer is left as it is."""
    reason = error.message.removesuffix(f" ({error.status})")
    return not_ready(service, revision, reason) if last_words(reason).line else error


def _remedy(reason: str, words: LastWords) -> str:
    """What helps a revision that did not get ready."""
    if QUOTA_EXCEEDED in reason:
        return OF_QUOTA
    return words.remedy or "fix the image or its startup probe, then deploy again"


def carried_out(seen: ServiceSeen, to: Split) -> ServiceSeen:
    """The same service, when the split we asked for is the one it has and the one in force.

    Raises Refused: what was accepted may still have failed, and then the split before goes on; and
    somebody may have moved it on right after.
    """
    given, serving = traffic.named(seen), traffic.in_force(seen)
    if traffic.same(given, serving) and traffic.same(given, resolved(seen, to)):
        return seen
    if traffic.same(given, serving):
        why = f"{seen.modifier or 'somebody else'} moved traffic right after it was written"
    else:
        why = f"traffic is still {traffic.shown(serving)}, not {traffic.shown(given)}: "
        why += seen.reason or "the cloud does not say why"
    raise Refused(why, place=seen.name, hint="look at `meshctl status`, then decide")


def tag_url(seen: ServiceSeen, act: PlaceRevision | CheckRelease) -> str:
    """Where the tag leads to the revision. Raises Refused when it does not: a tag that follows
    the latest may lead to another revision by now."""
    rows = (row for row in seen.effective if row.tag == act.tag and row.url)
    url = next((row.url for row in rows if seen.resolve(row.revision) == act.revision), None)
    if url is None:
        raise Refused(
            f"tag {act.tag} has no URL for revision {act.revision}",
            place=seen.name,
            hint="look at its tags: `meshctl status -o json`",
        )
    return url
