"""From what a person asked for to the whole config of a run, with where each value came from."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from dressage.algos import ALGORITHMS, load_algorithm
from dressage.core.algorithm import Algorithm
from dressage.core.config import ALIASES, RunConfig, Settings
from dressage.errors import ConfigError, did_you_mean
from dressage.presets import find_preset

DEFAULT_ALGORITHM = "ppo"
# The fixed rule behind n_envs=auto: rollouts want many environments, a memory one step at a time.
DEFAULT_N_ENVS = {"rollout": 8, "sequence": 8, "replay": 1, "dataset": 1}
LARGEST_CONFIG_FILE = 1_000_000  # bytes


@dataclass(frozen=True)
class Resolved:
    """Everything a run is made from. `sources`: default, preset, file or override, by name."""

    run: RunConfig
    cfg: Settings
    algo: Algorithm
    sources: dict[str, str]

    @property
    def n_envs(self) -> int:
        auto = DEFAULT_N_ENVS[self.algo.NEEDS.feed]
        return auto if isinstance(self.run.n_envs, str) else self.run.n_envs

    def values(self) -> dict[str, Any]:
        """The flat config as JSON holds it, with the number that n_envs=auto stands for."""
        values = self.run.model_dump(mode="json") | self.cfg.model_dump(mode="json")
        return values | {"n_envs": self.n_envs}


def split_env_algo(text: str) -> tuple[str, str | None]:
    """`ENV[:ALGO]`: the part after the last colon is an algorithm if it names a known one, or if
    what comes before it cannot be a module, as `CartPole-v1` cannot (then it is misspelt)."""
    env, colon, algo = text.rpartition(":")
    module = all(part.isidentifier() for part in env.split("."))
    return (env, algo) if colon and (algo in ALGORITHMS or not module) else (text, None)


def from_text(text: str) -> Any:
    """A value as typed after `key=`: numbers, true, false, none, [lists], {maps}; else the text."""
    word = text.strip()
    if word.lower() in ("none", "null", ""):
        return None
    if word.lower() in ("true", "false"):
        return word.lower() == "true"
    if word[0] in "[{":
        try:
            return yaml.safe_load(word)
        except yaml.YAMLError:
            raise ConfigError(f"'{text}' is not a list or mapping: check its brackets.") from None
    try:
        number = float(word.replace("_", ""))
    except ValueError:
        return text
    # 1e5 is a whole number to a person, whatever Python says
    return (
        int(number) if number.is_integer() and "." not in word and abs(number) < 2**63 else number
    )


def parse_overrides(words: list[str]) -> dict[str, Any]:
    """`["lr=3e-4", …]` as a mapping."""
    found: dict[str, Any] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise ConfigError(f"'{word}' is not a setting: write key=value, such as lr=3e-4.")
        found[key.strip()] = from_text(value)
    return found


def read_config_file(path: Path) -> dict[str, Any]:
    """Settings from a YAML or JSON file: flat, a preset, or the config.json of a run."""
    try:
        if path.stat().st_size > LARGEST_CONFIG_FILE:
            raise ConfigError(
                f"{path} is over {LARGEST_CONFIG_FILE:,} bytes: it is no config file."
            )
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"The config file {path} cannot be read: {error}.") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"The config file {path} is not YAML: {error}") from None
    if isinstance(data, dict) and isinstance(data.get("values"), dict):
        data = data["values"]
    elif isinstance(data, dict) and isinstance(data.get("settings"), dict):
        named = {key: data[key] for key in ("env", "algo") if key in data}
        data = named | data["settings"]
    if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
        raise ConfigError(f"The config file {path} holds no settings: expected `key: value` lines.")
    return data


def resolve(
    env: str | None = None,
    algo: str | None = None,
    overrides: Mapping[str, Any] | None = None,
    file: Mapping[str, Any] | None = None,
    *,
    trust: bool = True,
    use_preset: bool = True,
) -> Resolved:
    """Defaults, then the preset, then a file, then overrides; the later wins."""
    asked = unaliased(overrides or {})
    filed = unaliased(file or {})
    named = env or asked.get("env") or filed.get("env")
    if not isinstance(named, str) or not named:
        raise ConfigError("No environment was named: `dressage train CartPole-v1`.")
    env_id, suffix = split_env_algo(named)
    algo_name = asked.get("algo") or algo or suffix or filed.get("algo") or DEFAULT_ALGORITHM
    module = load_algorithm(algo_name, trust=trust)
    preset = find_preset(env_id, algo_name) if use_preset else None
    layers: list[tuple[str, Mapping[str, Any]]] = [
        ("preset", preset.settings if preset else {}),
        ("file", filed),
        ("override", asked | {"env": env_id, "algo": algo_name}),
    ]
    known = {*RunConfig.model_fields, *module.Config.model_fields}
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for source, layer in layers:
        for key, value in layer.items():
            if key not in known:
                hint = _in_our_words(key, known) or did_you_mean(
                    key, sorted(known | ALIASES.keys())
                )
                raise ConfigError(
                    f"{algo_name} has no setting '{key}'.{hint} "
                    f"`dressage config {env_id}:{algo_name}` lists them all."
                )
            values[key], sources[key] = value, source
    run = _validated(RunConfig, values)
    cfg = _validated(module.Config, values)
    sources |= {key: "default" for key in known if key not in sources}
    resolved = Resolved(run, cfg, module, sources)
    module.check(cfg, resolved.n_envs)
    return resolved


def _in_our_words(key: str, known: Collection[str]) -> str:
    """What a setting of SB3's is called here, where the algorithm has it; else nothing."""
    from dressage.runs.readers import sb3

    if key in sb3.EPSILON and "epsilon" in known:
        three = f"{', '.join(sb3.EPSILON[:-1])} and {sb3.EPSILON[-1]}"
        return f" SB3's {three} are one setting here: epsilon='linear(1, 0.05, until=0.1)'."
    ours = [row.ours for row in sb3.SETTINGS if row.theirs.rpartition("/")[2] == key]
    ours += [row.ours for row in sb3.SETTINGS if row.theirs.partition("/")[0] == key]
    found = [name for name in dict.fromkeys(ours) if name in known]
    return f" SB3's {key} is here: {', '.join(found)}." if found else ""


def unaliased(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings under their full names: `lr` is learning_rate."""
    found: dict[str, Any] = {}
    for key, value in settings.items():
        name = ALIASES.get(key, key)
        if name in found:
            raise ConfigError(f"'{name}' is given twice (also as '{key}'): keep one.")
        found[name] = value
    return found


def _validated(model: type[Settings], values: Mapping[str, Any]) -> Any:
    try:
        return model(**{key: values[key] for key in model.model_fields if key in values})
    except ValidationError as error:
        raise ConfigError(_sentences(model, values, error.errors())) from None


def _sentences(model: type[Settings], values: Mapping[str, Any], errors: Sequence[Any]) -> str:
    """One sentence a setting: what was found, what was expected, what the setting means."""
    expected: dict[str, list[str]] = {}
    for item in errors:  # a union has one entry for each of its kinds
        key = str(item["loc"][0]) if item["loc"] else "the settings"
        text = item["msg"].removeprefix("Value error, ").removeprefix("Input ")
        expected.setdefault(key, []).append(text)
    sentences = []
    for key, texts in expected.items():
        field = model.model_fields.get(key)
        meaning = f" ({field.description})" if field is not None and field.description else ""
        sentences.append(f"{key}={values.get(key)!r}: {', or '.join(texts)}{meaning}.")
    return " ".join(sentences)
