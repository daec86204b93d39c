#!/usr/bin/env bash
# Real srun on one node that this test brings up and takes down: Open MPI by PMIx, MPICH by PMI-2, UCX by rendezvous.
# slurm_test.sh PROGRAM
set -euo pipefail
program=$(readlink -f "$1")
modules=$(dirname "$program")/modules
skip() { echo "SKIPPED: $*"; exit 77; }
((EUID == 0)) || skip "needs root"
for tool in slurmctld slurmd srun munged python3; do
  command -v $tool >/dev/null || skip "$tool is not installed (apt-get install slurm-wlm munge)"
done
if pgrep -x slurmctld >/dev/null || pgrep -x slurmd >/dev/null; then skip "a Slurm is running here already"; fi

folder=$(mktemp -d)
pids=()
# shellcheck disable=SC2317  # called by the trap
finish() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
  rm -rf "$folder"
}
trap finish EXIT
await() { local _; for _ in {1..150}; do "$@" >/dev/null 2>&1 && return 0; read -rt 0.2 <> <(:) || :; done; return 1; }

mkdir -p "$folder/state" "$folder/spool" "$folder/log" "$folder/munge"
chown munge "$folder/munge" && chmod 711 "$folder" "$folder/munge"
head -c 128 /dev/urandom >"$folder/munge/key" && chown munge "$folder/munge/key" && chmod 400 "$folder/munge/key"
runuser -u munge -- munged --foreground --key-file="$folder/munge/key" --socket="$folder/munge/socket" \
  --pid-file="$folder/munge/pid" --log-file="$folder/munge/log" --seed-file="$folder/munge/seed" --force >/dev/null 2>&1 &
pids+=($!)
await test -S "$folder/munge/socket" || skip "munged does not start: $(tail -n 1 "$folder/munge/log")"
host=$(hostname -s)
cat >"$folder/slurm.conf" <<END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
SlurmctldPort=26817
SlurmdPort=26818
AuthType=auth/munge
CryptoType=crypto/munge
AuthInfo=socket=$folder/munge/socket
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) RealMemory=1000 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
END
export SLURM_CONF=$folder/slurm.conf
slurmctld -D >"$folder/log/slurmctld" 2>&1 &
pids+=($!)
slurmd -D >"$folder/log/slurmd" 2>&1 &
pids+=($!)
await srun -N 1 true || skip "srun does not start jobs here: $(tail -n 2 "$folder/log/slurmctld" "$folder/log/slurmd")"

failures=0
# expect RANKS NAME COMMAND...: status 0 and a record of so many ranks.
expect() {
  local ranks=$1 name=$2
  shift 2
  if ! timeout 90 "$@" -o "$folder/$name.json" >"$folder/out" 2>&1; then
    cat "$folder/out"
    echo "FAILED: $name"
    failures=$((failures + 1))
    return
  fi
  python3 -c "
import json
document = json.load(open('$folder/$name.json'))
assert document['status'] == 'ok', document
assert all(row['ranks'] == $ranks and row['check']['wrong'] == 0 for row in document['rows']), document" ||
    { echo "FAILED: $name: the record"; failures=$((failures + 1)); }
}
bench=("$program" bench allreduce --sizes "8,64K" --iterations 5 --warmup 1)
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
if [[ -e $modules/commtune_transport_openmpi.so ]] && srun --mpi=list 2>&1 | grep -q pmix; then
  expect 2 openmpi srun -n 2 --mpi=pmix "${bench[@]}" --transport mpi
fi
if [[ -e $modules/commtune_transport_mpich.so ]]; then
  expect 2 mpich srun -n 2 --mpi=pmi2 "${bench[@]}" --transport mpi --mpi mpich
  # Under PMIx every MPICH rank would be alone: an error that says so, not a measurement.
  status=0
  timeout 90 srun -n 2 --mpi=pmix "${bench[@]}" --transport mpi --mpi mpich >"$folder/out" 2>&1 || status=$?
  if ((status == 0)) || ! grep -q "the launcher started 2 ranks, the MPI library sees 1" "$folder/out"; then
    cat "$folder/out"
    echo "FAILED: MPICH under PMIx: status $status"
    failures=$((failures + 1))
  fi
fi
if [[ -e $modules/commtune_transport_ucx.so ]]; then
  MASTER_ADDR=127.0.0.1 MASTER_PORT=$((20000 + RANDOM % 10000)) COMMTUNE_SECRET=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  export MASTER_ADDR MASTER_PORT COMMTUNE_SECRET
  expect 2 ucx srun -n 2 --mpi=none "${bench[@]}" --transport ucx
fi
exit $((failures > 0))
