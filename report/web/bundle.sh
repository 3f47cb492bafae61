#!/bin/sh
# Builds the scripts and the style sheet embedded in the client: bundle.sh SOURCE_FOLDER OUTPUT_FOLDER
# Without npm or its packages, pages contain tables and a notice instead of charts.
set -eu
source=$1 output=$2
names="report fields live"
mkdir -p "$output"

complete() {
  for name in $names; do [ -s "$output/$name.js" ] || return 1; done
  [ -s "$output/report.css" ]
}

fall_back() {
  echo "report pages: $1; pages will have tables but no charts (scripts/setup installs what is missing)" >&2
  for name in $names; do
    cat > "$output/$name.js" <<'JS'
document.querySelectorAll('.needs-script').forEach((place) => {
  place.textContent = 'No charts: this program was built without npm. Install it with scripts/setup and build again.';
});
JS
  done
  cp "$source/src/page.css" "$output/report.css"
  exit 0
}

command -v npm > /dev/null && command -v node > /dev/null || fall_back "npm not found"
# npm runs in a copy, so that the source tree stays clean and builds do not interfere.
work=$output/npm
mkdir -p "$work"
cp "$source/package.json" "$source/package-lock.json" "$source/build.mjs" "$work/"
rm -rf "$work/src" && cp -r "$source/src" "$work/src"
if ! cmp -s "$source/package-lock.json" "$work/installed.lock"; then
  rm -f "$work/installed.lock"
  (cd "$work" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error > npm.log 2>&1) || fall_back "npm ci failed (see $work/npm.log)"
  cp "$source/package-lock.json" "$work/installed.lock"
fi
rm -f "$output"/*.js
(cd "$work" && node build.mjs "$output")
complete || { echo "report pages: the bundle is not complete" >&2; exit 1; }
