from __future__ import annotations

import json
import math

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dressage.errors import ConfigError
from dressage.math.schedules import KINDS, Schedule, at, parse_schedule

WITH_END = [kind for kind in KINDS if kind not in ("constant", "steps")]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("constant(3)", {0: 3, 0.5: 3, 1: 3}),
        ("linear(4, 0)", {0: 4, 0.25: 3, 0.5: 2, 1: 0}),
        ("linear(4, 0, until=0.5)", {0: 4, 0.25: 2, 0.5: 0, 0.9: 0}),
        ("linear(0, 4)", {0.25: 1}),
        ("cosine(4, 0)", {0: 4, 1 / 3: 3, 0.5: 2, 2 / 3: 1, 1: 0}),
        ("exponential(1, 0.01)", {0: 1, 0.5: 0.1, 1: 0.01}),
        (
            "logarithmic(4, 0)",
            {0: 4, 1 / 9: 4 * (1 - math.log10(2)), 4 / 9: 4 * math.log10(2), 1: 0},
        ),
        ("polynomial(4, 0)", {0: 4, 0.5: 1, 1: 0}),
        ("polynomial(4, 0, power=1)", {0.25: 3}),
        ("polynomial(8, 0, 3)", {0.5: 1}),
        ("steps(3, 0.5: 2, 0.8: 1)", {0: 3, 0.499: 3, 0.5: 2, 0.79: 2, 0.8: 1, 1: 1}),
        ("steps(3)", {0: 3, 1: 3}),
        ("linear(4, 0, warmup=0.2)", {0: 0, 0.1: 2, 0.2: 4, 0.6: 2, 1: 0}),
        ("constant(4, warmup=0.5)", {0: 0, 0.25: 2, 0.5: 4, 1: 4}),
        ("steps(3, 0.5:2, warmup=0.1)", {0.05: 1.5, 0.1: 3, 0.5: 2}),
        ("cosine(4, 2, warmup=0.2, until=0.6)", {0.1: 2, 0.4: 3, 0.6: 2, 1: 2}),
    ],
)
def test_values_worked_by_hand(text, values):
    schedule = parse_schedule(text)
    for progress, value in values.items():
        assert schedule(progress) == pytest.approx(value, abs=1e-12), progress
    assert schedule(-1) == schedule(0)
    assert schedule(2) == schedule(1)


def test_the_canonical_text():
    assert str(parse_schedule(" Linear( 3e-4 ,0, warmup = .05 ) ")) == (
        "linear(0.0003, 0, warmup=0.05)"
    )
    assert str(parse_schedule("steps(3e-4, 0.5: 1e-4)")) == "steps(0.0003, 0.5:0.0001)"
    assert str(parse_schedule("polynomial(1, end=0)")) == "polynomial(1, 0, power=2)"


@pytest.mark.parametrize("number", [3, 3.0, "3", " 3.0 ", "3e0"])
def test_a_plain_number_stays_a_number(number):
    value = parse_schedule(number)
    assert type(value) is float
    assert value == at(value, 0.3) == 3.0


def test_at():
    assert at(parse_schedule("linear(4, 0)"), 0.5) == 2.0


def test_mapping_form_as_yaml_reads_it():
    # Without a dot, YAML reads 3e-4 as text.
    loaded = yaml.safe_load(
        "a: {kind: linear, start: 3e-4, end: 0, warmup: 0.05}\n"
        "b: {kind: steps, start: 3e-4, changes: {0.5: 1e-4}}\n"
        "c: steps(0.0003, 0.5:0.0001)\n"
    )
    assert parse_schedule(loaded["a"]) == parse_schedule("linear(3e-4, 0, warmup=0.05)")
    assert parse_schedule(loaded["b"]) == parse_schedule(loaded["c"])


numbers = st.floats(allow_nan=False, allow_infinity=False)
positive = st.floats(min_value=5e-324, max_value=1.7976931348623157e308)


@st.composite
def schedules(draw):
    kind = draw(st.sampled_from(KINDS))
    value = positive if kind == "exponential" else numbers
    fields = {"kind": kind, "start": draw(value)}
    marks = sorted(draw(st.lists(st.floats(0.001, 0.999), min_size=2, max_size=6, unique=True)))
    fields["warmup"] = draw(st.sampled_from([0.0, marks[0]]))
    if kind in WITH_END:
        fields["end"] = draw(value)
        fields["until"] = draw(st.sampled_from([1.0, marks[1]]))
    if kind == "polynomial":
        fields["power"] = draw(st.floats(0.01, 100))
    if kind == "steps":
        fields["changes"] = tuple((mark, draw(numbers)) for mark in marks[1:])
    return Schedule(**fields)


@given(schedules())
@settings(max_examples=300, deadline=None)
def test_text_mapping_and_json_round_trip(schedule):
    assert parse_schedule(str(schedule)) == schedule
    assert parse_schedule(schedule.to_json()) == schedule
    assert parse_schedule(json.loads(json.dumps(schedule.to_json()))) == schedule
    assert parse_schedule(yaml.safe_load(yaml.safe_dump({"lr": str(schedule)}))["lr"]) == schedule
    assert parse_schedule(schedule) is schedule


@given(schedules(), st.floats(0, 1))
@settings(max_examples=300, deadline=None)
def test_values_stay_between_those_named(schedule, progress):
    named = [schedule.start, *(value for _, value in schedule.changes)]
    named += [0.0] if schedule.warmup else []
    named += [] if schedule.end is None else [schedule.end]
    assert min(named) <= schedule(progress) <= max(named)
    assert schedule(1.0) == named[-1] if schedule.end is not None else True


words = "( ) , = : 1 0.5 -1 1e999 nan inf start end warmup until power changes kind () 1_0 (( ٣"
pieces = st.sampled_from([*KINDS, *words.split(), " ", "\x00", "lambda"])


@example("0\x1f")  # str.strip() takes more away than float() does
@given(st.one_of(st.text(), st.lists(pieces, max_size=12).map("".join)))
@settings(max_examples=600, deadline=None)
def test_garbage_raises_nothing_but_config_error(text):
    try:
        value = parse_schedule(text)
    except ConfigError:
        return
    assert math.isfinite(at(value, 0.5))


values = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5))
trees = st.recursive(values, lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner))
mappings = st.dictionaries(
    st.sampled_from(["kind", "start", "end", "warmup", "until", "power", "changes"]) | values,
    trees | st.sampled_from(KINDS) | st.dictionaries(values, values, max_size=2),
)


@given(mappings | trees)
@settings(max_examples=600, deadline=None)
def test_garbage_objects_raise_nothing_but_config_error(source):
    try:
        value = parse_schedule(source)
    except ConfigError:
        return
    assert math.isfinite(at(value, 0.5))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("liner(1, 0)", r"'liner' is no kind.*Did you mean 'linear'\?.*polynomial, steps"),
        ("linear", r"'linear' needs its numbers"),
        ("fast", r"'fast' is neither a number nor a schedule"),
        ("linear(1)", r"linear needs end"),
        ("linear()", r"linear needs start"),
        ("linear(1, 2, 3)", r"a number too many: '3'"),
        ("linear(1, x)", r"end is 'x', expected a finite number"),
        ("linear(1, 1e999)", r"end is '1e999', expected a finite number"),
        ("linear(1, 0, warmpu=0.1)", r"does not take 'warmpu'. Did you mean 'warmup'\?"),
        ("linear(1, 0, start=1)", r"gives start twice"),
        ("linear(1, 0, warmup=1)", r"warmup is 1, expected a fraction"),
        ("linear(1, 0, warmup=0.5, until=0.5)", r"until is 0.5, expected above warmup"),
        ("constant(1, until=0.5)", r"constant does not take 'until'"),
        ("linear(1, 0, 0.5: 1)", r"linear does not take 'changes'"),
        ("exponential(1, 0)", r"both must be above 0"),
        ("polynomial(1, 0, power=0)", r"power is 0, expected above 0"),
        ("steps(1, 0.5:2, 0.4:3)", r"expected rising progress"),
        ("steps(1, 1:2)", r"below 1"),
        ("steps(1, 0.1:2, warmup=0.2)", r"above warmup"),
        ({"start": 1}, r"'' is no kind of schedule"),
        ({"kind": "steps", "start": 1, "changes": [1, 2]}, r"pairs"),
        (True, r"expected a finite number"),
        (None, r"expected a finite number"),
        (math.nan, r"expected a finite number"),
        (10**400, r"expected a finite number"),
        pytest.param(10**5000, r"'a huge int', expected a finite number", id="huge"),
        ({"kind": 10**5000}, r"'a huge int' is no kind"),
        ({"kind": "linear", "x": 10**5000}, r"does not take 'x'"),
        pytest.param("1" * 5000, r"1\.\.\.', expected a finite number", id="long"),
        ("steps(1, changes=3)", r"write the changes as"),
    ],
)
def test_errors_say_what_was_found(source, message):
    with pytest.raises(ConfigError, match=message):
        parse_schedule(source)


def test_a_schedule_made_by_hand_is_checked_too():
    for wrong in (
        {"kind": "liner", "start": 1.0},
        {"kind": "linear", "start": 1.0},
        {"kind": "constant", "start": 1.0, "end": 0.0},
        {"kind": "constant", "start": math.inf},
        {"kind": "linear", "start": 1.0, "end": 0.0, "changes": ((0.5, 1.0),)},
    ):
        with pytest.raises(ConfigError):
            Schedule(**wrong)
