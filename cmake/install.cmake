# What a user gets: both libraries, headers, a CMake package (gyre::gyre, gyre::gyre_static), a
# pkg-config file and a .deb. The package files are written by hand: an exported static target would
# drag every floor's target along.
if(NOT TARGET gyre)
  return()
endif()
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# What libgyre.a leaves to its user to link.
set(gyre_static_libraries spdlog fmt sodium hwy dl pthread stdc++ m)
list(TRANSFORM gyre_static_libraries PREPEND -l OUTPUT_VARIABLE gyre_static_flags)
list(JOIN gyre_static_flags " " gyre_static_flags)

set(gyre_cmake_folder ${CMAKE_INSTALL_LIBDIR}/cmake/gyre)
configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/gyre-config.cmake.in ${PROJECT_BINARY_DIR}/gyre-config.cmake
  INSTALL_DESTINATION ${gyre_cmake_folder}
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/gyre-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
# Relative, so that an installed tree can be moved.
file(RELATIVE_PATH gyre_pc_to_include /${CMAKE_INSTALL_LIBDIR}/pkgconfig
     /${CMAKE_INSTALL_INCLUDEDIR})
configure_file(${CMAKE_CURRENT_LIST_DIR}/gyre.pc.in ${PROJECT_BINARY_DIR}/gyre.pc @ONLY)

install(TARGETS gyre gyre_static
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS gyre_tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY include/gyre DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING
        PATTERN "*.h" PATTERN "*.hpp")
install(FILES ${PROJECT_BINARY_DIR}/gyre-config.cmake
        ${PROJECT_BINARY_DIR}/gyre-config-version.cmake DESTINATION ${gyre_cmake_folder})
install(FILES ${PROJECT_BINARY_DIR}/gyre.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME gyre)
set(CPACK_PACKAGE_CONTACT "the gyre project")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_STRIP_FILES ON)
include(CPack)
