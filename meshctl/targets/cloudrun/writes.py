"""Changes one service: reads, edits, writes with the etag, and waits until it has come about.

A conflict or a lost answer starts over from reading: what happened is found out, never repeated
blindly, and what somebody else did meanwhile is told.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from meshctl.errors import Refused
from meshctl.outside.cloudrun import CloudRunApi
from meshctl.outside.gcp import ApiError, Conflict, LostAnswer
from meshctl.plan.observed import ServiceSeen
from meshctl.targets.cloudrun import edits
from meshctl.targets.cloudrun.meanwhile import Meanwhile
from meshctl.targets.cloudrun.reading import service_seen
from meshctl.targets.cloudrun.reads import Reads
from meshctl.targets.target import Assure

Json = dict[str, Any]
Editor = Callable[[ServiceSeen], edits.Edit | None]
Changed = tuple[ServiceSeen, Meanwhile]
"""The service as it is after the change, and what others did to it on the way."""


class Writes:
    """`fresh` holds readings that a next write may start from; their etags make that safe."""

    def __init__(self, name: str, api: CloudRunApi, reads: Reads) -> None:
        self.name, self.api, self.reads = name, api, reads
        self.fresh: dict[str, ServiceSeen] = {}

    def change(self, service: str, edit: Editor, assure: Assure) -> Changed:
        """Bring an edit about. Raises Refused where it no longer fits what is there."""
        others = Meanwhile()
        for again in self.reads.patience.tries():
            seen, wanted = self._wanted(service, edit, others)
            if wanted is None:
                return self._at_rest(service, seen), others
            assure()
            try:
                body, mask = wanted
                answer = self.api.update_service(service, {**body, "etag": seen.etag}, mask)
            except Conflict as error:
                others.conflict(seen)
                again(error)
            except LostAnswer as error:
                others.lost = True
                again(error)
            except ApiError as error:
                return self._came_about(service, edit, error), others
            else:
                return self._landed(service, edit, answer, others), others
        raise AssertionError("unreachable: the last try raises")

    def _wanted(
        self, service: str, edit: Editor, others: Meanwhile
    ) -> tuple[ServiceSeen, edits.Edit | None]:
        """What to write; only a reading of now may say that there is nothing to write."""
        fresh = self.fresh.pop(service, None)
        if fresh and (change := edit(fresh)):
            return fresh, change
        seen = self.reads.one(service, policy=False)
        if seen is None:
            raise self._gone(service, "does not exist")
        others.read(seen)
        return seen, _edited(seen, edit, others)

    def _at_rest(self, service: str, seen: ServiceSeen) -> ServiceSeen:
        return self._settled(service, seen.generation) if seen.reconciling else seen

    def _landed(self, service: str, edit: Editor, answer: Json, others: Meanwhile) -> ServiceSeen:
        """The service in the generation that was written, or a newer one. Raises Refused when the
        newer one took our change back: whoever did that meant it, and it is not written again."""
        ours = service_seen(answer, [], None)
        seen = self._settled(service, ours.generation)
        if seen.generation > ours.generation:
            others.superseded(ours, seen)
            if _edited(seen, edit, others) is not None:
                raise Refused(
                    "; ".join(others.told),
                    place=f"{self.name}/{service}",
                    hint="look at `meshctl status`, then decide",
                )
        return seen

    def _came_about(self, service: str, edit: Editor, error: ApiError) -> ServiceSeen:
        """An operation may end with an error about something else, such as a failed newest
        revision, although what it was asked for is there. Raises the error when it is not."""
        seen = self.reads.settled(service)
        if seen is None or edit(seen) is not None:
            raise error
        return seen

    def _settled(self, service: str, generation: int) -> ServiceSeen:
        seen = self.reads.settled(service, generation)
        if seen is None:
            raise self._gone(service, "is gone")
        return seen

    def _gone(self, service: str, how: str) -> Refused:
        return Refused(f"{service} {how}", place=self.name, hint="see `meshctl status`")


def _edited(seen: ServiceSeen, edit: Editor, others: Meanwhile) -> edits.Edit | None:
    """The edit; what it refuses because of others says what they did."""
    try:
        return edit(seen)
    except Refused as no:
        if not others.told:
            raise
        message = "; ".join((no.message, *others.told))
        raise Refused(message, place=no.place, hint=no.hint) from no
