"""No identifier uses a word that the glossary has replaced (docs/glossary.md): the terms of the field are used throughout."""
import re
import sys

import tracked_files

# Whole words of identifiers, split at underscores and capitals, with the term in use.
RETIRED = {
    "ask": "request, evaluate", "asked": "requested", "asks": "requests", "casualty": "failure", "crumbs": "isolated elements",
    "doubt": "warning", "doubts": "warnings",  "foretell": "predict", "foretold": "predicted",
    "imbalance": "residual", "insist": "retry",
    "nobody": "none", "patience": "timeout", "rub": "frictional contact",
    "rubbing": "friction power", "somebody": "a caller",
    "surgery": "local remeshing", "tell": "report", "telling": "report", "tells": "reports",
    "told": "reported", "vain": "failed", "wanderer": "moving", "whoever": "the caller", "wish": "options",
}
# Names of other libraries and standards.
ALLOWED = {"nearest_rank", "tellg", "tellp"}

STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
PYTHON_COMMENT = re.compile(r'"""(?:.*?)"""|#[^\n]*', re.DOTALL)
IDENTIFIER = re.compile(r"\b[A-Za-z_]\w*\b")
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def complaints(path, text):
    code = (PYTHON_COMMENT if path.endswith((".py", ".pyi")) else COMMENT).sub(lambda m: "\n" * m[0].count("\n"), text)
    code = STRING.sub('""', code)
    for number, line in enumerate(code.split("\n"), 1):
        for name in IDENTIFIER.findall(line):
            if name in ALLOWED:
                continue
            for word in WORD.findall(name):
                if word.lower() in RETIRED:
                    yield f"{path}:{number}: {name}: '{word.lower()}' is retired; use: {RETIRED[word.lower()]}"


def main():
    files = [str(p) for p in tracked_files.project_files(endings=(".hpp", ".cpp", ".h", ".py", ".pyi", ".proto"))
             if not str(p).startswith(("tests/", "benchmarks/"))]
    found = [c for f in files for c in complaints(f, (tracked_files.ROOT / f).read_text())]
    print("\n".join(found))
    print(f"retired words: {len(files)} files read, {len(found)} identifiers to rename")
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main())
