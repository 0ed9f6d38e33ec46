# What every room is built with: one interface target for the flags, one function that makes a room, one that makes a test.

find_package(Threads REQUIRED)

add_library(attune_flags INTERFACE)
target_compile_features(attune_flags INTERFACE cxx_std_20)
target_compile_options(attune_flags INTERFACE -Wall -Wextra -Wpedantic -Wnon-virtual-dtor -Woverloaded-virtual)
if(ATTUNE_UNITY LESS_EQUAL 1)
  # Where files are compiled as one, a name of one file's own would be shadowed by another's.
  target_compile_options(attune_flags INTERFACE -Wshadow)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Nor is what is a file's own seen as such there.
  target_compile_options(attune_flags INTERFACE -Wno-subobject-linkage)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 sees overlapping copies inside std::string at -O3 where there are none (GCC bug 105329).
  target_compile_options(attune_flags INTERFACE -Wno-restrict)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 at -O3 sees uninitialised members in every moved std::variant.
  target_compile_options(attune_flags INTERFACE -Wno-maybe-uninitialized)
endif()
if(ATTUNE_WERROR)
  target_compile_options(attune_flags INTERFACE -Werror)
endif()
# Never _GLIBCXX_ASSERTIONS: CAF 0.17.6 dereferences an empty shared_ptr when it spawns a function-based actor.
target_compile_options(attune_flags INTERFACE -fstack-protector-strong -fno-plt)
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT ATTUNE_SANITIZE)
  target_compile_definitions(attune_flags INTERFACE _FORTIFY_SOURCE=2)
endif()
if(ATTUNE_SANITIZE)
  # CAF binds a reference to null inside its spawn code; the null check would report that, not us.
  set(ATTUNE_SANITIZE_FLAGS -fsanitize=${ATTUNE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  if(ATTUNE_SANITIZE MATCHES "undefined")
    list(APPEND ATTUNE_SANITIZE_FLAGS -fno-sanitize=null,vptr)
  endif()
  if(ATTUNE_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(attune_flags INTERFACE -Wno-tsan)
  endif()
  target_compile_options(attune_flags INTERFACE ${ATTUNE_SANITIZE_FLAGS})
  target_link_options(attune_flags INTERFACE ${ATTUNE_SANITIZE_FLAGS})
endif()
find_program(ATTUNE_LLD ld.lld)
if(ATTUNE_LLD)
  target_link_options(attune_flags INTERFACE -fuse-ld=lld)
endif()
target_link_options(attune_flags INTERFACE -Wl,-z,relro,-z,now)

# One compilation for some files of a target (ATTUNE_UNITY of them): what they include is read once. Names in their
# anonymous namespaces must not collide.
function(attune_unity target)
  if(ATTUNE_UNITY GREATER 1)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${ATTUNE_UNITY})
  endif()
endfunction()

# attune_room(NAME [SOURCES …] [PUBLIC …] [PRIVATE …]): the static library attune_NAME (alias attune::NAME), headers
# included as <NAME/…>. What it links is what it may include; scripts/check_includes holds the rest.
function(attune_room name)
  cmake_parse_arguments(arg "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(attune_${name} STATIC ${arg_SOURCES})
  add_library(attune::${name} ALIAS attune_${name})
  set_target_properties(attune_${name} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(attune_${name} PUBLIC cxx_std_20)
  target_include_directories(attune_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  target_link_libraries(attune_${name} PUBLIC ${arg_PUBLIC} Threads::Threads PRIVATE $<BUILD_INTERFACE:attune_flags> ${arg_PRIVATE})
  attune_unity(attune_${name})
endfunction()

# attune_test(NAME [LABELS …] [TIMEOUT s] SOURCES … LINK …): one Boost.Test executable, one ctest entry. Those labelled
# `process` or `disk` have the machine to themselves: they time things, or fill it.
function(attune_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;LINK;LABELS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE attune_flags ${arg_LINK} attune_test_main Boost::unit_test_framework)
  attune_unity(${name})
  target_compile_definitions(${name} PRIVATE BOOST_TEST_DYN_LINK ATTUNE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  add_test(NAME ${name} COMMAND ${name} --log_level=message)
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  if(ATTUNE_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Debug") # with coverage
    math(EXPR arg_TIMEOUT "${arg_TIMEOUT} * 10")
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}")
  if(arg_LABELS MATCHES "process|disk")
    set_tests_properties(${name} PROPERTIES RUN_SERIAL TRUE)
  endif()
endfunction()
