"""The entry point: turns every way of ending into an exit code and, if need be, one sentence.

0 done; 1 a member of a group failed, or what --fail-on names was found; 2 a mistake that the user
can mend; 3 training failed; 4 the guard ended a run that could not recover; 70 a fault of
dressage itself; 129 the terminal closed; 130 Ctrl-C; 143 SIGTERM.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from dressage.errors import DressageError, did_you_mean

FAULT, INTERRUPTED = 70, 130
# Modules make objects that all stay, and looking through them for rubbish every 700 is a tenth of
# what a short command takes.
RUBBISH_EVERY = 50_000


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    gc.set_threshold(RUBBISH_EVERY)
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    words = [word for word in words if word != "--debug"]
    try:
        code = _run(words)
    except DressageError as error:
        if debug:
            raise
        code = _end(words, str(error), error.exit_code)
    except KeyboardInterrupt:
        code = _end(words, "Interrupted.", INTERRUPTED)
    except BrokenPipeError:
        # `dressage runs | head`: nobody reads on, and the interpreter must not say so at its exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except Exception as error:
        if debug:
            raise
        code = _end(words, *_explained(error))
    sys.exit(code)


def _run(words: list[str]) -> int:
    from dressage.ui.cli.app import app

    returned = app(args=words, prog_name="dressage", standalone_mode=False)
    return returned if isinstance(returned, int) else 0


def _explained(error: Exception) -> tuple[str, int]:
    """Usage errors of typer in our own words; anything else is a fault of ours."""
    import typer

    if isinstance(error, typer.Abort):
        return "Nothing was done.", INTERRUPTED
    if hasattr(error, "format_message"):  # click's own or typer's copy of it, by version
        return _usage(error), int(getattr(error, "exit_code", 2))
    name = type(error).__name__
    return f"Unexpected {name}: {error} (the same command with --debug shows where).", FAULT


def _usage(error: Any) -> str:
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "dressage"
    if type(error).__name__ == "NoSuchOption":
        option = str(error.option_name).lstrip("-")
        known = [str(one).lstrip("-") for one in error.possibilities or ()]
        hint = did_you_mean(option, known).replace("'", "'--", 1)
        if not hint and command.endswith(("train", "config")):
            hint = f" Settings are written without dashes: {option.replace('-', '_')}=VALUE."
        sentence = f"There is no option --{option}.{hint}"
    else:
        sentence = str(error.format_message()).strip().replace("\n", " ")
    stop = "" if sentence.endswith((".", "?", "!")) else "."
    return f"{sentence}{stop} See `{command} --help`."


def _end(words: list[str], sentence: str, code: int) -> int:
    from dressage.ui.cli.output import complain, emit

    complain(sentence)
    if "--json" in words:
        emit({"error": sentence, "exit_code": code})
    return code
