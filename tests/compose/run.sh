#!/usr/bin/env bash
# End to end with containers: both servers from docker-compose.yml become healthy, the client on this machine drives a run
# against them, and its time series equals that of an in-process run to the last bit.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

usage() {
  cat <<'TEXT'
Usage: tests/compose/run.sh [--packages] [--help]

  --packages  images from the Debian packages in build/packages (scripts/package) instead of the sources
TEXT
}

packages=0
while (($#)); do
  case $1 in
    --packages) packages=1 ;;
    -h | --help)
      usage
      exit 0
      ;;
    *)
      echo "compose: unknown argument '$1'; see tests/compose/run.sh --help" >&2
      exit 2
      ;;
  esac
  shift
done
heelstrike=$PWD/build/release/bin/heelstrike
deadline=120  # [s] for both servers to become healthy; they take about ten

fail() {
  echo "compose: FAILED: $*" >&2
  exit 1
}

command -v docker-compose >/dev/null || fail "docker-compose is missing (apt-get install docker.io docker-compose)"
docker info >/dev/null 2>&1 || fail "no Docker engine responds; start one, or add this user to the group docker"
[[ -x $heelstrike ]] || fail "$heelstrike is missing; run scripts/build first"

# A separate project name and ports, so that running servers of the user are not affected.
export HEELSTRIKE_FEM_PORT=${HEELSTRIKE_FEM_PORT:-50951} HEELSTRIKE_MBS_PORT=${HEELSTRIKE_MBS_PORT:-50952}
compose=(docker-compose --project-name heelstrike_test)
if ((packages)); then
  compgen -G "build/packages/heelstrike_*.deb" >/dev/null || fail "build/packages has no packages; run scripts/package first"
  for package in build/packages/*heelstrike*.deb; do
    [[ $package -nt $heelstrike ]] || fail "$package is older than $heelstrike, with which it is compared; run scripts/package"
  done
  compose+=(-f docker-compose.yml -f packaging/docker-compose.yml)
fi
results=$(mktemp -d)
finish() {
  local status=$?
  if ((status)); then "${compose[@]}" logs --tail 50 >&2 || true; fi
  "${compose[@]}" down --volumes --remove-orphans >/dev/null 2>&1 || true
  rm -rf "$results"
  exit "$status"
}
trap finish EXIT

"${compose[@]}" down --volumes --remove-orphans >/dev/null 2>&1 || true
start=$SECONDS
"${compose[@]}" build
echo "compose: images built in $((SECONDS - start)) s, $(docker image inspect -f '{{.Size}}' heelstrike-fem_server) bytes each"

# Files that the base image removes by itself.
left=$(docker run --rm --entrypoint sh heelstrike-fem_server -c \
  'command -v cc c++ gcc g++; ls /var/cache/apt/archives/*.deb /var/lib/apt/lists/*_Packages 2>/dev/null | head -n 1' || true)
[[ -z $left ]] || fail "the image contains files that no server needs: $left"

# Waits for the engine's own event that CONTAINER became healthy; events since SINCE count, so none is missed.
healthy() {
  local since=$1 container=$2 events status=0
  exec {events}< <(exec timeout "$deadline" docker events --since "$since" --filter "container=$container" \
    --filter event=health_status --format '{{.Status}}')
  local listener=$!
  grep -m 1 -q 'health_status: healthy' <&"$events" || status=1
  kill "$listener" 2>/dev/null || true
  exec {events}<&-
  return "$status"
}
start=$SECONDS since=$(date +%s)
timeout "$deadline" "${compose[@]}" up -d || fail "the containers did not start within $deadline s"
for service in fem_server mbs_server; do
  container=$("${compose[@]}" ps -q "$service")
  [[ -n $container ]] || fail "$service has no container"
  healthy "$since" "$container" || fail "$service did not become healthy within $deadline s"
done
echo "compose: both servers healthy after $((SECONDS - start)) s"

scenario=examples/bouncing_ball.yaml
"$heelstrike" doctor --mbs "localhost:$HEELSTRIKE_MBS_PORT" --fem "localhost:$HEELSTRIKE_FEM_PORT"
"$heelstrike" run "$scenario" --mbs "localhost:$HEELSTRIKE_MBS_PORT" -o "$results/containers"
"$heelstrike" run "$scenario" --in-process -o "$results/in_process"
cmp "$results/containers/timeseries.csv" "$results/in_process/timeseries.csv" ||
  fail "the time series of the containers differs from that of the in-process run"
echo "compose: $(($(wc -l <"$results/in_process/timeseries.csv") - 1)) rows are equal to the last bit"

for service in mbs_server fem_server; do
  container=$("${compose[@]}" ps -q "$service")
  [[ $(docker inspect -f '{{.HostConfig.ReadonlyRootfs}} {{.Config.User}}' "$container") == "true heelstrike" ]] ||
    fail "$service does not run as user heelstrike on a read-only root"
  docker stop --time 30 "$container" >/dev/null
  code=$(docker inspect -f '{{.State.ExitCode}}' "$container")
  [[ $code == 0 ]] || fail "$service ended with exit code $code after SIGTERM"
done
echo "compose: both servers drained and ended with exit code 0"
echo "compose: passed"
