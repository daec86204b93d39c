#!/usr/bin/env bash
# The scripts refuse what they cannot do, in words, and print their help.
# shellcheck disable=SC2016
set -euo pipefail
. tests/meta/expect.sh

for script in install-packages quickstart test check; do
  expect 0 "$script" "scripts/$script" --help
  expect 2 "--nonsense" "scripts/$script" --nonsense
done
expect 2 "'soon' is not a number of seconds" scripts/check fuzz soon
printf 'ID=fedora\nPRETTY_NAME="Fedora Linux 40"\n' | write etc/fedora
printf 'ID=ubuntu\nVERSION_ID="22.04"\nPRETTY_NAME="Ubuntu 22.04 LTS"\n' | write etc/jammy
expect 3 "not Fedora Linux 40" env COMMTUNE_OS_RELEASE="$tree/etc/fedora" scripts/install-packages
expect 3 "nlohmann-json" env COMMTUNE_OS_RELEASE="$tree/etc/fedora" scripts/install-packages
expect 3 "Ubuntu 22.04 LTS is too old" env COMMTUNE_OS_RELEASE="$tree/etc/jammy" scripts/install-packages

# install-packages against stand-ins for the package tools: nothing is installed until apt-get ran.
export STAND_IN=$tree/state
mkdir -p "$STAND_IN"
printf '#!/bin/sh\nif [ -e "$STAND_IN/installed" ]; then printf installed; else exit 1; fi\n' | write bin/dpkg-query
printf '#!/bin/sh\necho "  Candidate: $(cat "$STAND_IN/candidate")"\n' | write bin/apt-cache
cat <<'END' | write bin/apt-get
#!/bin/sh
echo "$DEBIAN_FRONTEND $*" >>"$STAND_IN/calls"
case " $* " in
  *" install "*) if [ -e "$STAND_IN/broken" ]; then exit 100; else touch "$STAND_IN/installed"; fi ;;
esac
END
printf '#!/bin/sh\nif [ "$1" = -n ]; then shift; fi\nexec "$@"\n' | write bin/sudo
chmod +x "$tree"/bin/*
printf 'ID=ubuntu\nVERSION_ID="24.04"\nPRETTY_NAME="Ubuntu 24.04 LTS"\n' | write etc/noble
install() {
  env COMMTUNE_OS_RELEASE="$tree/etc/noble" PATH="$tree/bin:$PATH" scripts/install-packages "$@"
}
calls() { cat "$STAND_IN/calls"; }

echo 1.0 >"$STAND_IN/candidate"
expect 0 "to install: ccache clang" install --dev --dry-run
expect 0 "install-packages: done" install --no-mpi
expect 0 "noninteractive -q install -y --no-install-recommends cmake" calls
expect 1 "" grep -q " update" "$STAND_IN/calls"
rm "$STAND_IN/calls"
expect 0 "everything is installed" install --dev
expect 1 "" test -e "$STAND_IN/calls"

rm "$STAND_IN/installed"
echo '(none)' >"$STAND_IN/candidate"
expect 0 "install-packages: done" install --with-mpich
expect 0 "noninteractive -q update" calls
expect 0 "libmpich-dev" calls

rm "$STAND_IN/installed"
touch "$STAND_IN/broken"
expect 3 "apt-get could not install: " install
finish
