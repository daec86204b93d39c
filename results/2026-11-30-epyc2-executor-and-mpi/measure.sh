#!/usr/bin/env bash
# measure.sh BUILD OUT: executor cost per step, and point-to-point over MPI beside a bare C loop of
# MPI_Send and MPI_Recv, alternating. Needs a built tree and Open MPI.
set -euo pipefail
build=$1 out=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$out"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpicc -O2 "$here/pingpong.c" -o "$out/pingpong"
"$build/bin/commtune_kernels" --benchmark_filter=executor --benchmark_repetitions=5 \
  --benchmark_format=json >"$out/executor.json" 2>/dev/null
echo "round bytes bare_us commtune_us c2c_before_ns c2c_after_ns" >"$out/pingpong.txt"
for round in 1 2 3 4 5 6 7 8 9 10; do
  bare=$(mpirun -n 2 "$out/pingpong" 8)
  mpirun -n 2 "$build/commtune" bench latency --sizes 8 --time-limit 0.5 -o "$out/row.json" >/dev/null
  python3 - "$round" "$bare" "$out/row.json" >>"$out/pingpong.txt" <<'PY'
import json, sys
row = json.load(open(sys.argv[3]))["rows"][0]
c2c = row["machine_state"]["c2c_ns"]
show = lambda v: "-" if v is None else f"{v:.0f}"
print(sys.argv[1], 8, sys.argv[2], f'{row["time_us"]["median"]:.4f}', show(c2c[0]), show(c2c[1]))
PY
done
cat "$out/pingpong.txt"
