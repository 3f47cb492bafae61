#!/usr/bin/env python3
"""Makes the wheel of an existing build: the Python package, the programs, and the shared libraries of both.

Usage: packaging/make_wheel.py BUILD OUTPUT          called by scripts/package --wheel

Layout of the wheel, below site-packages:

    heelstrike/          the package, with its module _core
    heelstrike/bin/      programs, started by commands of the same names
    heelstrike/lib/      all libraries, found relative to the files that load them; licences/ are those of the libraries
    heelstrike/share/    examples, schema

One folder for the libraries of the project and of others, because an exported FMU contains both.

Not in the wheel: glibc, and the run-time libraries of the compiler, because every other extension module of the process uses
those of the system. The wheel is for the Python of the build, and for systems whose glibc has the newest symbol that one of
its files needs.
"""
import base64
import hashlib
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

SOURCES = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = ("heelstrike", "fem_server", "mbs_server", "heelstrike-mesher")
EXCLUDED = ("--exclude", "libstdc++.so.6", "--exclude", "libgcc_s.so.1")


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"make_wheel: {' '.join(map(str, command))[:300]}: exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def move(files, folder):
    folder.mkdir(parents=True, exist_ok=True)
    return [pathlib.Path(shutil.move(file, folder / file.name)) for file in files]


def collect(build, stage):
    """Installs the parts of the build and moves them to their places in the wheel. Returns its folder."""
    prefix, wheel = stage / "prefix", stage / "wheel"
    for component in ("programs", "library", "python"):
        run("cmake", "--install", build, "--prefix", prefix, "--component", component, "--strip")
    wheel.mkdir()
    for folder in next(prefix.rglob("heelstrike/__init__.py")).parent.parent.iterdir():
        shutil.move(folder, wheel / folder.name)
    package = wheel / "heelstrike"
    programs = move([prefix / "bin" / name for name in PROGRAMS if (prefix / "bin" / name).exists()], package / "bin")
    # Of the links to the shared library only the name that the module loads.
    library = next(prefix.rglob("libheelstrike.so.*.*.*"))
    library.replace(library.with_suffix(""))
    libraries = move([library.with_suffix("")], package / "lib")
    modules = move([file for file in prefix.rglob("heelstrike/*") if file.parent.parent.name != "share" and file.is_file()],
                   package / "lib")
    shutil.move(prefix / "share/heelstrike", package / "share" / "heelstrike")
    module = next(package.glob("_core.*.so"))
    run("patchelf", "--force-rpath", "--set-rpath", "$ORIGIN/lib", module)
    modules = [file for file in modules if file.suffix == ".so"]
    for file in modules:
        listed = run(SOURCES / "scripts/bundle-libraries", *EXCLUDED, "--list", package / "lib", file)
        file.with_name(f"{file.name}.libraries").write_text(listed)
    run(SOURCES / "scripts/bundle-libraries", *EXCLUDED, "--licences", package / "lib/licences", package / "lib", *programs, *libraries,
        *modules, module)
    info = next(wheel.glob("*.dist-info"))
    (info / "licenses").mkdir()
    shutil.copy(SOURCES / "LICENSE", info / "licenses/LICENSE")
    shutil.copy(SOURCES / "packaging/copyright", info / "licenses/copyright")
    return wheel


def glibc(wheel):
    """The oldest glibc on which all files of the wheel load: (2, 36)."""
    files = [file for file in wheel.rglob("*") if file.is_file() and file.open("rb").read(4) == b"\x7fELF"]
    needed = re.findall(r"Name: GLIBC_(\d+)\.(\d+)", run("readelf", "-VW", *files))
    return max((int(major), int(minor)) for major, minor in needed)


def write_metadata(wheel):
    """Metadata for installers. Returns the tag."""
    info = next(wheel.glob("*.dist-info"))
    python = "".join(re.search(r"cpython-(\d)(\d+)-(\w+)-", next((wheel / "heelstrike").glob("_core.*.so")).name).groups()[:2])
    machine = re.search(r"cpython-\d+-(\w+)-linux", next((wheel / "heelstrike").glob("_core.*.so")).name)[1]
    tag = f"cp{python}-cp{python}-manylinux_{'_'.join(map(str, glibc(wheel)))}_{machine}"
    for name in ("INSTALLER", "top_level.txt"):
        (info / name).unlink(missing_ok=True)
    (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nGenerator: heelstrike\nRoot-Is-Purelib: false\nTag: {tag}\n")
    (info / "entry_points.txt").write_text("[console_scripts]\n" + "".join(
        f"{file.name} = heelstrike._program:main\n" for file in sorted((wheel / "heelstrike/bin").iterdir())))
    # The sources are Apache-2.0; together with the libraries the files are under the GPL (docs/developer/licences.md).
    metadata = (info / "METADATA").read_text()
    (info / "METADATA").write_text(metadata.replace("License: Apache-2.0\n", "License: GPL-3.0-or-later as a whole, sources Apache-2.0\n"))
    return tag


def pack(wheel, file):
    """Writes the archive with its list of contents; the same files give the same bytes."""
    info = next(wheel.glob("*.dist-info")).name
    record = []
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        def put(name, content, mode):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, (0o100000 | mode) << 16
            archive.writestr(entry, content)

        for path in sorted(wheel.rglob("*")):
            if not path.is_file() or "__pycache__" in path.parts:
                continue
            name, content = path.relative_to(wheel).as_posix(), path.read_bytes()
            put(name, content, 0o755 if path.parent.name == "bin" else 0o644)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(content)}\n")
        put(f"{info}/RECORD", "".join(record) + f"{info}/RECORD,,\n", 0o644)


def main(build, output):
    output = pathlib.Path(output)
    output.mkdir(parents=True, exist_ok=True)
    if shutil.which("patchelf") is None:
        sys.exit("make_wheel: patchelf is missing (scripts/setup --group packages)")
    # In the output folder, which has room for half a gigabyte.
    with tempfile.TemporaryDirectory(dir=output, prefix=".wheel.") as stage:
        wheel = collect(pathlib.Path(build), pathlib.Path(stage))
        tag = write_metadata(wheel)
        version = next(wheel.glob("*.dist-info")).name.removesuffix(".dist-info")
        file = output / f"{version}-{tag}.whl"
        pack(wheel, pathlib.Path(stage) / file.name)
        # Only a complete wheel replaces an earlier one.
        for earlier in output.glob("heelstrike-*.whl"):
            earlier.unlink()
        (pathlib.Path(stage) / file.name).rename(file)
        unpacked = sum(path.stat().st_size for path in wheel.rglob("*") if path.is_file())
        print(f"package: {file}, {file.stat().st_size / 1e6:.0f} MB, installed {unpacked / 1e6:.0f} MB")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except OSError as problem:
        sys.exit(f"make_wheel: {problem.filename or sys.argv[2]}: {problem.strerror}; it needs 1.5 GB there: free some space, or choose "
                 "another folder with --output")
