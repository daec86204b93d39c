#!/bin/sh
# check-lengths on a made-up tree.
set -eu
. tests/meta/expect.sh
lines() { awk -v n="$1" 'BEGIN {for (i = 0; i < n; i++) print "//"}'; }

expect 1 "no source files" scripts/check-lengths "$tree"
lines 300 | write core/a.cpp
lines 301 | write core/b.cpp
expect 0 "core/b.cpp: 301 lines, more than 300 (allowed)" scripts/check-lengths "$tree"
lines 501 | write core/c.cpp
expect 1 "core/c.cpp: 501 lines, more than 500" scripts/check-lengths "$tree"
finish
