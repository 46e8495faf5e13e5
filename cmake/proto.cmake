# paritect_proto_library(NAME files...): generated C++ for message protos below proto/.
# CMake's own protobuf_generate places nested packages wrongly, hence this function.
function(paritect_proto_library name)
  set(out_dir ${CMAKE_BINARY_DIR}/gen)
  set(sources "")
  foreach(file ${ARGN})
    string(REGEX REPLACE "\\.proto$" "" stem ${file})
    add_custom_command(
      OUTPUT ${out_dir}/${stem}.pb.cc ${out_dir}/${stem}.pb.h
      COMMAND ${CMAKE_COMMAND} -E make_directory ${out_dir}
      COMMAND protobuf::protoc -I ${CMAKE_SOURCE_DIR}/proto --cpp_out=${out_dir} ${file}
      DEPENDS ${CMAKE_SOURCE_DIR}/proto/${file}
      COMMENT "protoc ${file}" VERBATIM)
    list(APPEND sources ${out_dir}/${stem}.pb.cc)
  endforeach()
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} SYSTEM PUBLIC ${out_dir})
  target_link_libraries(${name} PUBLIC protobuf::libprotobuf)
  target_compile_options(${name} PRIVATE -w -O1 -g0)
  set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
endfunction()

# paritect_grpc_library(NAME MESSAGES files...): the gRPC code of protos that define services; their messages are in
# the library MESSAGES, so that what only reads messages need not link gRPC.
function(paritect_grpc_library name messages)
  set(out_dir ${CMAKE_BINARY_DIR}/gen)
  set(sources "")
  foreach(file ${ARGN})
    string(REGEX REPLACE "\\.proto$" "" stem ${file})
    add_custom_command(
      OUTPUT ${out_dir}/${stem}.grpc.pb.cc ${out_dir}/${stem}.grpc.pb.h
      COMMAND ${CMAKE_COMMAND} -E make_directory ${out_dir}
      COMMAND protobuf::protoc -I ${CMAKE_SOURCE_DIR}/proto --grpc_out=${out_dir}
              --plugin=protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin> ${file}
      DEPENDS ${CMAKE_SOURCE_DIR}/proto/${file}
      COMMENT "protoc ${file}" VERBATIM)
    list(APPEND sources ${out_dir}/${stem}.grpc.pb.cc)
  endforeach()
  add_library(${name} STATIC ${sources})
  target_link_libraries(${name} PUBLIC ${messages} gRPC::grpc++ absl::synchronization)
  target_compile_options(${name} PRIVATE -w -O1 -g0)
  set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
endfunction()
