# Plug-ins for Debian's two implementations of MPI, where they are installed (src/transport/mpi_plugin.h). Whoever has another one
# compiles mpi_plugin.c himself. Nothing but these files is linked with MPI.
set(mpi_library_openmpi mpi)
set(mpi_library_mpich mpich)
set(mpi_names)
foreach(name openmpi mpich)
  find_path(HEDDLE_MPI_INCLUDE_${name} mpi.h NO_DEFAULT_PATH
            PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/${name}/include /usr/include/${CMAKE_LIBRARY_ARCHITECTURE}/${name})
  find_library(HEDDLE_MPI_LIBRARY_${name} ${mpi_library_${name}} NO_DEFAULT_PATH
               PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/${name}/lib /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE})
  if(NOT HEDDLE_MPI_INCLUDE_${name} OR NOT HEDDLE_MPI_LIBRARY_${name})
    message(STATUS "MPI: no plug-in for ${name}, since it is not there (scripts/setup)")
    continue()
  endif()
  list(APPEND mpi_names ${name})
  add_library(heddle_mpi_${name} MODULE ${PROJECT_SOURCE_DIR}/src/transport/mpi_plugin.c)
  target_include_directories(heddle_mpi_${name} SYSTEM PRIVATE ${HEDDLE_MPI_INCLUDE_${name}})
  target_link_libraries(heddle_mpi_${name} PRIVATE ${HEDDLE_MPI_LIBRARY_${name}})
  set_target_properties(heddle_mpi_${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR} C_STANDARD 99)
  # The Python package of the build looks beside itself.
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/python/heddle)
  file(CREATE_LINK ${PROJECT_BINARY_DIR}/libheddle_mpi_${name}.so ${PROJECT_BINARY_DIR}/python/heddle/libheddle_mpi_${name}.so SYMBOLIC)
endforeach()
