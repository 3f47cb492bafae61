#!/usr/bin/env bash
# Runs shellcheck over every shell script of the project; each one is executable and stops at its first error.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

mapfile -t scripts < <(git -c safe.directory="$PWD" grep -lIE --untracked '^#!/usr/bin/env bash' -- scripts .ci tests)
((${#scripts[@]})) || { echo "shell: found no script" >&2; exit 1; }
status=0
for script in "${scripts[@]}"; do
  [[ -x $script ]] || { echo "$script: not executable"; status=1; }
  grep -q '^set -euo pipefail$' "$script" || { echo "$script: lacks set -euo pipefail"; status=1; }
done
shellcheck "${scripts[@]}" || status=1
echo "shell: ${#scripts[@]} scripts"
exit "$status"
