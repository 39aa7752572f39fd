"""`meshctl adopt`: a live service becomes an entry of the fleet file, and a known release."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path

import typer

from meshctl.cli.doors import region
from meshctl.cli.found import Where, where_of
from meshctl.cli.grounds import unlisted
from meshctl.cli.world import DEFAULT_FILE, World, world_of
from meshctl.errors import Refused, SpecError, UsageError
from meshctl.outside.gcp import NoCredentials
from meshctl.outside.textfile import read_text, write_text
from meshctl.plan.adopted import Draft, Spot, draft, still_differs
from meshctl.plan.observed import Revision
from meshctl.plan.release import own_account
from meshctl.plan.traffic import shown
from meshctl.rollout.adopt import Adopted, Adoptee
from meshctl.rollout.adopt import adopt as adopt_release
from meshctl.spec.federation import VARIABLE
from meshctl.spec.inserted import fleet_text, fragment_text, inserted
from meshctl.spec.load import load
from meshctl.spec.model import Fleet, Rollout, Service
from meshctl.spec.near import near
from meshctl.targets.cloudrun.live import Live, read_live
from meshctl.ui.adoption import adopt_document
from meshctl.ui.render.adopt import adopt_told


@dataclass(frozen=True)
class Page:
    """The fleet file as it was read: None where there is none, or where it declares nothing."""

    file: Path
    text: str | None
    fleet: Fleet | None


@dataclass(frozen=True)
class Entry:
    """What is to be written: the whole new text of the file, and the part that is new."""

    draft: Draft
    whole: str
    part: str


def adopt(
    ctx: typer.Context,
    live: str = typer.Argument(
        ..., metavar="TARGET/NAME", help="Or PROJECT/REGION/NAME, which needs no fleet file."
    ),
    write: str | None = typer.Option(
        None, "--write", metavar="FILE", help="Put it into this fleet file; else it is printed."
    ),
    key: str | None = typer.Option(None, "--key", help="Its key in the fleet; else its name."),
    emulator: str | None = typer.Option(
        None, "--emulator", metavar="URL", help="PROJECT and REGION are of an embedded cloud."
    ),
    no_verify: bool = typer.Option(False, "--no-verify", help="Do not ask it: it stays unproven."),
) -> int:
    """Take over a live service: write down what it is, ask it, and remember it as a release.

    Changes nothing on the target. Exits 9 when what serves fails its check, 7 when it is unclear:
    it is adopted all the same, but no rollback goes to it.
    """
    world = _for_file(world_of(ctx), write)
    page = _page(world, new=write is not None)
    where = where_of(page.fleet, live, emulator)
    found = _found(world, where)
    spot, entry = _entry(world, page, where, found, key)
    adopted = _remember(world, page, spot, found, entry, asked=not no_verify)
    written = bool(write and entry and entry.part)
    if written and entry:
        write_text(page.file, entry.whole, was=page.text)
    document = adopt_document(
        spot, found.seen, adopted, entry.draft if entry else None,
        text="" if written or entry is None else entry.part,
        file=str(page.file) if written else None,
        unchanged=str(page.file) if write and entry is None else None,
        next_=_write(world, live, emulator, key) if entry and not written else _plan(world, spot),
        kept=[f"{one.path} ({one.value}) stays as it is" for one in found.unsaid if not one.lost],
    )  # fmt: skip
    world.output.show(document)
    if document.text:  # stdout is the text alone, so that it can be put into a file
        world.output.say("\n".join(adopt_told(document, 80)))
    return adopted.code


def _write(world: World, live: str, emulator: str | None, key: str | None) -> str:
    """What puts it into the file, as it was asked for now."""
    options = [("--emulator", emulator), ("--key", key), ("--write", str(world.file))]
    words = [word for name, value in options if value is not None for word in (name, value)]
    return shlex.join(["meshctl", "adopt", live, *words])


def _plan(world: World, spot: Spot) -> str:
    """The plan of what the file has now."""
    named = [] if str(world.file) == DEFAULT_FILE else ["-f", str(world.file)]
    return shlex.join(["meshctl", *named, "plan", spot.key])


def _for_file(world: World, write: str | None) -> World:
    """The file that is written is the fleet file. Raises UsageError where -f names another."""
    if write is None:
        return world
    if not write:
        raise UsageError("--write is empty", hint="name a file, or leave it out")
    given = world.settings.fleet
    if given is not None and Path(given).resolve() != Path(write).resolve():
        raise UsageError(
            f"-f {given} and --write {write} are two files",
            hint="give --write alone: what is adopted goes into the fleet file itself",
        )
    return replace(world, settings=replace(world.settings, fleet=write))


def _page(world: World, *, new: bool) -> Page:
    """A file that was named with -f must be there; the one to write need not be."""
    missing_ok = new or world.settings.fleet is None
    text = read_text(world.file)
    if text is None and missing_ok:
        return Page(world.file, None, None)
    return Page(world.file, text, world.fleet())


def _found(world: World, where: Where) -> Live:
    """The live service. Raises Unreachable, whose hint names the other places it may mean."""
    try:
        return _read(world, where)
    except NoCredentials as error:
        if where.declared:
            raise
        other = "for an embedded cloud add `--emulator URL`, for a target of the fleet file say"
        error.hint = f"{error.hint}; {other} TARGET/{where.name}"
        raise


def _read(world: World, where: Where) -> Live:
    """The live service. Raises UsageError where there is none of that name."""
    world.output.progress(f"reading {where.name}")
    api = region(world, where.target, where.place).api
    found = read_live(api, where.name)
    if found is None:
        names = [str(one["name"]).rpartition("/")[2] for one in api.list_services()]
        raise UsageError(
            f"no service named {where.name!r} on {where.place.project}/{where.place.region}",
            hint=near(where.name, names),
        )
    return found


def serving(found: Live, where: Where) -> Revision:
    """The one revision that serves. Raises Refused where there is none, or more than one."""
    seen, place = found.seen, f"{where.target}/{where.name}"
    if seen.reconciling:
        hint = "wait until it has settled, then adopt it"
        raise Refused(f"{where.name} is being changed right now", place=place, hint=hint)
    if found.main is None:
        hint = f"nothing can be adopted: `gcloud run services describe {where.name}` says why"
        raise Refused(f"no revision of {where.name} serves", place=place, hint=hint)
    if len(seen.serving) > 1:
        first = f"gcloud run services update-traffic {where.name} --to-revisions {found.main.name}"
        raise Refused(
            f"traffic is split ({shown(seen.serving)}), and a fleet file says one release",
            place=place,
            hint=f"decide first, for example `{first}=100`",
        )
    return found.main


def _entry(
    world: World, page: Page, where: Where, found: Live, key: str | None
) -> tuple[Spot, Entry | None]:
    """What to write, proved to mean what is there. None where the fleet declares it already."""
    main = serving(found, where)
    declared = where.declared_as(page.fleet)
    if declared:
        if key not in (None, declared):
            hint = f"it is adopted as it is declared: --key {declared}, or leave it out"
            raise UsageError(f"{where.name} is services.{declared} already", hint=hint)
        return Spot(declared, where.target, where.place, declared=True), None
    if key == "":
        raise UsageError("--key is empty", hint="name one, or leave it out")
    place = where.place
    if not where.declared:
        place = place.model_copy(update={"account": own_account(found.account)})
    spot = Spot(key or where.name, where.target, place, declared=where.declared)
    made = draft(spot, found.seen, main, found.account, page.fleet)
    _refuse_unsaid(found, where, made)
    return spot, _proved(world, page, spot, found, made)


def _refuse_unsaid(found: Live, where: Where, made: Draft) -> None:
    """Whatever the next release would lose keeps the service from being adopted; what would stay
    is named with it, so that all there is to decide is seen at once."""
    lost = [f"{one.path} ({one.value})" for one in found.unsaid if one.lost]
    lost += made.problems
    if lost:
        stays = [f"{one.path} ({one.value})" for one in found.unsaid if not one.lost]
        beside = f"; beside it these would stay as they are: {'; '.join(stays)}" if stays else ""
        raise Refused(
            f"a fleet file cannot say all of {where.name}: {'; '.join(lost)}{beside}",
            place=f"{where.target}/{where.name}",
            hint="take it out of the service first, or leave the service to whoever runs it now",
        )


def _proved(world: World, page: Page, spot: Spot, found: Live, made: Draft) -> Entry:
    """The text, loaded again and compared with what is there: adopt, then plan, is empty."""
    file = str(page.file)
    if page.text is None:
        whole = part = fleet_text(spot.key, made.sections)
    else:
        whole, part = inserted(page.text, file, made.sections), fragment_text(made.sections)
    try:
        fleet = load(whole, file, world.environ)
    except SpecError as error:
        told = "; ".join(f"{one.path}: {one.message}" for one in error.problems)
        raise _inexpressible(spot, told) from error
    assert found.main is not None, "only what serves is written down"
    left = still_differs(fleet, spot, found.seen, found.main, made.peers)
    if left:
        told = "; ".join(f"{one.path} would be {one.after}, not {one.before}" for one in left)
        raise _inexpressible(spot, told)
    return Entry(made, whole, part)


def _announced(found: Live, declared: Service | None, entry: Entry | None) -> str | None:
    """What is announced now: of a coordinator that is declared, whatever its variable says."""
    if entry is not None:
        return entry.draft.peers
    coordinates = declared is not None and declared.role == "coordinator" and found.main
    return found.main.template.environment.get(VARIABLE) if coordinates and found.main else None


def _inexpressible(spot: Spot, told: str) -> Refused:
    return Refused(
        f"a fleet file cannot say all of {spot.key}: {told}",
        place=f"{spot.target}/{spot.key}",
        hint="change it in the service first, or leave the service to whoever runs it now",
    )


def _remember(
    world: World, page: Page, spot: Spot, found: Live, entry: Entry | None, *, asked: bool
) -> Adopted:
    assert found.main is not None, "only what serves is adopted"
    declared = page.fleet.services[spot.key] if page.fleet and entry is None else None
    of = Adoptee(
        seen=found.seen,
        main=found.main,
        peers=_announced(found, declared, entry),
        battery=declared.checks if declared else ("contract",),
        policy=declared.rollout if declared else Rollout(),
        asked=asked,
    )
    with unlisted(world, spot.key, found.seen.name, spot.target, spot.place) as ground:
        if asked:
            world.output.progress(f"asking {spot.key}")
        return adopt_release(ground, of)
