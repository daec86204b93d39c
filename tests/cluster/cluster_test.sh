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

# expect_clocks FILE SECONDS RANK...: the clocks of these ranks were read, node1's being SECONDS ahead and the others
# right; what was found is off by no more than it says.
clocks_fit() {
  python3 - "$@" <<'END'
import json, sys
document, ahead, leaders = json.load(open(sys.argv[1])), float(sys.argv[2]), [int(rank) for rank in sys.argv[3:]]
clocks = document["run"]["clocks"]
assert [clock["rank"] for clock in clocks] == leaders, clocks
for clock in clocks:
    assert clock["host"] == document["run"]["ranks"][clock["rank"]]["host"], clock
    offset = ahead * 1e6 if clock["host"] == "node1" else 0
    assert 0 < clock["error_us"] and abs(clock["offset_us"] - offset) <= clock["error_us"] + 0.001, clock
    assert abs(clock["drift_ppm"]) <= clock["drift_error_ppm"], clock
errors = [row["clock_error_us"] for row in document["rows"]]
assert 0 < max(errors) <= document["run"]["clock_error_us"], errors
for row in document["rows"]:
    for late in row["straggler"].values():
        assert late["host"] == document["run"]["ranks"][late["rank"]]["host"], late
END
}
expect_clocks() { clocks_fit "$@" || complain "clocks of $1"; }
bench=(bench allreduce --sizes "8,64K" --iterations 5 --warmup 1)

cat >"$folder/ahead" <<'END'
#!/bin/sh
if [ "$(hostname)" = node1 ]; then exec unshare --time --monotonic 1000 --fork --kill-child -- "$@"; fi
exec "$@"
END
chmod 700 "$folder/ahead"

"${cluster[@]}" up 3 --rate 1gbit --delay 100us || skip "the cluster cannot be made here"
for flavour in openmpi mpich; do
  if ! command -v mpirun.$flavour >/dev/null || [[ ! -e $(dirname "$program")/modules/commtune_transport_$flavour.so ]]; then
    echo "not run: $flavour is not here"
    continue
  fi
  timeout 60 "${cluster[@]}" mpirun $flavour 1 "$program" "${bench[@]}" --transport mpi --mpi $flavour \
    -o "$folder/$flavour.json" >"$folder/log" 2>&1 || { cat "$folder/log"; complain "$flavour: status $?"; }
  expect_nodes "$folder/$flavour.json" 3
  expect_clocks "$folder/$flavour.json" 0 1 2

  # A cut link: all ranks end by themselves and the file tells why. The launcher cannot reach its other half and waits
  # for ever, so it is ended here.
  rm -f "$folder/cut.json"
  timeout 60 "${cluster[@]}" mpirun $flavour 1 "$program" bench allreduce --sizes 64K --iterations 1000000 --timeout 5 \
    --transport mpi --mpi $flavour -o "$folder/cut.json" >"$folder/log" 2>&1 &
  job=$!
  until grep -q '"node2"' "$folder/cut.json" 2>/dev/null || ! kill -0 $job 2>/dev/null; do
    read -rt 0.2 <> <(:) || :
  done
  "${cluster[@]}" cut 1
  until ! pgrep -f "^$program bench allreduce .*$folder/cut.json" >/dev/null || ! kill -0 $job 2>/dev/null; do
    read -rt 0.2 <> <(:) || :
  done
  kill -0 $job 2>/dev/null || { cat "$folder/log"; complain "$flavour, cut link: ranks were left to their launcher"; }
  python3 -c "
import json
document = json.load(open('$folder/cut.json'))
assert document['status'] == 'failed' and 'no progress for 5 s in' in document['reason'], document['reason']
assert 'allreduce/' in document['reason'], document['reason']" || complain "$flavour, cut link: the file"
  kill $job 2>/dev/null || :
  wait $job || :
  "${cluster[@]}" heal 1
done
for transport in ucx grpc; do
  if ! available $transport; then
    echo "not run: $transport is not in this build"
    continue
  fi
  timeout 60 "${cluster[@]}" launch 1 "$program" "${bench[@]}" --transport $transport -o "$folder/$transport.json" \
    >"$folder/log" 2>&1 || { cat "$folder/log"; complain "$transport: status $?"; }
  expect_nodes "$folder/$transport.json" 3
  expect_clocks "$folder/$transport.json" 0 1 2

  # A host whose clock really is another one.
  if unshare --time --monotonic 1000 --fork true 2>/dev/null; then
    timeout 60 "${cluster[@]}" launch 1 "$folder/ahead" "$program" "${bench[@]}" --transport $transport \
      -o "$folder/ahead.json" >"$folder/log" 2>&1 || { cat "$folder/log"; complain "$transport, clock ahead: status $?"; }
    expect_nodes "$folder/ahead.json" 3
    expect_clocks "$folder/ahead.json" 1000 1 2
    if clocks_fit "$folder/ahead.json" 1001 1 2 2>/dev/null; then complain "a clock a second off was accepted"; fi
  else
    echo "not run: time namespaces are not allowed here"
  fi

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

# Two ranks of a host share its clock.
"${cluster[@]}" down
"${cluster[@]}" up 2 || skip "the second cluster cannot be made here"
for transport in ucx grpc; do
  available $transport || continue
  timeout 60 "${cluster[@]}" launch 2 "$program" "${bench[@]}" --transport $transport -o "$folder/pairs.json" \
    >"$folder/log" 2>&1 || { cat "$folder/log"; complain "$transport, 2 hosts: status $?"; }
  expect_clocks "$folder/pairs.json" 0 2
done
exit $((failures > 0))
