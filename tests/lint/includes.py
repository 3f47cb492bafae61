"""Compares every #include of the project with the table of allowed edges between folders.

The linker enforces the direction between libraries, but a header-only use slips past it because all include paths start
at the repository root.
"""
import dataclasses
import re
import sys

import tracked_files

# Parts of the project, told apart by the longest matching folder.
PARTS = {
    "common": "common base",
    "common/wire": "common transport",
    "common/rpc": "common transport",
    "mbs_server": "mbs",
    "mbs_server/service": "mbs service",
    "fem_server": "fem",
    "fem_server/service": "fem service",
    "client": "client",
    "client/embedded": "client embedded",
    "heelstrike/v1": "generated protocol",
    "tests": "tests",
    "benchmarks": "tests",
}

# What a part may include besides itself.
BASE, TRANSPORT, PROTOCOL = "common base", "common transport", "generated protocol"
SERVICE_SIDE = {BASE, TRANSPORT, PROTOCOL}
ALLOWED = {
    "common base": set(),
    "common transport": SERVICE_SIDE,
    "mbs": {BASE},
    "mbs service": SERVICE_SIDE | {"mbs"},
    "fem": {BASE},
    "fem service": SERVICE_SIDE | {"fem"},
    "client": SERVICE_SIDE | {"client embedded"},
    "client embedded": SERVICE_SIDE | {"client", "mbs", "fem", "mbs service", "fem service"},
    "tests": set(PARTS.values()),
}

# Heavy libraries by the beginning of their include paths, and the parts that may see them.
NETWORK_PARTS = {"common transport", "mbs service", "fem service", "client", "client embedded", "tests"}
LIBRARIES = {
    "gRPC and protobuf": (("grpc/", "grpcpp/", "google/protobuf/", "google/rpc/"), NETWORK_PARTS),
    "deal.II": (("deal.II/",), {"fem", "tests"}),
    "SUNDIALS": (("cvode/", "cvodes/", "ida/", "idas/", "arkode/", "kinsol/", "nvector/", "sundials/", "sunmatrix/",
                  "sunlinsol/", "sunnonlinsol/"), {"mbs", "tests"}),
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Include:
    file: str
    line: int
    quoted: bool
    target: str


def includes_of(file, text):
    return [Include(file, text.count("\n", 0, m.start(2)) + 1, m[1] == '"', m[2]) for m in INCLUDE.finditer(text)]


def part_of(path):
    """The part that a path lies in, or None for a path outside the project."""
    folders = path.split("/")[:-1]
    for length in range(len(folders), 0, -1):
        part = PARTS.get("/".join(folders[:length]))
        if part:
            return part
    return None


def complaint(include, known_files):
    """Why this include is not allowed; None when it is."""
    source = part_of(include.file)
    if source is None:
        return "lies in a folder that tests/lint/includes.py does not know; add it to PARTS and ALLOWED"
    target = part_of(include.target)
    if target is None:
        for library, (prefixes, parts) in LIBRARIES.items():
            if include.target.startswith(prefixes) and source not in parts:
                return f"{library} is out of bounds for '{source}'; allowed in: {', '.join(sorted(parts))}"
        return None
    if not include.quoted:
        return "a header of the project is included with quotes"
    if target != PROTOCOL and include.target not in known_files:
        return "no such file; include paths start at the repository root"
    if target != source and target not in ALLOWED[source]:
        return f"'{source}' may not include '{target}'; allowed: {', '.join(sorted(ALLOWED[source])) or 'nothing else'}"
    return None


def complaints(sources, known_files):
    """@param sources  pairs of path and text."""
    for file, text in sources:
        for include in includes_of(file, text):
            reason = complaint(include, known_files)
            if reason:
                yield f'{file}:{include.line}: #include of {include.target}: {reason}'


def main():
    known = {str(p) for p in tracked_files.project_files()}
    files = [str(p) for p in tracked_files.project_files(endings=(".hpp", ".cpp"))]
    found = list(complaints(((f, (tracked_files.ROOT / f).read_text()) for f in files), known))
    print("\n".join(found))
    print(f"includes: {len(files)} files read, {len(found)} includes against the table")
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main())
