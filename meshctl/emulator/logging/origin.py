"""Which revision an entry or a measurement is of, as the resource that Logging and Monitoring show.

The resource is Cloud Run's: type cloud_run_revision with the labels below.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, order=True)
class Origin:
    """A revision by its four names."""

    project: str
    location: str
    service: str
    revision: str

    def resource(self) -> dict[str, Any]:
        """The monitored resource."""
        labels = {
            "project_id": self.project,
            "location": self.location,
            "service_name": self.service,
            "revision_name": self.revision,
            "configuration_name": self.service,
        }
        return {"type": "cloud_run_revision", "labels": labels}


_LABELS = ("project_id", "location", "service_name", "revision_name", "configuration_name")
# What a filter may ask about the resource.
FIELDS = ("resource.type", *(f"resource.labels.{label}" for label in _LABELS))
