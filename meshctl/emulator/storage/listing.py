"""How buckets and objects look in answers, one by one and in pages."""

from __future__ import annotations

import base64
from typing import Any
from urllib.parse import quote

from meshctl.emulator.failures import invalid
from meshctl.emulator.moment import rfc3339
from meshctl.emulator.storage.objects import Bucket, Object, Store


def bucket_json(bucket: Bucket, base: str) -> dict[str, Any]:
    """A bucket's resource."""
    return {
        "kind": "storage#bucket",
        "id": bucket.name,
        "name": bucket.name,
        "selfLink": f"{base}/storage/v1/b/{bucket.name}",
        "location": bucket.row.get("location", "US"),
        "storageClass": "STANDARD",
        "metageneration": "1",
        "etag": "CAE=",
    }


def object_json(bucket: Bucket, found: Object, base: str) -> dict[str, Any]:
    """An object's resource; 64-bit numbers are texts."""
    link = f"b/{bucket.name}/o/{quote(found.name, safe='')}"
    out: dict[str, Any] = {
        "kind": "storage#object",
        "id": f"{bucket.name}/{found.name}/{found.generation}",
        "selfLink": f"{base}/storage/v1/{link}",
        "mediaLink": f"{base}/download/storage/v1/{link}?generation={found.generation}&alt=media",
        "name": found.name,
        "bucket": bucket.name,
        "generation": str(found.generation),
        "metageneration": str(found.metageneration),
        "contentType": found.content_type,
        "storageClass": "STANDARD",
        "size": str(found.size),
        "md5Hash": found.md5,
        "crc32c": found.crc32c,
        "etag": base64.b64encode(f"{found.generation}/{found.metageneration}".encode()).decode(),
        "timeCreated": rfc3339(found.created),
        "updated": rfc3339(found.updated),
        **found.extra,
    }
    if found.metadata:
        out["metadata"] = found.metadata
    return out


def buckets(store: Store, query: dict[str, str], base: str) -> dict[str, Any]:
    """The buckets of a project."""
    project, prefix = query.get("project", ""), query.get("prefix", "")
    rows = [b for name, b in sorted(store.buckets.items()) if name.startswith(prefix)]
    mine = [b for b in rows if b.row.get("project", "") in ("", project)]
    return {"kind": "storage#buckets", "items": [bucket_json(b, base) for b in mine]}


def objects(bucket: Bucket, query: dict[str, str], base: str) -> dict[str, Any]:
    """One page: objects and, with a delimiter, the prefixes they fold into."""
    limit = min(int(query.get("maxResults") or 1000), 1000)
    entries = _entries(bucket, query)
    entries = [e for e in entries if e[0] > _after(query)]
    page, rest = entries[:limit], entries[limit:]
    out: dict[str, Any] = {"kind": "storage#objects"}
    items = [object_json(bucket, found, base) for _, found in page if found is not None]
    prefixes = [name for name, found in page if found is None]
    if items:
        out["items"] = items
    if prefixes:
        out["prefixes"] = prefixes
    if rest:
        out["nextPageToken"] = base64.urlsafe_b64encode(page[-1][0].encode()).decode()
    return out


def _after(query: dict[str, str]) -> str:
    try:
        return base64.urlsafe_b64decode(query.get("pageToken", "")).decode()
    except ValueError:
        raise invalid("Invalid page token.") from None


def _entries(bucket: Bucket, query: dict[str, str]) -> list[tuple[str, Object | None]]:
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
    low, high = query.get("startOffset", ""), query.get("endOffset", "")
    out: dict[str, Object | None] = {}
    for name in sorted(bucket.objects):
        if not name.startswith(prefix) or name < low or (high and name >= high):
            continue
        rest = name[len(prefix) :]
        if delimiter and delimiter in rest:
            out[prefix + rest.split(delimiter)[0] + delimiter] = None
        else:
            out[name] = bucket.objects[name]
    return list(out.items())
