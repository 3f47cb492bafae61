"""Additional files of the packages: the units are valid, hardened, and disabled; maintainer scripts are valid shell and start
nothing on a fresh installation; settings that a unit reads are those of its file; every installed program has a man page.

Usage: package_files_test.py SOURCES        exit code 77 when some checks are unavailable
"""
import configparser
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SERVERS = {"fem": ("fem_server", {"LISTEN"}), "mbs": ("mbs_server", {"LISTEN", "FEM"})}
# Capabilities that a listening and computing program never needs; systemd.exec(5).
HARDENING = {"User": "heelstrike", "NoNewPrivileges": "yes", "CapabilityBoundingSet": "", "ProtectSystem": "strict",
             "ProtectHome": "yes", "PrivateTmp": "yes", "PrivateDevices": "yes", "MemoryDenyWriteExecute": "yes",
             "RestrictNamespaces": "yes", "IPAddressDeny": "any", "LimitCORE": "0", "UMask": "0007"}


class Fmu(configparser.RawConfigParser):
    optionxform = staticmethod(str)


def read_unit(file):
    unit = Fmu(strict=False, comment_prefixes=("#",), delimiters=("=",))
    unit.read(file)
    return unit


def check_unit(packaging, server, program, settings):
    unit = read_unit(packaging / f"heelstrike-{server}.service")
    service = unit["Service"]
    for key, value in HARDENING.items():
        assert service.get(key) == value, f"heelstrike-{server}.service: {key}={service.get(key)}, expected {value}"
    command = service["ExecStart"].split()
    assert command[0] == f"/usr/bin/{program}", command
    default = (packaging / f"heelstrike-{server}.default").read_text()
    given = dict(line.split("=", 1) for line in default.splitlines() if re.match(r"[A-Z]+=", line))
    assert set(given) == settings | {"OPTIONS"}, given
    used = set(re.findall(r"\$\{?([A-Z_]+)", service["ExecStart"])) - {"CACHE_DIRECTORY", "STATE_DIRECTORY"}
    assert used == set(given), f"heelstrike-{server}: the unit reads {used}, its settings are {set(given)}"
    # Without its settings file, e.g. after its removal, the unit uses the default settings of that file.
    built_in = dict(pair.split("=", 1) for pair in service["Environment"].split())
    assert built_in == {name: given[name] for name in settings}, built_in


def check_systemd(packaging):
    if not shutil.which("systemd-analyze"):
        return False
    with tempfile.TemporaryDirectory() as folder:
        for file in packaging.glob("*.service"):
            # Verified where the programs are not installed: everything except their paths.
            text = re.sub(r"/usr/bin/\w+_server", "/bin/true", file.read_text())
            text = re.sub(r"^Documentation=.*\n", "", text, flags=re.MULTILINE)
            (pathlib.Path(folder) / file.name).write_text(text)
        files = sorted(map(str, pathlib.Path(folder).glob("*.service")))
        verified = subprocess.run(["systemd-analyze", "verify", *files], capture_output=True, text=True)
        own = [line for line in (verified.stdout + verified.stderr).splitlines() if "heelstrike" in line]
        assert not own, "\n".join(own)
        for file in files:
            shown = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager", file], capture_output=True, text=True)
            exposure = re.search(r"exposure level for \S+: ([\d.]+)", shown.stdout + shown.stderr)
            if exposure:
                # systemd calls 2.0 and less "OK" at least; a service without any hardening has 9.6.
                assert float(exposure[1]) <= 2.0, shown.stdout
    return True


def check_maintainer_scripts(packaging):
    scripts = [f for folder in packaging.iterdir() if folder.is_dir() for f in folder.iterdir() if f.name not in ("conffiles", "triggers")]
    assert len(scripts) == 5, scripts
    for file in scripts:
        text = file.read_text()
        assert file.stat().st_mode & 0o111, f"{file} is not executable"
        assert text.startswith("#!/bin/sh\nset -e\n"), f"{file} does not stop at its first error"
        subprocess.run(["sh", "-n", file], check=True)
        # Only a restart of a service that ran before an upgrade is ever started, and only on an upgrade ($2 is the old version).
        assert not re.search(r"\b(enable|start|restart|preset)\b(?!-)", re.sub(r"#.*", "", text).replace("try-restart", "")), file
        if "try-restart" in text:
            assert re.search(r'if \[ -n "\$2" \]; then\n.*\n\s*deb-systemd-invoke try-restart', text), file
    conffiles = (packaging / "heelstrike/conffiles").read_text().split()
    assert sorted(conffiles) == sorted(f"/etc/default/{f.stem}" for f in packaging.glob("*.default")), conffiles


def check_pages(sources):
    """Every installed program has its page; cmake/shell_pages.py writes one for each."""
    text = (sources / "cmake/install.cmake").read_text()
    installed = {name for names in re.findall(r"install\(TARGETS ([\w -]+?) RUNTIME", text) for name in names.split()}
    documented = set(re.findall(r"TARGET_FILE:([\w-]+)>", text))
    assert installed and installed == documented, f"installed {sorted(installed)}, with man pages {sorted(documented)}"


def check_components(sources):
    """Every rule has the package of its files, and every package takes its component."""
    rules = re.findall(r"^install\((?:[^()]|\([^()]*\))*\)", (sources / "cmake/install.cmake").read_text(), re.MULTILINE)
    packages = (sources / "cmake/packages.cmake").read_text()
    for rule in rules:
        component = re.search(r"\bCOMPONENT\s+(\w+)", rule)
        assert component, f"no component: {rule}"
        assert f"CPACK_DEBIAN_{component[1].upper()}_PACKAGE_NAME" in packages, f"no package for the component {component[1]}"


def main(sources):
    packaging = sources / "packaging"
    check_maintainer_scripts(packaging)
    check_pages(sources)
    check_components(sources)
    for server, (program, settings) in SERVERS.items():
        check_unit(packaging, server, program, settings)
    if not check_systemd(packaging):
        print("package files: systemd-analyze is not installed; units are read, not verified")
        return 77
    print("package files: units, settings, maintainer scripts, man pages and components agree")
    return 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
