"""Man pages, completions for bash and zsh, and a page of all commands, generated from the --help texts of the programs.

Usage: shell_pages.py FOLDER PROGRAM...      the first program has subcommands
"""
import json
import pathlib
import re
import subprocess
import sys

OPTION = re.compile(r"^  (-[-\w,]+)")  # further lines of a description are indented more
SUBCOMMAND = re.compile(r"^  ([a-z][a-z0-9-]*)(?:  +(\S.*))?$")
CONTINUATION = re.compile(r"^ {3,}(\S.*)$")
# Options and subcommands whose value is one of the names that the program lists.
BACKEND_OPTIONS = ("--backend", "--backends", "--reference")
LIST_OPTION = "--backends"  # several, separated by commas
KIND = re.compile(r"^ {3,}([a-z]+): ")  # of `new`, in its help
FILES_FOLLOW = "new"  # names a kind, then files
# Removes folders of the build machine from the texts.
OWN_PATH = re.compile(r"(?<=Usage: )\S*/(?=[^/\s]+ )")


def help_of(program, *words):
    shown = subprocess.run([program, *words, "--help"], check=True, capture_output=True, text=True).stdout
    return OWN_PATH.sub("", shown)


def section(text, title):
    """The lines below "Title:", up to the next line that is not indented."""
    lines = text.splitlines()
    begin = next((i for i, line in enumerate(lines) if line == f"{title}:"), len(lines))
    rest = lines[begin + 1:]
    end = next((i for i, line in enumerate(rest) if line and not line.startswith(" ")), len(rest))
    return rest[:end]


def subcommands_of(text):
    """Names with their summaries, which may be continued on further lines."""
    summaries, name = {}, None
    for line in section(text, "Subcommands"):
        if match := SUBCOMMAND.match(line):
            name = match[1]
            summaries[name] = match[2] or ""
        elif name and (match := CONTINUATION.match(line)):
            summaries[name] = f"{summaries[name]} {match[1]}".strip()
    return summaries


def names_of(program):
    """Names that the program knows, for the values of options and subcommands."""
    def query(*words):
        return json.loads(subprocess.run([program, *words], check=True, capture_output=True, text=True).stdout)
    backends = [backend["name"] for backend in query("backends", "--json")["backends"]]
    kinds = [match[1] for line in section(help_of(program, "new"), "Positionals") if (match := KIND.match(line))]
    examples = [example["name"] for example in query("example", "--json")["examples"]]
    return {"backends": backends, "schema": [*query("schema", "--json")["properties"], *backends], "example": examples, "new": kinds}


def options_of(text):
    """Long and short options, in order."""
    names = []
    for line in text.splitlines():
        if match := OPTION.match(line):
            names += match[1].split(",")
    return names


def roff(text):
    """Unformatted text in a fixed font."""
    lines = (re.sub(r"^([.'])", r"\\&\1", line.replace("\\", "\\e").replace("-", "\\-")) for line in text.splitlines())
    return ".nf\n" + "\n".join(lines) + "\n.fi\n"


def man_page(name, summary, version, parts):
    """@param parts  pairs of title and text"""
    page = f'.TH {name.upper()} 1 "" "Heelstrike {version}" "Heelstrike"\n.SH NAME\n{name} \\- {summary}\n'
    return page + "".join(f".SH {title.upper()}\n{roff(text)}" for title, text in parts)


def bash_completion(name, options, per_command, names):
    cases = "\n".join(f"    {c}) words='{' '.join([*o, *names.get(c, [])])}' ;;" for c, o in per_command.items())
    return f"""# bash completion of {name}
_{name}() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} words
  case ${{COMP_WORDS[1]}} in
{cases}
    *) words='{' '.join([*per_command, *options])}' ;;
  esac
  ((COMP_CWORD == 1)) && words='{' '.join([*per_command, *options])}'
  COMPREPLY=()
  local named=0
  case ${{COMP_WORDS[1]}} in {' | '.join(names)}) named=1 ;; esac
  [[ ${{COMP_WORDS[1]}} == {FILES_FOLLOW} ]] && ((COMP_CWORD > 2)) && named=0
  case $before in {' | '.join(BACKEND_OPTIONS)}) named=1 words='{' '.join(names["backends"])}' ;; esac
  if [[ $before == {LIST_OPTION} && $word == *,* ]]; then
    mapfile -t COMPREPLY < <(compgen -P "${{word%,*}}," -W "$words" -- "${{word##*,}}")
    return
  fi
  if ((COMP_CWORD == 1 || named)) || [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
    return
  fi
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -f -- "$word")
}}
complete -F _{name} {name}
"""


def zsh_completion(name, summaries, per_command, names):
    quoted = [f"    '{c}:{s.replace(chr(39), '').replace(':', ' ')}'" for c, s in summaries.items()]
    cases = "\n".join(f"    {c}) compadd -- {' '.join([*o, *names.get(c, [])])}{'' if c in names and c != FILES_FOLLOW else '; _files'} ;;"
                      for c, o in per_command.items())
    return (f"#compdef {name}\n_{name}() {{\nlocal -a commands\ncommands=(\n" + "\n".join(quoted) + f"""
)
if ((CURRENT == 2)); then
  _describe command commands
elif [[ ${{words[CURRENT-1]}} == {LIST_OPTION} ]]; then
  _values -s , back-end {' '.join(names["backends"])}
elif [[ ${{words[CURRENT-1]}} == ({'|'.join(BACKEND_OPTIONS)}) ]]; then
  compadd -- {' '.join(names["backends"])}
else
  case $words[2] in
{cases}
  esac
fi
}}
# Loaded by compinit from a folder of $fpath, or by `source`.
if [[ $funcstack[1] == _{name} ]]; then _{name} "$@"; else compdef _{name} {name}; fi
""")


def command_page(name, summaries, helps):
    """All commands in Markdown, for the reference."""
    rows = "".join(f"| [`{command}`](#{name}-{command}) | {summaries[command]} |\n" for command in summaries)
    parts = "".join(f"\n## {name} {command}\n\n```\n{shown.strip()}\n```\n" for command, shown in helps.items())
    return f"# The commands of `{name}`\n\n[Remarks](cli.md)\n\n| command | function |\n|---|---|\n{rows}{parts}"


def main(folder, program, *servers):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    version = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.split()[1]
    name, text = pathlib.Path(program).name, help_of(program)
    summaries = subcommands_of(text)
    helps = {command: help_of(program, command) for command in summaries}
    nested = {f"{command} {inner}": help_of(program, command, inner) for command, shown in helps.items()
              for inner in subcommands_of(shown)}
    names = names_of(program)
    options = {command: options_of(shown) for command, shown in helps.items()}
    for server in servers:
        shown = help_of(server)
        page = man_page(pathlib.Path(server).name, shown.splitlines()[0].split(": ", 1)[-1].rstrip("."), version, [("Description", shown)])
        (folder / f"{pathlib.Path(server).name}.1").write_text(page)
    (folder / f"{name}.bash").write_text(bash_completion(name, options_of(text), options, names))
    (folder / f"_{name}").write_text(zsh_completion(name, summaries, options, names))
    (folder / "commands.md").write_text(command_page(name, summaries, helps))
    parts = [("Description", text), *((f"{name} {command}", shown) for command, shown in sorted({**helps, **nested}.items()))]
    (folder / f"{name}.1").write_text(man_page(name, text.splitlines()[0].split(": ", 1)[1].rstrip("."), version, parts))


if __name__ == "__main__":
    main(*sys.argv[1:])
