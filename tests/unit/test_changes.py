"""What `./check --fast` looks at first: the files that changed, what imports from them, and the tests beside them."""

from __future__ import annotations

import sys

import pytest

from conftest import ROOT, files_beside


def test_types_are_checked_where_something_is_imported_from_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import changes

    found = changes.with_importers(["src/isakit/flow/dataflow.py", "README.md"])
    assert "src/isakit/flow/dataflow.py" in found
    assert "src/isakit/analysis/shapes.py" not in found
    assert len(found) > 3
    assert all((ROOT / name).is_file() for name in changes.with_importers(["src/isakit/errors.py"]))
    through_face = changes.with_importers(["src/isakit/spec/record.py"])
    assert {"src/isakit/spec/__init__.py", "src/isakit/codec/decoder.py"} <= set(through_face)
    assert changes.with_importers(["tests/conftest.py"]) == []
    sys.modules.pop("changes")


def test_files_beside_a_change_are_those_of_its_folder() -> None:
    here = ROOT / "tests/unit"
    assert any((here / "texture").glob("test_*.py"))
    assert files_beside(["src/isakit/texture/texture.py"]) == set((here / "texture").glob("test_*.py"))
    assert here / "test_results.py" in files_beside(["src/isakit/results.py"])
    assert files_beside(["tests/cli/test_cc.py", "README.md"]) == {ROOT / "tests/cli/test_cc.py"}
    assert files_beside(["src/isakit/web/page/app.js"]) == set((here / "web").glob("test_*.py"))
