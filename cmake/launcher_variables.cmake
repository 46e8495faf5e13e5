# cmake -DTABLE=rules/data/launchers.yaml -DOUT=launcher_variables.inc -P launcher_variables.cmake: one
# LAUNCHER_VARIABLE(NAME) a variable of the table's launchers, for the recorder, which reads no YAML; with an OUT that ends in
# .py a tuple of the names, for the observer. The table's form makes
# it easy: outside comments and quotes every word in capitals is a variable. rules/launchers_test.cc holds both against
# each other.
file(READ ${TABLE} text)
string(REGEX REPLACE "\"[^\"\n]*\"" "" text "${text}")
string(REGEX REPLACE "#[^\n]*" "" text "${text}")
string(REGEX REPLACE "name: [^,}]*" "" text "${text}")
string(REGEX REPLACE "\njobs:.*" "" text "${text}")
string(REGEX MATCHALL "[A-Z][A-Z0-9_]+" names "${text}")
list(REMOVE_DUPLICATES names)
list(SORT names)
if(OUT MATCHES "\\.py$")
  list(JOIN names "\",\n    \"" joined)
  file(WRITE ${OUT} "# Made from rules/data/launchers.yaml by cmake/launcher_variables.cmake.\nNAMES = (\n    \"${joined}\",\n)\n")
  return()
endif()
set(lines "// Made from rules/data/launchers.yaml by cmake/launcher_variables.cmake.\n")
foreach(name IN LISTS names)
  string(APPEND lines "LAUNCHER_VARIABLE(${name})\n")
endforeach()
file(WRITE ${OUT} "${lines}")
