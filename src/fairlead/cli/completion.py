"""`fairlead completion SHELL`: a script that completes verbs, options and their choices.

Made from the verbs' own parsers.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import NamedTuple

EPILOG = """examples:
  fairlead completion bash > ~/.local/share/bash-completion/completions/fairlead
  fairlead completion zsh >> ~/.zshrc           after `compinit`
  fairlead completion fish > ~/.config/fish/completions/fairlead.fish
  . <(fairlead completion bash)                 for this shell alone
"""


class Command(NamedTuple):
    """One verb, or one action of a verb: `token create`."""

    words: tuple[str, ...]
    actions: tuple[str, ...]
    options: tuple[str, ...]
    choices: tuple[tuple[str, tuple[str, ...]], ...]  # of an option


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), metavar="SHELL", help="bash, zsh or fish")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from fairlead.cli.main import VERBS, build_parser  # the other way round they would import each other

    known = [
        command for verb in VERBS for command in _commands(build_parser(verb.name), (verb.name,), verb.name)
    ]
    summaries = {verb.name: verb.summary for verb in VERBS}
    print(
        _fish(known, summaries) if options.shell == "fish" else _bash(known, options.shell == "zsh"), end=""
    )
    return 0


def _commands(parser: argparse.ArgumentParser, words: tuple[str, ...], name: str) -> Iterator[Command]:
    sub = _actions(parser)[name]
    below = _actions(sub)
    optional = [action for action in sub._actions if action.option_strings]
    names = tuple(option for action in optional for option in action.option_strings)
    choices = tuple(
        (option, tuple(map(str, action.choices)))
        for action in optional
        if action.choices
        for option in action.option_strings
    )
    yield Command(words, tuple(below), names, choices)
    for each in below:
        yield from _commands(sub, (*words, each), each)


def _actions(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    found = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
    return dict(found[0].choices) if found else {}


def _bash(known: list[Command], zsh: bool) -> str:
    verbs = " ".join(command.words[0] for command in known if len(command.words) == 1)
    lines = ["autoload -U +X bashcompinit && bashcompinit"] if zsh else []
    lines += [
        "_fairlead() {",
        '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" words',
        '  if [ "$COMP_CWORD" -eq 1 ]; then',
        f'    COMPREPLY=($(compgen -W "{verbs} --help" -- "$word")); return',
        "  fi",
        '  case "${COMP_WORDS[1]} ${COMP_WORDS[2]} $before" in',
    ]
    for command in sorted(known, key=lambda each: -len(each.words)):
        start = f'"{" ".join(command.words)} "' if len(command.words) == 2 else f'"{command.words[0]} "*" "'
        lines += [f'    {start}{option}) words="{" ".join(words)}" ;;' for option, words in command.choices]
    lines += ['    *) case "${COMP_WORDS[1]} ${COMP_WORDS[2]}" in']
    for command in sorted(known, key=lambda each: -len(each.words)):
        start = f'"{" ".join(command.words)}"' if len(command.words) == 2 else f'"{command.words[0]} "*'
        lines.append(f'      {start}) words="{" ".join((*command.actions, *command.options))}" ;;')
    lines += [
        "    esac ;;",
        "  esac",
        '  COMPREPLY=($(compgen -W "$words" -- "$word"))',
        "}",
        "complete -o default -F _fairlead fairlead",
    ]
    return "\n".join(lines) + "\n"


def _fish(known: list[Command], summaries: dict[str, str]) -> str:
    lines = []
    for command in known:
        verb = command.words[0]
        if len(command.words) == 1:
            told = summaries[verb].replace("\\", "\\\\").replace("'", "\\'")
            lines.append(f"complete -c fairlead -f -n __fish_use_subcommand -a {verb} -d '{told}'")
        seen = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in command.words)
        lines += [f"complete -c fairlead -f -n '{seen}' -a {each}" for each in command.actions]
        choices = dict(command.choices)
        for option in command.options:
            flag = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            given = f" -x -a '{' '.join(choices[option])}'" if option in choices else ""
            lines.append(f"complete -c fairlead -n '{seen}' {flag}{given}")
    return "\n".join(lines) + "\n"
