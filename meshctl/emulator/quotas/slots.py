"""Gate 2: the GPUs that running instances hold, and the refusal when none is left."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import ClassVar

from meshctl.emulator.quotas import admission
from meshctl.emulator.run.records import Revision
from meshctl.emulator.serve.launch import CannotStart
from meshctl.emulator.settings import Settings

Release = Callable[[], None]
Key = tuple[str, str, str]  # project, region, quota id


class OutOfQuota(CannotStart):
    """No GPU is left for one more instance (facts s4: the text; its code is a setting)."""

    reason: ClassVar[dict[str, str]] = {"reason": "REVISION_FAILED"}

    def __init__(self, code: int) -> None:
        super().__init__("Quota exceeded for total allowable count of GPUs per project per region.")
        self.code = code

    def told(self, revision: str) -> str:
        """The sentence with the revision, as the operation and the condition show it."""
        return f"Revision '{revision}' is not ready and cannot serve traffic. {self}"


class Slots:
    """Counts each instance from before its start until it is gone, whichever service it is of.

    facts s4: the old warm revision and the new one's start-up instance count alike, so a warm
    service cannot roll with a quota of one. What sleeps at zero instances holds nothing.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._held: Counter[Key] = Counter()

    def take(self, revision: Revision) -> Release:
        """Hold a GPU for one more instance; what gives it back. OutOfQuota when none is left."""
        quota = admission.gpu_quota(revision.template)
        if quota is None:
            return lambda: None
        allowed = admission.gpus_allowed(self._settings, quota, revision.location)
        key = (revision.project, revision.location, quota.id)
        if allowed is not None and self._held[key] >= allowed:
            raise OutOfQuota(self._settings.quota_failure_code)
        self._held[key] += 1
        return lambda: self._give_back(key)

    def _give_back(self, key: Key) -> None:
        """The cloud lets go of a GPU a while after its instance: retries worked after 45 s."""
        pause_s = self._settings.quota_release_seconds
        if pause_s:
            asyncio.get_running_loop().call_later(pause_s, self._held.subtract, [key])
        else:
            self._held[key] -= 1
