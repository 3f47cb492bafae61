"""Lines of Markdown are at most 100 characters long, except in tables, code blocks, comments, and where a link is longer."""
import re
import sys

import tracked_files

LONGEST = 100
GENERATED = ("docs/reference/scenario.md", "docs/reference/cli.md")
FENCE = re.compile(r"\s*(```|~~~)")
EXEMPT = re.compile(r"\s*(\||<!--)|    ")
UNBREAKABLE = re.compile(r"\s*(?:[-*>] |\d+\. )?\S+$")


def complaints(path, text):
    in_code = False
    for number, line in enumerate(text.split("\n"), 1):
        if FENCE.match(line):
            in_code = not in_code
        elif len(line) > LONGEST and not in_code and not EXEMPT.match(line) and not UNBREAKABLE.match(line):
            yield f"{path}:{number}: {len(line)} characters; break the line at {LONGEST}"


def main():
    files = [str(p) for p in tracked_files.project_files(endings=(".md",)) if str(p) not in GENERATED]
    found = [c for f in files for c in complaints(f, (tracked_files.ROOT / f).read_text())]
    print("\n".join(found))
    print(f"markdown: {len(files)} files read, {len(found)} lines to break")
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main())
