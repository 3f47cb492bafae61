"""Files that belong to the project: tracked by git or new and not ignored.

As a program: prints those with one of the given endings, relative to the repository root.
"""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def project_files(root=ROOT, endings=()):
    """Paths relative to `root`, sorted; all endings when none is given."""
    # A container may run with another owner of the checkout, which git rejects without this.
    command = ["git", "-c", f"safe.directory={root}", "-C", str(root), "ls-files", "-z",
               "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    paths = sorted({pathlib.Path(name) for name in listed.split("\0") if name})
    return [p for p in paths if (root / p).is_file() and (not endings or p.name.endswith(tuple(endings)))]


if __name__ == "__main__":
    for path in project_files(endings=sys.argv[1:]):
        print(path)
