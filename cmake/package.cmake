# `cmake --install build --prefix P`: the program, its data, one static library of all rooms, their headers, and what makes
# find_package(heddle) work (docs/backends.md). A wheel has none of it.
if(SKBUILD)
  return()
endif()
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

# One archive, so that users need not know the rooms. LLVM stays the system's shared library.
get_property(rooms GLOBAL PROPERTY heddle_rooms)
set(merge "create ${CMAKE_BINARY_DIR}/libheddle.a\n")
set(archives)
foreach(room ${rooms} heddle_build_info)
  if(room STREQUAL "heddle_cli")
    continue()
  endif()
  string(APPEND merge "addlib $<TARGET_FILE:${room}>\n")
  list(APPEND archives ${room})
endforeach()
string(APPEND merge "save\nend\n")
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/merge_archives.mri CONTENT "${merge}")
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/libheddle.a DEPENDS ${archives} ${CMAKE_BINARY_DIR}/merge_archives.mri
                   COMMAND ${CMAKE_COMMAND} -E rm -f ${CMAKE_BINARY_DIR}/libheddle.a
                   COMMAND ${CMAKE_AR} -M < ${CMAKE_BINARY_DIR}/merge_archives.mri)
# Others are several hundred megabytes: they are made where they are asked for.
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  set(in_all ALL)
endif()
add_custom_target(heddle_library ${in_all} DEPENDS ${CMAKE_BINARY_DIR}/libheddle.a)

file(STRINGS ${CMAKE_SOURCE_DIR}/pyproject.toml version REGEX "^version = " LIMIT_COUNT 1)
string(REGEX REPLACE "^version = \"(.*)\"$" "\\1" version "${version}")
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/heddle)
set(heddle_llvm $<TARGET_FILE:LLVM>)
configure_package_config_file(cmake/heddleConfig.cmake.in ${CMAKE_BINARY_DIR}/heddleConfig.cmake.in
                              INSTALL_DESTINATION ${package_folder} NO_CHECK_REQUIRED_COMPONENTS_MACRO
                              PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_DATADIR)
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/heddleConfig.cmake INPUT ${CMAKE_BINARY_DIR}/heddleConfig.cmake.in)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/heddleConfigVersion.cmake VERSION ${version}
                                 COMPATIBILITY SameMinorVersion)

set_target_properties(heddle PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS heddle RUNTIME)
install(FILES ${CMAKE_BINARY_DIR}/libheddle.a DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/src/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/heddle
        FILES_MATCHING PATTERN "*.h" PATTERN "*.def" PATTERN cli EXCLUDE PATTERN python EXCLUDE)
foreach(data operators environments exported)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/${data} DESTINATION ${CMAKE_INSTALL_DATADIR}/heddle)
endforeach()
install(FILES ${CMAKE_BINARY_DIR}/heddleConfig.cmake ${CMAKE_BINARY_DIR}/heddleConfigVersion.cmake
        DESTINATION ${package_folder})
