#!/usr/bin/env bash
# Replicas that wait after a rollback, and the view that says why: a quota that was freed, and a decision older than that.
# Needs a new plane with three hollow nodes, KUBECONFIG for it, and kubectl and fairlead on the PATH (README.md). HOLD: a
# file that holds the plane's watch of quotas back while it exists (elsewhere.sh).
set -euo pipefail
cd "$(dirname "$0")"

title() { printf '\n== %s\n' "$*"; }
await() { # OBJECT FIELD VALUE
  kubectl wait "$1" "--for=jsonpath={$2}=$3" --timeout=120s >/dev/null || { kubectl get "$1" -o yaml; exit 1; }
}

kubectl get --raw /readyz >/dev/null 2>&1 || { echo "no plane answers: start one, and set KUBECONFIG (README.md)"; exit 1; }

title "three zones, risk-api in version 4, then 5, then back"
for zone in a b c; do
  node=hollow-$(printf %d "'$zone" | awk '{ print $1 - 97 }')
  kubectl label node "$node" "topology.kubernetes.io/zone=zone-$zone" >/dev/null
done
kubectl apply -f 01-risk-api.yaml
kubectl rollout status deployment/risk-api --timeout=120s >/dev/null
kubectl set image deployment/risk-api main=risk-api:5
kubectl rollout status deployment/risk-api --timeout=120s >/dev/null
kubectl rollout undo deployment/risk-api
kubectl rollout status deployment/risk-api --timeout=120s >/dev/null
await deployment/risk-api .status.replicas 8
in_zone_c() { kubectl get pods -l app=risk-api --field-selector spec.nodeName=hollow-2 -o name; }
while [ "$(in_zone_c | wc -l)" -gt 2 ]; do # replicas that were leaving were in the way of others
  kubectl delete "$(in_zone_c | head -1)" >/dev/null
  kubectl rollout status deployment/risk-api --timeout=120s >/dev/null
done

title "zone-c has a quota, and another workload uses the rest of it"
kubectl apply -f 02-quota.yaml
await deployment/batch .status.readyReplicas 2
await placementquota/risk-zone-c .status.used.cpu 4

title "more replicas are wanted, and the autoscaler adds to them"
kubectl scale deployment/risk-api --replicas=10
kubectl apply -f 03-autoscaler.yaml
await deployment/risk-api .spec.replicas 11
await deployment/risk-api .status.unavailableReplicas 3
await deployment/risk-api .status.replicas 11

title "while the quota is full: a durable shortage"
fairlead debug deployment/risk-api

title "the other workload ends, and frees the quota"
leaving=$(kubectl get pods -l app=batch -o jsonpath='{.items[0].metadata.name}')
if [ -n "${HOLD:-}" ]; then touch "$HOLD"; fi
kubectl delete deployment batch
until [ "$(kubectl get placementquota/risk-zone-c -o jsonpath='{.status.used.cpu}')" != 4 ]; do sleep 0.2; done

title "the scheduler's last decision stands on the quota as it was"
fairlead debug deployment/risk-api

title "it catches up by itself"
if [ -n "${HOLD:-}" ]; then rm "$HOLD"; fi
await deployment/risk-api .status.readyReplicas 11
fairlead timeline deployment/risk-api --since 1m

title "why is that pod of the other workload gone?"
fairlead timeline "pod/$leaving"
