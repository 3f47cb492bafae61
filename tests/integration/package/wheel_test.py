"""The wheel in fresh virtual environments: its commands and its module compute the bits of the build, with its own libraries; other
interpreters and older systems are refused by pip.

Usage: wheel_test.py SOURCES BUILD WHEELS FOLDER
"""
import base64
import csv
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

PYTHON = pathlib.Path("/usr/bin/python3")  # the one with numpy; the wheel is built for it
# What a wheel takes from the system: glibc, and the run-time libraries of the compiler.
OF_THE_SYSTEM = re.compile(r"(ld-linux-.*|lib(c|m|mvec|pthread|dl|rt|resolv|util|anl|nsl|stdc\+\+|gcc_s))\.so[.\d]*$")


def run(*command, ok=True, **options):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("PYTHON", "LD_", "HEELSTRIKE", "VIRTUAL_ENV"))}
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, env=environment, **options)
    said = done.stdout + done.stderr
    assert (done.returncode == 0) == ok, f"{' '.join(map(str, command))}: exit code {done.returncode}\n{said}"
    return said


def check_archive(wheel):
    """Metadata, list of contents, licences."""
    with zipfile.ZipFile(wheel) as archive:
        info = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA")).rpartition("/")[0]
        metadata = archive.read(f"{info}/METADATA").decode()
        assert re.findall(r"^Requires-Dist: (.*)$", metadata, re.M) == ["numpy"], metadata
        assert f"Tag: {'-'.join(wheel.stem.split('-')[2:])}\n" in archive.read(f"{info}/WHEEL").decode()
        rows = list(csv.reader(archive.read(f"{info}/RECORD").decode().splitlines()))
        assert sorted(row[0] for row in rows) == sorted(archive.namelist())
        for name, digest, size in rows:
            content = archive.read(name)
            expected = "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            assert name.endswith("/RECORD") or (digest, int(size)) == (expected, len(content)), name
        folders = (f"{info}/licenses/", "heelstrike/lib/licences/")
        licences = {name.rpartition("/")[2] for name in archive.namelist() if name.startswith(folders)}
        for name in ("LICENSE", "copyright", "GPL-3", "libgmsh", "libdeal"):
            assert any(licence.startswith(name) for licence in licences), (name, licences)
        bundled = [name for name in archive.namelist() if name.startswith("heelstrike/lib/")]
        assert bundled and not [name for name in bundled if OF_THE_SYSTEM.search(name)]


def fresh(python, folder):
    """An environment of an interpreter, with pip and without packages. Returns its interpreter."""
    shutil.rmtree(folder, ignore_errors=True)
    run(python, "-m", "venv", folder)
    return folder / "bin/python"


def give_numpy(python):
    """Debian's numpy in a virtual environment, for want of an index of packages."""
    place = pathlib.Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('platlib'))").strip())
    debian = pathlib.Path("/usr/lib/python3/dist-packages")
    for item in (debian / "numpy", *debian.glob("numpy-*-info")):
        (place / item.name).symlink_to(item)


CALLS = """
import os, sys, heelstrike as hs
from heelstrike import _program
examples = sys.argv[1]
run = hs.run(f"{examples}/pressed_ball.yaml", set={"analysis.end_time": 0.2}, output="pressed")
with hs.Contact.open(hs.Pair.from_yaml(f"{examples}/bouncing_ball.yaml")) as contact:
    print("force", float(contact.evaluate(hs.pose(p=(0, 0, -0.0999))).F[5]))
sweep = hs.sweep(f"{examples}/bouncing_ball.yaml", {"contact.restitution": [0.4, 0.6]}, set={"analysis.end_time": 0.5})
print("runs", len(sweep))
print("program", _program.program())
for line in open("/proc/self/maps"):
    if ".so" in line: print("mapped", line.split()[-1])
"""


def check_environment(python, wheel, sources, build, folder):
    """The wheel works in an environment, with its own libraries."""
    said = run(python, "-m", "pip", "install", "--no-index", wheel, ok=False)
    assert "numpy" in said, said
    give_numpy(python)
    run(python, "-m", "pip", "install", "--no-index", wheel)
    run(python, "-m", "pip", "check")
    place = pathlib.Path(run(python, "-c", "import heelstrike; print(heelstrike.__path__[0])").strip())
    assert place.is_relative_to(folder), place
    work = folder / "work"
    work.mkdir()
    programs = python.parent
    assert "heelstrike" in run(programs / "heelstrike", "--version")
    for program in ("fem_server", "mbs_server", "heelstrike-mesher"):
        assert program in run(programs / program, "--help")
    said = run(python, "-I", "-c", CALLS, sources / "examples", cwd=work)
    assert abs(float(re.search(r"^force (.*)", said, re.M)[1]) - 140.0) < 1e-6 and "runs 2" in said, said
    assert re.search(r"^program (.*)", said, re.M)[1] == str(place / "bin/heelstrike")
    # Libraries of the interpreter, which has them loaded before the wheel.
    allowed = re.compile(rf"{re.escape(str(folder))}/|.*/(python3\S*/\S*|libpython3\S*|lib(crypto|ssl|z|lzma|bz2|ffi|expat)\.so\S*)$")
    base = run(python, "-c", "import sys, numpy, os\nfor line in open('/proc/self/maps'):\n if '.so' in line: print(line.split()[-1])")
    foreign = {file for file in re.findall(r"^mapped (.*)", said, re.M)
               if not allowed.match(file) and file not in base and not OF_THE_SYSTEM.search(file)}
    assert not foreign, foreign
    assert any("heelstrike/lib/libdeal" in line for line in said.splitlines()), "finite elements were not used"
    # With private servers, which the program finds beside itself.
    run(programs / "heelstrike", "run", sources / "examples/pressed_ball.yaml", "--set", "analysis.end_time=0.2", "--quiet", "-o",
        "by_servers", cwd=work)
    run(build / "bin/heelstrike", "run", sources / "examples/pressed_ball.yaml", "--set", "analysis.end_time=0.2", "--quiet", "-o",
        "as_built", cwd=work)
    results = {name: (work / name / "timeseries.csv").read_bytes() for name in ("pressed", "by_servers", "as_built")}
    assert len(set(results.values())) == 1, "the wheel has other results than the build"
    run(python, "-m", "pip", "uninstall", "--yes", "heelstrike")
    left = [item for item in place.parent.iterdir() if item.name.startswith("heelstrike")]
    assert not left and not (programs / "heelstrike").exists(), left


def interpreters():
    """Those at hand, by version: of the system, of pyenv."""
    found = {}
    for python in [PYTHON, *sorted(pathlib.Path.home().glob(".pyenv/versions/3.*/bin/python3"))]:
        said = subprocess.run([python, "-c", "import sys, venv; print('%d.%d' % sys.version_info[:2])"], capture_output=True, text=True)
        if said.returncode == 0:
            found.setdefault(said.stdout.strip(), []).append(python)
    return found


def main(sources, build, wheels, folder):
    sources, build, folder = (pathlib.Path(given).resolve() for given in (sources, build, folder))
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    wheel, = pathlib.Path(wheels).resolve().glob("heelstrike-*.whl")
    check_archive(wheel)
    version = ".".join(re.search(r"-cp(\d)(\d+)-cp", wheel.name).groups())
    n_refused = 0
    for other, pythons in interpreters().items():
        for n, python in enumerate(pythons):
            environment = folder / f"{other}-{n}"
            inside = fresh(python, environment)
            if other == version:
                check_environment(inside, wheel, sources, build, environment)
                print(f"wheel: works with {python}")
            else:
                said = run(inside, "-m", "pip", "install", "--no-index", "--no-deps", wheel, ok=False)
                assert "is not a supported wheel on this platform" in said, said
                n_refused += 1
            shutil.rmtree(environment)
    inside = fresh(PYTHON, folder / "older")
    for platform, ok in (("manylinux_2_17_x86_64", False), (wheel.stem.rpartition("-")[2], True)):
        said = run(inside, "-m", "pip", "download", "--no-index", "--no-deps", "--only-binary", ":all:", "--platform", platform, "--dest",
                   folder / "older/got", wheel, ok=ok)
        assert ok or "is not a supported wheel on this platform" in said, said
    shutil.rmtree(folder / "older")
    print(f"wheel: refused by {n_refused} other versions of Python, and by a system with an older glibc")


if __name__ == "__main__":
    main(*sys.argv[1:])
