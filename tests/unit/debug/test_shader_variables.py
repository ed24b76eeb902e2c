"""Variables of shader sources by name: what a debugger shows is a state that the source goes through, in order.

The oracle is a walk through the statements that a program is written from.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from isakit.arch.usse.arithmetic import DEFAULT
from isakit.compile.shading.compiled import build_shader
from isakit.debug import source_views
from isakit.debug.session import Session
from isakit.debug.source_variables import OPTIMISED_OUT
from isakit.debug.terminal import Commands
from isakit.errors import IsakitError
from isakit.line_table import VariableRange, pack, unpack
from isakit.runtime.usse import BoundShader, run

State = dict[str, float]
SCALARS, HALVES, VECTORS = ("a", "b"), ("h",), ("v", "w")
NUMBERS = (*SCALARS, *HALVES, *(f"{v}.{c}" for v in VECTORS for c in "xyz"))
HEAD = """float4 main(float3 first : TEXCOORD0, float count : TEXCOORD1, uniform float scale) : COLOR
{
    float a = first.x; float b = first.y * scale; half h = 3;
    float3 v = first; float3 w = float3(1, 2, 3);
"""


class Written:
    """A random program: its text, and what its statements do to a state."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.loops = 0
        lines, self.run = self.block(3, 0)
        self.text = (
            HEAD
            + "".join(f"    {line}\n" for line in lines)
            + "    return float4(a + v.x, b + w.y + first.x + count, h + scale, v.z);\n}\n"
        )

    def operand(self) -> str:
        return self.random.choice([*NUMBERS, "scale", "1", "2", "-3"])

    def block(self, size: int, depth: int) -> tuple[list[str], Callable[[State, list[State]], None]]:
        made = [self.statement(depth) for _ in range(self.random.randint(1, size))]

        def run(s: State, seen: list[State]) -> None:
            for _, do in made:
                do(s, seen)

        return [line for lines, _ in made for line in lines], run

    def statement(self, depth: int) -> tuple[list[str], Callable[[State, list[State]], None]]:
        kind = self.random.choice(["set", "set", "vector", "swap", "if", "loop"] if depth < 2 else ["set", "vector"])
        if kind == "if":
            x, y = self.operand(), self.operand()
            yes, do = self.block(3, depth + 1)
            no, other = self.block(2, depth + 1)

            def choose(s: State, seen: list[State]) -> None:
                (do if value(s, x) < value(s, y) else other)(s, seen)

            return [f"if ({x} < {y}) {{", *yes, "} else {", *no, "}"], choose
        if kind == "loop":
            name = f"k{self.loops}"
            self.loops += 1
            bound = self.random.choice(["count", "3"])
            inside, do = self.block(3, depth + 1)

            def turns(s: State, seen: list[State]) -> None:
                k = 0
                while k < (3 if bound == "3" else s["count"]):
                    s[name] = k
                    seen.append(dict(s))
                    do(s, seen)
                    k += 1
                s[name] = k
                seen.append(dict(s))
                del s[name]
                seen.append(dict(s))

            return [f"for (int {name} = 0; {name} < {bound}; {name}++) {{", *inside, "}"], turns
        if kind == "swap":
            one, two = VECTORS

            def swap(s: State, seen: list[State]) -> None:
                old = [s[f"{one}.{c}"] for c in "xyz"]
                for c in "xyz":
                    s[f"{one}.{c}"] = s[f"{two}.{'zxy'['xyz'.index(c)]}"]
                seen.append(dict(s))
                for k, c in enumerate("xyz"):
                    s[f"{two}.{c}"] = -old[k]
                seen.append(dict(s))

            return [f"{{ float3 t = -{one}; {one} = {two}.zxy; {two} = t; }}"], swap
        if kind == "vector":
            to, x, y = self.random.choice(VECTORS), self.random.choice(VECTORS), self.operand()

            def add(s: State, seen: list[State]) -> None:
                n = value(s, y)
                new = [min(s[f"{x}.{c}"] + n, 60) for c in "xyz"]
                s.update({f"{to}.{c}": new[k] for k, c in enumerate("xyz")})
                seen.append(dict(s))

            return [f"{to} = min({x} + {y}, 60);"], add
        to, x, y = self.random.choice(NUMBERS), self.operand(), self.operand()
        times = self.random.random() < 0.3

        def put(s: State, seen: list[State]) -> None:
            n = value(s, x) * value(s, y) if times else value(s, x) - value(s, y)
            s[to] = max(min(n, 50), -50)
            seen.append(dict(s))

        return [f"{to} = max(min({x} {'*' if times else '-'} {y}, 50), -50);"], put


def value(s: State, operand: str) -> float:
    return s[operand] if operand in s else float(operand)


def session_of(text: str, first: list[list[int]], count: float, debug_build: bool = False) -> Session:
    shader = build_shader(
        text, language="cg", stage="fragment", target="f32x4", named=True, debug_build=debug_build
    ).shader
    bound = BoundShader(shader, {"scale": 2}, {}, {}, DEFAULT, 1_000_000)
    grid, given = bound.grid({}, {"texcoord0": first, "texcoord1": [[count]]}, None, None)
    machine = bound.machine(given, None, 0, grid.lanes)
    machine.start(bound.code)
    return Session(machine)


def shown(session: Session) -> State:
    found = [p for v in source_views.variables(session) for p in v.parts or (v,)]
    return {p.name: float(p.text) for p in found if p.text != OPTIMISED_OUT and not p.name.startswith("t")}


@pytest.mark.parametrize("debug_build", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_what_is_shown_is_a_state_of_the_source(seed: int, debug_build: bool) -> None:
    program = Written(seed)
    first, count = [5, -2, 7], 1 + seed % 3
    s: State = {"scale": 2, "count": count, **{f"first.{c}": n for c, n in zip("xyz", first, strict=True)}}
    wanted = [dict(s)]
    for name, number in {"a": 5, "b": -4, "h": 3, "v.x": 5, "v.y": -2, "v.z": 7, "w.x": 1, "w.y": 2, "w.z": 3}.items():
        s[name] = number
        wanted.append(dict(s))
    program.run(s, wanted)
    session = session_of(program.text, [first], count, debug_build)
    at = seen = 0
    while not session.finished:
        now = shown(session)
        seen += len(now)
        match = next((k for k in range(at, len(wanted)) if now.items() <= wanted[k].items()), None)
        assert match is not None, (program.text, hex(session.address or 0), now, wanted[at:])
        at = match
        session.step()
    assert seen > 5


@pytest.mark.parametrize("seed", range(0, 40, 3))
def test_code_without_names_is_the_code_with_names(seed: int) -> None:
    text = Written(seed).text
    assert build_shader(text, language="cg", stage="fragment", named=True).data == build_shader(
        text, language="cg", stage="fragment").data  # fmt: skip


UNUSED = """float4 main(float3 first : TEXCOORD0, float count : TEXCOORD1, uniform float scale) : COLOR
{
    float idle = first.y + scale;
    float3 wide = first * count;
    float brief = wide.x + 1;
    float sum = brief * brief;
    for (int k = 0; k < count; k++) sum = sum + first.z;
    brief = sum - 1;
    return float4(sum, sum, scale, 1);
}
"""


def test_variables_of_a_debug_build_have_values_when_nothing_reads_them_any_more() -> None:
    wanted = {"idle": "4", "wide": "{5, 10, 15}", "brief": "50", "sum": "51"}
    stops = ["b <text>:9", "c", "info locals"]
    build = Commands(session_of(UNUSED, [[1, 2, 3]], 5, debug_build=True))
    assert wanted.items() <= dict(line.split(" = ", 1) for line in said(build, *stops) if " = " in line).items()
    others = dict(
        line.split(" = ", 1) for line in said(Commands(session_of(UNUSED, [[1, 2, 3]], 5)), *stops) if " = " in line
    )
    assert OPTIMISED_OUT in (others["idle"], others["brief"])


@pytest.mark.parametrize("seed", range(0, 40, 5))
def test_a_debug_build_computes_the_same(seed: int) -> None:
    results: list[list[float]] = []
    for debug_build in (False, True):
        shader = build_shader(
            Written(seed).text, language="cg", stage="fragment", target="f32x4", debug_build=debug_build
        ).shader
        varyings = {"texcoord0": [[5, -2, 7]], "texcoord1": [[2]]}
        results.append(run(shader, varyings=varyings, uniforms={"scale": 2}).color[0].tolist())
    assert results[0] == results[1]


LIGHT = """struct Lamp { float3 at; float range; };
float2 halved(float2 both) { float2 less = both * 0.5; return less; }
float4 main(float3 first : TEXCOORD0, float count : TEXCOORD1, uniform float scale) : COLOR
{
    Lamp lamp;
    lamp.at = first * scale;
    lamp.range = count;
    float rows[2];
    rows[0] = first.y; rows[1] = count + 1;
    half3 mixed = half3(first + 0.5);
    mixed = mixed * mixed;
    float2 low = halved(lamp.at.xy);
    bool lit = low.x < count;
    if (lit) low = low + rows[1] * lamp.range;
    return float4(mixed * lamp.at.z, low.x + low.y + rows[0]);
}
"""


@pytest.fixture
def words() -> Commands:
    return Commands(session_of(LIGHT, [[1, 2, 3]], 5))


def said(commands: Commands, *lines: str) -> list[str]:
    return [text for line in lines for text in commands.run(line).lines]


def test_structures_arrays_and_vectors_are_shown_whole_and_by_part(words: Commands) -> None:
    said(words, "b <text>:14", "c")
    told = dict(line.split(" = ", 1) for line in said(words, "info locals"))
    assert told["lamp"].startswith("{at.x = 2, at.y = 4, at.z = 6, range = 5")
    assert (told["low"], told["mixed"], told["lit"]) == ("{1, 2}", "{2.25, 6.25, 12.25}", "1")
    assert said(words, "p low", "p lamp.at.y + rows[1]", "p scale") == ["{1, 2}", "10.0", "2.0"]
    assert said(words, "set mixed.y = 0.5", "set mixed.z = 8", "p mixed")[-1] == "{2.25, 0.5, 8}"
    with pytest.raises(IsakitError, match="lamp"):
        said(words, "p lamp.colour")


def test_functions_put_in_place_name_their_variables(words: Commands) -> None:
    said(words, "b <text>:11", "c", "n")
    names = {v.name for v in source_views.variables(words.session, own=False)}
    assert names == {"halved::both", "halved::less"}


def test_a_condition_names_a_part(words: Commands) -> None:
    said(words, "b <text>:14 if low.y == 2")
    assert words.session.cont().reason == "breakpoint"


def test_names_of_parts_survive_a_file() -> None:
    lines = build_shader(LIGHT, language="cg", stage="fragment", named=True).shader.kernels["primary"].lines
    assert lines is not None
    again = unpack(pack({"primary": lines}))["primary"]
    assert again.variables == lines.variables
    assert {"rows[1]", "lamp.at.x", "halved::less.y"} <= {v.name for v in again.variables}


@pytest.mark.parametrize("name", ["v.", "v[", "v[x]", "v.1", "v..x", "v[1", "v[1e9]", "v.x y", "v[\x1b]"])
def test_damaged_names_of_parts_are_left_out(name: str) -> None:
    lines = build_shader(LIGHT, language="cg", stage="fragment").shader.kernels["primary"].lines
    assert lines is not None
    lines.variables = (VariableRange(name, "f32", 0, 8, "pa0"), VariableRange("good.x", "f32", 0, 8, "pa0"))
    assert [v.name for v in unpack(pack({"primary": lines}))["primary"].variables] == ["good.x"]
