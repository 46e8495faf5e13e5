cmake_minimum_required(VERSION 3.25)
# cmake -DARCHIVE=libparitect_checks.a -DNM=nm -P purity_test.cmake
# The checks are a pure function of evidence, profile and rules: what their library asks of others must not hold
# anything that reads a file, the clock, the locale, the environment or a random source, or that starts a thread.
execute_process(COMMAND ${NM} --undefined-only --format=posix ${ARCHIVE} OUTPUT_VARIABLE symbols
                RESULT_VARIABLE failed ERROR_QUIET)
if(failed OR NOT symbols MATCHES "[a-z]")
  message(FATAL_ERROR "cannot list the symbols of ${ARCHIVE}")
endif()

set(impure
    open open64 openat openat64 fopen fopen64 read pread write pwrite stat stat64 lstat fstat opendir readdir readlink
    unlink rename mkdir ftruncate mmap socket connect bind listen accept send recv poll epoll_wait select
    time clock clock_gettime gettimeofday localtime localtime_r gmtime strftime mktime nanosleep sleep usleep
    setlocale localeconv uselocale newlocale nl_langinfo strcoll
    getenv secure_getenv setenv system popen fork execve getpid gethostname uname sysconf
    rand srand random rand_r getrandom arc4random
    printf fprintf puts fputs putchar
    pthread_create)
set(impure_patterns
    "std::chrono::_V2::" "std::basic_[io]*fstream" "std::random_device" "std::thread" "std::locale::"
    "std::this_thread" "absl::[a-z0-9:]*Now" "paritect::PosixFileSystem" "paritect::ReadWholeFile" "paritect::WriteFileAtomically" "paritect::BuiltInRules" "paritect::EmbeddedRules"
    "std::filesystem" "std::cout" "std::cerr")

set(found "")
string(REPLACE "\n" ";" lines "${symbols}")
foreach(line IN LISTS lines)
  if(NOT line MATCHES "^([^ ]+) U")
    continue()
  endif()
  string(REGEX REPLACE "@.*" "" symbol "${CMAKE_MATCH_1}")
  if(symbol IN_LIST impure)
    list(APPEND found ${symbol})
  endif()
endforeach()

execute_process(COMMAND ${NM} --undefined-only --demangle ${ARCHIVE} OUTPUT_VARIABLE demangled ERROR_QUIET)
foreach(pattern IN LISTS impure_patterns)
  string(REGEX MATCH "U [^\n]*${pattern}[^\n]*" match "${demangled}")
  if(match)
    list(APPEND found "${match}")
  endif()
endforeach()

if(found)
  list(REMOVE_DUPLICATES found)
  list(JOIN found "\n  " text)
  message(FATAL_ERROR "checks/ is not pure; it uses\n  ${text}")
endif()
