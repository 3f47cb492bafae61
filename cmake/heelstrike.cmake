# Helpers for uniform targets: one library per folder, whose link line states the allowed dependencies.

add_library(heelstrike_warnings INTERFACE)
target_compile_options(heelstrike_warnings INTERFACE -Wall -Wextra -Wpedantic -Wconversion)
# Not for users: a compiler that is newer than this release warns of more.
option(HEELSTRIKE_WERROR "Warnings are errors; scripts/build sets it where CI is set" OFF)
if(HEELSTRIKE_WERROR)
  target_compile_options(heelstrike_warnings INTERFACE -Werror)
endif()
# GCC 12 falsely warns of overlaps inside std::string (GCC bug 105329).
target_compile_options(heelstrike_warnings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
# GCC 13 and 14 take every temporary argument, as the name in text(parameters, "law"), for the object that a returned
# reference belongs to.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  target_compile_options(heelstrike_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-dangling-reference>)
endif()

option(HEELSTRIKE_UNITY "Compile the sources of a folder as one text: headers dominate the compilation time" OFF)

# heelstrike_library(NAME SOURCES ... [PUBLIC_DEPS ...] [PRIVATE_DEPS ...])
# Include paths start at the repository root: #include "common/spatial/pose.hpp". The sources of one folder are compiled
# as one text, so that names in unnamed namespaces are unique within a folder; a new source joins its folder and changes
# nothing for the others.
function(heelstrike_library NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC_DEPS;PRIVATE_DEPS" ${ARGN})
  add_library(${NAME} STATIC ${ARG_SOURCES})
  set_target_properties(${NAME} PROPERTIES UNITY_BUILD ${HEELSTRIKE_UNITY} UNITY_BUILD_MODE GROUP)
  foreach(source ${ARG_SOURCES})
    get_filename_component(folder ${source} DIRECTORY)
    string(MAKE_C_IDENTIFIER "${NAME}/${folder}" group)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
  endforeach()
  add_library(heelstrike::${NAME} ALIAS ${NAME})
  target_include_directories(${NAME} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${NAME} PUBLIC ${ARG_PUBLIC_DEPS} PRIVATE ${ARG_PRIVATE_DEPS} heelstrike_warnings)
endfunction()

# heelstrike_exports(TARGET PATTERN...): names that a shared library exports, as patterns of version scripts; all
# others, also of its archives and of templates, are local, and calls among them are not resolved in the process.
function(heelstrike_exports TARGET)
  string(JOIN "; " names ${ARGN})
  set(script ${CMAKE_CURRENT_BINARY_DIR}/${TARGET}.map)
  file(CONFIGURE OUTPUT ${script} CONTENT "{ global: @names@; local: *; };\n" @ONLY)
  target_link_options(${TARGET} PRIVATE -Wl,--exclude-libs,ALL -Wl,-Bsymbolic-functions -Wl,--version-script=${script})
  set_property(TARGET ${TARGET} APPEND PROPERTY LINK_DEPENDS ${script})
endfunction()

# heelstrike_program(NAME SOURCES ... DEPS ...): a binary in build/<preset>/bin.
function(heelstrike_program NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${NAME} ${ARG_SOURCES})
  target_link_libraries(${NAME} PRIVATE ${ARG_DEPS} heelstrike_warnings)
endfunction()

# Sanitizers make programs several times slower; this factor scales every time limit of the tests.
set(HEELSTRIKE_TEST_TIME_FACTOR 1)
set(HEELSTRIKE_TEST_SANITIZED 0)
if(HEELSTRIKE_SANITIZE)
  set(HEELSTRIKE_TEST_TIME_FACTOR 6)
  set(HEELSTRIKE_TEST_SANITIZED 1)
endif()

# Measured data for tests, not part of the project: a folder beside the sources, or HEELSTRIKE_DATA in the environment.
# Tests that need it read the variable and skip without it.
set(HEELSTRIKE_TEST_ENVIRONMENT "")
get_filename_component(HEELSTRIKE_DATA_BESIDE "${PROJECT_SOURCE_DIR}/../shared/data" ABSOLUTE)
if(NOT DEFINED ENV{HEELSTRIKE_DATA} AND EXISTS "${HEELSTRIKE_DATA_BESIDE}/README.md")
  set(HEELSTRIKE_TEST_ENVIRONMENT ENVIRONMENT "HEELSTRIKE_DATA=${HEELSTRIKE_DATA_BESIDE}")
endif()

# COST of a test is about its seconds: ctest starts the longest first, so that none runs alone at the end. It is set for
# tests of half a minute and more, because a fresh build folder has no durations of earlier runs.

# heelstrike_test(NAME SOURCES ... DEPS ... LABEL unit|integration|validation|fuzz [TIMEOUT seconds] [NEEDS target ...])
# NEEDS names programs that the test starts; they are built first. ONE_PROCESS makes one ctest entry of all cases: for
# programs with hundreds of quick cases, each of which would take 0.3 s to map the finite-element libraries.
# With HEELSTRIKE_UNITY twelve sources are compiled as one text: headers are 60 % of the compilation of a test. Names in
# unnamed namespaces are therefore unique within a test. Twelve, because a change of one recompiles the others.
function(heelstrike_test NAME)
  cmake_parse_arguments(ARG "ONE_PROCESS" "LABEL;TIMEOUT" "SOURCES;DEPS;NEEDS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  math(EXPR whole_timeout "600 * ${HEELSTRIKE_TEST_TIME_FACTOR}")
  math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * ${HEELSTRIKE_TEST_TIME_FACTOR}")
  add_executable(${NAME} ${ARG_SOURCES})
  target_link_libraries(${NAME} PRIVATE ${ARG_DEPS} GTest::gmock GTest::gtest_main heelstrike_warnings)
  set_target_properties(${NAME} PROPERTIES UNITY_BUILD ${HEELSTRIKE_UNITY} UNITY_BUILD_BATCH_SIZE 12)
  # Tests are compiled often and run briefly.
  target_compile_options(${NAME} PRIVATE $<$<CONFIG:Release>:-O1>)
  target_compile_definitions(${NAME} PRIVATE
    HEELSTRIKE_SOURCE_DIR="${PROJECT_SOURCE_DIR}" HEELSTRIKE_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  if(ARG_NEEDS)
    add_dependencies(${NAME} ${ARG_NEEDS})
  endif()
  if(HEELSTRIKE_SANITIZE OR ARG_ONE_PROCESS)
    # With a sanitizer, loading the finite-element libraries takes a second.
    add_test(NAME ${NAME} COMMAND ${NAME})
    set_tests_properties(${NAME} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${whole_timeout} ${HEELSTRIKE_TEST_ENVIRONMENT})
  else()
    # Test cases have names; parameter values would be printed as bytes.
    gtest_discover_tests(${NAME} DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES
      PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${ARG_TIMEOUT} ${HEELSTRIKE_TEST_ENVIRONMENT})
  endif()
endfunction()
