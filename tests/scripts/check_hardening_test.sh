#!/bin/sh
# scripts/check_hardening goes red for each kind of hardening that a program lacks, and only for that.
#   check_hardening_test.sh COMPILER
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
cxx=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
cat >"$folder/a.cpp" <<'END'
#include <cstdio>
#include <cstring>
int main(int n, char** words) {
  char text[16];
  std::strcpy(text, words[n - 1]);
  std::puts(text);
}
END

# expect RED-TEXT FLAGS…: none for green
all="-O2 -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fPIE -pie -Wl,-z,relro,-z,now -Wl,-z,noexecstack"
expect() {
  text=$1
  shift
  # shellcheck disable=SC2086 # words
  "$cxx" $all "$@" "$folder/a.cpp" -o "$folder/a" 2>/dev/null
  out=$("$root/scripts/check_hardening" "$folder/a") && green=1 || green=0
  if [ -z "$text" ]; then
    if [ $green = 0 ]; then
      echo "hardened: $out"
      failed=1
    fi
  elif [ $green = 1 ] || [ "$(printf '%s' "$out" | grep -vc "$text")" != 0 ]; then
    echo "$*: should say '$text': $out"
    failed=1
  fi
}
expect ''
expect 'position-independent' -no-pie
expect 'stay writable' -Wl,-z,norelro
expect 'binds lazily' -Wl,-z,lazy
expect 'executable' -Wl,-z,execstack
expect 'not protected' -fno-stack-protector
expect 'not fortified' -U_FORTIFY_SOURCE
exit $failed
