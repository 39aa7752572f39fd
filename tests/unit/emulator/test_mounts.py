"""Mount paths in texts are led to their place, and nothing else is touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from meshctl.emulator.serve.buckets import lay_out
from meshctl.emulator.serve.mounts import Mounts
from meshctl.emulator.storage.objects import Conditions, Store, digests

MOUNTS = Mounts(Path("/x"), {"/models": Path("/x/0"), "/models/deep": Path("/x/1")})


@pytest.mark.parametrize(
    ("text", "moved"),
    [
        ("/models", "/x/0"),
        ("/models/a.gguf", "/x/0/a.gguf"),
        ("/models/deep/a.gguf", "/x/1/a.gguf"),
        ("--dir=/models:/other", "--dir=/x/0:/other"),
        ('{"path": "/models/a"}', '{"path": "/x/0/a"}'),
        ("/models-old /models.bak /modelsx", "/models-old /models.bak /modelsx"),
        ("gs://bucket/models /srv/models", "gs://bucket/models /srv/models"),
    ],
)
def test_a_mount_path_is_moved_where_it_stands_as_a_path(text: str, moved: str) -> None:
    assert MOUNTS.moved(text) == moved


def test_objects_whose_names_no_file_can_have_are_left_out(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    bucket = store.create("b", {})
    for name in ("good", "../up", "/abs", "a//b", "a/./b", "a", "a/under", "x" * 300, "dir/"):
        part = store.part()
        part.write_text(name)
        bucket.put(name, part, digests(part), {}, Conditions())
    template = {
        "volumes": [{"name": "v", "gcs": {"bucket": "b", "readOnly": True}}],
        "containers": [{"volumeMounts": [{"name": "v", "mountPath": "/m/"}]}],
    }

    mounts = lay_out(store, tmp_path / "out", template)

    found = sorted(str(p.relative_to(mounts.places["/m"])) for p in mounts.places["/m"].rglob("*"))
    assert found == ["a", "dir", "good"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "store"]
