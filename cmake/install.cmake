# SPDX-License-Identifier: MIT
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(pdl_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/pdl)
set(pdl_build_dir ${PROJECT_BINARY_DIR}/package)

set(pdl_rtc_headers "")
if(NOT TARGET pdl_rtc) # of a library that is not there
    set(pdl_rtc_headers PATTERN rtc.h EXCLUDE PATTERN vector.h EXCLUDE)
endif()
install(DIRECTORY include/pdl TYPE INCLUDE COMPONENT development
    FILES_MATCHING PATTERN "*.h" PATTERN "*.cuh" ${pdl_rtc_headers})
install(TARGETS pdl_headers pdl_static pdl EXPORT pdl-targets
    ARCHIVE COMPONENT development
    RUNTIME COMPONENT runtime
    LIBRARY COMPONENT runtime NAMELINK_COMPONENT development)
foreach(part inspect trace rtc)
    if(TARGET pdl_${part})
        install(TARGETS pdl_${part}_static pdl_${part} EXPORT pdl-targets
            ARCHIVE COMPONENT development
            RUNTIME COMPONENT ${part}
            LIBRARY COMPONENT ${part} NAMELINK_COMPONENT development)
    endif()
endforeach()
foreach(target pdl_trace pdl_rtc)
    if(TARGET ${target})
        # Programs find these by their own run path, which does not reach what they need themselves.
        set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN")
    endif()
endforeach()
install(EXPORT pdl-targets NAMESPACE pdl:: DESTINATION ${pdl_package_dir} COMPONENT development)
# A file of its own, installed with the program: one can be there without the other.
if(PDL_BUILD_TOOLS)
    install(EXPORT pdl-tool-targets NAMESPACE pdl:: DESTINATION ${pdl_package_dir} COMPONENT tool)
endif()

# Before 1.0 a minor version may break what was there.
set(pdl_compatibility SameMajorVersion)
if(PROJECT_VERSION_MAJOR EQUAL 0)
    set(pdl_compatibility SameMinorVersion)
endif()
write_basic_package_version_file(${pdl_build_dir}/pdl-config-version.cmake
    COMPATIBILITY ${pdl_compatibility})
install(FILES cmake/pdl-config.cmake cmake/pdl_instrument.cmake cmake/pdl_lint.cmake cmake/pdl_target.cmake
    ${pdl_build_dir}/pdl-config-version.cmake
    DESTINATION ${pdl_package_dir} COMPONENT development)

# The .pc files find the prefix from where they lie themselves, so that the installed tree can be moved.
file(RELATIVE_PATH pdl_prefix_from_pc ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
file(RELATIVE_PATH pdl_libdir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH pdl_includedir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
string(REGEX REPLACE "/$" "" pdl_prefix_from_pc "${pdl_prefix_from_pc}")
list(TRANSFORM PDL_SYSTEM_LIBS PREPEND "-l" OUTPUT_VARIABLE pdl_private_libs)
list(JOIN pdl_private_libs " " pdl_private_libs)
set(pdl_private_cflags "")
if(WIN32)
    set(pdl_private_cflags "\nCflags.private: -DPDL_STATIC")
endif()
foreach(name pdl pdl-inspect pdl-rtc pdl-trace)
    string(REPLACE - _ target ${name})
    if(NOT TARGET ${target})
        continue()
    endif()
    configure_file(pkgconfig/${name}.pc.in ${pdl_build_dir}/${name}.pc @ONLY)
    install(FILES ${pdl_build_dir}/${name}.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endforeach()

# The pages lie as in the source tree, so that their links work. They come with what refers to them: help texts, man
# pages and SARIF of pdltool say docs/lint.md and mean ${CMAKE_INSTALL_DOCDIR}/docs/lint.md.
install(FILES LICENSE TYPE DOC COMPONENT development)
set(pdl_pages development)
if(PDL_BUILD_TOOLS)
    set(pdl_pages tool)
endif()
install(FILES README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md TYPE DOC COMPONENT ${pdl_pages})
install(DIRECTORY docs TYPE DOC COMPONENT ${pdl_pages}
    FILES_MATCHING PATTERN "*.md" PATTERN "images/*.svg" PATTERN "timeline*.svg" PATTERN man EXCLUDE PATTERN bench EXCLUDE
    PATTERN x86-64 EXCLUDE)
