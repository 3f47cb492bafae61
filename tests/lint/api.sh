#!/usr/bin/env bash
# The reference made from the headers' comments: a warning of Doxygen (a broken link, an unknown parameter)
# is an error. Usage: api.sh OUTPUT_FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."
command -v doxygen >/dev/null || { echo "doxygen is missing: scripts/setup installs it" >&2; exit 1; }
mkdir -p "$1"
{ cat docs/Doxyfile; echo "OUTPUT_DIRECTORY = $1"; echo "GENERATE_HTML = NO"; echo "GENERATE_XML = YES"; } | doxygen -
