# SPDX-License-Identifier: Apache-2.0
# Build options and the compile settings that every target shares.
option(GG_BUILD_TESTS "Build the tests" ON)
set(GG_SANITIZE "" CACHE STRING "Sanitizers, comma separated: 'address,undefined' or 'thread'")
set(GG_WITH_ONEDNN AUTO CACHE STRING "CPU device on oneDNN: AUTO, ON or OFF")
set(GG_WITH_CUDA OFF CACHE STRING "NVIDIA device: AUTO, ON or OFF")
if(NOT GG_WITH_CUDA STREQUAL "OFF" AND NOT GG_WITH_CUDA STREQUAL "AUTO")
  message(FATAL_ERROR "GG_WITH_CUDA=${GG_WITH_CUDA}: this release has no NVIDIA device yet; the preset 'cuda' is kept for it")
endif()
option(GG_WERROR "Treat warnings as errors" ON)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set_property(GLOBAL PROPERTY USE_FOLDERS ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(GG_CCACHE ccache)
if(GG_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${GG_CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER "${GG_CCACHE}")
endif()
# mold links the gRPC binaries several times faster; sanitizers keep the default linker.
find_program(GG_MOLD mold)
if(GG_MOLD AND NOT GG_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_link_options(-fuse-ld=mold)
endif()

# Carried by gg_library/gg_test/gg_binary only, so that third-party targets keep their own flags.
add_library(gg_compile_settings INTERFACE)
target_include_directories(gg_compile_settings INTERFACE
  "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}/gen")
target_compile_options(gg_compile_settings INTERFACE
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wno-unused-parameter
  $<$<BOOL:${GG_WERROR}>:-Werror>
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
  # GCC 12 reports std::string::insert(0, "x") as overlapping (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
# The condition is here because a target's own -fno-sanitize=thread would come before these options, and lose.
if(GG_SANITIZE)
  target_compile_options(gg_compile_settings INTERFACE
    $<$<NOT:$<BOOL:$<TARGET_PROPERTY:GG_NOT_INSTRUMENTED>>>:-fsanitize=${GG_SANITIZE}>
    -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(gg_compile_settings INTERFACE -fsanitize=${GG_SANITIZE})
endif()
