# The same programs with Heddle's sources as a part of their build (add_subdirectory). The library is built once more for
# that, in a folder that is kept for the next time.
#   cmake -DBUILD=BUILD_FOLDER -DSOURCE=SOURCE_FOLDER -P subdirectory.cmake
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/support.cmake)
set(build ${BUILD}/subdirectory_test)
# A parent that is built for debugging, with a standard of its own.
run(0 ${CMAKE_COMMAND} -G Ninja -S ${SOURCE}/examples/embed -B ${build} -DHEDDLE_SOURCES=${SOURCE} -DCMAKE_BUILD_TYPE=Debug
      -DCMAKE_EXPORT_COMPILE_COMMANDS=ON)
run(0 ${CMAKE_COMMAND} --build ${build})
expect_embedded(${build})

# What Heddle is compiled with stays below its folder: the parent's own files are compiled as the parent says.
file(READ ${build}/compile_commands.json commands)
string(JSON count LENGTH "${commands}")
math(EXPR last "${count} - 1")
set(own 0)
foreach(i RANGE ${last})
  string(JSON file GET "${commands}" ${i} file)
  string(JSON output GET "${commands}" ${i} command)
  if(file MATCHES "/examples/embed/")
    math(EXPR own "${own} + 1")
    foreach(flag -Wall -ffp-contract -fno-fast-math -O2 -fvisibility ccache)
      expect_not("${flag}")
    endforeach()
    expect(" -g ")
  else()
    expect(" -O2 -DNDEBUG")
    expect_not(" -g ")
  endif()
endforeach()
if(NOT own EQUAL 2)
  message(FATAL_ERROR "${own} files of the parent are compiled instead of 2")
endif()
# Neither its tests nor its command, and nothing of it is installed with the parent.
run(0 ${CMAKE_COMMAND} --build ${build} --target help)
expect_not("test_api")
expect_not("heddle_cli")
run(0 ${CMAKE_COMMAND} --install ${build} --prefix ${build}/installed)
if(EXISTS ${build}/installed)
  message(FATAL_ERROR "the parent installs files of Heddle")
endif()
