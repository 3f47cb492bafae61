#!/bin/sh
# Builds the fuzz target of the mesh readers with clang and runs it for a few seconds per format from its corpus.
# Usage: mesh_readers.sh BUILD_FOLDER SECONDS [FORMAT ...]      Exit code 77: no clang with libFuzzer, nothing was run.
set -eu
source_dir=$(cd "$(dirname "$0")/../.." && pwd)
build=$1
seconds=$2
shift 2
[ $# -gt 0 ] || set -- stl obj ply vtp dae msh inp vtu vtk
clang=$(command -v clang++-16 || command -v clang++-19 || command -v clang++ || true)
[ -n "$clang" ] || { echo "no clang++: the fuzz targets of the mesh readers were not run"; exit 77; }
mkdir -p "$build"
launcher=$(command -v ccache || true)
# Not optimised, and the sources of a folder as one text, as in the library: these are compiled for a run of seconds.
flags="-std=c++20 -g1 -O0 -fsanitize=address,undefined -fno-sanitize-recover=all -I$source_dir -isystem /usr/include/eigen3"
objects=
cd "$source_dir"
for text in "common/errors/*.cpp common/text/markup.cpp common/text/text_file.cpp common/spatial/spatial.cpp" \
  "fem_server/geometry/surface_mesh.cpp fem_server/geometry/volume_mesh.cpp fem_server/geometry/read_mesh.cpp
    fem_server/geometry/surface_check.cpp fem_server/geometry/sliver_removal.cpp fem_server/geometry/surface_repair.cpp
    fem_server/geometry/triangle_tree.cpp fem_server/geometry/volume_check.cpp" \
  "fem_server/geometry/io/*.cpp" tests/fuzz/mesh_readers.cpp; do
  object=$build/text$(echo "$objects" | wc -w).o
  objects="$objects $object"
  # Always: an object depends on its headers, which are not checked here. The cache makes it cheap.
  printf '#include "%s"\n' $text > "${object%.o}.cpp"
  $launcher "$clang" $flags -fsanitize=fuzzer-no-link -c "${object%.o}.cpp" -o "$object"
done
"$clang" $flags -fsanitize=fuzzer $objects -lpugixml -lz -llz4 -llzma -lfmt -o "$build/fuzz_mesh_readers"
for format in "$@"; do
  mkdir -p "$build/found_$format"
  HEELSTRIKE_FUZZ_FORMAT=$format "$build/fuzz_mesh_readers" -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 -verbosity=0 \
    -artifact_prefix="$build/crash_${format}_" "$build/found_$format" "tests/fuzz/mesh_readers_corpus/$format"
done
