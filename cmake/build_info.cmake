# Writes FILE, a source with the version and the commit of SOURCE; it is run in each build, and leaves FILE alone where it
# says the same already.
file(STRINGS ${SOURCE}/pyproject.toml version REGEX "^version = " LIMIT_COUNT 1)
string(REGEX REPLACE "^version = \"(.*)\"$" "\\1" version "${version}")
set(commit unknown)
find_program(GIT git)
if(GIT)
  execute_process(COMMAND ${GIT} describe --always --dirty --abbrev=12 --exclude=* WORKING_DIRECTORY ${SOURCE}
                  OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
  if(status EQUAL 0)
    set(commit ${described})
  endif()
endif()
set(text "namespace heddle::inference {
extern const char* const build_version;
extern const char* const build_commit;
const char* const build_version = \"${version}\";
const char* const build_commit = \"${commit}\";
}  // namespace heddle::inference
")
set(before)
if(EXISTS ${FILE})
  file(READ ${FILE} before)
endif()
if(NOT text STREQUAL before)
  file(WRITE ${FILE} "${text}")
endif()
