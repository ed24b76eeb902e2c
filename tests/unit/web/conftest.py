"""A workbench in the test's own process."""

import pytest

from isakit.web.limits import Limits
from isakit.web.verbs import Workbench


@pytest.fixture
def bench(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # the workbench changes the working folder of its process
    made = Workbench(Limits())
    yield made
    monkeypatch.chdir(tmp_path)
    made._close()
