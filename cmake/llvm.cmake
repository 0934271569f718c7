# heddle_llvm: LLVM as the rooms link it. The system's shared library, or, where HEDDLE_LLVM_TARGETS names some, static archives
# with the code generators of these targets: then nothing of LLVM is needed where a program runs.
find_package(LLVM 19.1 REQUIRED CONFIG)
# heddle_llvm_generators: whose code generators are there, as HEDDLE_LLVM_TARGET(X86) HEDDLE_LLVM_TARGET(ARM) ...
set(heddle_llvm_generators ${HEDDLE_LLVM_TARGETS})
if(NOT heddle_llvm_generators)
  set(heddle_llvm_generators X86 AArch64 ARM RISCV)
endif()
list(TRANSFORM heddle_llvm_generators REPLACE "(.+)" "HEDDLE_LLVM_TARGET(\\1)")
list(JOIN heddle_llvm_generators " " heddle_llvm_generators)
add_library(heddle_llvm INTERFACE)
if(NOT HEDDLE_LLVM_TARGETS)
  target_link_libraries(heddle_llvm INTERFACE LLVM)
  return()
endif()
# What src/backends/llvm and src/cache call: passes, code generation, object files. What these need follows.
set(components Core Passes Target MC Object TargetParser Support)
foreach(target ${HEDDLE_LLVM_TARGETS})
  list(APPEND components ${target}CodeGen ${target}AsmParser ${target}Desc ${target}Info)
endforeach()
llvm_map_components_to_libnames(heddle_llvm_archives ${components})
target_link_libraries(heddle_llvm INTERFACE ${heddle_llvm_archives})
# Of the system LLVM compresses by these alone; it also names Z3, an archive's member that nothing here calls.
find_library(heddle_zstd NAMES libzstd.a zstd REQUIRED)
find_package(ZLIB REQUIRED)
add_library(heddle_arc4random STATIC cmake/arc4random.c)
set_target_properties(heddle_arc4random PROPERTIES POSITION_INDEPENDENT_CODE ON)
set_target_properties(LLVMSupport PROPERTIES
                      INTERFACE_LINK_LIBRARIES "LLVMDemangle;heddle_arc4random;${heddle_zstd};ZLIB::ZLIB;rt;${CMAKE_DL_LIBS};m")
# Its names are nobody else's: another LLVM may be in the process.
add_link_options(-Wl,--exclude-libs,ALL -Wl,--gc-sections)
