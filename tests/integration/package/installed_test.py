"""The files installed by `cmake --install` into a prefix: a program outside the tree against the package, with CMake and with
pkg-config, in C++ and in C; programs, man pages, completions, and the Python package.

Usage: installed_test.py SOURCES BUILD FOLDER
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

HERE = pathlib.Path(__file__).parent


def run(*command, **options):
    shown = subprocess.run([str(c) for c in command], text=True, capture_output=True, **options)
    if shown.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code {shown.returncode}\n{shown.stdout}{shown.stderr}")
    return shown.stdout.strip()


def main(sources, build, folder):
    sources, folder = pathlib.Path(sources), pathlib.Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    prefix, outside = folder / "prefix", folder / "outside"
    run("cmake", "--install", build, "--prefix", prefix)
    ball = sources / "examples/bouncing_ball.yaml"

    outside.mkdir()
    shutil.copy(HERE / "CMakeLists.txt.outside", outside / "CMakeLists.txt")
    shutil.copy(HERE / "ten_lines.cpp", outside)
    shutil.copy(HERE / "c_caller.c", outside)
    run("cmake", "-S", outside, "-B", outside / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", outside / "build")
    # Hertz' force of the example at 0.1 mm; a free fall of 0.25 s: 1 - 9.81 * 0.25^2 / 2.
    force, height = map(float, run(outside / "build/ten_lines", ball).split())
    assert abs(force - 140.0) < 1e-5 and abs(height - 0.6934375) < 1e-5, (force, height)

    library = next(prefix.rglob("heelstrike.pc")).parent
    flags = run("pkg-config", "--cflags", "--libs", "heelstrike", env={**os.environ, "PKG_CONFIG_PATH": str(library)}).split()
    rpath = f"-Wl,-rpath,{library.parent}"
    run("c++", "-std=c++20", outside / "ten_lines.cpp", "-o", outside / "by_pkg_config", *flags, rpath)
    assert run(outside / "by_pkg_config", ball).split()[0] == "140.000000"
    run("cc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", outside / "c_caller.c", "-o", outside / "c_caller", *flags, "-lm", rpath)
    run(outside / "c_caller", ball)

    for header in sorted((prefix / "include/heelstrike").iterdir()):
        bad = re.findall(r"#include\s*[<\"](?!heelstrike/|pybind)[a-z_]+/.*", header.read_text())
        assert not bad, f"{header} is not self-contained: {bad}"
        alone = outside / "alone.cpp"
        alone.write_text(f"#include <heelstrike/{header.name}>\n")
        run("c++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", f"-I{prefix}/include", alone)
    # No internal names are visible: a program may have its own Eigen, protobuf or `heelstrike::Contact`.
    visible = run("nm", "-DC", "--defined-only", library.parent / "libheelstrike.so")
    inside = [line for line in visible.splitlines() if re.search(r" [TDB] ", line) and not re.search(r" (hs::|hs_|fmi[23][A-Z]|typeinfo|vtable|__bss_start|_e(nd|data))", line)
              and "for hs::" not in line]
    assert not inside, inside[:5]

    assert "heelstrike" in run(prefix / "bin/heelstrike", "--version")
    run(prefix / "bin/heelstrike", "run", ball, "--set", "analysis.end_time=0.5", "--quiet", "-o", folder / "run")  # finds its servers
    run(prefix / "bin/heelstrike", "fmu", ball, "-o", folder / "ball.fmu")
    with zipfile.ZipFile(folder / "ball.fmu") as unit:
        assert "libstdc++6" in unit.read("documentation/externalDependencies.txt").decode().split()
    started = folder / "started"  # examples and templates are those of the prefix
    run(prefix / "bin/heelstrike", "example", "bouncing_ball", "-o", started)
    assert f"$schema={prefix}/share" in (started / "bouncing_ball.yaml").read_text().splitlines()[0]
    for part in ("tibia", "femur"):
        run(prefix / "bin/heelstrike", "mesh", f"knee-{part}", "-o", started / f"{part}.stl")
    run(prefix / "bin/heelstrike", "new", "knee", started / "tibia.stl", started / "femur.stl", "-o", started / "knee.yaml")
    run(prefix / "bin/heelstrike", "validate", started / "knee.yaml")
    # Finite elements are a module that is loaded on demand: 200 shared libraries that other users need not wait for.
    for program in ("heelstrike", "fem_server", "mbs_server"):
        mapped = run("ldd", prefix / "bin" / program)
        assert "deal_II" not in mapped and "trilinos" not in mapped, f"{program} maps deal.II at its start"
    if next(prefix.rglob("libheelstrike_elements.so"), None):
        run(prefix / "bin/heelstrike", "run", sources / "examples/foot_press.yaml", "--quiet", "-o", folder / "press")
    for program in ("heelstrike", "fem_server", "mbs_server"):
        page = (prefix / f"share/man/man1/{program}.1").read_text()
        assert ".SH NAME" in page and "\\-\\-help" in page, program
    assert "condense" in (prefix / "share/man/man1/heelstrike.1").read_text()
    completion = prefix / "share/bash-completion/completions/heelstrike"
    words = run("bash", "-c", f"source {completion}; COMP_WORDS=(heelstrike compare --back); COMP_CWORD=2; _heelstrike; echo ${{COMPREPLY[@]}}")
    assert words == "--backends", words
    values = run("bash", "-c", f"source {completion}; COMP_WORDS=(heelstrike schema coup); COMP_CWORD=2; _heelstrike; echo ${{COMPREPLY[@]}}")
    assert values == "coupling", values
    values = run("bash", "-c", f"source {completion}; COMP_WORDS=(heelstrike compare x.yaml --backends flores,hert); COMP_CWORD=4; _heelstrike; echo ${{COMPREPLY[@]}}")
    assert values == "flores,hertz", values
    values = run("bash", "-c", f"source {completion}; COMP_WORDS=(heelstrike example bouncing); COMP_CWORD=2; _heelstrike; echo ${{COMPREPLY[@]}}")
    assert values == "bouncing_ball", values
    values = run("bash", "-c", f"source {completion}; COMP_WORDS=(heelstrike new mech); COMP_CWORD=2; _heelstrike; echo ${{COMPREPLY[@]}}")
    assert values == "mechanism", values
    assert "_heelstrike" in (prefix / "share/zsh/site-functions/_heelstrike").read_text()
    assert (prefix / "share/heelstrike/scenario.schema.json").exists()

    package = prefix / "lib/python3/dist-packages"
    if package.exists():
        said = run("/usr/bin/python3", "-c",
                   "import sys, heelstrike as hs; assert hs.__file__.startswith(sys.argv[2]); "
                   "print(hs.Contact.open(hs.Pair.from_yaml(sys.argv[1])).evaluate(hs.pose(p=(0, 0, -0.0999))).F[5])",
                   ball, prefix, env={**os.environ, "PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"})
        assert abs(float(said) - 140.0) < 1e-6, said
    print("installed: C++ (CMake, pkg-config), C, programs, pages and Python work from the prefix")


if __name__ == "__main__":
    main(*sys.argv[1:])
