#!/usr/bin/env bash
# Runs Python with the kernels built under sanitizers, in which every mistake ends the process:
#   tools/sanitize.sh BIN address,undefined -m pytest tests/kernels
#   tools/sanitize.sh BIN address,undefined -m fuzz --seconds 60
set -euo pipefail
bin=$(realpath "$1") sanitizers=$2
shift 2
build=$PWD/build/${sanitizers%%,*}
"$bin/cmake" -S . -B "$build" -G Ninja --log-level=WARNING -DCMAKE_BUILD_TYPE=Debug \
  -DPython_EXECUTABLE="$bin/python" -DCMAKE_MAKE_PROGRAM="$bin/ninja" \
  -DCMAKE_CXX_FLAGS="-g1 -D_GLIBCXX_ASSERTIONS -fsanitize=$sanitizers -fno-sanitize-recover=all -fno-omit-frame-pointer"
"$bin/cmake" --build "$build" --target _native -- --quiet
rm -rf "$build/src"
mkdir "$build/src"
cp -r src/shoal "$build/src/shoal"
cp "$build"/_native.*.so "$build/src/shoal/kernels/"
# Python itself is not instrumented: the runtime, and the library that throws, come first; what Python keeps is no leak.
runtime="$(c++ -print-file-name="lib${sanitizers:0:1}san.so") $(c++ -print-file-name=libstdc++.so)"
export PYTHONPATH=$build/src
"$bin/python" -c "import shoal; assert shoal.__file__.startswith('$build'), shoal.__file__"  # not the usual kernels
LD_PRELOAD=$runtime ASAN_OPTIONS=detect_leaks=0 TSAN_OPTIONS=report_signal_unsafe=0 \
  PYTHONMALLOC=malloc "$bin/python" "$@"
