# Shared by the scripts in this folder; sourced by bash, never run.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)

say() { printf '%s\n' "$*"; }
heading() { printf '\n== %s\n' "$*"; }
complain() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

# usage_error TEXT: exit status 2, as the program itself does for a bad command line.
usage_error() {
  complain "$1"
  complain "try: ${0##*/} --help"
  exit 2
}

# The comment block at the top of the calling script is its help text.
print_help() { awk 'NR > 1 && !/^#/ {exit} NR > 1 {sub(/^# ?/, ""); print}' "$0"; }

# run_logged LOG COMMAND...: the command's output goes to LOG only; its status is returned.
run_logged() {
  local log=$1
  shift
  "$@" >"$log" 2>&1 </dev/null
}

# need_tool PROGRAM PACKAGE: exit status 3 when the program is not here.
need_tool() {
  command -v "$1" >/dev/null 2>&1 && return
  complain "$1 is not installed: apt-get install $2 (scripts/install-packages --dev brings all tools)"
  exit 3
}

# jobs: parallel compilations, bounded by memory (a heavy C++ file needs about 1 GB).
jobs_for_build() {
  local cores memory
  cores=$(nproc)
  memory=$(awk '/^MemAvailable/ {print int($2 / 1048576)}' /proc/meminfo 2>/dev/null || echo 4)
  ((memory < 1)) && memory=1
  echo $((cores < memory ? cores : memory))
}

# ccache, where it is installed, makes repeated clean builds cheap.
use_compiler_cache() {
  command -v ccache >/dev/null 2>&1 || return 0
  export CMAKE_C_COMPILER_LAUNCHER=${CMAKE_C_COMPILER_LAUNCHER-ccache}
  export CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER-ccache}
}

# Test data that is too large for the repository lies in a folder beside the checkout, if anywhere.
find_shared_data() {
  if [[ -z ${COMMTUNE_SHARED-} && -d $root/../shared ]]; then
    COMMTUNE_SHARED=$(cd "$root/../shared" && pwd -P)
    export COMMTUNE_SHARED
  fi
}
