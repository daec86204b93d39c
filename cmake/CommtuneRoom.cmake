add_library(commtune_flags INTERFACE)
target_compile_options(commtune_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wconversion -Wshadow>
  $<$<COMPILE_LANGUAGE:C>:-Wall -Wextra>)
if(COMMTUNE_WERROR)
  target_compile_options(commtune_flags INTERFACE -Werror)
endif()
if(COMMTUNE_SANITIZE)
  target_compile_options(commtune_flags INTERFACE
    -fsanitize=${COMMTUNE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(commtune_flags INTERFACE -fsanitize=${COMMTUNE_SANITIZE})
endif()
if(COMMTUNE_FUZZ)
  # An index out of range of a standard container is a finding, too.
  target_compile_options(commtune_flags INTERFACE -fno-omit-frame-pointer -fno-sanitize-recover=all
    -fsanitize=fuzzer-no-link,address,undefined,float-cast-overflow)
  target_compile_definitions(commtune_flags INTERFACE _GLIBCXX_ASSERTIONS)
  target_link_options(commtune_flags INTERFACE -fsanitize=address,undefined)
endif()
target_include_directories(commtune_flags INTERFACE ${PROJECT_SOURCE_DIR})

# commtune_room(NAME NEEDS targets... [FOLDERS folders...]): one static library of every .cpp in the
# folder (or in FOLDERS). A new file joins by being there.
function(commtune_room name)
  cmake_parse_arguments(arg "" "" "NEEDS;FOLDERS" ${ARGN})
  if(NOT arg_FOLDERS)
    set(arg_FOLDERS .)
  endif()
  set(sources "")
  foreach(folder IN LISTS arg_FOLDERS)
    file(GLOB found CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp)
    list(APPEND sources ${found})
  endforeach()
  add_library(commtune_${name} STATIC ${sources})
  target_link_libraries(commtune_${name} PUBLIC commtune_flags ${arg_NEEDS})
endfunction()

# commtune_module(NAME [SOURCES files...] [FOLDER folder] NEEDS targets...): a shared object loaded at
# run time, of the files or of every .cpp in the folder. Left out, with what an earlier configuration of
# this build folder built, where one of the targets was not found.
function(commtune_module name)
  cmake_parse_arguments(arg "" "FOLDER" "SOURCES;NEEDS" ${ARGN})
  foreach(target IN LISTS arg_NEEDS)
    if(target MATCHES "::|^commtune_" AND NOT TARGET ${target})
      file(REMOVE ${COMMTUNE_MODULE_DIRECTORY}/commtune_${name}.so)
      return()
    endif()
  endforeach()
  if(arg_FOLDER)
    file(GLOB found CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${arg_FOLDER}/*.cpp)
    list(APPEND arg_SOURCES ${found})
  endif()
  set_property(GLOBAL APPEND PROPERTY commtune_modules commtune_module_${name})
  add_library(commtune_module_${name} MODULE ${arg_SOURCES})
  set_target_properties(commtune_module_${name} PROPERTIES
    PREFIX "" OUTPUT_NAME commtune_${name}
    LIBRARY_OUTPUT_DIRECTORY ${COMMTUNE_MODULE_DIRECTORY})
  target_link_libraries(commtune_module_${name} PRIVATE commtune_flags ${arg_NEEDS})
endfunction()

# commtune_test(NAME [NEEDS targets...] [TIMEOUT seconds] [ENVIRONMENT ...]): one GoogleTest program
# of every *_test.cpp in the folder, registered as one test.
function(commtune_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "NEEDS;ENVIRONMENT;SOURCES" ${ARGN})
  if(NOT arg_SOURCES)
    file(GLOB arg_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)
  endif()
  add_executable(test_${name} ${arg_SOURCES})
  target_link_libraries(test_${name} PRIVATE ${arg_NEEDS} GTest::gtest GTest::gtest_main)
  add_test(NAME ${name} COMMAND test_${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT})
  list(APPEND arg_ENVIRONMENT "COMMTUNE_MODULE_PATH=${COMMTUNE_MODULE_DIRECTORY}"
    "COMMTUNE_SHARED=$ENV{COMMTUNE_SHARED}")
  set_tests_properties(${name} PROPERTIES ENVIRONMENT "${arg_ENVIRONMENT}")
endfunction()
