# The installed package, as a third party has it: the toy backend is built out of tree against it alone, as a part of a
# program and as a plugin, and keeps what the conformance kit checks; with a mistake it does not. Point 2 of the requirements on compile jobs.
#   cmake -DBUILD=BUILD_FOLDER -DSOURCE=SOURCE_FOLDER -P run.cmake
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/support.cmake)
set(folder ${BUILD}/package_test)
set(prefix ${folder}/prefix)
set(toy ${folder}/toy)

file(REMOVE_RECURSE ${folder})
# Files of others in the same folders: they stay where ours go.
file(WRITE ${prefix}/bin/other "")
file(WRITE ${prefix}/share/heddle/own/mine.yaml "")
run(0 ${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
file(COPY ${SOURCE}/examples/toy_backend/ DESTINATION ${toy})
run(0 ${CMAKE_COMMAND} -G Ninja -S ${toy} -B ${toy}/build -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_EXPORT_COMPILE_COMMANDS=ON)
run(0 ${CMAKE_COMMAND} --build ${toy}/build)
# Nothing of it comes from the sources.
file(READ ${toy}/build/compile_commands.json commands)
string(FIND "${commands}" "${SOURCE}/src" place)
if(NOT place EQUAL -1)
  message(FATAL_ERROR "the toy backend is compiled with headers of the sources:\n${commands}")
endif()

run(0 ${toy}/build/toy_run)
expect("toy: 0.3333 0.3333 0.3333 0.0900 0.2447 0.6652")
run(0 ${toy}/build/toy_run config code memory index)
expect("4 of 4 checks passed")

set(plugin --plugin ${toy}/build/libtoy.so)
set(checks --only config --only code --only memory --only index --only "operator softmax" --only "gradient softmax"
           --only "operator conv" --only "gradient gemm" --only "operator layers" --only "operator scatter" --only "gradient cumsum" --only "tape softmax")
run(0 ${prefix}/bin/heddle conformance ${plugin} ${checks})
expect("14 of 14 checks passed")
# Code is kept for other processes, and by the whole compile job: what a changed plugin makes is another.
set(call run ${plugin} --backend toy --cache-dir ${folder}/cache --call "y = tanh(eye(rows: 2, columns: 3, dtype: float32))")
run(0 ${prefix}/bin/heddle ${call})
expect("y: float32[2, 3] = 0.761594 0 0 0 0.761594 0")
expect("1 kernels compiled,")
run(0 ${prefix}/bin/heddle ${call})
expect("0 kernels compiled, 1 loaded")

# A launch that forgets a task.
file(READ ${toy}/machine.cpp source)
string(REPLACE "task-- > round * tasks;" "task-- > round * tasks + 1;" wrong "${source}")
if(wrong STREQUAL source)
  message(FATAL_ERROR "machine.cpp is not as this test expects it")
endif()
file(WRITE ${toy}/machine.cpp "${wrong}")
run(0 ${CMAKE_COMMAND} --build ${toy}/build --target toy)
run(0 ${prefix}/bin/heddle ${call})
expect("1 kernels compiled,")
run(1 ${prefix}/bin/heddle conformance ${plugin} --only "operator relu" --only "operator softmax")
expect("error[conformance.result]")

# What connects with MPI is compiled against one's own, out of what is installed alone.
foreach(name openmpi mpich)
  find_program(MPICC_${name} mpicc.${name})
  if(MPICC_${name})
    run(0 ${MPICC_${name}} -shared -fPIC -O2 -Wall -Werror -o ${folder}/libheddle_mpi.so ${prefix}/share/heddle/mpi/mpi_plugin.c)
  endif()
endforeach()

# The manual page says what each command does, and nothing in it is wrong for man.
file(READ ${prefix}/share/man/man1/heddle.1 output)
foreach(said ".TH HEDDLE 1" "heddle compile" "\\-\\-bind")
  expect("${said}")
endforeach()
find_program(man man)
if(man)
  run(0 ${man} --warnings -l ${prefix}/share/man/man1/heddle.1)
  expect("SYNOPSIS")
  expect_not("warning")
endif()
foreach(shell bash-completion/completions/heddle zsh/site-functions/_heddle)
  file(READ ${prefix}/share/${shell} output)
  expect("heddle's commands and options")
endforeach()

# What is installed goes again, and nothing else.
run(0 ${CMAKE_COMMAND} -DMANIFEST=${BUILD}/install_manifest.txt -P ${SOURCE}/cmake/uninstall.cmake)
file(GLOB_RECURSE left LIST_DIRECTORIES false RELATIVE ${prefix} ${prefix}/*)
if(NOT left STREQUAL "bin/other;share/heddle/own/mine.yaml")
  message(FATAL_ERROR "after the package is removed, these are there: ${left}")
endif()
run(1 ${CMAKE_COMMAND} -DMANIFEST=${BUILD}/install_manifest.txt -P ${SOURCE}/cmake/uninstall.cmake)
expect("nothing of this build is installed")

# Where something is not built, nothing is installed, and it says what to build.
file(READ ${BUILD}/cmake_install.cmake script)
string(REPLACE libheddle.a libabsent.a script "${script}")
file(WRITE ${folder}/cmake_install.cmake "${script}")
run(1 ${CMAKE_COMMAND} -DCMAKE_INSTALL_PREFIX=${folder}/half -P ${folder}/cmake_install.cmake)
expect("--target heddle_installed")
if(EXISTS ${folder}/half)
  message(FATAL_ERROR "half of the package was installed")
endif()
file(REMOVE_RECURSE ${folder})
