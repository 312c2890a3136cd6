# SPDX-License-Identifier: Apache-2.0
# Shared by the scripts of this folder; sourced, with the project's root as working directory.

# Two checkouts of the same sources share what they have compiled.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=include_file_ctime,include_file_mtime,time_macros

# say WORDS...: one line about what happens now.
say() { printf '\n== %s\n' "$*"; }

# jobs: compile jobs that fit the processors and the memory (a gRPC source takes about 1 GB).
jobs() {
  local cpus memory
  cpus=$(nproc)
  memory=$(awk '/MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo)
  [ "$memory" -lt 1 ] && memory=1
  echo $((cpus < memory ? cpus : memory))
}

# build PRESET [TARGET...]: configures where needed and builds.
build() {
  local preset=$1; shift
  mkdir -p build
  local log="build/configure-$preset.log"
  say "building preset '$preset' in build/$preset"
  cmake --preset "$preset" >"$log" 2>&1 || { cat "$log"; return 1; }
  cmake --build "build/$preset" --parallel "$(jobs)" ${1:+--target "$@"}
}
