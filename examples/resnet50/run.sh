#!/bin/sh
# Tunes the convolutions of ResNet-50 with one budget, writes the bundle, and runs the network's layers with what came of
# it.   run.sh [OPTION OF attune tune…]   ATTUNE, RESNET50: the programs; SPEC: another spec; BUNDLE: where it goes
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$here/../../build/release
attune=${ATTUNE:-$build/cli/attune}
program=${RESNET50:-$build/examples/resnet50}
spec=${SPEC:-$here/resnet50.yaml}
bundle=${BUNDLE:-resnet50.bundle}
"$attune" tune "$spec" --quiet "$@"
"$attune" bundle "$spec" -o "$bundle"
"$program" "$bundle" "$here/conv.cpp" ${SINGLES:+--singles "$SINGLES"}
