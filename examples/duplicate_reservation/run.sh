#!/usr/bin/env bash
# A reservation whose answer is lost, a watch that is late and a leader that is killed: on a running plane, captured,
# and played again without it. Starts a plane of its own; needs kubectl and fairlead on the PATH (README.md).
set -euo pipefail
cd "$(dirname "$0")"
FILE=${1:-$PWD/duplicate-reservation.incident}
work=$(mktemp -d)
plane=0

title() { printf '\n== %s\n' "$*"; }
begin() { # runs until it is killed
  fairlead up --data-dir "$work/plane" --port 0 --hollow-nodes 3 --no-sample >>"$work/log" 2>&1 &
  plane=$!
  export KUBECONFIG=$work/plane/kubeconfig
  for _ in $(seq 150); do kubectl get --raw /readyz >/dev/null 2>&1 && return; sleep 0.2; done
  cat "$work/log"; exit 1
}
finish() { kill "$plane" 2>/dev/null && wait "$plane" || true; rm -rf "$work"; }
trap finish EXIT
until_true() { for _ in $(seq 300); do eval "$1" && return; sleep 0.2; done; echo "it did not come to: $1"; exit 1; }
reservations() { kubectl get reservations -o name | wc -l; }

title "two nodes kept for recovery, and a replica that finds no room"
begin
kubectl wait node/hollow-0 node/hollow-1 node/hollow-2 --for=condition=Ready --timeout=60s >/dev/null
kubectl label node hollow-1 hollow-2 tier=recovery
kubectl apply -f 01-plane.yaml
until_true '[ "$(kubectl get schedulingpolicy with-recovery -o "jsonpath={.status.active}")" = true ]'
kubectl apply -f 02-risk-api.yaml
until_true 'kubectl get pods -l app=risk-api -o yaml | grep -q "reason: Unschedulable"'

title "answers to the controller that reserves are lost, and the watch of reservations is late"
fairlead chaos run --name lesson-020 --fault reply_lost=100 --controller override-capacity \
  --fault watch_lag=100 --resource reservations.fairlead.dev --for 30s --seed 66 --no-wait \
  --reason "does a retry make a second reservation?"
fairlead override capacity deployment/risk-api recovery --replicas 2 --for 20m --reason "below target"
until_true '[ "$(reservations)" -ge 1 ]'
{ fairlead status --data-dir "$work/plane" || true; } | grep chaos

title "the answer does not come; then the leader is killed, and another begins"
sleep 13 # after ten it gives up and looks; who takes it for a failure tries again, and the watch is still late
kill -9 "$plane"; wait "$plane" 2>/dev/null || true
begin
until_true '[ "$(kubectl get deployment risk-api -o "jsonpath={.status.readyReplicas}")" = 2 ]'
kubectl get reservations,pods

title "one reservation for one intent"
[ "$(reservations)" = 1 ] && echo "one, as it should be"

title "captured; the plane and its data are gone, and everything is played again"
fairlead chaos stop lesson-020
fairlead incident capture --since 15m --closed -o "$FILE"
finish
trap - EXIT
fairlead replay "$FILE"
fairlead replay "$FILE" --closed

title "with a controller that reads a lost answer as a failure: the same incident finds it"
fairlead replay "$FILE" --closed --plant fairlead.sim.zoo.duplicate_reservation:live || echo "exit code $?"
