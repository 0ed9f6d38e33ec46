#!/bin/sh
# scripts/check_includes goes red for each kind of include that breaks a rule, and stays green for those that do not.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failed=0

# expect green|red FILE LINE: a tree whose only source is FILE with this LINE
expect() {
  rm -rf "${tree:?}"/*
  mkdir -p "$tree/core" "$tree/$(dirname "$2")"
  printf '%s\n' "// a source" "$3" >"$tree/$2"
  if out=$("$root/scripts/check_includes" "$tree"); then got=green; else got=red; fi
  if [ "$got" != "$1" ]; then
    echo "$2 with $3: $got, not $1: $out"
    failed=1
  elif [ "$got" = red ] && ! printf '%s' "$out" | grep -q "^$2:2: "; then
    echo "$2 with $3: the place is not told: $out"
    failed=1
  fi
}

expect green core/a.cpp '#include "core/a.hpp"'
expect green core/a.cpp '#include <vector>'
expect red core/a.cpp '#include "search/space.hpp"'
expect red core/a.hpp '#include "actors/engine.hpp"'
expect red core/a.hpp '#include <measure/executor.hpp>'
expect green search/a.cpp '#include "core/value.hpp"'
expect red search/a.cpp '  #  include "storage/store.hpp"'
expect red search/a.cpp '#include "schedulers/credits.hpp"'
expect red schedulers/a.cpp '#include "search/space.hpp"'
expect red schedulers/a.cpp '#include <caf/actor.hpp>'
expect red measure/a.cpp '#include "search/space.hpp"'
expect green measure/a.cpp '#include <asio/post.hpp>'
expect green storage/a.cpp '#include "proto/attune.pb.h"'
expect red storage/a.cpp '#include "measure/executor.hpp"'
expect red measure/a.cpp '#include "proto/attune.pb.h"'
expect red search/a.cpp '#include <asio.hpp>'
expect red actors/a.cpp '#include <rocksdb/db.h>'
expect green actors/a.cpp '#include <caf/all.hpp>'
expect red storage/a.cpp '#include <caf/all.hpp>'
expect red actors/a.cpp '#include "net/hub.hpp"'
expect red actors/a.cpp '#include "cli/progress.hpp"'
expect red net/a.cpp '#include "cli/progress.hpp"'
expect green cli/a.cpp '#include "storage/store.hpp"'
expect green examples/embedded/main.cpp '#include "actors/engine.hpp"'
expect green tests/search/a.cpp '#include "search/space.hpp"'
expect red tests/search/a.cpp '#include "../helper.hpp"'
expect red core/a.cpp '#include "a.hpp"'
exit $failed
