#!/bin/sh
# check-layers on a made-up tree: accepts the order, rejects each way of breaking it.
set -eu
. tests/meta/expect.sh
check=scripts/check-layers

expect 2 "nothing to check" "$check" "$tree"

echo '#include "core/b.hpp"' | write core/a.cpp
echo '#include "core/b.hpp"' | write collectives/algorithms/a.cpp
echo '#include "collectives/schedule/s.hpp"' | write collectives/runtime/a.cpp
printf '#include <mpi.h>\n#include "transports/t.hpp"\n' | write transports/mpi/a.cpp
echo '#include "tuning/t.hpp"' | write commands/a.cpp
expect 0 "5 files follow the order" "$check" "$tree"

# rejects FILE INCLUDE TEXT: with that one line added the check must fail.
rejects() {
  printf '#include %s\n' "$2" | write "$1"
  expect 1 "$1:1: $3" "$check" "$tree"
  rm "$tree/$1"
}
rejects core/bad.hpp '"transports/t.hpp"' 'core may not use transports'
rejects devices/bad.cpp '"transports/t.hpp"' 'devices may not use transports'
rejects transports/local/bad.cpp '"collectives/schedule/s.hpp"' 'transports may not use schedule'
rejects collectives/schedule/bad.cpp '"transports/t.hpp"' 'schedule may not use transports'
rejects collectives/algorithms/bad.cpp '"collectives/runtime/o.hpp"' 'schedule may not use runtime'
rejects collectives/exchange/bad.cpp '"collectives/runtime/o.hpp"' 'exchange may not use runtime'
rejects collectives/algorithms/bad.cpp '"collectives/exchange/i.hpp"' 'schedule may not use exchange'
rejects harness/bad.cpp '"collectives/runtime/o.hpp"' 'harness may not use runtime'
rejects microbench/bad.cpp '"dnn_proxy/d.hpp"' 'microbench may not use dnn_proxy'
rejects dnn_proxy/bad.cpp '"tuning/t.hpp"' 'dnn_proxy may not use tuning'
rejects tuning/bad.cpp '"commands/c.hpp"' 'tuning may not use commands'
rejects core/bad.cpp '"b.hpp"' '"b.hpp" does not start at the root'
rejects core/bad.cpp '"../core/b.hpp"' '"../core/b.hpp" does not start at the root'
rejects core/bad.cpp '"tests/t.hpp"' '"tests/t.hpp" does not start at the root'
rejects harness/bad.cpp '<mpi.h>' '<mpi.h> belongs in the folder of a loadable module'
finish
