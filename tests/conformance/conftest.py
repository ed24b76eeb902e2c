"""Where the rows of the vectors come from."""

from __future__ import annotations

import pytest

from support.oracles.fp_rows import Source, corpus_class, sample_class


@pytest.fixture(params=["sample", pytest.param("all", marks=pytest.mark.corpus)])
def source(request: pytest.FixtureRequest) -> Source:
    """Where the rows of a class come from: the sample in the repository, or all of them."""
    if request.param == "sample":
        return sample_class
    folder = request.getfixturevalue("shared")
    return lambda name: corpus_class(folder, name)
