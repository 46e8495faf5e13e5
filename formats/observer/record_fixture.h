// For tests: records of the observer as a process writes them, line by line.
#ifndef PARITECT_FORMATS_OBSERVER_RECORD_FIXTURE_H_
#define PARITECT_FORMATS_OBSERVER_RECORD_FIXTURE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace paritect {

// One process: `fields` of a record is JSON without its braces ("\"n\": 1").
class RecordFixture {
 public:
  explicit RecordFixture(std::int64_t pid = 10, absl::string_view more = "") {
    Add("begin",
        absl::StrCat("\"format\": \"paritect-observe/1\", \"level\": \"full\", \"host\": \"node-1\", \"pid\": ", pid,
                     ", \"ppid\": 1, \"start\": 7, \"image\": \"exec\", \"main\": \"train.py\", \"late\": false",
                     more));
    Add("framework", "\"name\": \"torch\", \"version\": \"2.1.0\", \"tried\": true");
  }

  RecordFixture& Add(absl::string_view kind, absl::string_view fields) {
    absl::StrAppend(&text_, "{\"k\": \"", kind, "\", \"t\": ", ++time_, fields.empty() ? "" : ", ", fields, "}\n");
    return *this;
  }

  // A model of one layer that is trained, with its parameters of a type.
  RecordFixture& Model(absl::string_view dtype = "F32") {
    Add("root",
        "\"id\": 0, \"class\": \"__main__.Net\", \"module\": null, \"trainable\": 12, \"elements\": 12, \"at\": 0");
    Add("modules",
        "\"root\": 0, \"from\": 0, \"total\": 2, \"of\": [[\"norm\", \"torch.nn.BatchNorm2d\", true, {\"momentum\": "
        "0.1}], "
        "[\"drop\", \"torch.nn.Dropout\", true, {\"p\": 0.2}]]");
    Add("parameters", absl::StrCat("\"root\": 0, \"from\": 0, \"total\": 2, \"of\": [[\"a.weight\", [3, 4], \"", dtype,
                                   "\", true, \"cpu\"], [\"a.bias\", [4], \"", dtype, "\", false, \"cpu\"]]"));
    return Add("phase",
               "\"root\": 0, \"phase\": 0, \"training\": true, \"grad\": true, \"inference\": false, \"forwards\": 4, "
               "\"rows\": 16, \"at\": 0, \"other\": []");
  }

  RecordFixture& Optimizer() {
    Add("optimizer", "\"id\": 0, \"class\": \"torch.optim.adamw.AdamW\"");
    return Add("group",
               "\"optimizer\": 0, \"group\": 0, \"at\": 0, \"from\": 0, \"total\": 2, \"options\": {\"lr\": 0.0005, "
               "\"initial_lr\": 0.001, \"weight_decay\": 0.1, \"betas\": [0.9, 0.95], \"eps\": 1e-08}, \"params\": "
               "[[\"a.weight\", 12, \"F32\", true], [\"a.bias\", 4, \"F32\", false]]");
  }

  RecordFixture& Step(std::int64_t n, absl::string_view more = "") {
    return Add(
        "step",
        absl::StrCat("\"optimizer\": 0, \"n\": ", n,
                     ", \"lr\": [0.001], \"weight_decay\": [0.1], \"forwards\": 1, \"backwards\": 1, \"loss\": 2.5, "
                     "\"loss_sum\": 2.5, \"clip\": null",
                     more));
  }

  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::int64_t time_ = 1000;
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_OBSERVER_RECORD_FIXTURE_H_
