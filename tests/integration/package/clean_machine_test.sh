#!/usr/bin/env bash
# The packages on an empty Debian of their release: apt resolves all dependencies, finite elements run with
# two servers, Python imports, a program compiles against the library, the services exist and are disabled, and a purge
# leaves nothing behind. Exit code 77 where no such system can be made.
# shellcheck disable=SC2016  # what runs in the machine is expanded there
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

usage() {
  cat <<'TEXT'
Usage: clean_machine_test.sh FOLDER [RELEASE] [--help]

FOLDER has the packages (scripts/package), RELEASE is bookworm or trixie (default: that of this machine). Needs root, mmdebstrap, and the package archive that this machine uses.
TEXT
}

if (($# < 1 || $# > 2)) || [[ $1 == -h || $1 == --help ]]; then
  usage
  exit $(($# < 1 || $# > 2 ? 2 : 0))
fi
packages=$(realpath "$1")
here=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
release=${2:-$here}
[[ $release == bookworm || $release == trixie ]] || { echo "clean machine: unknown release '$release'; known: bookworm, trixie" >&2; exit 2; }
skip() {
  echo "clean machine: not tried: $*" >&2
  exit 77
}
fail() {
  echo "clean machine: FAILED: $*" >&2
  exit 1
}
((EUID == 0)) || skip "making a system needs root"
command -v mmdebstrap >/dev/null || skip "mmdebstrap is missing (scripts/setup --group packages)"
compgen -G "$packages/heelstrike_*.deb" >/dev/null || skip "$packages has no packages; run scripts/package"

machine=$(mktemp -d -t heelstrike-machine.XXXXXX)
chmod 755 "$machine"
trap 'rm -rf --one-file-system "$machine"' EXIT
# Debian's own archives only, as configured on this machine; of another release the main one.
apt-get indextargets --format 'deb $(REPO_URI) $(CODENAME) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' | sort -u |
  if [[ $release == "$here" ]]; then cat; else sed -n "s/ $here / $release /p"; fi >"$machine.sources"
mv "$machine.sources" "$machine/sources.list"
grep -q "$release" "$machine/sources.list" || skip "this machine knows no archive of $release"
start=$SECONDS
mmdebstrap --quiet --variant=minbase --format=directory "$release" "$machine/root" "$machine/sources.list" ||
  skip "no system could be made of $(cat "$machine/sources.list")"
echo "clean machine: made in $((SECONDS - start)) s"

# Runs a script in the machine, in a separate process namespace, which ends with it.
inside() {
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    unshare --mount --pid --fork --kill-child bash -euo pipefail -c '
      mount -t proc proc "$1/proc"
      mount --rbind /dev "$1/dev"
      mount -t tmpfs tmpfs "$1/run"
      exec chroot "$1" bash -euo pipefail -c "$2"' _ "$machine/root" "$1"
}
mkdir "$machine/root/packages"
cp "$packages"/*heelstrike*.deb "$machine/root/packages/"
cp tests/integration/package/ten_lines.cpp "$machine/root/packages/"
cp /etc/resolv.conf "$machine/root/etc/resolv.conf" 2>/dev/null || true
chmod -R a+rX "$machine/root/packages"

before=$(du -sxm "$machine/root" | cut -f 1)
start=$SECONDS
inside 'apt-get update -qq
  apt-get install -y -qq --no-install-recommends /packages/heelstrike_*.deb /packages/libheelstrike0*.deb >/packages/install.log 2>&1 || { tail -30 /packages/install.log; exit 1; }
  apt-get clean'
echo "clean machine: programs installed in $((SECONDS - start)) s; they and their dependencies need $(($(du -sxm "$machine/root" | cut -f 1) - before)) MB"

start=$SECONDS
inside 'useradd --create-home --home-dir /srv/somebody somebody
  grep -q "^heelstrike:" /etc/passwd || { echo "no account heelstrike"; exit 1; }
  su somebody -c "cd && heelstrike doctor && heelstrike run /usr/share/heelstrike/examples/fem_ball.yaml --set analysis.end_time=0.45 --quiet -o ball"
  test "$(wc -l </srv/somebody/ball/timeseries.csv)" -gt 100
  test -s /srv/somebody/ball/report.html
  su somebody -c "cd && heelstrike fmu /usr/share/heelstrike/examples/bouncing_ball.yaml -o ball.fmu && test -s ball.fmu"
  su somebody -c "cd && heelstrike import /usr/share/heelstrike/examples/leg.urdf -o leg && heelstrike run leg/leg.yaml --quiet -o leg/run" >/dev/null' ||
  fail "the programs do not work with their dependencies"
echo "clean machine: finite elements in the loop of two servers: $((SECONDS - start)) s"

start=$SECONDS
inside 'su somebody -c "cd && /usr/share/heelstrike/scripts/demo --output demo" >/packages/demo.log 2>&1 || { tail -20 /packages/demo.log; exit 1; }
  test -s /srv/somebody/demo/falling/report.html' || fail "the demo does not work"
echo "clean machine: the demo takes $((SECONDS - start)) s"

inside 'for program in $(dpkg -L heelstrike | sed -n "s|^/usr/bin/||p"); do
    test -s "/usr/share/man/man1/$program.1.gz" || { echo "$program has no man page"; exit 1; }
  done
  apt-get install -y -qq --no-install-recommends systemd >/packages/install.log 2>&1 || { tail -30 /packages/install.log; exit 1; }
  for unit in heelstrike-fem heelstrike-mbs; do
    state=$(systemctl --root=/ is-enabled "$unit.service" || true)
    test "$state" = disabled || { echo "$unit is $state after its installation"; exit 1; }
    systemctl --root=/ enable "$unit.service" 2>/dev/null
    test "$(systemctl --root=/ is-enabled "$unit.service")" = enabled
  done
  systemd-analyze verify --man=no /lib/systemd/system/heelstrike-fem.service /lib/systemd/system/heelstrike-mbs.service' ||
  fail "the services are not as they should be"
echo "clean machine: services installed, off, and fit to be enabled"

# The machine boots with both units enabled, if systems can be booted here: servers that work with their hardening.
if command -v systemd-nspawn >/dev/null; then
  inside 'apt-get install -y -qq --no-install-recommends systemd-sysv dbus >/packages/install.log 2>&1 || { tail -30 /packages/install.log; exit 1; }
    adduser --quiet somebody heelstrike 2>/dev/null || usermod -aG heelstrike somebody
    cat >/packages/try-services <<"SCRIPT"
#!/bin/bash
set -euo pipefail
run() { su somebody -c "cd && heelstrike run /usr/share/heelstrike/examples/fem_ball.yaml --set analysis.end_time=0.45 --quiet --mbs $1 -o $2"; }
run 127.0.0.1:50052 by_address
su somebody -c "heelstrike doctor --fem 127.0.0.1:50051 --mbs 127.0.0.1:50052"
for server in fem mbs; do
  process=$(systemctl show --property MainPID --value heelstrike-$server)
  test "$(stat -c %U /proc/$process)" = heelstrike
  grep -q "^Seccomp:.2" /proc/$process/status && grep -q "^NoNewPrivs:.1" /proc/$process/status && grep -q "^CapBnd:.0*$" /proc/$process/status
  sed -i "s|^LISTEN=.*|LISTEN=unix:/run/heelstrike-$server/socket|; s|^FEM=.*|FEM=unix:/run/heelstrike-fem/socket|" /etc/default/heelstrike-$server
done
systemctl restart heelstrike-fem heelstrike-mbs
run unix:/run/heelstrike-mbs/socket by_socket
cmp /srv/somebody/by_address/timeseries.csv /srv/somebody/by_socket/timeseries.csv
! su nobody -s /bin/sh -c "heelstrike doctor --mbs unix:/run/heelstrike-mbs/socket" >/dev/null 2>&1
systemctl stop heelstrike-mbs heelstrike-fem
for server in fem mbs; do test "$(systemctl show --property Result,ExecMainStatus --value heelstrike-$server | sort | xargs)" = "0 success"; done
touch /packages/services-work
SCRIPT
    chmod 755 /packages/try-services
    printf "[Unit]\nAfter=heelstrike-mbs.service heelstrike-fem.service\nSuccessAction=poweroff-force\nFailureAction=poweroff-force\n[Service]\nType=oneshot\nExecStart=/packages/try-services\nStandardOutput=file:/packages/services.log\nStandardError=inherit\nTimeoutStartSec=300\n[Install]\nWantedBy=multi-user.target\n" \
      >/etc/systemd/system/try-services.service
    systemctl --root=/ enable try-services.service 2>/dev/null'
  timeout 400 systemd-nspawn --quiet --register=no --keep-unit --directory "$machine/root" --boot --console=pipe >"$machine/boot.log" 2>&1 </dev/null || true
  [[ -e $machine/root/packages/services-work ]] || {
    tail -20 "$machine/boot.log" "$machine/root/packages/services.log" >&2
    fail "the services do not work in a machine that boots"
  }
  inside 'rm /etc/systemd/system/try-services.service /etc/systemd/system/multi-user.target.wants/try-services.service
    sed -i "s|^LISTEN=unix:.*fem.*|LISTEN=127.0.0.1:50051|" /etc/default/heelstrike-fem'
  echo "clean machine: booted; hardened services compute, by address and by sockets of their group, the same bits"
else
  echo "clean machine: systemd-nspawn is missing (scripts/setup --group packages): services not booted"
fi

inside 'apt-get install -y -qq --no-install-recommends /packages/python3-heelstrike_*.deb /packages/libheelstrike-dev_*.deb /packages/heelstrike-doc_*.deb g++ pkg-config \
    >/packages/install.log 2>&1 || { tail -30 /packages/install.log; exit 1; }
  cd /packages
  ball=/usr/share/heelstrike/examples/bouncing_ball.yaml
  su somebody -c "python3 -c \"import heelstrike as hs; print(hs.Contact.open(hs.Pair.from_yaml(\\\"$ball\\\")).evaluate(hs.pose(p=(0, 0, -0.0999))).F[5])\"" | grep -q "^140\.0\|^139\.999"
  c++ -std=c++20 ten_lines.cpp -o ten_lines $(pkg-config --cflags --libs heelstrike)
  ./ten_lines $ball | grep -q "^140.000000 0.69343"
  test -s /usr/share/doc/heelstrike/guide/operating.md' || fail "Python, the library or the documentation does not work"
echo "clean machine: Python imports, ten lines of C++ compile and run"

inside 'mkdir -p /var/cache/heelstrike-fem /var/lib/heelstrike-mbs
  apt-get purge -y -qq "heelstrike*" "libheelstrike*" "python3-heelstrike" >/packages/purge.log 2>&1 || { tail -30 /packages/purge.log; exit 1; }
  left=$(find / -xdev -name "*heelstrike*" -not -path "/packages/*" -not -path "/srv/*" -not -path "/proc/*" -not -path "/tmp/*")
  test -z "$left" || { echo "a purge leaves: $left"; exit 1; }' || fail "a purge leaves something behind"
echo "clean machine: purged"
echo "clean machine: passed"
