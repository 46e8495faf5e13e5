# What goes where when the product is installed, by component, and the packages that CPack makes of the components
# (deploy/package calls it). The units are those of deploy/agent and deploy/server with a package's paths.
include(GNUInstallDirs)
set(package_files ${CMAKE_BINARY_DIR}/package)
set(package_sources ${CMAKE_SOURCE_DIR}/deploy/packaging)

install(TARGETS paritect RUNTIME COMPONENT client)
install(TARGETS paritect-hdf5 RUNTIME DESTINATION libexec/paritect COMPONENT common)
install(TARGETS paritect-agent RUNTIME COMPONENT agent)
install(TARGETS paritect-probe RUNTIME DESTINATION libexec/paritect COMPONENT agent)
install(TARGETS paritect-server RUNTIME COMPONENT server)
install(FILES deploy/monitoring/paritect-alerts.yaml deploy/monitoring/paritect-dashboard.json
        DESTINATION share/paritect/monitoring COMPONENT server)
file(GLOB documents docs/*.md)
install(FILES README.md README.zh.md CHANGELOG.md CONTRIBUTING.md DESTINATION share/doc/paritect-doc COMPONENT doc)
install(FILES ${documents} DESTINATION share/doc/paritect-doc/docs COMPONENT doc)
install(DIRECTORY deploy/slurm deploy/kubernetes deploy/helm deploy/container DESTINATION share/doc/paritect-doc/examples
        COMPONENT doc USE_SOURCE_PERMISSIONS)

set(units lib/systemd/system)
foreach(kind agent server)
  set(BIN /usr/bin)
  set(STATE /var/lib/paritect-${kind})
  set(DOC /usr/share/doc/paritect-doc/docs)
  set(USER paritect-${kind})
  configure_file(deploy/${kind}/paritect-${kind}.service ${package_files}/paritect-${kind}.service @ONLY)
  install(FILES ${package_files}/paritect-${kind}.service DESTINATION ${units} COMPONENT ${kind})
endforeach()

# Completions come from the programs: what declares an option offers it.
foreach(shell bash zsh fish)
  set(file ${package_files}/completion.${shell})
  add_custom_command(OUTPUT ${file} COMMAND ${CMAKE_COMMAND} -E make_directory ${package_files}
                     COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:paritect>
                             completion ${shell} > ${file}
                     DEPENDS paritect COMMENT "write the completion for ${shell}" VERBATIM)
  list(APPEND completions ${file})
endforeach()
add_custom_target(paritect_completions DEPENDS ${completions})
add_dependencies(programs paritect_completions)
install(FILES ${package_files}/completion.bash DESTINATION share/bash-completion/completions RENAME paritect COMPONENT client)
install(FILES ${package_files}/completion.zsh DESTINATION share/zsh/vendor-completions RENAME _paritect COMPONENT client)
install(FILES ${package_files}/completion.fish DESTINATION share/fish/vendor_completions.d RENAME paritect.fish
        COMPONENT client)

# Debian's rules ask each package for its licence and its changes.
foreach(component client common agent server trace doc)
  set(name paritect-${component})
  if(component STREQUAL client)
    set(name paritect)
  endif()
  install(FILES ${package_sources}/copyright ${package_files}/changelog.gz DESTINATION share/doc/${name}
          COMPONENT ${component})
  # What Debian's own packages may not do and these do, each with its reason.
  install(FILES ${package_sources}/lintian-overrides DESTINATION share/lintian/overrides RENAME ${name}
          COMPONENT ${component})
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
  set(CPACK_RPM_${upper}_PACKAGE_NAME ${name})
endforeach()

set(CPACK_PACKAGE_NAME paritect)
set(CPACK_PACKAGE_VENDOR Paritect)
set(CPACK_PACKAGE_CONTACT "Paritect <paritect@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL client common agent server trace doc)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_RPM_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
    WORLD_EXECUTE)
set(CPACK_COMPONENT_CLIENT_DESCRIPTION "checks of a training run that moved from GPUs to NPUs: command line
Compares a baseline on GPUs with the run that was migrated to Ascend NPUs:
data sets, shards, settings, precision, weights and curves.")
set(CPACK_COMPONENT_COMMON_DESCRIPTION "checks of a training run that moved from GPUs to NPUs: helper
Reads HDF5 files for paritect and paritect-agent in a confined process.")
set(CPACK_COMPONENT_AGENT_DESCRIPTION "checks of a training run that moved from GPUs to NPUs: agent of a node
Collects on a node what an audit asks for, within the folders it allows.")
set(CPACK_COMPONENT_SERVER_DESCRIPTION "checks of a training run that moved from GPUs to NPUs: server
Takes what agents collect, keeps it and judges it.")
set(CPACK_COMPONENT_TRACE_DESCRIPTION "checks of a training run that moved from GPUs to NPUs: recorders
Loaded into a training by `paritect run`: which files it opens, how it was
set and what it computed, without a change of its script.")
set(CPACK_COMPONENT_DOC_DESCRIPTION "checks of a training run that moved from GPUs to NPUs: documents
User guide, operator's book, formats and rules.")

set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_CLIENT_PACKAGE_DEPENDS "paritect-common (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_CLIENT_PACKAGE_RECOMMENDS "paritect-trace (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_CLIENT_PACKAGE_SUGGESTS "paritect-doc")
set(CPACK_DEBIAN_AGENT_PACKAGE_DEPENDS "paritect-common (= ${PROJECT_VERSION}), passwd, libc6 (>= 2.17)")
set(CPACK_DEBIAN_TRACE_PACKAGE_DEPENDS "libc6 (>= 2.17)")
set(CPACK_DEBIAN_SERVER_PACKAGE_DEPENDS "passwd")
set(CPACK_DEBIAN_SERVER_PACKAGE_RECOMMENDS "paritect (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DOC_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_DOC_PACKAGE_SECTION doc)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# Programs hold their libraries; what opens some while it runs names the C library alone.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS OFF)

set(CPACK_RPM_PACKAGE_LICENSE "Apache-2.0")
set(CPACK_RPM_SPEC_MORE_DEFINE "%define packager ${CPACK_PACKAGE_CONTACT}")
set(CPACK_RPM_CLIENT_PACKAGE_SUMMARY "Checks of a training run that moved from GPUs to NPUs: command line")
set(CPACK_RPM_COMMON_PACKAGE_SUMMARY "Checks of a training run that moved from GPUs to NPUs: helper")
set(CPACK_RPM_AGENT_PACKAGE_SUMMARY "Checks of a training run that moved from GPUs to NPUs: agent of a node")
set(CPACK_RPM_SERVER_PACKAGE_SUMMARY "Checks of a training run that moved from GPUs to NPUs: server")
set(CPACK_RPM_TRACE_PACKAGE_SUMMARY "Checks of a training run that moved from GPUs to NPUs: recorders")
set(CPACK_RPM_DOC_PACKAGE_SUMMARY "Checks of a training run that moved from GPUs to NPUs: documents")
set(CPACK_RPM_PACKAGE_GROUP "Applications/Engineering")
set(CPACK_RPM_PACKAGE_AUTOREQPROV OFF)
set(CPACK_RPM_CLIENT_PACKAGE_REQUIRES "paritect-common = ${PROJECT_VERSION}")
set(CPACK_RPM_AGENT_PACKAGE_REQUIRES "paritect-common = ${PROJECT_VERSION}, shadow-utils")
set(CPACK_RPM_SERVER_PACKAGE_REQUIRES "shadow-utils")
set(CPACK_RPM_DOC_PACKAGE_ARCHITECTURE noarch)
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /usr/lib/systemd /usr/lib/systemd/system /usr/share/zsh
    /usr/share/zsh/vendor-completions /usr/share/fish /usr/share/fish/vendor_completions.d /usr/share/bash-completion
    /usr/share/bash-completion/completions /usr/libexec /usr/share/man /usr/share/man/man1 /usr/share/man/man8 /usr/share/lintian /usr/share/lintian/overrides)

foreach(kind agent server)
  string(TOUPPER ${kind} upper)
  set(STATE /var/lib/paritect-${kind})
  set(USER paritect-${kind})
  set(UNIT paritect-${kind}.service)
  foreach(script postinst prerm postrm)
    configure_file(${package_sources}/${script}.in ${package_files}/deb-${kind}/${script} @ONLY
                   FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
    list(APPEND CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA ${package_files}/deb-${kind}/${script})
    configure_file(${package_sources}/rpm-${script}.in ${package_files}/rpm-${kind}/${script} @ONLY)
  endforeach()
  set(CPACK_RPM_${upper}_POST_INSTALL_SCRIPT_FILE ${package_files}/rpm-${kind}/postinst)
  set(CPACK_RPM_${upper}_PRE_UNINSTALL_SCRIPT_FILE ${package_files}/rpm-${kind}/prerm)
  set(CPACK_RPM_${upper}_POST_UNINSTALL_SCRIPT_FILE ${package_files}/rpm-${kind}/postrm)
endforeach()

# Debian's form of a list of changes, which leads to ours; the same bytes each time.
string(TIMESTAMP day "%a, %d %b %Y %H:%M:%S +0000" UTC)  # of SOURCE_DATE_EPOCH where it is set
file(WRITE ${package_files}/changelog "paritect (${PROJECT_VERSION}) unstable; urgency=medium

  * All changes: CHANGELOG.md in paritect-doc.

 -- ${CPACK_PACKAGE_CONTACT}  ${day}
")
execute_process(COMMAND gzip -9nc ${package_files}/changelog OUTPUT_FILE ${package_files}/changelog.gz)
include(CPack)
