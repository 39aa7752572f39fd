"""The arithmetic of traffic splits, by the rules of gcloud. Pure.

Tags and percents are separate concerns: a row to write has a percent or a tag, never both. Only
what meshctl does with splits is here; in the words of `gcloud run services update-traffic`:

| gcloud                              | here                                          |
|-------------------------------------|-----------------------------------------------|
| `--to-revisions R=N`, `--to-tags`   | `with_percents(rows, toward(found, R, N))`    |
| `--to-latest`                       | `with_percents(rows, split({LATEST: 100}))`   |
| `--set-tags`, `--remove-tags`       | `with_tag`, `without_tag`                     |
| `deploy --no-traffic`               | `with_percents(rows, named(seen))`            |
"""

from __future__ import annotations

from meshctl.plan.observed import LATEST, ServiceSeen, Share, Split


def percents(split: Split) -> dict[str, int]:
    """How many percent each revision gets, rows of one revision added up, zeros left out."""
    shares: dict[str, int] = {}
    for row in split:
        if row.percent:
            shares[row.revision] = shares.get(row.revision, 0) + row.percent
    return shares


def same(one: Split, other: Split) -> bool:
    """Whether two splits send requests to the same revisions in the same shares."""
    return percents(one) == percents(other)


def named(seen: ServiceSeen) -> Split:
    """The split that is in force, every revision by its name: LATEST would move on by itself."""
    shares: dict[str, int] = {}
    for row in seen.traffic:
        revision = seen.resolve(row.revision)
        if row.percent and revision:
            shares[revision] = shares.get(revision, 0) + row.percent
    return split(shares)


def in_force(seen: ServiceSeen) -> Split:
    """The split by which requests are really sent now, which may not be the one asked for."""
    return split(percents(seen.serving))


def tags(rows: Split) -> dict[str, str]:
    """Where each tag points; LATEST where it follows the newest ready revision."""
    return {row.tag: row.revision for row in rows if row.tag}


def split(shares: dict[str, int]) -> Split:
    """Percent rows sorted by revision name with LATEST last, as gcloud writes them."""
    rows = sorted(shares.items(), key=lambda item: _by_name(item[0]))
    return tuple(Share(revision=name, percent=percent) for name, percent in rows if percent)


def _by_name(revision: str) -> tuple[bool, str]:
    return revision == LATEST, revision


def toward(found: Split, revision: str, percent: int) -> Split:
    """Give `percent` to a revision and scale the others into the rest, as gcloud does.

    Floors, then hands missing points to the largest fractions; ties go to the smaller share, then
    to the smaller name (gcloud's rule, facts/cloud-run section 2). The sum is always 100. In whole
    numbers, for the noise of floats would decide ties. Who serves alone keeps all, whatever is
    asked, for there is nobody to give the rest to; 0 takes a revision out.
    """
    others = {name: share for name, share in percents(found).items() if name != revision}
    total = sum(others.values())
    if percent >= 100 or not total:
        return split({revision: 100})
    rest = 100 - percent
    floors = {name: share * rest // total for name, share in others.items()}
    fraction = {name: share * rest % total for name, share in others.items()}
    order = sorted(floors, key=lambda n: (-fraction[n], others[n], _by_name(n)))
    for name in order[: rest - sum(floors.values())]:
        floors[name] += 1
    return split({**floors, revision: percent})


def with_percents(rows: Split, wanted: Split) -> Split:
    """The rows to write: the wanted percents, then every tag that was found, at 0 %."""
    tags = tuple(Share(revision=row.revision, tag=row.tag) for row in rows if row.tag)
    plain = tuple(
        Share(revision=row.revision, percent=row.percent) for row in wanted if row.percent
    )
    return plain + tags


def with_tag(rows: Split, tag: str, revision: str) -> Split:
    """The rows with a tag on a revision; where the tag pointed before, it is taken off."""
    return (*without_tag(rows, tag), Share(revision=revision, tag=tag))


def without_tag(rows: Split, tag: str) -> Split:
    """The rows without a tag; a row left with neither percent nor tag is dropped."""
    kept = (row if row.tag != tag else row.model_copy(update={"tag": None}) for row in rows)
    return tuple(row for row in kept if row.percent or row.tag)


def shown(split: Split) -> str:
    """`chat-r1 90 %, chat-r2 10 %`, the largest share first."""
    rows = sorted(percents(split).items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} {percent} %" for name, percent in rows) or "nobody"


def for_a_new_one(seen: ServiceSeen) -> int:
    """The percent that a revision made by anybody else would get as soon as it is ready."""
    return percents(seen.traffic).get(LATEST, 0)


def outlook(seen: ServiceSeen) -> str:
    """What traffic does now, and what it would do with a new revision, for people."""
    asked, real = shown(named(seen)), shown(in_force(seen))
    now = f"traffic is {real}" if asked == real else f"traffic is {real}, although {asked} is asked"
    percent = for_a_new_one(seen)
    if percent:
        return f"{now}; it follows LATEST, so a new revision would get {percent} % once it is ready"
    return f"{now}; it names revisions, so a new one gets 0 % until traffic is moved"
