# SPDX-License-Identifier: MIT

pdl_add_fake_driver(pdl_watched_cuda ${CMAKE_CURRENT_BINARY_DIR}/lib
    ../fake/fake_cuda.c watched_cuda.c $<TARGET_OBJECTS:pdl_cuda_model>)
target_include_directories(pdl_watched_cuda PRIVATE ${PROJECT_SOURCE_DIR}/test/cuda ${CMAKE_CURRENT_SOURCE_DIR})
target_include_directories(pdl_watched_cuda SYSTEM PRIVATE ${PDL_CUPTI_INCLUDE_DIR})
target_link_libraries(pdl_watched_cuda PRIVATE pdl_headers pdl_private pthread ${CMAKE_DL_LIBS})
target_compile_definitions(pdl_watched_cuda PRIVATE MOCK_WATCHED)

add_library(pdl_mock_cupti SHARED mock_cupti.c mock_cupti_entries.c)
target_link_libraries(pdl_mock_cupti PRIVATE pdl_options pdl_sanitize pthread ${CMAKE_DL_LIBS})
target_include_directories(pdl_mock_cupti SYSTEM PRIVATE ${PDL_CUDA_INCLUDE_DIR} ${PDL_CUPTI_INCLUDE_DIR})
set_target_properties(pdl_mock_cupti PROPERTIES
    C_STANDARD 11
    C_VISIBILITY_PRESET hidden
    OUTPUT_NAME cupti
    SUFFIX .so.13
    NO_SONAME ON
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/cupti)
target_link_options(pdl_mock_cupti PRIVATE LINKER:-soname,libcupti.so.13)

add_executable(watched watched.c watched_ways.c)
target_link_libraries(watched PRIVATE pdl_make_image)
target_link_libraries(watched PRIVATE pdl_options pdl_sanitize pthread ${CMAKE_DL_LIBS})
target_include_directories(watched SYSTEM PRIVATE ${PDL_CUDA_INCLUDE_DIR})
target_compile_definitions(watched PRIVATE _GNU_SOURCE)
set_target_properties(watched PROPERTIES C_STANDARD 11)
add_dependencies(watched pdl_watched_cuda pdl_mock_cupti pdl_watch)

set(tool)
if(TARGET pdltool)
    set(tool --tool $<TARGET_FILE:pdltool>)
endif()

# Each function of watched.py that begins with test_ is a test.
file(STRINGS watched.py tests REGEX "^def test_[a-z0-9_]+\\(")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS watched.py)
foreach(test ${tests})
    string(REGEX REPLACE "^def test_([a-z0-9_]+).*" "\\1" test ${test})
    add_test(NAME watch.${test} COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/watched.py
        --program $<TARGET_FILE:watched> --library $<TARGET_FILE:pdl_watch>
        --driver $<TARGET_FILE_DIR:pdl_watched_cuda> --cupti $<TARGET_FILE:pdl_mock_cupti>
        ${tool} --directory ${CMAKE_CURRENT_BINARY_DIR}/${test} ${test})
    set_tests_properties(watch.${test} PROPERTIES LABELS fake TIMEOUT 120 SKIP_RETURN_CODE 77)
endforeach()
