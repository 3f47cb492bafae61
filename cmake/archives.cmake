# Libraries that are linked as archives: symbols of the same names in the host process (another version, a related
# library) must not be called instead, and FMUs for other machines need fewer packages. SUNDIALS and pugixml export
# their archives.
foreach(library klu amd btf colamd suitesparseconfig minizip)
  string(MAKE_C_IDENTIFIER ${library} name)
  find_library(${name}_ARCHIVE lib${library}.a REQUIRED)
  add_library(heelstrike::${name} STATIC IMPORTED GLOBAL)
  set_target_properties(heelstrike::${name} PROPERTIES IMPORTED_LOCATION ${${name}_ARCHIVE})
endforeach()
target_link_libraries(heelstrike::klu INTERFACE heelstrike::btf heelstrike::amd heelstrike::colamd heelstrike::suitesparseconfig)
# SuiteSparse 7 (Debian 13) reads the clock of OpenMP, 5 (Debian 12) does not: its library is linked where it is used.
target_link_libraries(heelstrike::suitesparseconfig INTERFACE "-Wl,--push-state,--as-needed,-lgomp,--pop-state")
# The archives of SUNDIALS 7 name its shared core library as a dependency.
set(HEELSTRIKE_SUNDIALS_USES_MPI FALSE)
if(TARGET SUNDIALS::core_static)
  foreach(library cvodes idas arkode kinsol nvecserial)
    set_target_properties(SUNDIALS::${library}_static PROPERTIES INTERFACE_LINK_LIBRARIES "SUNDIALS::core_static;$<LINK_ONLY:-lm>")
  endforeach()
  get_target_property(dependencies SUNDIALS::core_static INTERFACE_LINK_LIBRARIES)
  if(dependencies MATCHES "MPI::")
    set(HEELSTRIKE_SUNDIALS_USES_MPI TRUE)
  endif()
endif()
find_package(ZLIB REQUIRED GLOBAL)
target_link_libraries(heelstrike::minizip INTERFACE ZLIB::ZLIB)
# Debian's archive of yaml-cpp is not position-independent.
find_package(yaml-cpp REQUIRED GLOBAL)
add_library(heelstrike::yaml_cpp INTERFACE IMPORTED GLOBAL)
# Version 0.8 has its target in a namespace.
target_link_libraries(heelstrike::yaml_cpp INTERFACE $<IF:$<TARGET_EXISTS:yaml-cpp::yaml-cpp>,yaml-cpp::yaml-cpp,yaml-cpp>)
