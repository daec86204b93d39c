#!/bin/sh
# measure.sh [LAUNCHES]: bench ps over every transport in turn, LAUNCHES (7) times, with build/commtune
# of the current folder; writes <transport>-<ranks>-<launch>.json beside this script.
set -eu
launches=${1:-7}
folder=$(dirname "$0")
export MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=17179869184
bench() {
  name=$1
  shift
  build/commtune bench ps --sizes 8,64K,4M --time-limit 0.5 --check 2 --label "$name" -o "$folder/$name.json" "$@" >/dev/null
}
for launch in $(seq "$launches"); do
  for ranks in 2 3; do
    bench "shm-$ranks-$launch" -n "$ranks" --transport shm
    bench "ucx-$ranks-$launch" -n "$ranks" --transport ucx
    COMMTUNE_GRPC=tcp bench "grpc-tcp-$ranks-$launch" -n "$ranks" --transport grpc
    COMMTUNE_GRPC=unix bench "grpc-unix-$ranks-$launch" -n "$ranks" --transport grpc
    bench "openmpi-$ranks-$launch" -n "$ranks" --transport mpi --mpi openmpi
  done
done
