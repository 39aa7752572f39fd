"""Which number a tag gets."""

from __future__ import annotations

from meshctl.build.tags import highest, tag_of

REPOSITORY = "host/mesh"


def test_the_number_takes_its_place_in_the_form() -> None:
    assert tag_of("mesh-v{n}-fast", 7) == "mesh-v7-fast"


def test_the_highest_number_is_found_wherever_a_build_names_its_image() -> None:
    builds = [
        {"images": ["host/mesh:mesh-v2"]},
        {"results": {"images": [{"name": "host/mesh:mesh-v9"}]}},
        {"substitutions": {"_IMAGE": "host/mesh:mesh-v10"}},
        {},
    ]

    assert highest("mesh-v{n}", REPOSITORY, builds) == 10


def test_other_repositories_and_other_forms_do_not_count() -> None:
    images = ["host/other:mesh-v5", "host/mesh:mesh-v6-debug", "host/mesh:old-v7",
              "host/mesh:mesh-v08", "host/mesh:mesh-v20261130", "$_IMAGE"]  # fmt: skip

    assert highest("mesh-v{n}", REPOSITORY, [{"images": images}]) == 0
