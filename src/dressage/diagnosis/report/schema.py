"""The JSON of a diagnosis as a JSON Schema, made from the classes that it is written from.

What a key means is the comment beside its field: it is written once.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import types
from collections.abc import Mapping
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from dressage.diagnosis.analyses import Analyses
from dressage.diagnosis.diagnose import Diagnosis
from dressage.diagnosis.report import FORMAT, RunAnalyses

Schema = dict[str, Any]
PLAIN: dict[Any, str | list[str]] = {
    str: "string",
    int: "integer",
    float: ["number", "null"],  # JSON has no NaN and no infinity
    bool: "boolean",
    type(None): "null",
}
_FIELD = re.compile(r"^    (\w+):[^#\n]*#\s*(.+)$", re.MULTILINE)


def schema() -> Schema:
    """Of one report; several settings at once are `{"runs": [these]}`."""
    whole = of_class(Diagnosis)
    one = of_class(Analyses)
    run = of_class(RunAnalyses)["properties"]["run"]
    one["properties"] = {"run": run, **one["properties"]}
    one["required"] = ["run", *one["required"]]
    version = {"const": FORMAT, "description": "of this JSON; a key may join, none changes"}
    every = {"type": "array", "items": one, "description": "what is shown of every run, one each"}
    whole["properties"] = {"format": version, **whole["properties"], "analyses": every}
    whole["required"] = ["format", *whole["required"], "analyses"]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **whole}


def of_class(kind: type) -> Schema:
    """An object with a key for each field of a dataclass."""
    meanings = dict(_FIELD.findall(inspect.getsource(kind)))
    hints = get_type_hints(kind)
    properties = {}
    for field in dataclasses.fields(kind):
        made = of_type(hints[field.name])
        if field.name in meanings:
            made = {**made, "description": meanings[field.name]}
        properties[field.name] = made
    return {"type": "object", "properties": properties, "required": list(properties)}


def of_type(hint: Any) -> Schema:
    if hint in PLAIN:
        return {"type": PLAIN[hint]}
    if dataclasses.is_dataclass(hint):
        assert isinstance(hint, type)
        return of_class(hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [of_type(one) for one in arguments]}
    if origin is list:
        return {"type": "array", "items": of_type(arguments[0])}
    if origin is tuple:
        return {"type": "array", "items": {"anyOf": [of_type(one) for one in arguments]}}
    if origin in (dict, Mapping) or (isinstance(origin, type) and issubclass(origin, Mapping)):
        return {"type": "object", "additionalProperties": of_type(arguments[1])}
    return {}  # anything, such as the value of a setting
