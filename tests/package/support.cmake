# What tests of packages share.

# Runs a command, whose output becomes `output`; it must exit with `status`.
function(run status)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE found)
  if(NOT found EQUAL status)
    string(JOIN " " command ${ARGN})
    message(FATAL_ERROR "${command}\nexits with ${found} instead of ${status}:\n${output}${errors}")
  endif()
  set(output "${output}${errors}" PARENT_SCOPE)
endfunction()

function(expect text)
  string(FIND "${output}" "${text}" place)
  if(place EQUAL -1)
    message(FATAL_ERROR "\"${text}\" is not in:\n${output}")
  endif()
endfunction()

function(expect_not text)
  string(FIND "${output}" "${text}" place)
  if(NOT place EQUAL -1)
    message(FATAL_ERROR "\"${text}\" is in:\n${output}")
  endif()
endfunction()

# The programs of examples/embed, built in `folder`, do what they say.
function(expect_embedded folder)
  run(0 ${folder}/classify ${SOURCE}/examples/embed/four_classes.onnx)
  expect("class 3 of 4: 0.6439")
  run(1 ${folder}/classify ${folder}/no.onnx)
  expect("error[support.file_open]")
  run(0 ${folder}/operators)
  expect("z: -1.1192 0.0000 1.8808 3.9640 5.9926 7.9987")
  expect("error[runtime.input_shape]: input 'x' does not fit")
endfunction()
