#!/usr/bin/env bash
# The bundle on empty systems that have nothing but their C library: the same bits as the build, from a folder with spaces
# that cannot be written, through a symbolic link, as an ordinary user; and what it says where it cannot run.
# shellcheck disable=SC2016  # what runs in a system is expanded there
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

usage() {
  cat <<'TEXT'
Usage: bundle_test.sh BUILD ARCHIVES [ROOTS] [--help]

BUILD is the build of the bundle (build/release), ARCHIVES the folder of its archive (scripts/package --bundle). Needs root,
and mmdebstrap for the systems: Debian 13 and 12, Ubuntu 24.04 where its keyring is installed, Debian 11, which is too old. They
are made in ROOTS (a scratch folder without it), and used again if they are there: ROOTS/bookworm, trixie, noble, bullseye.
A system with no program but busybox and the C library of this machine is tried, too, if busybox-static is installed.
TEXT
}

if (($# < 2)) || [[ $1 == -h || $1 == --help ]]; then
  usage
  exit $(($# < 2 ? 2 : 0))
fi
build=$(realpath "$1") archives=$(realpath "$2")
skip() {
  echo "bundle: not tried: $*" >&2
  exit 77
}
fail() {
  echo "bundle: FAILED: $*" >&2
  exit 1
}
((EUID == 0)) || skip "entering a system needs root"
archive=$(compgen -G "$archives/heelstrike-*-linux-*.tar.xz") || skip "$archives has no bundle; run scripts/package --bundle"

scratch=$(mktemp -d -t heelstrike-bundle.XXXXXX)
chmod 755 "$scratch"
trap 'rm -rf --one-file-system "$scratch"' EXIT
roots=$(realpath -m "${3:-$scratch/roots}")
mkdir -p "$scratch/any where" "$roots"
tar -C "$scratch/any where" --no-same-owner -xf "$archive"
bundle=$(echo "$scratch/any where"/heelstrike-*)
chmod -R a+rX "$scratch"
(($(wc -l <"$bundle/README") <= 12)) || fail "its README is longer than a page"

# Each with a home folder of its own, so that no cache of an earlier run hides the mesher.
run='run "$share/heelstrike/examples/fem_ball.yaml" --set analysis.end_time=0.45 --quiet -o'
try='set -eu
export HOME=/tmp/home
unset LD_LIBRARY_PATH
share=$1
mkdir -p $HOME && cd $HOME
heelstrike doctor >doctor.txt || { cat doctor.txt; exit 1; }
heelstrike '$run' ball
heelstrike mesh foot --size 12mm -o foot.msh >mesh.txt || { cat mesh.txt; exit 1; }
for name in bouncing_ball pressed_ball; do heelstrike fmu "$share/heelstrike/examples/$name.yaml" -o $name.fmu >fmu.txt 2>&1 || { cat fmu.txt; exit 1; }; done'

# What the build computes on this machine.
mkdir "$scratch/build"
(PATH=$build/bin:$PATH HOME=$scratch/build share=$PWD && cd "$scratch/build" && eval "heelstrike ${run//\$share\/heelstrike/$share}" ball)
unit() {
  local folder=$1 name=$2 token
  python3 -m zipfile -e "$folder/$name.fmu" "$folder/$name"
  token=$(sed -n 's/.*instantiationToken="\([^"]*\)".*/\1/p' "$folder/$name/modelDescription.xml" | head -n 1)
  printf '%q ' ./fmi_master "$3/$name" "$name" "$token" 0.001 500 1 2 3 4 5 6 7 8 9
}
for name in bouncing_ball pressed_ball; do
  (HOME=$scratch/build && "$build/bin/heelstrike" fmu "examples/$name.yaml" -o "$scratch/build/$name.fmu" >/dev/null)
  (cd "$build/bin" && eval "$(unit "$scratch/build" $name "$scratch/build")") >"$scratch/build/$name.csv"
done

# Runs a command in a system as an ordinary user, without a network; the bundle is mounted where it cannot be written.
inside() {
  local root=$1
  shift
  env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin unshare --mount --net --pid --fork --kill-child bash -euo pipefail -c '
    ip link set lo up 2>/dev/null || true
    mkdir -p "$1/opt/any where" "$1/proc" "$1/dev" "$1/tmp" "$1/usr/local/bin"
    mount --bind "$2" "$1/opt/any where" && mount -o remount,bind,ro "$1/opt/any where"
    mount -t proc proc "$1/proc"
    mount --rbind /dev "$1/dev"
    mount --bind "$3" "$1/tmp"
    bundle=$(cd "$1" && echo "opt/any where"/heelstrike-*)
    ln -sfn "/$bundle/bin/heelstrike" "$1/usr/local/bin/heelstrike"
    root=$1
    shift 3
    exec chroot --userspec=65534:65534 "$root" "$@"' _ "$root" "${bundle%/*}" "$tmp" "$@"
}
tmp=$scratch/tmp
share="/opt/any where/${bundle##*/}/share"

check() {
  local name=$1 root=$2 start=$SECONDS
  rm -rf "$tmp" && mkdir "$tmp" && chmod 1777 "$tmp"
  cp "$build/bin/fmi_master" "$tmp/"
  inside "$root" sh -c "$try" _ "$share" || fail "$name: the programs do not work"
  cmp "$scratch/build/ball/timeseries.csv" "$tmp/home/ball/timeseries.csv" || fail "$name: other numbers than those of the build"
  for unit in bouncing_ball pressed_ball; do
    command=$(unit "$tmp/home" $unit /tmp/home)
    inside "$root" sh -c "cd /tmp && $command" >"$tmp/$unit.csv" || fail "$name: the FMU $unit does not work"
    cmp "$scratch/build/$unit.csv" "$tmp/$unit.csv" || fail "$name: the FMU $unit computes other numbers"
  done
  echo "bundle: $name: run, mesh and FMUs, the numbers of the build to the bit, in $((SECONDS - start)) s"
}

# A Linux with nothing: a shell, and the C library of this machine.
if busybox=$(command -v busybox) && ! ldd "$busybox" >/dev/null 2>&1; then
  nothing=$scratch/nothing
  mkdir -p "$nothing"/{bin,etc,lib64,lib/x86_64-linux-gnu}
  cp -L "$(patchelf --print-interpreter "$bundle/libexec/heelstrike")" "$nothing/lib64/"
  for library in libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1 libresolv.so.2; do
    cp -L "/lib/$(uname -m)-linux-gnu/$library" "$nothing/lib/x86_64-linux-gnu/"
  done
  cp "$busybox" "$nothing/bin/busybox"
  "$busybox" --install -s "$nothing/bin" && for link in "$nothing"/bin/*; do [[ ! -L $link ]] || ln -sfn busybox "$link"; done
  check "busybox and glibc alone" "$nothing"
fi

make() {
  [[ ! -d $roots/$1/etc ]] || return 0
  command -v mmdebstrap >/dev/null || { echo "bundle: $1: not tried: mmdebstrap is missing" >&2; return 1; }
  rm -rf --one-file-system "${roots:?}/$1"
  mmdebstrap --quiet --variant=minbase "$@" "$roots/$1" || { echo "bundle: $1: not tried: no system could be made" >&2; return 1; }
}
tried=0
for release in trixie bookworm noble; do
  if [[ $release == noble && ! -d $roots/noble && ! -e /usr/share/keyrings/ubuntu-archive-keyring.gpg ]]; then continue; fi
  make $release || continue
  tried=1
  check "$(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' "$roots/$release/etc/os-release")" "$roots/$release"
done

if make bullseye; then
  said=$(inside "$roots/bullseye" heelstrike doctor 2>&1) && fail "Debian 11: it runs, with a C library that is too old"
  [[ $said =~ ^'heelstrike: needs glibc 2.'[0-9]+', this system has 2.31;' ]] || fail "Debian 11: it says: $said"
  echo "bundle: Debian 11: $said"
fi

# Python of this machine, with the bundle's libraries.
PYTHONPATH=$bundle/python PYTHONDONTWRITEBYTECODE=1 python3 - "$bundle" <<'PYTHON' || fail "Python does not work"
import sys
import heelstrike as hs
F = hs.Contact.open(hs.Pair.from_yaml("examples/bouncing_ball.yaml")).evaluate(hs.pose(p=(0, 0, -0.0999))).F
assert abs(F[5] - 140.0) < 1e-3, F
mapped = {line.split(None, 5)[5].strip() for line in open("/proc/self/maps") if "libheelstrike" in line or "libgrpc" in line or "libcholmod" in line}
assert mapped and all(file.startswith(sys.argv[1]) for file in mapped), mapped
PYTHON
echo "bundle: Python imports, with the libraries of the bundle"

# A disk that fills up: said, and nothing left behind.
mkdir "$scratch/full"
mount -t tmpfs -o size=64m tmpfs "$scratch/full"
said=$(scripts/package --bundle --no-build --output "$scratch/full" 2>&1) && fail "a bundle fits into 64 MB"
left=$(ls -A "$scratch/full")
umount "$scratch/full"
[[ $said == *"$scratch/full: expected "*" MB of free space, found "* ]] || fail "a full disk: it says: $said"
[[ -z $left ]] || fail "a full disk: $left is left"
((tried)) || skip "no system of a distribution could be made"
echo "bundle: passed"
