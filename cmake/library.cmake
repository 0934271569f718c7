# The library and the command look for their data beside themselves.
if(NOT PROJECT_BINARY_DIR STREQUAL PROJECT_SOURCE_DIR)
  foreach(data operators environments exported targets)
    if(EXISTS ${PROJECT_SOURCE_DIR}/${data})
      file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${data} ${PROJECT_BINARY_DIR}/${data} SYMBOLIC)
    endif()
  endforeach()
endif()
# Only optimised code is position-independent, and libraries with sanitizers do not link so.
if(NOT CMAKE_BUILD_TYPE STREQUAL "Release" OR HEDDLE_SANITIZE)
  return()
endif()

# heddle::heddle: the shared library with the C interface of src/api/heddle/c_api.h, and with heddle.h, which is C++ above it.
# Nothing else is seen of it, and whoever links it needs nothing else.
file(STRINGS ${PROJECT_SOURCE_DIR}/src/api/heddle/c_api.h api REGEX "^#define HEDDLE_API_M[A-Z]+ ")
string(REGEX REPLACE "^.*_MAJOR ([0-9]+)u.*_MINOR ([0-9]+)u.*$" "\\1;\\2" api "${api}")
list(GET api 0 heddle_api_major)
list(GET api 1 heddle_api_minor)

set(shown ${PROJECT_SOURCE_DIR}/src/api/exported.map)
add_library(heddle_shared SHARED $<TARGET_OBJECTS:heddle_api>)
add_library(heddle::heddle ALIAS heddle_shared)
target_link_libraries(heddle_shared PRIVATE heddle_api)
target_link_options(heddle_shared PRIVATE -Wl,--version-script=${shown} -Wl,--gc-sections -Wl,-z,defs)
set_target_properties(heddle_shared PROPERTIES OUTPUT_NAME heddle EXPORT_NAME heddle LINKER_LANGUAGE CXX
                      VERSION ${heddle_api_major}.${heddle_api_minor} SOVERSION ${heddle_api_major}
                      LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR} LINK_DEPENDS ${shown})
target_include_directories(heddle_shared INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src/api>
                           $<INSTALL_INTERFACE:include>)

