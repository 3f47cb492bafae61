"""Compares every #include of the project with the table of allowed edges between folders.

The linker enforces the direction between libraries, but a header-only use slips past it because all include paths start
at the repository root.
"""
import dataclasses
import re
import sys

import tracked_files

# Allowed includes of a folder besides itself: other folders, in the order of the architecture (docs/developer/concepts.md). A
# folder that is not listed belongs to the longest listed one above it; an entry with a trailing slash allows everything below.
NUMBERS = {"common/errors", "common/spatial", "common/text", "common/parameters", "common/motion"}
BASE = NUMBERS | {"common/contact", "common/friction", "common/files", "common/results", "common/process"}
SCENARIO = {"scenario", "scenario/schema", "scenario/surfaces"}
WIRE = {"rpc", "rpc/wire", "heelstrike/v1"}
ALLOWED = {
    "common/errors": set(),
    "common/spatial": {"common/errors"},
    "common/text": {"common/errors"},
    "common/process": {"common/errors"},
    "common/http": {"common/errors"},
    "common/command_line": {"common/text"},
    "common/files": {"common/errors"},
    "common/parameters": {"common/errors", "common/text"},
    "common/motion": {"common/errors", "common/text", "common/parameters"},
    "common/contact": NUMBERS | {"include/heelstrike"},
    "common/friction": NUMBERS | {"common/contact"},
    "common/results": NUMBERS | {"common/contact", "common/files"},
    "scenario/schema": NUMBERS,
    "scenario/surfaces": NUMBERS | {"common/contact", "scenario/schema"},
    "scenario": BASE | {"scenario/schema", "scenario/surfaces"},
    "rpc/wire": BASE | SCENARIO | {"heelstrike/v1"},
    "rpc": BASE | SCENARIO | {"rpc/wire", "heelstrike/v1", "common/http"},
    "rpc/server": BASE | WIRE,
    "gait": BASE | SCENARIO,
    "fmi": BASE,
    "importers": BASE | SCENARIO,
    "importers/opensim": BASE | SCENARIO | {"importers"},
    "importers/robots": BASE | SCENARIO | {"importers"},
    "report": BASE | SCENARIO | {"gait"},
    "report/hdf5": BASE | SCENARIO | {"report"},
    "report/live": BASE | SCENARIO | {"report", "common/http"},
    "report/plantar": BASE | SCENARIO | {"report", "gait"},
    "fem_server/geometry": BASE | SCENARIO,
    "fem_server/surfaces": BASE | SCENARIO | {"fem_server/geometry"},
    "fem_server/fem": BASE | SCENARIO | {"fem_server/geometry", "fem_server/surfaces"},
    "fem_server/backend_interface": BASE | SCENARIO | {"fem_server/geometry", "fem_server/surfaces"},
    "fem_server/contact_solver/kernels": BASE | {"fem_server/fem"},
    "fem_server/contact_solver": BASE | SCENARIO | {"fem_server/geometry", "fem_server/surfaces", "fem_server/fem",
                                                    "fem_server/backend_interface"},
    "fem_server/contact_solver/detection": BASE | SCENARIO | {"fem_server/geometry", "fem_server/fem",
                                                              "fem_server/contact_solver",
                                                              "fem_server/contact_solver/kernels"},
    "fem_server/contact_solver/solver": BASE | SCENARIO | {"fem_server/fem", "fem_server/contact_solver",
                                                           "fem_server/contact_solver/kernels",
                                                           "fem_server/contact_solver/detection"},
    "fem_server/contact_solver/pairing": BASE | SCENARIO | {"fem_server/fem", "fem_server/backend_interface",
                                                            "fem_server/contact_solver",
                                                            "fem_server/contact_solver/kernels",
                                                            "fem_server/contact_solver/detection",
                                                            "fem_server/contact_solver/solver"},
    "fem_server/bodies": BASE | SCENARIO | {"fem_server/geometry", "fem_server/surfaces", "fem_server/fem",
                                            "fem_server/backend_interface", "fem_server/contact_solver"},
    "fem_server/backends": BASE | SCENARIO | {"fem_server/geometry", "fem_server/surfaces", "fem_server/fem",
                                              "fem_server/backend_interface", "fem_server/contact_solver/",
                                              "fem_server/bodies"},
    "fem_server/sessions": BASE | SCENARIO | {"fem_server/backend_interface"},
    "fem_server/service": {"common/command_line"} | BASE | SCENARIO | WIRE | {"rpc/server", "fem_server/backend_interface", "fem_server/sessions"},
    "mbs_server/formulation": BASE | SCENARIO,
    "mbs_server/elements": BASE | SCENARIO | {"mbs_server/formulation"},
    "mbs_server/coupling": BASE | SCENARIO | {"mbs_server/formulation"},
    "mbs_server/integrators": BASE | SCENARIO | {"mbs_server/formulation"},
    "mbs_server/simulation": BASE | SCENARIO | {"mbs_server/formulation", "mbs_server/elements", "mbs_server/coupling",
                                                "mbs_server/integrators", "fmi"},
    "mbs_server/analysis": BASE | SCENARIO | {"mbs_server/formulation", "mbs_server/elements", "mbs_server/coupling",
                                              "mbs_server/integrators", "mbs_server/simulation"},
    "mbs_server/service": {"common/command_line"} | BASE | SCENARIO | WIRE | {"rpc/server", "gait", "mbs_server/analysis", "mbs_server/simulation"},
    # The composition root: besides the programs of the servers, the only folder that uses both of them.
    "library/registries": SCENARIO | {"fem_server/backend_interface", "mbs_server/analysis"},
    "library/terminal": BASE,
    "library/servers": BASE | WIRE,
    "library/runs": BASE | SCENARIO | WIRE | {"gait", "importers/opensim", "library/registries", "library/servers",
                                              "library/terminal"},
    "library/composition": BASE | SCENARIO | {"report", "library/runs", "library/registries", "fem_server/geometry",
                                              "fem_server/surfaces", "fem_server/backend_interface", "fem_server/sessions",
                                              "mbs_server/service", "mbs_server/analysis", "mbs_server/simulation"},
    # Outside the library only the public headers are visible, in angle brackets.
    "library/bindings": BASE | SCENARIO | WIRE | {"report", "report/hdf5", "library/composition", "library/registries",
                                                  "library/runs", "mbs_server/service", "mbs_server/simulation"},
    "library/fmu": BASE | SCENARIO | {"rpc", "fmi", "library/composition", "library/registries", "library/runs",
                                      "fem_server/sessions", "mbs_server/service", "mbs_server/simulation"},
    "client": {"common/command_line"} | BASE | SCENARIO | WIRE | {"gait", "importers/", "report/", "library/"},
    "include/heelstrike": set(),
    "python": set(),
    "heelstrike/v1": set(),
    "benchmarks": {"everything"},
    "tests": {"everything"},
}

# Heavy libraries by the beginning of their include paths, and the folders that may use them.
NETWORK_FOLDERS = ("rpc", "mbs_server/service", "fem_server/service", "library/runs", "library/servers",
                   "library/composition", "library/bindings", "client", "tests", "benchmarks")
LIBRARIES = {
    "gRPC and protobuf": (("grpc/", "grpcpp/", "google/protobuf/", "google/rpc/"), NETWORK_FOLDERS),
    "deal.II": (("deal.II/",), ("fem_server/fem", "tests", "benchmarks")),
    "SUNDIALS": (("cvode/", "cvodes/", "ida/", "idas/", "arkode/", "kinsol/", "nvector/", "sundials/", "sunmatrix/",
                  "sunlinsol/", "sunnonlinsol/"), ("mbs_server/integrators", "tests", "benchmarks")),
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


def folder_of(path):
    """The listed folder that a path belongs to, or None for a path outside the project."""
    folders = path.split("/")[:-1]
    for length in range(len(folders), 0, -1):
        if "/".join(folders[:length]) in ALLOWED:
            return "/".join(folders[:length])
    return None


def is_allowed(source, target):
    allowed = ALLOWED[source]
    return (source == target or target in allowed or "everything" in allowed or
            any(entry.endswith("/") and (target + "/").startswith(entry) for entry in allowed))


def complaint(include, known_files):
    """Why this include is forbidden; None when it is allowed."""
    source = folder_of(include.file)
    if source is None:
        return "is in a folder that tests/lint/includes.py does not list; add it to ALLOWED"
    target = folder_of(include.target)
    if target is None:
        for library, (prefixes, folders) in LIBRARIES.items():
            if include.target.startswith(prefixes) and not (source + "/").startswith(tuple(f + "/" for f in folders)):
                return f"{library} is not available to '{source}'; allowed in: {', '.join(folders)}"
        return None
    if not include.quoted:
        return "a header of the project is included with quotes"
    if target != "heelstrike/v1" and include.target not in known_files:
        return "no such file; include paths start at the repository root"
    if not is_allowed(source, target):
        return f"'{source}' may not include '{target}'; allowed: {', '.join(sorted(ALLOWED[source])) or 'nothing else'}"
    # Back-ends do not include each other.
    if source == target == "fem_server/backends":
        own, other = include.file.split("/")[2], include.target.split("/")[2]
        if own != other and own != "registry.cpp":
            return f"back-end '{own}' may not include back-end '{other}'"
    return None


def cycles():
    """Pairs of folders that the table allows to include each other, directly or through others."""
    def reached(folder, seen):
        for target in ALLOWED:
            if target != folder and target not in seen and is_allowed(folder, target):
                seen.add(target)
                reached(target, seen)
        return seen
    sources = [folder for folder in ALLOWED if "everything" not in ALLOWED[folder]]
    return [folder for folder in sources if folder in reached(folder, set())]


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
    found += [f"tests/lint/includes.py: the table has a cycle through '{folder}'" for folder in cycles()]
    print("\n".join(found))
    print(f"includes: {len(files)} files read, {len(found)} includes against the table")
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main())
