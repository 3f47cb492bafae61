# Libraries that become part of ours as archives. What a process has loaded before under the same names (another version,
# another library of the family) must not be called from within ours, and units for other machines (FMU) need fewer
# packages. SUNDIALS and pugixml say themselves where their archives are.
foreach(library klu amd btf colamd suitesparseconfig minizip)
  string(MAKE_C_IDENTIFIER ${library} name)
  find_library(${name}_ARCHIVE lib${library}.a REQUIRED)
  add_library(heelstrike::${name} STATIC IMPORTED GLOBAL)
  set_target_properties(heelstrike::${name} PROPERTIES IMPORTED_LOCATION ${${name}_ARCHIVE})
endforeach()
target_link_libraries(heelstrike::klu INTERFACE heelstrike::btf heelstrike::amd heelstrike::colamd heelstrike::suitesparseconfig)
find_package(ZLIB REQUIRED GLOBAL)
target_link_libraries(heelstrike::minizip INTERFACE ZLIB::ZLIB)
# Debian's archive of yaml-cpp is not made for shared libraries.
find_package(yaml-cpp REQUIRED)
add_library(heelstrike::yaml_cpp INTERFACE IMPORTED GLOBAL)
target_link_libraries(heelstrike::yaml_cpp INTERFACE yaml-cpp)
set_target_properties(yaml-cpp PROPERTIES IMPORTED_GLOBAL TRUE)
