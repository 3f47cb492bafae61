# Run by CPack when the components are installed into their folders and not yet packed: adds the files of packages only.
set(sources ${CPACK_HEELSTRIKE_SOURCES}/packaging)
set(stage ${CPACK_TEMPORARY_DIRECTORY})

function(put FILE FOLDER NAME)
  file(MAKE_DIRECTORY ${FOLDER})
  file(COPY_FILE ${FILE} ${FOLDER}/${NAME})
  file(CHMOD ${FOLDER}/${NAME} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
endfunction()

# Without name and time inside, so that the same sources give the same bytes.
function(compress)
  execute_process(COMMAND gzip -9nf ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(TIMESTAMP ${CPACK_HEELSTRIKE_SOURCES}/CHANGELOG.md changed "%a, %d %b %Y %H:%M:%S +0000" UTC)
foreach(component ${CPACK_COMPONENTS_ALL})
  string(TOUPPER ${component} upper)
  set(documents ${stage}/${component}/usr/share/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  put(${sources}/copyright ${documents} copyright)
  # The project's changelog, and that of the packages under the name and in the form that Debian's tools expect.
  put(${CPACK_HEELSTRIKE_SOURCES}/CHANGELOG.md ${documents} changelog)
  file(WRITE ${documents}/changelog.Debian
    "heelstrike (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium\n\n"
    "  * Packages of version ${CPACK_PACKAGE_VERSION}.\n\n -- ${CPACK_PACKAGE_CONTACT}  ${changed}\n")
  file(CHMOD ${documents}/changelog.Debian PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
  compress(${documents}/changelog ${documents}/changelog.Debian)
endforeach()

file(GLOB pages ${stage}/programs/usr/share/man/man1/*.1)
compress(${pages})
put(${sources}/heelstrike.sysusers ${stage}/programs/usr/lib/sysusers.d heelstrike.conf)
foreach(server fem mbs)
  put(${sources}/heelstrike-${server}.service ${stage}/programs/lib/systemd/system heelstrike-${server}.service)
  put(${sources}/heelstrike-${server}.default ${stage}/programs/etc/default heelstrike-${server})
endforeach()

# CPack adds these scripts to a package with a shared library. They do again what its trigger does.
set(overrides ${stage}/library/usr/share/lintian/overrides)
file(MAKE_DIRECTORY ${overrides})
file(WRITE ${overrides}/${CPACK_DEBIAN_LIBRARY_PACKAGE_NAME}
  "${CPACK_DEBIAN_LIBRARY_PACKAGE_NAME}: maintscript-calls-ldconfig *\n")
file(CHMOD ${overrides}/${CPACK_DEBIAN_LIBRARY_PACKAGE_NAME} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
