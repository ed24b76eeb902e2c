"""The project's `dataclass` does what that of the standard library does."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
from dataclasses import FrozenInstanceError, field
from typing import Any, ClassVar

import pytest

from isakit import lean
from isakit.lean import cached_property

DECORATORS = {"standard": dataclasses.dataclass, "lean": lean.dataclass}


@pytest.fixture(params=DECORATORS)
def decorator(request: pytest.FixtureRequest) -> Any:
    return DECORATORS[request.param]


def point(decorator: Any, **options: Any) -> Any:
    @decorator(**options)
    class Point:
        """A class with a field of every kind."""

        x: int
        y: int = 2
        names: list[str] = field(default_factory=list)
        note: str = field(default="", compare=False, repr=False)
        made: int = field(init=False, default=7)
        origin: ClassVar[int] = 3

        @cached_property
        def size(self) -> int:
            return self.x + self.y

    return Point


@dataclasses.dataclass(frozen=True)
class StandardBase:
    a: int


@lean.dataclass(frozen=True)
class LeanOfStandard(StandardBase):
    b: int = 1


@dataclasses.dataclass(frozen=True)
class StandardOfLean(LeanOfStandard):
    c: int = 2


def test_arguments_by_position_and_by_name(decorator: Any) -> None:
    p = point(decorator)(1, names=["n"], note="k")
    assert (p.x, p.y, p.names, p.note, p.made) == (1, 2, ["n"], "k", 7)


def test_the_signature(decorator: Any) -> None:
    assert list(inspect.signature(point(decorator)).parameters) == ["x", "y", "names", "note"]


def test_a_missing_argument_is_a_type_error(decorator: Any) -> None:
    with pytest.raises(TypeError, match=r"__init__\(\) missing 1 required positional argument: 'x'"):
        point(decorator)()


def test_every_object_has_a_default_of_its_own(decorator: Any) -> None:
    cls = point(decorator)
    assert cls(1).names is not cls(1).names


def test_the_text(decorator: Any) -> None:
    text = repr(point(decorator)(1))
    assert text.endswith("Point(x=1, y=2, names=[], made=7)")


def test_the_text_of_an_object_that_holds_itself(decorator: Any) -> None:
    p = point(decorator)(1)
    p.names.append(p)
    assert repr(p).endswith("Point(x=1, y=2, names=[...], made=7)")


def test_equal_fields_make_equal_objects(decorator: Any) -> None:
    cls = point(decorator)
    assert cls(1, note="a") == cls(1, note="b")
    assert cls(1) != cls(2)


def test_objects_of_other_classes_differ(decorator: Any) -> None:
    assert point(decorator)(1) != point(decorator)(1)


def test_what_can_change_has_no_hash(decorator: Any) -> None:
    assert point(decorator).__hash__ is None


def test_frozen_objects_hash_their_fields(decorator: Any) -> None:
    @decorator(frozen=True)
    class Pair:
        a: int
        b: Any = field(default=None, hash=False)

    assert hash(Pair(1, [])) == hash(Pair(1, {}))


def test_without_eq_objects_are_equal_to_themselves_only(decorator: Any) -> None:
    cls = point(decorator, eq=False)
    p = cls(1)
    assert p == p
    assert cls(1) != p
    assert isinstance(hash(p), int)


def test_frozen_objects_refuse_to_be_changed(decorator: Any) -> None:
    p = point(decorator, frozen=True)(1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        p.x = 2
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del p.x


def test_frozen_objects_remember_properties(decorator: Any) -> None:
    p = point(decorator, frozen=True)(1)
    assert (p.size, p.__dict__["size"]) == (3, 3)


def test_replace_makes_another_object(decorator: Any) -> None:
    p = dataclasses.replace(point(decorator, frozen=True)(1, note="n"), y=5)
    assert (p.x, p.y, p.note) == (1, 5, "n")


def test_fields_and_asdict(decorator: Any) -> None:
    p = point(decorator)(1)
    assert [f.name for f in dataclasses.fields(p)] == ["x", "y", "names", "note", "made"]
    assert dataclasses.asdict(p) == {"x": 1, "y": 2, "names": [], "note": "", "made": 7}


def test_defaults_are_attributes_of_the_class(decorator: Any) -> None:
    cls = point(decorator)
    assert (cls.y, cls.note, hasattr(cls, "names"), hasattr(cls, "x")) == (2, "", False, False)


def test_objects_match_patterns(decorator: Any) -> None:
    cls = point(decorator)
    match cls(1, 4):
        case cls(x, y):  # type: ignore[misc]
            assert (x, y) == (1, 4)
        case _:
            pytest.fail("no match")


def test_work_after_init(decorator: Any) -> None:
    @decorator(frozen=True)
    class Twice:
        a: int
        b: int = field(init=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "b", 2 * self.a)

    assert Twice(4).b == 8


def test_keywords_come_last(decorator: Any) -> None:
    @decorator
    class Base:
        a: int = field(default=1, kw_only=True)

    @decorator
    class Derived(Base):
        b: int

    made = Derived(5, a=6)
    assert (made.a, made.b) == (6, 5)


def test_methods_that_a_class_has_are_kept(decorator: Any) -> None:
    @decorator
    class Own:
        a: int

        def __repr__(self) -> str:
            return "mine"

        def __eq__(self, other: object) -> bool:
            return True

    assert repr(Own(1)) == "mine"
    assert Own(1) == Own(2)


def test_an_own_hash_is_kept(decorator: Any) -> None:
    @decorator(frozen=True)
    class Own:
        a: Any

        def __hash__(self) -> int:
            return 5

    assert hash(Own([])) == 5


def test_a_field_without_default_behind_one_is_refused(decorator: Any) -> None:
    with pytest.raises(TypeError, match="non-default argument 'b' follows default argument"):

        @decorator
        class Wrong:
            a: int = 1
            b: int


def test_slots_are_made(decorator: Any) -> None:
    assert not hasattr(point_with_slots(decorator)(1), "__dict__")


def point_with_slots(decorator: Any) -> Any:
    @decorator(slots=True)
    class Slotted:
        a: int

    return Slotted


def test_both_kinds_inherit_from_each_other() -> None:
    p = StandardOfLean(1, c=5)
    assert dataclasses.asdict(p) == {"a": 1, "b": 1, "c": 5}
    with pytest.raises(FrozenInstanceError):
        p.b = 2  # type: ignore[misc]


def test_frozen_and_changeable_classes_do_not_inherit() -> None:
    with pytest.raises(TypeError, match="frozen"):

        @lean.dataclass
        class Loose(StandardBase):
            b: int = 1


def test_objects_are_pickled() -> None:
    p = StandardOfLean(1, 2, 3)
    assert pickle.loads(pickle.dumps(p)) == p
