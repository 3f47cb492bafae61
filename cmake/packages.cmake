# Debian packages, built by `scripts/package` from the files of `cmake --install`: one package for each component.
# Files that only packages need (systemd units, account, settings, changelog, compressed man pages) is in packaging/.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME heelstrike)
set(CPACK_PACKAGE_VENDOR "The Heelstrike authors")
set(CPACK_PACKAGE_CONTACT "The Heelstrike authors <heelstrike@users.noreply.github.com>")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL programs library development doc)
if(TARGET heelstrike_python)
  list(APPEND CPACK_COMPONENTS_ALL python)
endif()
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/packaging/stage.cmake)
set(CPACK_HEELSTRIKE_SOURCES ${PROJECT_SOURCE_DIR})
# "0.1.0-1~deb12": the second number counts packages of the same sources; one archive may have those of several releases.
cmake_host_system_information(RESULT distribution QUERY DISTRIB_ID)
cmake_host_system_information(RESULT distribution_version QUERY DISTRIB_VERSION_ID)
string(REGEX REPLACE "^debian" "deb" distribution "${distribution}${distribution_version}")
set(CPACK_DEBIAN_PACKAGE_RELEASE "1~${distribution}")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(package_version "${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}")
set(library_package "libheelstrike${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")

# Packages of the libraries that a program loads, determined from the binaries.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR}/lib)
foreach(component PROGRAMS LIBRARY PYTHON)
  set(CPACK_DEBIAN_${component}_PACKAGE_SHLIBDEPS ON)
endforeach()

set(CPACK_DEBIAN_PROGRAMS_PACKAGE_NAME heelstrike)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SECTION science)
set(CPACK_COMPONENT_PROGRAMS_DESCRIPTION "deformable contact inside multibody dynamics: programs
A multibody server and a finite-element contact server exchange poses and
wrenches, with exact tangents and friction history; the client runs scenarios,
compares contact models and writes reports. Both servers come as systemd
units, which are off until they are enabled.")
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_DEPENDS
  "${library_package} (= ${package_version}), init-system-helpers (>= 1.54~), systemd-standalone-sysusers | systemd-sysusers, libnlopt0")
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SUGGESTS "heelstrike-doc, python3-heelstrike, paraview, gnuplot-nox, openmpi-bin")
set(maintainer_scripts ${PROJECT_SOURCE_DIR}/packaging)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_CONTROL_EXTRA ${maintainer_scripts}/heelstrike/postinst ${maintainer_scripts}/heelstrike/prerm
  ${maintainer_scripts}/heelstrike/postrm ${maintainer_scripts}/heelstrike/conffiles)

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME ${library_package})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "deformable contact inside multibody dynamics: shared library
The library that C++, C, Python and functional mock-up units call: contact
between two bodies, scenarios that an external master steps, whole runs.")
# CPack makes this file for all components or for none, and packages of the others have no library for programs to link.
set(library_shlibs ${CMAKE_BINARY_DIR}/packaging/shlibs)
file(WRITE ${library_shlibs}
  "libheelstrike ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} ${library_package} (= ${package_version})\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${maintainer_scripts}/library/triggers ${library_shlibs})

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libheelstrike-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "deformable contact inside multibody dynamics: headers
Headers for C++ and C, files for CMake and pkg-config, the wire contract.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${library_package} (= ${package_version})")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "heelstrike-doc, pkg-config, cmake")

set(CPACK_DEBIAN_DOC_PACKAGE_NAME heelstrike-doc)
set(CPACK_DEBIAN_DOC_PACKAGE_SECTION doc)
set(CPACK_DEBIAN_DOC_PACKAGE_ARCHITECTURE all)
set(CPACK_COMPONENT_DOC_DESCRIPTION "deformable contact inside multibody dynamics: documentation
Guides, reference of scenarios and protocol, theory.")

set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-heelstrike)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_COMPONENT_PYTHON_DESCRIPTION "deformable contact inside multibody dynamics: Python
Runs scenarios, reads results and fields as arrays, compares contact models,
and answers as a contact to any multibody code.")
if(TARGET heelstrike_python)
  # An extension module requires one version of the interpreter.
  execute_process(COMMAND ${HEELSTRIKE_PYTHON_EXECUTABLE} -c "import sys; print(sys.version_info[1])"
    OUTPUT_VARIABLE python_minor OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  math(EXPR next_python_minor "${python_minor} + 1")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "${library_package} (= ${package_version}), python3 (>= 3.${python_minor}), \
python3 (<< 3.${next_python_minor}), python3-numpy")
endif()
set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS "heelstrike, python3-pandas, python3-matplotlib")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "python3-xarray, heelstrike-doc")
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA ${maintainer_scripts}/python3-heelstrike/postinst
  ${maintainer_scripts}/python3-heelstrike/prerm)
include(CPack)
