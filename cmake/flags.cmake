# Warnings, sanitizers and build types, the same for every target of ours.
add_library(gyre_flags INTERFACE)
target_compile_options(gyre_flags INTERFACE
  -Wall -Wextra -Wno-missing-field-initializers -Wconversion -Wshadow -Werror -fno-math-errno -ffp-contract=off)
# g++ 12 reports overflows that cannot happen inside std::vector.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  target_compile_options(gyre_flags INTERFACE -Wno-stringop-overflow -Wno-array-bounds -Wno-restrict)
endif()
target_include_directories(gyre_flags INTERFACE
  ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
target_compile_definitions(gyre_flags INTERFACE _GNU_SOURCE GYRE_VERSION_TEXT="${PROJECT_VERSION}")
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  target_compile_options(gyre_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wthread-safety>)
endif()

set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g")
if(GYRE_SANITIZE)
  # CMAKE_CXX_FLAGS, not an interface: gtest_main and every object must agree.
  set(sanitize -fsanitize=${GYRE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_compile_options(${sanitize})
  add_link_options(${sanitize})
  add_compile_definitions(GYRE_SANITIZED)
endif()
if(GYRE_FUZZ)
  # Coverage of the floors steers the fuzzers; their main comes with -fsanitize=fuzzer at link.
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
