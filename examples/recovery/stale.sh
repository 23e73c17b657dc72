#!/usr/bin/env bash
# run.sh with a zone whose capacity the scheduler really has stale: scheduler and controllers are a process of their own
# (`fairlead control`), and a relay between it and the server holds its watch of nodes back, and nothing else. Starts and
# ends all it needs, under DIRECTORY.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
directory=${1:?usage: stale.sh DIRECTORY}
mkdir -p "$directory"
directory=$(cd "$directory" && pwd)
export KUBECONFIG=$directory/data/kubeconfig HOLD=$directory/hold
running=()
trap 'kill "${running[@]}" 2>/dev/null; wait' EXIT

fairlead serve --data-dir "$directory/data" --port 0 --without-controllers --hollow-nodes 5 2>"$directory/server.said" &
running+=($!)
until [ -s "$KUBECONFIG" ] && kubectl get node hollow-4 >/dev/null 2>&1; do sleep 0.2; done
"${PYTHON:-python3}" "$here/../rollback_pending/held_back.py" "$directory/data" nodes "$HOLD" \
  >"$directory/relayed.kubeconfig" &
running+=($!)
until [ -s "$directory/relayed.kubeconfig" ]; do sleep 0.2; done
fairlead control --data-dir "$directory/control" --identity elsewhere --kubeconfig "$directory/relayed.kubeconfig" \
  2>"$directory/control.said" &
running+=($!)
bash "$here/run.sh"
