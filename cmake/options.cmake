# Language, warnings, compiler cache and linker: one place, the same for every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
# One flag for libraries and programs, so that they can share the precompiled header.
add_compile_options(-fPIC -pthread)
option(PARITECT_PORTABLE "programs without shared libraries (cmake/portable.cmake)" OFF)
# libpq has no static form that Debian's other libraries complete: Kerberos and LDAP, which it names, have none.
if(PARITECT_PORTABLE)
  set(postgresql OFF)
else()
  set(postgresql ON)
endif()
option(PARITECT_POSTGRESQL "paritect-server --store postgresql://… (libpq)" ${postgresql})
# One that opens libraries while it runs (property PARITECT_DYNAMIC) cannot be static.
set(opens_libraries $<BOOL:$<TARGET_PROPERTY:PARITECT_DYNAMIC>>)
set(static $<AND:$<BOOL:${PARITECT_PORTABLE}>,$<NOT:${opens_libraries}>>)
set(program $<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>)
add_link_options($<${program}:$<IF:${static},-static-pie,-pie>>)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "build type" FORCE)
endif()

# Line tables suffice for stack traces and halve the size of objects.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g1")

option(PARITECT_FUZZ "build libFuzzer targets (clang); else they replay and mutate by themselves" OFF)
set(PARITECT_SANITIZE "" CACHE STRING "value of -fsanitize=, e.g. address,undefined")
option(PARITECT_COVERAGE "measure coverage" OFF)

# A second build of unchanged sources costs seconds with ccache; precompiled headers need the sloppiness.
find_program(PARITECT_CCACHE ccache)
# Where its folder cannot be written (a service account without a home), ccache fails every compilation.
set(ccache_works FALSE)
if(PARITECT_CCACHE)
  execute_process(COMMAND ${PARITECT_CCACHE} --get-config cache_dir OUTPUT_VARIABLE folder RESULT_VARIABLE result
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(result EQUAL 0)
    execute_process(COMMAND mkdir -p ${folder}/tmp RESULT_VARIABLE result ERROR_QUIET)
  endif()
  if(result EQUAL 0)
    execute_process(COMMAND test -w ${folder}/tmp RESULT_VARIABLE result)
  endif()
  if(result EQUAL 0)
    set(ccache_works TRUE)
  else()
    message(STATUS "ccache cannot write its folder: compiling without it")
  endif()
endif()
if(ccache_works AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(launcher ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_NOHASHDIR=1 ${PARITECT_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
endif()

find_program(PARITECT_LLD ld.lld)
if(PARITECT_LLD)
  add_link_options(-fuse-ld=lld)
endif()
# Linking takes memory; one at a time keeps two compilers busy beside it.
set_property(GLOBAL PROPERTY JOB_POOLS link=1)
set(CMAKE_JOB_POOL_LINK link)

if(PARITECT_SANITIZE)
  # -O1 (it comes after the build type's -O2) compiles instrumented code twice as fast and finds the same.
  add_compile_options(-O1 -fsanitize=${PARITECT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${PARITECT_SANITIZE})
endif()
if(PARITECT_COVERAGE)
  add_compile_options(--coverage -O0)
  add_link_options(--coverage)
endif()

# Half a gigabyte before GCC collects garbage: a file compiles in 7 to 17 % less time and some 40 MiB more.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:--param ggc-min-expand=200>"
                      "$<$<COMPILE_LANGUAGE:CXX>:SHELL:--param ggc-min-heapsize=524288>")
endif()

set(PARITECT_WARNINGS -Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion -Wshadow
    -Wnon-virtual-dtor -Wold-style-cast -Wno-missing-field-initializers
    -Wno-maybe-uninitialized -Werror)  # the last is wrong too often in GCC 12 with optimised std::string
set(PARITECT_HARDENING "")
if(CMAKE_BUILD_TYPE MATCHES "Rel" AND NOT PARITECT_SANITIZE)
  set(PARITECT_HARDENING -fstack-protector-strong -D_FORTIFY_SOURCE=2)
endif()
