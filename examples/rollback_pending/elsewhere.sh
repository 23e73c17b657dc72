#!/usr/bin/env bash
# The same with scheduler and controllers in a process of their own (`fairlead control`), whose view of quotas really lags:
# a relay between the two holds back that watch, and nothing else. Starts and ends all it needs, under DIRECTORY.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
directory=${1:?usage: elsewhere.sh DIRECTORY}
mkdir -p "$directory"
directory=$(cd "$directory" && pwd)
export KUBECONFIG=$directory/data/kubeconfig HOLD=$directory/hold
running=()
trap 'kill "${running[@]}" 2>/dev/null; wait' EXIT

fairlead serve --data-dir "$directory/data" --port 0 --without-controllers --hollow-nodes 3 2>"$directory/server.said" &
running+=($!)
until [ -s "$KUBECONFIG" ] && kubectl get node hollow-2 >/dev/null 2>&1; do sleep 0.2; done
"${PYTHON:-python3}" "$here/held_back.py" "$directory/data" placementquotas "$HOLD" >"$directory/relayed.kubeconfig" &
running+=($!)
until [ -s "$directory/relayed.kubeconfig" ]; do sleep 0.2; done
fairlead control --data-dir "$directory/control" --identity elsewhere --kubeconfig "$directory/relayed.kubeconfig" \
  2>"$directory/control.said" &
running+=($!)
bash "$here/run.sh"
