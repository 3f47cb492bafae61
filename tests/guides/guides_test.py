"""Runs the commands of a guide, in order, as a new user would; every one of them must succeed.

Usage: guides_test.py SOURCE_FOLDER PROGRAM_FOLDER SCRATCH_FOLDER [--slow] DOCUMENT...

A block of a document without a language contains shell commands, one with `yaml` is a file. Exceptions are marked
by a comment directly above the block, which is invisible to readers:

  <!-- guide: not run, REASON -->     shown, but not run here; the reason is required (docker, another machine, ...)
  <!-- guide: output -->              output of a command
  <!-- guide: needs data -->          skipped if HEELSTRIKE_DATA lacks the data of a `setup` of the document
  <!-- guide: slow -->                run with --slow only
  <!-- guide: file NAME -->           the block is this file; a block of some top-level keys of an existing scenario
                                      replaces those keys
  <!-- guide: setup COMMAND -->       run first, and not shown
  <!-- guide: exit CODE -->           the block's last command ends with this code

Every document is run in a separate folder that equals a fresh clone after scripts/demo: examples, scripts, docs, and
the programs in build/release/bin, which is in PATH. The cache of prepared bodies is shared by the documents.
"""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

ORDER = re.compile(r"<!-- guide: (.+?) -->")
FENCE = re.compile(r"^```(\w*)\s*$")
SHELL = ("", "sh", "bash")


class Block:
    def __init__(self, document, line, language, text, orders):
        self.where = f"{document}:{line}"
        self.language, self.text, self.orders = language, text, orders

    def order(self, name):
        """The rest of the directive that begins with `name`; None without one."""
        found = [o[len(name):].lstrip(" ,") for o in self.orders if o == name or o.startswith((name + " ", name + ","))]
        return found[0] if found else None


def blocks_of(path):
    blocks, orders, inside = [], [], None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        fence = FENCE.match(line.strip()) if inside is None else None
        if inside is not None:
            if line.strip() == "```":
                blocks.append(Block(path.name, inside[0], inside[1], "\n".join(inside[2]) + "\n", orders))
                orders, inside = [], None
            else:
                inside[2].append(line)
        elif fence:
            inside = (number + 1, fence[1], [])
        elif ORDER.search(line):
            orders += ORDER.findall(line)
        elif line.strip():
            orders = []
    if inside is not None:
        raise SystemExit(f"{path}:{inside[0]}: the block has no end")
    return blocks


def sections(text):
    """Top-level keys of a scenario with their lines, in order."""
    parts = re.split(r"(?m)^(?=[\w-]+:)", text)
    return {part.split(":", 1)[0]: part for part in parts if part.strip()}


def write(file, text):
    if file.exists():
        known = sections(file.read_text())
        known.update(sections(text))
        text = "".join(part.rstrip("\n") + "\n\n" for part in known.values())
    file.write_text(text)


class Reader:
    """Runs one document."""

    def __init__(self, source, programs, scratch, slow):
        self.slow, self.problems, self.typed, self.skipped = slow, [], 0, []
        shutil.rmtree(scratch / "clone", ignore_errors=True)
        self.clone = scratch / "clone"
        (self.clone / "build").mkdir(parents=True)
        for name in ("docs", "scripts", "benchmarks", "README.md"):
            (self.clone / name).symlink_to(source / name)
        # A copy: the guides write beside the examples.
        shutil.copytree(source / "examples", self.clone / "examples")
        (self.clone / "build/release").symlink_to(programs.parent)
        # The package is built for Debian's Python.
        tools = scratch / "tools"
        tools.mkdir(exist_ok=True)
        (tools / "python3").unlink(missing_ok=True)
        (tools / "python3").symlink_to("/usr/bin/python3")
        self.environment = dict(os.environ, PATH=f"{programs}:{tools}:{os.environ['PATH']}", PYTHONDONTWRITEBYTECODE="1", XDG_CACHE_HOME=str(scratch / "cache"),
                                OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
        self.data = os.environ.get("HEELSTRIKE_DATA", "")
        self.groups = []

    def shell(self, commands):
        """Stops at the first command that fails. Exported variables remain for the next block."""
        exported = self.clone / ".exported"
        saved = f". {exported}\n" if exported.exists() else ""
        script = f"{saved}set -e\n{commands}\nexport -p > {exported}\n"
        shell = subprocess.Popen(["bash", "-c", script], cwd=self.clone, env=self.environment, text=True, start_new_session=True,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.groups.append(shell.pid)
        said, _ = shell.communicate()
        return subprocess.CompletedProcess(shell.args, shell.returncode, said)

    def end(self):
        """Processes left running by a guide end with it, in any case."""
        for group in self.groups:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGTERM)

    def type(self, block):
        for order in block.orders:
            if not order.startswith("setup "):
                continue
            done = self.shell(order[len("setup "):])
            if done.returncode != 0:
                self.problems.append(f"{block.where}: setup failed: {done.stdout}")
                return
        name = block.order("file")
        if name:
            write(self.clone / name, block.text)
            return
        if block.language not in SHELL or block.order("output") is not None:
            return
        expected = int(block.order("exit") or 0)
        # A comment of the block is one of the shell; a continued line ends with a backslash.
        done = self.shell(block.text)
        self.typed += sum(1 for line in block.text.splitlines() if line.strip() and not line.lstrip().startswith("#"))
        if done.returncode != expected:
            self.problems.append(f"{block.where}: exit code {done.returncode}, expected {expected}, of\n{block.text}"
                                 f"--- said ---\n{done.stdout[-3000:]}")

    def read(self, document):
        for block in blocks_of(document):
            reason = block.order("not run")
            if reason is not None:
                if not reason:
                    self.problems.append(f"{block.where}: `not run` without a reason")
                continue
            if block.order("needs data") is not None and not pathlib.Path(self.data, "gait_subject01").is_dir():
                self.skipped.append(f"{block.where}: skipped, HEELSTRIKE_DATA names no folder with gait_subject01")
                continue
            if block.order("slow") is not None and not self.slow:
                self.skipped.append(f"{block.where}: skipped, slow")
                continue
            self.type(block)


def examples_are_listed(source):
    """Every scenario of examples/ has its line in examples/README.md, and every line its scenario."""
    listed = set(re.findall(r"(?m)^\| `(\w+\.yaml)` \|", (source / "examples/README.md").read_text()))
    there = {path.name for path in (source / "examples").glob("*.yaml")}
    return [f"examples/README.md: does not list {name}" for name in sorted(there - listed)] + \
           [f"examples/README.md: lists {name}, which does not exist" for name in sorted(listed - there)]


def main():
    arguments = [a for a in sys.argv[1:] if a != "--slow"]
    source, programs, scratch = (pathlib.Path(a).resolve() for a in arguments[:3])
    problems = examples_are_listed(source)
    for name in arguments[3:]:
        reader = Reader(source, programs, scratch, "--slow" in sys.argv)
        try:
            reader.read(source / name)
        finally:
            reader.end()
        print(f"{name}: {reader.typed} lines typed")
        for line in reader.skipped:
            print(f"  {line}")
        problems += [f"{name}: {problem}" for problem in reader.problems]
        shutil.rmtree(scratch / "clone", ignore_errors=True)
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
