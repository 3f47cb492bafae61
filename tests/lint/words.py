"""No file of the project contains a note about later work, a path of one machine, or an unfinished merge, and no
source a call that ends the process inside the installed library."""
import re
import sys

import tracked_files

# Composed of parts so that this file passes its own test.
RULES = [
    (re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X"]) + r")\b"), "open an issue instead of a note"),
    (re.compile(r"(?<![\w.$}~/-])/(?:" + "wo" + "rk|ho" + "me|ro" + r"ot|Us" + r"ers)/"), "a path of one machine"),
    (re.compile(r"^(?:<{7}|>{7}) ", re.MULTILINE), "an unfinished merge"),
    (re.compile(r"[ \t]+$", re.MULTILINE), "blanks at the end of the line"),
]
# The library registers no descriptors (rpc/wire/unregistered_descriptors.cpp), which these calls need.
DESCRIPTORS = re.compile(r"\b(?:\w*DebugString|MessageToJson\w*|Json(?:String)?ToMessage|TextFormat|MessageDifferencer|GetTypeName|"
                         r"GetDescriptor|GetReflection|GetMetadata|PackFrom|UnpackTo)\b|::descriptor\(")
DESCRIPTORS_ALLOWED = ("tests/", "benchmarks/")
TEXT_ENDINGS = (".hpp", ".cpp", ".py", ".cmake", ".txt", ".md", ".yaml", ".yml", ".json", ".proto", ".bib", ".sh", ".supp")
TEXT_FOLDERS = ("scripts/", ".ci/")
TEXT_NAMES = ("Dockerfile", ".dockerignore", ".gitignore", ".clang-format", ".clang-tidy")
LARGEST = 1_000_000  # bytes; meshes and pictures that users need are smaller


def complaints(path, text):
    rules = list(RULES)
    if path.endswith((".hpp", ".cpp")) and not path.startswith(DESCRIPTORS_ALLOWED):
        rules.append((DESCRIPTORS, "messages are without descriptors in the library, where this aborts; name the fields"))
    for pattern, reason in rules:
        for match in pattern.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            yield f"{path}:{line}: {match[0].strip() or 'blank'}: {reason}"


def is_text(path):
    return path.endswith(TEXT_ENDINGS) or path.startswith(TEXT_FOLDERS) or path in TEXT_NAMES


def main():
    problems, count = [], 0
    for path in tracked_files.project_files():
        file = tracked_files.ROOT / path
        if file.stat().st_size > LARGEST:
            problems.append(f"{path}: {file.stat().st_size} bytes; generate large files instead of committing them")
        elif is_text(str(path)) and not str(path).startswith("tests/fuzz/corpus"):
            count += 1
            problems += complaints(str(path), file.read_text())
    print("\n".join(problems))
    print(f"words: {count} files read, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
