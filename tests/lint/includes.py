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
    "rpc/wire": "common transport",
    "rpc": "common transport",
    "gait": "gait",
    "mbs_server": "mbs",
    "mbs_server/service": "mbs service",
    "mbs_server/analysis": "mbs analysis",
    "mbs_server/simulation": "mbs simulation",
    "mbs_server/coupling": "mbs coupling",
    "mbs_server/integrators": "mbs integrators",
    "mbs_server/elements": "mbs elements",
    "mbs_server/formulation": "mbs formulation",
    "mbs_server/formulation": "mbs model",
    "fmi": "mbs units",
    "fem_server": "fem",
    "fem_server/service": "fem service",
    "fem_server/sessions": "fem sessions",
    "fem_server/backends": "fem back-ends",
    "fem_server/backend_interface": "fem shared",
    "fem_server/bodies": "fem body",
    "fem_server/backends/fem_condensed": "condensed contact",
    "fem_server/contact_solver/detection": "condensed detection",
    "fem_server/contact_solver/solver": "condensed solver",
    "fem_server/contact_solver/kernels": "condensed kernels",
    "fem_server/fem": "finite elements",
    "fem_server/surfaces": "fem surfaces",
    "fem_server/geometry": "fem geometry",
    "client": "client",
    "library/composition": "client embedded",
    "library/bindings": "client library",
    "library/fmu": "client fmi",
    "include/heelstrike": "public headers",
    "python": "python",
    "heelstrike/v1": "generated protocol",
    "tests": "tests",
    "benchmarks": "tests",
}

# What a part may include besides itself.
BASE, TRANSPORT, PROTOCOL = "common base", "common transport", "generated protocol"
SERVICE_SIDE = {BASE, TRANSPORT, PROTOCOL, "gait"}
MBS = {part for part in PARTS.values() if part.startswith("mbs ") and part != "mbs service"}
FINITE = {BASE, "finite elements", "fem surfaces", "fem geometry"}
FEM = {part for part in PARTS.values() if part.startswith(("fem ", "condensed ")) and part != "fem service"} | FINITE
ALLOWED = {
    "common base": set(),
    "common transport": {BASE, PROTOCOL},
    "gait": {BASE},
    "mbs model": {BASE},
    "mbs units": {BASE},
    "mbs formulation": {BASE, "mbs model"},
    "mbs elements": {BASE, "mbs formulation", "mbs model"},
    "mbs integrators": {BASE, "mbs formulation"},
    "mbs coupling": {BASE, "mbs formulation", "mbs model"},
    "mbs simulation": {BASE, "mbs units", "mbs coupling", "mbs integrators", "mbs elements", "mbs formulation", "mbs model"},
    "mbs analysis": {BASE, "mbs simulation", "mbs coupling", "mbs integrators", "mbs elements", "mbs formulation", "mbs model"},
    "mbs service": SERVICE_SIDE | MBS,
    "fem geometry": {BASE},
    "fem surfaces": {BASE, "fem geometry"},
    "finite elements": {BASE, "fem surfaces", "fem geometry"},
    "fem shared": FINITE | {"fem back-ends"},
    "fem body": FINITE | {"fem back-ends", "fem shared"},
    "condensed kernels": FINITE,
    "condensed detection": FINITE | {"fem shared", "fem body", "condensed kernels"},
    "condensed solver": FINITE | {"fem shared", "condensed kernels", "condensed detection"},
    "condensed contact": FINITE | {"fem back-ends", "fem shared", "fem body", "condensed kernels", "condensed detection", "condensed solver"},
    "fem back-ends": FEM - {"fem sessions"},
    "fem sessions": {BASE, "fem back-ends", "fem shared"},
    "fem service": {BASE, TRANSPORT, PROTOCOL} | FEM,
    "client": SERVICE_SIDE | {"client embedded", "client fmi"},
    "client embedded": SERVICE_SIDE | {"client", "mbs service", "fem service"} | MBS | FEM,
    # The other composition root: the installed library. Outside it only the public headers are seen, in angle brackets.
    "client library": SERVICE_SIDE | {"client", "client embedded", "mbs service"} | MBS,
    # Units of FMI are stepped in the importer's process, as what the library opens.
    "client fmi": SERVICE_SIDE | {"client", "client embedded", "mbs service", "fem sessions"} | MBS,
    "public headers": set(),
    "python": set(),
    "tests": set(PARTS.values()),
}

# Heavy libraries by the beginning of their include paths, and the parts that may see them.
NETWORK_PARTS = {"common transport", "mbs service", "fem service", "client", "client embedded", "client library", "tests"}
LIBRARIES = {
    "gRPC and protobuf": (("grpc/", "grpcpp/", "google/protobuf/", "google/rpc/"), NETWORK_PARTS),
    "deal.II": (("deal.II/",), {"finite elements", "tests"}),
    "SUNDIALS": (("cvode/", "cvodes/", "ida/", "idas/", "arkode/", "kinsol/", "nvector/", "sundials/", "sunmatrix/",
                  "sunlinsol/", "sunnonlinsol/"), {"mbs integrators", "tests"}),
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
