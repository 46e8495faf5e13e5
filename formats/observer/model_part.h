// What the record of one process tells of its models: which module is trained, its structure, its weights at the first
// steps, the operators of its first forward, what was loaded into it, and in which mode it ran.
#ifndef PARITECT_FORMATS_OBSERVER_MODEL_PART_H_
#define PARITECT_FORMATS_OBSERVER_MODEL_PART_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "formats/observer/record.h"
#include "formats/settings/builder.h"
#include "paritect/v1/tensors.pb.h"
#include "paritect/v1/weights.pb.h"

namespace paritect {

// A list that comes in several records: whole when every place came.
struct ListProgress {
  std::int64_t came = 0;
  std::int64_t total = 0;
  bool sampled = false;  // only some of the tensors were taken

  void Add(const ObservedRecord& record) {
    // [taken, all]; what is no such pair tells that some were left out, and not how many.
    const std::vector<DocumentNode>& taken = record.List("sampled");
    const auto some = taken.size() == 2 ? IntegerIn(taken[0]) : std::nullopt;
    const auto all = taken.size() == 2 ? IntegerIn(taken[1]) : std::nullopt;
    sampled = sampled || (record.Find("sampled") != nullptr && !(some && all && *some >= *all));
    came += static_cast<std::int64_t>(record.List("of").size());
    total = std::max(total, record.Integer("total").value_or(0));
  }
  bool whole() const { return came >= total; }
};

struct ObservedParameter {
  std::string dtype;
  std::uint64_t elements = 0;
  bool trained = true;
};

struct ObservedRoot {
  std::int64_t line = 0;
  std::string class_name;
  std::string inner_class;     // inside a wrapper
  std::int64_t trainable = 0;  // elements
  bool trains = false;  // forwards in training mode with gradients, or weights of its first training forward, were seen
  std::vector<std::pair<std::string, std::int64_t>> layers;  // "(bn1): BatchNorm2d(eps=1e-05)" and its line
  std::map<std::string, ObservedParameter> parameters;
  ListProgress parameter_list, module_list;
  int dropouts = 0;  // that drop something
  int batch_norms = 0;
};

class ModelPart {
 public:
  // False: the record is of another part.
  bool Take(const ObservedRecord& record);

  bool trained() const { return Trained() != nullptr; }
  // The model that is trained: of several the one with most elements to train. nullptr: none was seen.
  const ObservedRoot* Trained() const;
  std::int64_t TrainedId() const;  // -1: none

  // Digests of what the model was given in training and in evaluation mode.
  const std::set<std::string>& fed() const { return fed_; }
  const std::set<std::string>& fed_in_evaluation() const { return fed_in_evaluation_; }

  void AddFacts(SettingsBuilder& facts) const;
  // Layers as a printed model, for the reader of those; "" where none were recorded.
  std::string PrintedModel() const;
  // Parameters and buffers by number of updates before it.
  std::vector<v1::Weights> States() const;
  // Whether the parameters' state at that number of updates came.
  const v1::TensorDump* operators() const { return operators_.calls_size() > 0 ? &operators_ : nullptr; }
  bool operators_whole() const { return operator_list_.whole(); }
  // Types of the outputs of layers in the first training forward: type, number of outputs.
  const std::map<std::string, int>& output_types() const { return output_types_; }

 private:
  struct State {
    v1::Weights weights;
    std::map<std::string, ListProgress> lists;  // by role
  };
  struct Load {
    std::int64_t line = 0;
    std::string what, where, failed, class_name;
    bool strict = true;
    std::int64_t given = 0, expected = 0, fitting = 0, missing = 0, unexpected = 0, at = 0;
  };
  struct Phase {
    std::int64_t line = 0, root = 0, forwards = 0, rows = 0, at = 0;
    bool training = false, grad = false;
    std::vector<std::string> others;  // dropouts and batch normalisations in another mode than the root: "name (Class)"
    bool others_whole = true;         // all of them are told
  };

  void TakeRoot(const ObservedRecord& record);
  void TakeModules(const ObservedRecord& record);
  void TakeParameters(const ObservedRecord& record);
  void TakeWeights(const ObservedRecord& record);
  void TakeOperators(const ObservedRecord& record);
  void TakeLoad(const ObservedRecord& record);
  void TakePhase(const ObservedRecord& record);
  void TakeFed(const ObservedRecord& record);
  void AddLoads(SettingsBuilder& facts) const;
  void AddPhases(SettingsBuilder& facts) const;
  void AddCopies(SettingsBuilder& facts) const;

  std::map<std::int64_t, ObservedRoot> roots_;
  std::map<std::pair<std::int64_t, std::int64_t>, State> states_;  // updates, root
  v1::TensorDump operators_;
  ListProgress operator_list_, backward_list_;
  std::map<std::string, int> output_types_;
  std::vector<Load> loads_;
  std::map<std::pair<std::int64_t, std::int64_t>, Phase>
      phases_;  // by root and number; of one that is told again while it lasts the last counts
  std::set<std::string> fed_, fed_in_evaluation_;
  // By root and number: digest and line of what the first forwards of the training were given.
  std::map<std::pair<std::int64_t, std::int64_t>, std::pair<std::string, std::int64_t>> first_fed_;
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_OBSERVER_MODEL_PART_H_
