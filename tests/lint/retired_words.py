"""No identifier uses a word that the glossary has replaced (docs/glossary.md): the terms of the field are used throughout.

Names of tests are sentences, so that more words are excluded there.
"""
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
# In names of tests besides those above.
RETIRED_IN_TESTS = {
    "answer": "respond", "answered": "completed", "answers": "responds", "anew": "again", "bears": "carries", "death": "crash",
    "dies": "crashes", "doors": "interfaces", "gone": "removed", "heard": "received", "hears": "receives", "knows": "stores, uses",
    "meant": "intended", "mistake": "error", "mistakes": "errors", "question": "request", "questions": "requests",
    "refusal": "rejection", "refusals": "rejections", "refuse": "reject", "refused": "rejected", "refuses": "rejects",
    "said": "reported", "say": "report", "says": "reports", "shall": "must", "speaks": "reports", "strangers": "unknown clients",
    "undisturbed": "uninterrupted", "who": "the client", "whom": "the client", "whose": "its",
}
TEST_NAME = re.compile(r"^(?:TYPED_)?TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\)|^\s+def (test_\w+)|^class (\w+)\(unittest", re.MULTILINE)
# Names of other libraries and standards.
ALLOWED = {"nearest_rank", "tellg", "tellp"}

STRING = re.compile(r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', re.DOTALL)
PYTHON_STRING = re.compile(r""""(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
PYTHON_COMMENT = re.compile(r'"""(?:.*?)"""|#[^\n]*', re.DOTALL)
IDENTIFIER = re.compile(r"\b[A-Za-z_]\w*\b")
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def retired_words_of(name, words):
    return [] if name in ALLOWED else [word.lower() for word in WORD.findall(name) if word.lower() in words]


def complaints(path, text):
    is_python = path.endswith((".py", ".pyi")) or path.startswith("scripts/")
    code = (PYTHON_COMMENT if is_python else COMMENT).sub(lambda m: "\n" * m[0].count("\n"), text)
    code = (PYTHON_STRING if is_python else STRING).sub(lambda m: '""' + "\n" * m[0].count("\n"), code)
    for number, line in enumerate(code.split("\n"), 1):
        for name in IDENTIFIER.findall(line):
            for word in retired_words_of(name, RETIRED):
                yield f"{path}:{number}: {name}: '{word}' is retired; use: {RETIRED[word]}"
    for test in TEST_NAME.finditer(code):
        for name in filter(None, test.groups()):
            for word in retired_words_of(name, RETIRED_IN_TESTS):
                number = code.count("\n", 0, test.start(test.lastindex)) + 1
                yield f"{path}:{number}: {name}: '{word}' is retired in names of tests; use: {RETIRED_IN_TESTS[word]}"


def is_source(path):
    if path.startswith("scripts/"):
        return (tracked_files.ROOT / path).read_text().startswith("#!/usr/bin/env python3")
    return path.endswith((".hpp", ".cpp", ".h", ".c", ".py", ".pyi", ".proto")) and path != "tests/lint/retired_words.py"


def main():
    files = [str(p) for p in tracked_files.project_files() if is_source(str(p))]
    found = [c for f in files for c in complaints(f, (tracked_files.ROOT / f).read_text())]
    print("\n".join(found))
    print(f"retired words: {len(files)} files read, {len(found)} identifiers to rename")
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main())
