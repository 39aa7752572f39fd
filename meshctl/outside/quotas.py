"""The Cloud Quotas door: how much a project may have of what Cloud Run gives out.

It knows limits and no use; facts/cloud-run section 4.
"""

from __future__ import annotations

from typing import Any, Protocol

from meshctl.outside.gcp import Calls, Cloud, client_arguments, translated

Json = dict[str, Any]
SERVICE = "run.googleapis.com"
CALL_TIMEOUT_S = 30.0
PAGE = 500


class QuotasApi(Protocol):
    """What a reading of the quota asks of the cloud."""

    def list_infos(self) -> list[Json]: ...


class RestQuotas:
    """The real google-cloud-quotas client over REST."""

    def __init__(self, cloud: Cloud, calls: Calls) -> None:
        self.cloud, self.calls = cloud, calls

    def list_infos(self) -> list[Json]:
        """Every quota of Cloud Run in the project, with its values by region.

        Raises ApiError where the API is off or the permission is missing, Unreachable.
        """
        from google.cloud import cloudquotas_v1

        parent = f"projects/{self.cloud.project}/locations/global/services/{SERVICE}"
        self.calls.add(f"quotas quotaInfos.list {self.cloud.project}")
        with translated(self.cloud, parent):
            client = cloudquotas_v1.CloudQuotasClient(**client_arguments(self.cloud))
            request = {"parent": parent, "page_size": PAGE}
            pages = client.list_quota_infos(request, retry=None, timeout=CALL_TIMEOUT_S)
            return [_json(info) for info in pages]


def _json(message: Any) -> Json:
    from google.protobuf.json_format import MessageToDict

    raw = getattr(type(message), "pb", None)
    document: Json = MessageToDict(raw(message) if callable(raw) else message)
    return document
