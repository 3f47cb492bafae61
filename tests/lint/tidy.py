"""Runs clang-tidy on the sources of a build folder and stores which were clean.

A source is skipped when its text, every project header it reaches, its compile command, .clang-tidy and the tool are
those of an earlier clean run; the stamps live in BUILD/tidy-cache-*.
"""
import argparse
import bisect
import collections
import concurrent.futures
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import time

import includes
import tracked_files

TOOL = "clang-tidy-16"
BUNDLE = 8  # sources per run of the tool; most of its time is spent in headers


class HeaderGraph:
    """Project headers that a file includes, directly or not."""

    def __init__(self):
        self.known = {str(p) for p in tracked_files.project_files()}
        self.direct = {}

    def reached(self, file):
        found, open_ends = set(), [file]
        while open_ends:
            current = open_ends.pop()
            if current not in self.direct:
                text = (tracked_files.ROOT / current).read_text()
                self.direct[current] = {i.target for i in includes.includes_of(current, text) if i.target in self.known}
            fresh = self.direct[current] - found
            found |= fresh
            open_ends += fresh
        return sorted(found)


def digest(file, command, graph, tool_version):
    """Names all inputs of the verdict on `file`, except packages of the system."""
    sha = hashlib.sha256()
    for text in (tool_version, command, *(part for name in [file, *graph.reached(file), ".clang-tidy"]
                                          for part in (name, (tracked_files.ROOT / name).read_text()))):
        sha.update(text.encode() + b"\0")
    return sha.hexdigest()


def sees_network(file, graph):
    """Whether it reads headers of gRPC or Protobuf, which take the tool ten times as long as the rest of a source."""
    prefixes = ("heelstrike/v1/", *includes.LIBRARIES["gRPC and protobuf"][0])
    return any(i.target.startswith(prefixes) for name in [file, *graph.reached(file)]
               for i in includes.includes_of(name, (tracked_files.ROOT / name).read_text()))


def parts_of(path, command):
    """A source and its command; of a text that CMake made of several sources, each of them."""
    if path.parent.name != "Unity":
        return [(path, command)]
    parts = re.findall(r'^#include "(.*)"$', path.read_text(), re.MULTILINE)
    return [(pathlib.Path(part), re.sub(r" -o \S+ -c \S+$", f" -o part.o -c {part}", command)) for part in parts]


def sources_of(build):
    """(path relative to the root, compile command) of every source of the programs; no generated ones, no tests."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        for path, command in parts_of(pathlib.Path(entry["file"]), entry["command"]):
            if path.is_relative_to(tracked_files.ROOT) and not path.is_relative_to(build):
                file = str(path.relative_to(tracked_files.ROOT))
                if file.split("/")[0] != "tests":
                    yield file, command


class Bundle:
    """Sources with the same flags, pasted one after the other into one file: their headers are read only once."""

    def __init__(self, folder, name, files, flags):
        self.files, self.folder, self.path = files, folder, folder / f"{name}.cpp"
        self.starts, text = [], ""
        for file in files:
            self.starts.append(text.count("\n"))
            text += (tracked_files.ROOT / file).read_text().rstrip("\n") + "\n"
        self.path.write_text(text)
        self.command = f"{flags} -c {self.path}"

    def original(self, line):
        """The source and its line number behind a line of the pasted text, both counted from 1."""
        index = bisect.bisect_left(self.starts, line) - 1
        return self.files[index], line - self.starts[index]

    def translated(self, output):
        def place(match):
            file, line = self.original(int(match[1]))
            return f"{file}:{line}:"
        return re.sub(re.escape(str(self.path)) + r":(\d+):", place, output)

    def check(self):
        """@returns (0 for clean, findings, seconds)"""
        start = time.monotonic()
        done = subprocess.run([TOOL, "-p", str(self.folder), "--quiet", f"--config-file={tracked_files.ROOT}/.clang-tidy",
                               str(self.path)], capture_output=True, text=True, check=False)
        output = done.stdout + (done.stderr if done.returncode and not done.stdout else "")
        return done.returncode, self.translated(output).strip(), time.monotonic() - start


def bundles_of(folder, sources, largest):
    """Bundles of at most `largest` sources with the same flags."""
    groups = collections.defaultdict(list)
    for file, command in sources:
        groups[file.split("/")[0], re.sub(r" -o \S+ -c \S+$", "", command)].append(file)
    bundles = [Bundle(folder, f"{top}_{number}_{start}", files[start:start + largest], flags)
               for number, ((top, flags), files) in enumerate(sorted(groups.items())) for start in range(0, len(files), largest)]
    database = [{"directory": str(folder), "file": str(b.path), "command": b.command} for b in bundles]
    (folder / "compile_commands.json").write_text(json.dumps(database))
    return bundles


def checked(folder, sources, largest, jobs):
    """Yields (bundle, status, findings, seconds) as bundles become ready."""
    folder.mkdir(exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        pending = {pool.submit(bundle.check): bundle for bundle in bundles_of(folder, sources, largest)}
        for future in concurrent.futures.as_completed(pending):
            yield pending[future], *future.result()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path, help="build folder with compile_commands.json")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--network", action="store_true", help="the sources that see gRPC instead of all others")
    parser.add_argument("--timing", action="store_true", help="print the seconds of every bundle")
    arguments = parser.parse_args()
    build = arguments.build.resolve()

    kind = "network" if arguments.network else "core"
    stamps = build / f"tidy-cache-{kind}"
    stamps.mkdir(exist_ok=True)
    if not shutil.which(TOOL):
        print(f"tidy: {TOOL} is missing; scripts/setup installs it where the release has it (Debian 12)")
        return 77
    version = subprocess.run([TOOL, "--version"], check=True, capture_output=True, text=True).stdout
    graph = HeaderGraph()
    commands = {f: c for f, c in sources_of(build) if sees_network(f, graph) == arguments.network}
    stamp_of = {file: stamps / digest(file, command, graph, version) for file, command in commands.items()}
    stale = [(file, command) for file, command in commands.items() if not stamp_of[file].exists()]

    # Sources that conflict in one text (equal names in their unnamed namespaces) are repeated alone.
    alone, failures = [], 0
    for largest in (BUNDLE, 1):
        for bundle, status, findings, seconds in checked(build / f"tidy-{kind}", stale if largest > 1 else alone, largest,
                                                         arguments.jobs):
            if arguments.timing:
                print(f"{seconds:6.1f} s  {' '.join(bundle.files)}", flush=True)
            if status == 0:
                for file in bundle.files:
                    stamp_of[file].update_last_used()
            elif "clang-diagnostic-error" in findings and len(bundle.files) > 1:
                alone += [(file, commands[file]) for file in bundle.files]
            else:
                failures += 1
                print(f"== {' '.join(bundle.files)}\n{findings}", flush=True)
    for stamp in set(stamps.iterdir()) - set(stamp_of.values()):
        stamp.unlink()
    print(f"tidy: {len(commands)} sources, {len(stale)} checked, {len(commands) - len(stale)} unchanged since they were "
          f"clean, {len(alone)} of them a second time alone, {failures} times findings")
    return 1 if failures or not commands else 0


if __name__ == "__main__":
    sys.exit(main())
