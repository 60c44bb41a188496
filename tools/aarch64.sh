#!/usr/bin/env bash
# Compiles kernels for aarch64 and for this processor, and compares what they compute, bit by bit, under emulation.
# Needs: apt-get install g++-aarch64-linux-gnu qemu-user
set -euo pipefail
cd "$(dirname "$0")/../src/shoal/kernels/cpp"
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
flags="-std=c++17 -O3 -ffp-contract=off -fno-math-errno -Wno-psabi -DISA=base -I."
compile() { # COMPILER FOLDER: every family; module.cpp alone needs Python
  mkdir "$build/$2"
  for source in *.cpp; do
    [ "$source" = module.cpp ] || "$1" $flags -c "$source" -o "$build/$2/${source%.cpp}.o"
  done
  "$1" $flags -static ../../../../tools/same_bits.cpp "$build/$2"/*.o -o "$build/$2/same_bits"
}
compile c++ here
compile aarch64-linux-gnu-g++ aarch64
"$build/here/same_bits" >"$build/expected"
qemu-aarch64 "$build/aarch64/same_bits" | diff "$build/expected" -
cat "$build/expected"
echo "aarch64 computes the same bits"
