// What the record of one process tells of types and flags: autocast, casts by hand, the scaler, flags of the back ends,
// wrappers.
#ifndef PARITECT_FORMATS_OBSERVER_PRECISION_PART_H_
#define PARITECT_FORMATS_OBSERVER_PRECISION_PART_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "formats/observer/model_part.h"
#include "formats/observer/record.h"
#include "formats/settings/builder.h"

namespace paritect {

class PrecisionPart {
 public:
  // False: the record is of another part.
  bool Take(const ObservedRecord& record);
  // What of the record counts.
  struct Told {
    bool whole = true;   // nothing that happened is missing from it, so that what it does not show was not there
    bool types = true;   // casts and types agree
    bool scaler = true;  // it does not do what it says that it does not
  };
  // `model`: what is trained decides which casts count. `trained_type`: of what the optimizer changes.
  void AddFacts(const ModelPart& model, const std::string& trained_type, const Told& told,
                SettingsBuilder& facts) const;
  // An engine keeps, clips and scales by itself, unseen.
  bool has_engine() const;

 private:
  struct Autocast {
    std::int64_t line = 0;
    std::string dtype;
    bool enabled = false;
  };
  struct Cast {
    std::int64_t line = 0, root = -1, trainable = 0, norms = 0;
    std::string dtype, class_name, where;
  };
  struct Scaler {
    std::int64_t line = 0, id = -1;
    bool enabled = true;
    std::optional<bool> dynamic;
    std::vector<std::pair<std::string, std::string>> settings;
  };
  struct Wrap {
    std::int64_t line = 0;
    std::string class_name, dtype;
  };

  void TakeFlags(const ObservedRecord& record);
  void TakeScaler(const ObservedRecord& record);
  void TakeCast(const ObservedRecord& record);
  void TakeWrap(const ObservedRecord& record);
  void TakeSettings(const ObservedRecord& record);
  const Wrap* Engine() const;
  const Cast* CastOf(const ModelPart& model) const;
  void AddTypes(const ModelPart& model, const std::string& trained_type, bool whole, SettingsBuilder& facts) const;
  void AddScaler(SettingsBuilder& facts) const;
  void AddFlags(SettingsBuilder& facts) const;

  std::vector<Autocast> autocasts_;
  std::vector<Cast> casts_;
  std::vector<Scaler> scalers_;
  std::vector<Wrap> wraps_;
  std::map<std::string, std::pair<std::string, std::int64_t>> flags_;  // the last value counts; its line
  std::vector<std::pair<std::string, std::string>> engine_settings_;
  std::int64_t engine_line_ = 0;
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_OBSERVER_PRECISION_PART_H_
