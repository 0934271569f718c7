# Debian packages: heddle with the command, the shared library and the data, libheddle-dev with what programs are built by.
#   cd build && cpack
set(HEDDLE_MAINTAINER "The Heddle developers <heddle@localhost>" CACHE STRING "who the Debian packages name")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME heddle)
set(CPACK_PACKAGE_VERSION ${version})
set(CPACK_PACKAGE_CONTACT ${HEDDLE_MAINTAINER})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL heddle dev)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
    WORLD_EXECUTE)

# What it needs is read off what it links, and what others will need of it is said.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_HEDDLE_PACKAGE_NAME heddle)
set(CPACK_DEBIAN_HEDDLE_PACKAGE_SECTION science)
file(WRITE ${PROJECT_BINARY_DIR}/debian/shlibs "libheddle ${heddle_api_major} heddle (>= ${version})\n")
file(WRITE ${PROJECT_BINARY_DIR}/debian/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_HEDDLE_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/debian/shlibs ${PROJECT_BINARY_DIR}/debian/triggers)
set(CPACK_DEBIAN_HEDDLE_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_COMPONENT_HEDDLE_DESCRIPTION
    "tensor compiler in which an operator is a short text\nRuns ONNX models and programs of operators on CPUs.\nThis package has the command and the shared library.")
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libheddle-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "heddle (= ${version})")
set(CPACK_COMPONENT_DEV_DESCRIPTION
    "tensor compiler, files for development\nHeaders of the C and C++ interface, the static library and files for CMake.")

# Licences and changes, where Debian looks for them.
file(READ ${PROJECT_SOURCE_DIR}/LICENSE licence)
file(READ ${PROJECT_SOURCE_DIR}/NOTICES notices)
file(WRITE ${PROJECT_BINARY_DIR}/debian/copyright "${notices}\n${licence}")
find_program(GZIP gzip)
if(GZIP)
  execute_process(COMMAND git log -1 --format=%aD WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE date
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT date)
    string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
  endif()
  set(changes ${PROJECT_BINARY_DIR}/debian/changelog)
  file(WRITE ${changes} "heddle (${version}) unstable; urgency=medium\n\n  * What changed is in CHANGELOG.md of the sources.\n\n -- ${HEDDLE_MAINTAINER}  ${date}\n")
  execute_process(COMMAND ${GZIP} -9nf ${changes})
  foreach(package heddle:heddle libheddle-dev:dev)
    string(REGEX MATCH "(.*):(.*)" all ${package})
    set(documents ${CMAKE_INSTALL_DATADIR}/doc/${CMAKE_MATCH_1})
    install(FILES ${PROJECT_BINARY_DIR}/debian/copyright DESTINATION ${documents} COMPONENT ${CMAKE_MATCH_2})
    install(FILES ${changes}.gz DESTINATION ${documents} COMPONENT ${CMAKE_MATCH_2})
  endforeach()
endif()
include(CPack)
