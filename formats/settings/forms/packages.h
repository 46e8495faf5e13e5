// Names and versions of installed software, as the lists of several tools spell them.
#ifndef PARITECT_FORMATS_SETTINGS_FORMS_PACKAGES_H_
#define PARITECT_FORMATS_SETTINGS_FORMS_PACKAGES_H_

#include <string>

#include "absl/strings/string_view.h"

namespace paritect {

// PEP 503: runs of "-_." are one "-", lower case.
std::string NormalisedPackageName(absl::string_view name);

struct PackageLine {
  std::string name;  // as written
  std::string version;
};

// One line of `pip freeze`, `pip list`, `conda list` or its export: "torch==2.1.0", "torch 2.1.0",
// "numpy=1.26.4=py310", "torch @ file:///x/torch-2.1.0-cp310-none.whl", "-e git+https://host/x.git@SHA#egg=name". False
// where it is none.
bool SplitPackageLine(absl::string_view line, PackageLine& out);

}  // namespace paritect

#endif  // PARITECT_FORMATS_SETTINGS_FORMS_PACKAGES_H_
