#!/bin/sh
# Without npm and without Chromium: the bundle falls back with a clear line, and the browser tests are skipped with one.
# Usage: without_npm.sh SOURCE_ROOT NODE OUTPUT_FOLDER
set -eu
root=$1 node=$2 output=$3
rm -rf "$output"
mkdir -p "$output/path" "$output/empty_npm"
for name in sh mkdir cat cp rm cmp; do ln -s "$(command -v $name)" "$output/path/$name"; done
fail() {
  echo "FAIL $1" >&2
  exit 1
}

said=$(PATH=$output/path "$root/report/web/bundle.sh" "$root/report/web" "$output/bundle" 2>&1)
echo "$said"
case $said in *"npm not found"*"scripts/setup"*) ;; *) fail "expected a line that names npm and scripts/setup" ;; esac
for file in report.js fields.js live.js report.css; do
  [ -s "$output/bundle/$file" ] || fail "expected $file in the fallback bundle"
done
grep -q "built without npm" "$output/bundle/report.js" || fail "expected the notice in report.js"

[ -n "$node" ] || exit 0
for test in report_test live_test; do
  code=0
  said=$(HEELSTRIKE_CHROMIUM=/nonexistent "$node" "$root/tests/browser/$test.mjs" /bin/false / "$output/empty_npm" "$output/none") || code=$?
  echo "$said"
  [ "$code" = 77 ] || fail "$test: expected exit code 77, found $code"
  case $said in "SKIPPED: "*"scripts/setup"*) ;; *) fail "$test: expected a line that says why and what to do" ;; esac
done
