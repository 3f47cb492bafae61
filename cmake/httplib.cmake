# Debian's httplib is compiled with these; header and library must agree.
find_path(HTTPLIB_INCLUDE_DIR httplib.h REQUIRED)
find_library(HTTPLIB_LIBRARY cpp-httplib REQUIRED)
add_library(heelstrike_httplib INTERFACE)
target_include_directories(heelstrike_httplib SYSTEM INTERFACE ${HTTPLIB_INCLUDE_DIR})
target_link_libraries(heelstrike_httplib INTERFACE ${HTTPLIB_LIBRARY})
target_compile_definitions(heelstrike_httplib INTERFACE
  CPPHTTPLIB_OPENSSL_SUPPORT CPPHTTPLIB_ZLIB_SUPPORT CPPHTTPLIB_BROTLI_SUPPORT)
add_library(heelstrike::httplib ALIAS heelstrike_httplib)
