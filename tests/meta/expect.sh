# Sourced by the tests of this folder, which run in the root of the project.
# shellcheck shell=sh
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failures=0
cases=0

# expect STATUS TEXT COMMAND...: the command must exit with STATUS and print TEXT somewhere.
expect() {
  wanted=$1
  text=$2
  shift 2
  cases=$((cases + 1))
  status=0
  output=$("$@" 2>&1 </dev/null) || status=$?
  case $output in
    *"$text"*) found=yes ;;
    *) found=no ;;
  esac
  if [ "$status" -ne "$wanted" ] || [ "$found" = no ]; then
    failures=$((failures + 1))
    printf 'FAILED: %s\n  wanted exit status %s and "%s"; got %s and:\n%s\n' "$*" "$wanted" "$text" "$status" "$output"
  fi
}

# write FILE: standard input becomes the file, in the made-up tree.
write() {
  mkdir -p "$tree/${1%/*}"
  cat >"$tree/$1"
}

finish() {
  echo "$cases cases, $failures failures"
  [ "$failures" -eq 0 ]
}
