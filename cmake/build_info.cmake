# What a program tells of its build: gen/paritect/build_info.h, written anew where the commit or a library changed. The commit
# is asked at each build, since a checkout moves on without a new configuration; the file of another build stays untouched
# where nothing changed, so nothing is compiled for it.
if(CMAKE_SCRIPT_MODE_FILE)
  execute_process(COMMAND git -C ${SOURCE} rev-parse HEAD OUTPUT_VARIABLE commit RESULT_VARIABLE failed
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(failed)
    set(commit "not known (built outside of a checkout)")
  else()
    # By content: a checkout that was copied has other times, and no change.
    execute_process(COMMAND git -C ${SOURCE} --no-optional-locks diff --quiet HEAD -- RESULT_VARIABLE changed
                    OUTPUT_QUIET ERROR_QUIET)
    if(changed)
      string(APPEND commit " with changes")
    endif()
  endif()
  set(text "// Written by cmake/build_info.cmake.
#pragma once
namespace paritect {
inline constexpr char kBuildCommit[] = \"${commit}\";
inline constexpr char kBuildMachine[] = \"${MACHINE}\";
inline constexpr char kBuildCompiler[] = \"${COMPILER}\";
inline constexpr char kBuildLibraries[] = \"${LIBRARIES}\";
}  // namespace paritect
")
  file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "${text}" @ONLY)
  return()
endif()

set(libraries "")
foreach(library "gRPC:${gRPC_VERSION}" "Protobuf:${Protobuf_VERSION}" "Abseil:${absl_VERSION}" "SQLite:${SQLite3_VERSION}"
        "OpenSSL:${OPENSSL_VERSION}" "HDF5:${HDF5_VERSION}" "libpq:${LIBPQ_VERSION}" "yaml-cpp:${yaml-cpp_VERSION}"
        "tree-sitter:${TREE_SITTER_VERSION}" "RE2:${RE2_VERSION}" "xxHash:${XXHASH_VERSION}" "ISA-L:${ISAL_VERSION}"
        "Highway:${HWY_VERSION}" "zlib:${ZLIB_VERSION}")
  if(NOT library MATCHES ":$")
    string(REPLACE ":" " " library "${library}")
    list(APPEND libraries "${library}")
  endif()
endforeach()
list(JOIN libraries ", " libraries)
set(PARITECT_BUILD_INFO ${CMAKE_BINARY_DIR}/gen/paritect/build_info.h)
add_custom_target(build_info
  COMMAND ${CMAKE_COMMAND} -D SOURCE=${CMAKE_SOURCE_DIR} -D OUTPUT=${PARITECT_BUILD_INFO} -D MACHINE=${CMAKE_SYSTEM_PROCESSOR}
          -D "COMPILER=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}" -D "LIBRARIES=${libraries}"
          -P ${CMAKE_SOURCE_DIR}/cmake/build_info.cmake
  BYPRODUCTS ${PARITECT_BUILD_INFO} VERBATIM)
