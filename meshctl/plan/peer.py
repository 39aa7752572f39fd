"""One peer of a coordinator: how it is announced, what it must show, what to know of it. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationError

from meshctl.errors import Refused
from meshctl.plan.observed import ServiceSeen
from meshctl.plan.question import says_its_release
from meshctl.plan.request import Request
from meshctl.plan.steps import ModelAsked, PeerAsked
from meshctl.spec.federation import VARIABLE, PeerEntry, choose, render_peers
from meshctl.spec.model import CloudRunTarget, Fleet, Service
from meshctl.spec.peers import names_of, unwise_peer
from meshctl.state.peers import Announced, announced, read_announced


def entry_of(key: str, service: Service, url: str) -> PeerEntry:
    """A peer as the fleet declares it, at the address it was seen on. Raises Refused where that
    makes no announcement."""
    if not service.models:
        hint = f"write services.{key}.models"
        raise Refused(f"{key} declares no models, so there is nothing to announce", hint=hint)
    try:
        return PeerEntry(
            id=key,
            base_url=url.rstrip("/"),
            models=names_of(service),
            priority=service.priority,
            weight=service.weight,
            context={
                name: model.context
                for id, model in service.models.items()
                for name in (id, *model.aliases)
                if model.context
            },
        )
    except ValidationError as error:
        said = error.errors(include_url=False)[0]["msg"]
        hint = f"look at it: `meshctl status {key}`"
        raise Refused(f"{key} at {url!r} cannot be announced: {said}", hint=hint) from None


def text_of(entries: Sequence[PeerEntry], known: Announced) -> str:
    """What to write: the text that stands already where it says the same, else ours, by id."""
    wanted = tuple(sorted(entries, key=lambda entry: entry.id))
    if known.entries is not None and tuple(sorted(known.entries, key=_id)) == wanted:
        return known.text
    return render_peers(wanted) if wanted else ""


def _id(entry: PeerEntry) -> str:
    return entry.id


def asked_of(
    fleet: Fleet, coordinator: str, entry: PeerEntry, all_: Sequence[PeerEntry], seen: ServiceSeen
) -> PeerAsked:
    """What a peer must show through its coordinator: every model that would be sent on to it."""
    service = fleet.services[entry.id]
    models = reached(fleet, coordinator, entry, all_)
    return PeerAsked(
        id=entry.id,
        release=_release_of(seen),
        models=tuple(ModelAsked(id=id, aliases=service.models[id].aliases) for id in models),
        deadline_s=service.rollout.token_deadline + service.probe.period * service.probe.failures,
        way_in="" if seen.public else way_in(fleet, coordinator, entry.id),
    )


def reached(
    fleet: Fleet, coordinator: str, entry: PeerEntry, all_: Sequence[PeerEntry]
) -> list[str]:
    """The models of a peer that its coordinator would send on to it, and to nobody else."""
    mine = names_of(fleet.services[coordinator])
    models = sorted(fleet.services[entry.id].models)
    return [id for id in models if id not in mine and choose(id, all_) == entry]


def _release_of(seen: ServiceSeen) -> str | None:
    """Which release must answer; None where more than one may, or where it would not say."""
    main = seen.main
    known = main is not None and len(seen.serving) == 1 and says_its_release(main)
    return main.release if main and known else None


def way_in(fleet: Fleet, coordinator: str, peer: str) -> str:
    """The command that lets a coordinator's account call a private peer. Whether it is needed only
    the peer can say: the account may hold the role on the whole project."""
    service = fleet.services[peer]
    place = fleet.targets[service.target[0]]
    where = ""
    if isinstance(place, CloudRunTarget):
        where = f" --region {place.region} --project {place.project}"
    return (
        f"gcloud run services add-iam-policy-binding {service.name or peer}{where} "
        f"--role roles/run.invoker --member serviceAccount:{_account(fleet, coordinator)}"
    )


def _account(fleet: Fleet, coordinator: str) -> str:
    """The account that asks; the project's default one is known by the number of the project."""
    service = fleet.services[coordinator]
    place = fleet.targets[service.target[0]]
    if not isinstance(place, CloudRunTarget):
        return "ACCOUNT"
    number = f"$(gcloud projects describe {place.project} --format 'value(projectNumber)')"
    return service.account or place.account or f"{number}-compute@developer.gserviceaccount.com"


def notes_on_peers(request: Request, seen: ServiceSeen | None) -> tuple[str, ...]:
    """What a plan for one service says about peers."""
    if request.service.role == "peer":
        return _not_announced(request, read_announced(request.peers))
    return _unknown_to_the_journal(request, seen)


def _not_announced(request: Request, known: Announced) -> tuple[str, ...]:
    found = [complaint.message for complaint in unwise_peer(request.fleet, request.key)]
    if known.entry(request.key) is None:
        found.append(_how_announced(request))
    return tuple(found)


def _how_announced(request: Request) -> str:
    if request.announcer:
        return f"announced next: {request.announcer} is rolled out for that by a plan of its own"
    return f"not announced: `meshctl peer add {request.key}` does that, and proves it"


def _unknown_to_the_journal(request: Request, seen: ServiceSeen | None) -> tuple[str, ...]:
    """A live announcement that nobody recorded is taken away by a release that does not say it."""
    main = seen.main if seen else None
    live = read_announced(main.template.environment.get(VARIABLE, "") if main else "")
    known, wanted = announced(request.ledger), read_announced(request.peers)
    strange = [
        entry.id
        for entry in live.entries or ()
        if known.entry(entry.id) is None and wanted.entry(entry.id) is None
    ]
    if not strange or request.service.role != "coordinator":
        return ()
    names = ", ".join(strange)
    return (f"it announces {names} now, which no journal knows: this takes that away",)
