"""Every citation in sources and documentation has an entry in docs/references.bib.

A citation is "[name1999]" or "[name1999b]" in a comment or a document; in a back-end's entry also `.reference = "..."`.
"""
import re
import sys

import tracked_files

BIBLIOGRAPHY = "docs/references.bib"
ENTRY = re.compile(r"^@\w+\{\s*([^,\s]+)\s*,", re.MULTILINE)
KEY = r"[a-z][a-z_]*[12][0-9]{3}[a-z]?"
CITATION = re.compile(rf"(?<![\w\])])\[({KEY})\](?!\()")
# "[anything] in docs/references.bib", also over the end of a comment line.
EXPLICIT = re.compile(r"\[([^\]\s]+)\]\s+(?://+\s*|#\s*|\*\s*)?in\s+(?://+\s*|#\s*|\*\s*)?docs/references\.bib")
FIELD = re.compile(r'\.reference\s*=\s*"([^"]*)"')


def cited(text, is_backend_entry):
    """Pairs of line number and key."""
    patterns = [CITATION, EXPLICIT] + ([FIELD] if is_backend_entry else [])
    found = {(text.count("\n", 0, m.start(1)) + 1, m[1]) for p in patterns for m in p.finditer(text)}
    return sorted(found)


def main():
    bibliography = tracked_files.ROOT / BIBLIOGRAPHY
    keys = ENTRY.findall(bibliography.read_text()) if bibliography.exists() else []
    problems = [f"{BIBLIOGRAPHY}: the key {key} is defined twice" for key in sorted({k for k in keys if keys.count(k) > 1})]
    count = 0
    for path in tracked_files.project_files(endings=(".hpp", ".cpp", ".md", ".proto", ".yaml")):
        text = (tracked_files.ROOT / path).read_text()
        for line, key in cited(text, str(path).startswith("fem_server/backends/")):
            count += 1
            if key not in keys:
                problems.append(f"{path}:{line}: [{key}] is not in {BIBLIOGRAPHY}")
    print("\n".join(problems))
    print(f"references: {count} citations, {len(keys)} entries, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
