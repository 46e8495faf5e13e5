# A build for aarch64 (Kunpeng) on another machine: --toolchain cmake/aarch64.cmake -DCMAKE_SYSROOT=FOLDER, FOLDER being what
# deploy/sysroot made. Programs of this build that the build itself runs go through qemu.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH ${CMAKE_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L ${CMAKE_SYSROOT})
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR}
    ${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)
# The cross compiler looks for lld under a name of its own, unless it is led to the folder.
find_program(PARITECT_LLD_PROGRAM ld.lld)
get_filename_component(lld_folder ${PARITECT_LLD_PROGRAM} REALPATH)
get_filename_component(lld_folder ${lld_folder} DIRECTORY)
set(CMAKE_EXE_LINKER_FLAGS_INIT -B${lld_folder})
set(CMAKE_SHARED_LINKER_FLAGS_INIT -B${lld_folder})
