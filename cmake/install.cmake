# cmake --install: programs, the library with its headers, the Python package, schema, contract, examples, man pages and
# completions. Components, each of which is a package in cmake/packages.cmake: programs, library, development, python, doc.
include(CMakePackageConfigHelpers)

install(TARGETS heelstrike mbs_server fem_server RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
if(TARGET heelstrike-mesher)
  install(TARGETS heelstrike-mesher RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
endif()

if(TARGET heelstrike_elements)
  # Installed with the library: programs and library load it from there.
  install(TARGETS heelstrike_elements LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/heelstrike COMPONENT library)
endif()
install(TARGETS libheelstrike EXPORT heelstrike LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  COMPONENT library NAMELINK_COMPONENT development)
install(DIRECTORY include/heelstrike DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
# Binaries that `heelstrike fmu` copies into FMUs, with the names of their packages; no program links them.
set(fmu_parts heelstrike_fmi heelstrike_fmu heelstrike_remote)
if(TARGET heelstrike_elements)
  list(APPEND fmu_parts heelstrike_fmu_elements)
endif()
install(TARGETS ${fmu_parts} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/heelstrike COMPONENT programs)
install(DIRECTORY ${CMAKE_BINARY_DIR}/lib/ DESTINATION ${CMAKE_INSTALL_LIBDIR}/heelstrike COMPONENT programs
  FILES_MATCHING PATTERN "*.packages" PATTERN "fmu_icon.*")
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/heelstrike)
install(EXPORT heelstrike NAMESPACE heelstrike:: FILE heelstrikeConfig.cmake DESTINATION ${package_folder} COMPONENT development)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/heelstrikeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/heelstrikeConfigVersion.cmake DESTINATION ${package_folder} COMPONENT development)
file(RELATIVE_PATH pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/heelstrike.pc.in ${CMAKE_BINARY_DIR}/heelstrike.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/heelstrike.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

if(TARGET heelstrike_python)
  # Debian's Python searches there for packages of /usr and of /usr/local.
  set(HEELSTRIKE_PYTHON_FOLDER lib/python3/dist-packages CACHE STRING "Folder of the Python package, below the prefix")
  file(RELATIVE_PATH to_library /${HEELSTRIKE_PYTHON_FOLDER}/heelstrike /${CMAKE_INSTALL_LIBDIR})
  set_target_properties(heelstrike_python PROPERTIES INSTALL_RPATH "$ORIGIN/${to_library}")
  install(TARGETS heelstrike_python LIBRARY DESTINATION ${HEELSTRIKE_PYTHON_FOLDER}/heelstrike COMPONENT python)
  install(DIRECTORY python/heelstrike/ DESTINATION ${HEELSTRIKE_PYTHON_FOLDER}/heelstrike COMPONENT python
    FILES_MATCHING PATTERN "*.py" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)
  install(FILES ${CMAKE_BINARY_DIR}/python/_core.pyi DESTINATION ${HEELSTRIKE_PYTHON_FOLDER}/heelstrike COMPONENT python)
  install(DIRECTORY ${CMAKE_BINARY_DIR}/python/heelstrike-${PROJECT_VERSION}.dist-info DESTINATION ${HEELSTRIKE_PYTHON_FOLDER} COMPONENT python)
endif()

install(FILES ${CMAKE_BINARY_DIR}/scenario.schema.json DESTINATION ${CMAKE_INSTALL_DATADIR}/heelstrike COMPONENT programs)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DATADIR}/heelstrike COMPONENT programs PATTERN "__pycache__" EXCLUDE)
install(DIRECTORY client/templates DESTINATION ${CMAKE_INSTALL_DATADIR}/heelstrike COMPONENT programs)
install(PROGRAMS scripts/demo DESTINATION ${CMAKE_INSTALL_DATADIR}/heelstrike/scripts COMPONENT programs)
install(DIRECTORY proto/heelstrike DESTINATION ${CMAKE_INSTALL_DATADIR}/heelstrike/proto COMPONENT development FILES_MATCHING PATTERN "*.proto")
install(DIRECTORY docs/guide docs/reference docs/theory docs/developer docs/pictures docs/studies
  DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc)
install(FILES ${CMAKE_BINARY_DIR}/scenario.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/reference COMPONENT doc)
install(FILES docs/glossary.md docs/comparison.md docs/features.md docs/gallery.md docs/references.bib DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc)

# Man pages, completions and the page of all commands are generated from --help, so that they match the programs.
set(shell_pages ${CMAKE_BINARY_DIR}/shell)
set(documented_programs heelstrike fem_server mbs_server)
set(documented_files $<TARGET_FILE:heelstrike> $<TARGET_FILE:fem_server> $<TARGET_FILE:mbs_server>)
if(TARGET heelstrike-mesher)
  list(APPEND documented_programs heelstrike-mesher)
  list(APPEND documented_files $<TARGET_FILE:heelstrike-mesher>)
endif()
add_custom_command(OUTPUT ${shell_pages}/heelstrike.1
  COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1 python3 ${PROJECT_SOURCE_DIR}/cmake/shell_pages.py ${shell_pages} ${documented_files}
  DEPENDS ${documented_programs} ${PROJECT_SOURCE_DIR}/cmake/shell_pages.py
  COMMENT "Asking the programs for their help" VERBATIM)
add_custom_target(shell_pages DEPENDS ${shell_pages}/heelstrike.1)
foreach(component programs doc)
  install(CODE "execute_process(COMMAND \"${CMAKE_COMMAND}\" --build \"${CMAKE_BINARY_DIR}\" --target shell_pages COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)"
    COMPONENT ${component})
endforeach()
install(FILES ${shell_pages}/commands.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/reference COMPONENT doc)
install(DIRECTORY ${shell_pages}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT programs FILES_MATCHING PATTERN "*.1")
install(FILES ${shell_pages}/heelstrike.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME heelstrike COMPONENT programs)
install(FILES ${shell_pages}/_heelstrike DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT programs)
