# The page, its loader and its check as text in the program: run when one of them has changed.
file(READ ${SOURCE}/heddle.js loader)
file(READ ${SOURCE}/check.js check)
file(READ ${SOURCE}/index.html page)
file(WRITE ${FILE} "#include \"webgpu/web_files.h\"\nnamespace heddle::webgpu {
std::string_view loader_script() { return R\"~~~(${loader})~~~\"; }
std::string_view check_script() { return R\"~~~(${check})~~~\"; }
std::string_view page() { return R\"~~~(${page})~~~\"; }
}\n")
