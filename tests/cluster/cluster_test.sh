#!/usr/bin/env bash
# Runtimes over emulated hosts: every host is a node in the record, and a job ends when a rank dies or a link is cut.
# cluster_test.sh PROGRAM
set -euo pipefail
program=$1
cluster=(scripts/cluster/cluster --name "t$((RANDOM % 10000))")
folder=$(mktemp -d)
trap '"${cluster[@]}" down; rm -rf "$folder"' EXIT

skip() { echo "SKIPPED: $*"; exit 77; }
((EUID == 0)) || skip "needs root"
for tool in ip tc nsenter unshare python3; do command -v $tool >/dev/null || skip "$tool is not installed"; done
unshare --net true 2>/dev/null || skip "network namespaces are not allowed here"
available() { "$program" list transports --json | python3 -c "
import json, sys
sys.exit(0 if any(each['name'] == '$1' and each['available'] for each in json.load(sys.stdin)) else 1)"; }
failures=0
complain() { echo "FAILED: $*"; failures=$((failures + 1)); }

# expect_nodes FILE N: every row ran on N nodes with one rank each.
expect_nodes() {
  python3 - "$1" "$2" <<'END' || complain "$1"
import json, sys
document, n = json.load(open(sys.argv[1])), int(sys.argv[2])
assert document["status"] == "ok", document["reason"]
assert document["run"]["hosts"] == [f"node{i}" for i in range(n)], document["run"]["hosts"]
for row in document["rows"]:
    assert (row["status"], row["ranks"], row["nodes"], row["ppn"]) == ("ok", n, n, 1), row
    assert row["check"]["wrong"] == 0, row
END
}
bench=(bench allreduce --sizes "8,64K" --iterations 5 --warmup 1)

"${cluster[@]}" up 3 --rate 1gbit --delay 100us || skip "the cluster cannot be made here"
for flavour in openmpi mpich; do
  if ! command -v mpirun.$flavour >/dev/null || [[ ! -e $(dirname "$program")/modules/commtune_transport_$flavour.so ]]; then
    echo "not run: $flavour is not here"
    continue
  fi
  timeout 60 "${cluster[@]}" mpirun $flavour 1 "$program" "${bench[@]}" --transport mpi --mpi $flavour \
    -o "$folder/$flavour.json" >"$folder/log" 2>&1 || { cat "$folder/log"; complain "$flavour: status $?"; }
  expect_nodes "$folder/$flavour.json" 3
done
for transport in ucx grpc; do
  if ! available $transport; then
    echo "not run: $transport is not in this build"
    continue
  fi
  timeout 60 "${cluster[@]}" launch 1 "$program" "${bench[@]}" --transport $transport -o "$folder/$transport.json" \
    >"$folder/log" 2>&1 || { cat "$folder/log"; complain "$transport: status $?"; }
  expect_nodes "$folder/$transport.json" 3

  # A cut link: the job ends by itself, not with status 0, the file tells why.
  rm -f "$folder/cut.json"
  timeout 60 "${cluster[@]}" launch 1 "$program" bench allreduce --sizes 64K --iterations 1000000 --timeout 20 \
    --transport $transport -o "$folder/cut.json" >"$folder/log" 2>&1 &
  job=$!
  until grep -q '"node2"' "$folder/cut.json" 2>/dev/null || ! kill -0 $job 2>/dev/null; do
    read -rt 0.2 <> <(:) || :
  done
  "${cluster[@]}" cut 1
  status=0
  wait $job || status=$?
  if ((status != 4)); then cat "$folder/log"; complain "$transport, cut link: status $status, not 4"; fi
  grep -q "rank 1" "$folder/log" || { cat "$folder/log"; complain "$transport, cut link: rank 1 is not named"; }
  python3 -c "
import json, sys
document = json.load(open('$folder/cut.json'))
assert document['status'] == 'failed' and document['reason'], document['status']" || complain "$transport, cut link: the file"
  "${cluster[@]}" heal 1
done
exit $((failures > 0))
