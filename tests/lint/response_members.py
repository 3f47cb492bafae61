"""Compares the documented columns and FMU variables of a contact with the table of the members of its response."""
import re
import sys

import tracked_files

TABLE = "include/heelstrike/response_members.h"
ROW = re.compile(r'^  [NVD][A-Z]+\([^"]*"[^"]*", "([^"]*)", (\w+),', re.MULTILINE)
# Columns that are not members: motion of the gap, and the wrench.
OTHERS = ["gap_m", "indentation_m", "gap_rate_m_s"] + [f"{what}{axis}_{unit}" for what, unit in (("f", "N"), ("t", "Nm"))
                                                       for axis in "xyz"]


def outputs(table, kind):
    """Names of the numbers of all members that are an output of this kind."""
    names = []
    for name, kinds in ROW.findall(table):
        if kind in kinds.split("_and_"):
            names += [name.replace("*", axis) for axis in "xyz"] if "*" in name else [name]
    return names


def documented(page, after, prefix):
    """Names in back quotes in the rows of the first table after a text, of which the first cell has this prefix."""
    rows = page[page.index(after):].split("\n\n")
    table = next(part for part in rows if part.startswith("|"))
    cells = [line for line in table.splitlines() if line.startswith(prefix)]
    return [name.removeprefix("PAIR.") for line in cells for name in re.findall(r"`([\w.]+)`", line)]


def main():
    read = lambda path: (tracked_files.ROOT / path).read_text()
    table = read(TABLE)
    pages = (("docs/guide/results.md", "## Columns of contact pairs", "| `PAIR.", outputs(table, "column") + OTHERS),
             ("docs/guide/fmi.md", "## A contact alone", "| local", outputs(table, "fmu")))
    found = 0
    for path, after, prefix, known in pages:
        names = [name for name in documented(read(path), after, prefix) if "." not in name]
        unknown = [name for name in names if name not in known]
        for name in unknown or ([] if names else ["(no names)"]):
            print(f"{path}: '{name}' is no output of a contact; {TABLE} has: {', '.join(known)}")
            found += 1
    print(f"response_members: {len(ROW.findall(table))} rows, {found} wrong names in the guide")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
