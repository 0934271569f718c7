# `cmake --install build --prefix P`: the program, the shared library with the headers of its interface, the data, one static
# library of all rooms with their headers, and what makes find_package(heddle) work (docs/embedding.md, docs/backends.md).
# `cpack` in the build folder makes Debian packages of it.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

# One archive, so that users need not know the rooms. LLVM stays the system's shared library.
get_property(rooms GLOBAL PROPERTY heddle_rooms)
set(merge "create ${PROJECT_BINARY_DIR}/libheddle.a\n")
set(archives)
foreach(room ${rooms} heddle_build_info)
  if(room STREQUAL "heddle_cli")
    continue()
  endif()
  string(APPEND merge "addlib $<TARGET_FILE:${room}>\n")
  list(APPEND archives ${room})
endforeach()
string(APPEND merge "save\nend\n")
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/merge_archives.mri CONTENT "${merge}")
add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/libheddle.a DEPENDS ${archives} ${PROJECT_BINARY_DIR}/merge_archives.mri
                   COMMAND ${CMAKE_COMMAND} -E rm -f ${PROJECT_BINARY_DIR}/libheddle.a
                   COMMAND ${CMAKE_AR} -M < ${PROJECT_BINARY_DIR}/merge_archives.mri)
# Others are several hundred megabytes: they are made where they are asked for.
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  set(in_all ALL)
endif()
add_custom_target(heddle_library ${in_all} DEPENDS ${PROJECT_BINARY_DIR}/libheddle.a)

file(STRINGS ${PROJECT_SOURCE_DIR}/pyproject.toml version REGEX "^version = " LIMIT_COUNT 1)
string(REGEX REPLACE "^version = \"(.*)\"$" "\\1" version "${version}")
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/heddle)
set(heddle_llvm $<TARGET_FILE:LLVM>)
configure_package_config_file(cmake/heddleConfig.cmake.in ${PROJECT_BINARY_DIR}/heddleConfig.cmake.in
                              INSTALL_DESTINATION ${package_folder} NO_CHECK_REQUIRED_COMPONENTS_MACRO
                              PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_DATADIR)
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/heddleConfig.cmake INPUT ${PROJECT_BINARY_DIR}/heddleConfig.cmake.in)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/heddleConfigVersion.cmake VERSION ${version}
                                 COMPATIBILITY SameMinorVersion)

# For pkg-config: programs that use the shared library. The folder may be moved.
file(RELATIVE_PATH up /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
file(WRITE ${PROJECT_BINARY_DIR}/heddle.pc "prefix=\${pcfiledir}/${up}
libdir=\${prefix}/${CMAKE_INSTALL_LIBDIR}
includedir=\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}

Name: heddle
Description: tensor compiler in which an operator is a short text
Version: ${version}
Libs: -L\${libdir} -lheddle
Cflags: -I\${includedir}
")

# What the program says of itself: the manual page, and completion of shells.
set(said ${PROJECT_BINARY_DIR}/said)
set(manual_of heddle.1 manual)
set(bash_of heddle completion bash)
set(zsh_of _heddle completion zsh)
set(texts)
foreach(text manual bash zsh)
  list(POP_FRONT ${text}_of name)
  list(APPEND texts ${said}/${name})
  add_custom_command(OUTPUT ${said}/${name} DEPENDS heddle VERBATIM COMMAND ${CMAKE_COMMAND} -E make_directory ${said}
                     COMMAND heddle ${${text}_of} > ${said}/${name})
endforeach()

# All that is installed. `make build` makes it, so that cmake --install finds it.
add_custom_target(heddle_installed ${in_all} DEPENDS heddle heddle_library ${texts})
if(TARGET heddle_shared)
  add_dependencies(heddle_installed heddle_shared)
endif()
# Before anything is written: a build of fewer targets would leave half of it.
install(CODE "foreach(file $<TARGET_FILE:heddle> ${PROJECT_BINARY_DIR}/libheddle.a ${texts})
  if(NOT EXISTS \${file})
    message(FATAL_ERROR \"\${file} is not built: cmake --build ${PROJECT_BINARY_DIR} --target heddle_installed\")
  endif()
endforeach()" ALL_COMPONENTS)
# Removes what the last cmake --install of this build wrote.
add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} -DMANIFEST=${PROJECT_BINARY_DIR}/install_manifest.txt -P ${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake)

# Where the system's linker looks by itself, no place is written down.
get_target_property(llvm_file LLVM LOCATION)
get_filename_component(llvm_folder ${llvm_file} REALPATH)
get_filename_component(llvm_folder ${llvm_folder} DIRECTORY)
set(rpath INSTALL_RPATH_USE_LINK_PATH ON)
if(llvm_folder IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
  set(rpath INSTALL_RPATH_USE_LINK_PATH OFF)
endif()
set_target_properties(heddle PROPERTIES ${rpath})
# Who runs programs that use the library needs these; who builds such programs needs the others too.
set(to_run COMPONENT heddle)
set(to_build COMPONENT dev)
install(TARGETS heddle RUNTIME ${to_run})
install(FILES ${said}/heddle.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 ${to_run})
install(FILES ${said}/heddle DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions ${to_run})
install(FILES ${said}/_heddle DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions ${to_run})
foreach(data operators environments exported targets)
  if(EXISTS ${PROJECT_SOURCE_DIR}/${data})
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/${data} DESTINATION ${CMAKE_INSTALL_DATADIR}/heddle ${to_run})
  endif()
endforeach()
if(TARGET heddle_shared)
  set_target_properties(heddle_shared PROPERTIES ${rpath})
  install(TARGETS heddle_shared EXPORT heddleTargets LIBRARY ${to_run} NAMELINK_COMPONENT dev)
  install(EXPORT heddleTargets NAMESPACE heddle:: DESTINATION ${package_folder} ${to_build})
endif()
# Connecting with MPI: to be compiled against one's own; compiled against those that were here. Only these need an MPI.
install(FILES ${PROJECT_SOURCE_DIR}/src/transport/mpi_plugin.c ${PROJECT_SOURCE_DIR}/src/transport/mpi_plugin.h
        DESTINATION ${CMAKE_INSTALL_DATADIR}/heddle/mpi ${to_run})
foreach(name ${mpi_names})
  install(TARGETS heddle_mpi_${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/heddle COMPONENT mpi)
  add_dependencies(heddle_installed heddle_mpi_${name})
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/api/heddle DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} ${to_build})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/heddle ${to_build}
        FILES_MATCHING PATTERN "*.h" PATTERN "*.def" PATTERN cli EXCLUDE PATTERN python EXCLUDE PATTERN api EXCLUDE)
install(FILES ${PROJECT_BINARY_DIR}/libheddle.a DESTINATION ${CMAKE_INSTALL_LIBDIR} ${to_build})
install(FILES ${PROJECT_BINARY_DIR}/heddle.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig ${to_build})
install(FILES ${PROJECT_BINARY_DIR}/heddleConfig.cmake ${PROJECT_BINARY_DIR}/heddleConfigVersion.cmake
        DESTINATION ${package_folder} ${to_build})

include(cmake/debian.cmake)
