#include "checks/weights/matching.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace paritect {
namespace {

using Tensors = std::vector<const ModelTensor*>;

class Matcher {
 public:
  Matcher(const CheckContext& context, const ModelState& a, const ModelState& b) : context_(context) {
    for (const ModelTensor& one : a.tensors) a_.push_back(&one);
    for (const ModelTensor& one : b.tensors) b_.push_back(&one);
  }

  ModelMatch Match() {
    ByName([](const ModelTensor& one) { return one.name; });
    ByName([](const ModelTensor& one) { return one.canonical; });
    ByParts(a_, b_, true);
    ByParts(b_, a_, false);
    ByValues();
    ByOrder();
    const auto place = [](const TensorPair& pair) { return pair.a.front(); };
    std::sort(match_.pairs.begin(), match_.pairs.end(),
              [&](const TensorPair& x, const TensorPair& y) { return place(x) < place(y); });
    match_.only_a = Left(a_);
    match_.only_b = Left(b_);
    return std::move(match_);
  }

 private:
  Tensors Left(const Tensors& all) const {
    Tensors left;
    for (const ModelTensor* one : all) {
      if (!taken_.contains(one)) left.push_back(one);
    }
    return left;
  }

  void Pair(Tensors a, Tensors b, MatchedBy by) {
    taken_.insert(a.begin(), a.end());
    taken_.insert(b.begin(), b.end());
    match_.pairs.push_back({std::move(a), std::move(b), by});
  }

  // What is left of a side, by a key that one tensor alone has.
  template <typename Key>
  static auto Unique(const Tensors& tensors, Key key) {
    std::map<decltype(key(*tensors.front())), const ModelTensor*> found;
    for (const ModelTensor* one : tensors) {
      const auto [place, is_new] = found.emplace(key(*one), one);
      if (!is_new) place->second = nullptr;
    }
    return found;
  }

  template <typename Key>
  void ByName(Key key) {
    const auto others = Unique(Left(b_), key);
    for (const auto& [name, one] : Unique(Left(a_), key)) {
      const auto other = others.find(name);
      if (one != nullptr && other != others.end() && other->second != nullptr) {
        Pair({one}, {other->second}, MatchedBy::kName);
      }
    }
  }

  // "experts.#.up_proj": one for each place on the first axis of what they are stacked in, number by number.
  static std::vector<std::string> Numbered(const std::vector<std::string>& parts, const v1::TensorFingerprint& whole) {
    constexpr absl::string_view kNumber = "#";
    constexpr std::int64_t kStackedMax = 4096;  // large models have some hundred experts a layer
    if (!absl::StrContains(parts.front(), kNumber)) return parts;
    const std::int64_t stacked = whole.shape_size() > 1 ? std::min(whole.shape(0), kStackedMax + 1) : 0;
    std::vector<std::string> names;
    for (std::int64_t i = 0; i < stacked && stacked <= kStackedMax; ++i) {
      for (const std::string& part : parts) names.push_back(absl::StrReplaceAll(part, {{kNumber, absl::StrCat(i)}}));
    }
    return names;
  }

  void ByParts(const Tensors& wholes, const Tensors& parts, bool whole_is_a) {
    const auto others = Unique(Left(parts), [](const ModelTensor& one) { return one.canonical; });
    for (const ModelTensor* whole : Left(wholes)) {
      Tensors found;
      for (const std::vector<std::string>& cut : context_.rules.tensor_names.PartsOf(whole->canonical)) {
        const std::vector<std::string> names = Numbered(cut, whole->first());
        Tensors way;
        for (const std::string& name : names) {
          const auto part = others.find(name);
          if (part != others.end() && part->second != nullptr) way.push_back(part->second);
        }
        if (way.empty() || way.size() != names.size()) continue;
        // Of several ways the one that has as many elements, else the first.
        const bool fits = ElementsOf(way) == whole->elements();
        if (found.empty() || fits) found = std::move(way);
        if (fits) break;
      }
      if (found.empty()) continue;
      whole_is_a ? Pair({whole}, found, MatchedBy::kFused) : Pair(found, {whole}, MatchedBy::kFused);
    }
  }

  static std::uint64_t ElementsOf(const Tensors& tensors) {
    std::uint64_t sum = 0;
    for (const ModelTensor* one : tensors) sum += one->elements();
    return sum;
  }

  // Constants are equal to many things; a value that one tensor of each side has alone names its partner.
  void ByValues() {
    const auto key = [](const ModelTensor& one) {
      return std::make_pair(one.elements(), one.values().value_or(ValueHashes()));
    };
    const auto others = Unique(Left(b_), key);
    for (const auto& [values, one] : Unique(Left(a_), key)) {
      const auto other = others.find(values);
      if (one == nullptr || values.second == ValueHashes() || other == others.end() || other->second == nullptr)
        continue;
      Pair({one}, {other->second}, MatchedBy::kValues);
    }
  }

  // Only where all that is left fits, shape by shape in one order: half a guess would name wrong tensors.
  void ByOrder() {
    const auto shape = [](const ModelTensor& one) {
      std::vector<std::int64_t> sizes(one.first().shape().begin(), one.first().shape().end());
      std::erase(sizes, 1);
      std::sort(sizes.begin(), sizes.end());
      return sizes;
    };
    Tensors a = Left(a_), b = Left(b_);
    for (Tensors* side : {&a, &b}) std::erase_if(*side, [](const ModelTensor* one) { return one->derived; });
    if (a.size() != b.size() || a.empty()) return;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (shape(*a[i]) != shape(*b[i]) || a[i]->role != b[i]->role) return;
    }
    for (std::size_t i = 0; i < a.size(); ++i) Pair({a[i]}, {b[i]}, MatchedBy::kOrder);
  }

  const CheckContext& context_;
  Tensors a_;
  Tensors b_;
  std::set<const ModelTensor*> taken_;
  ModelMatch match_;
};

}  // namespace

bool ModelMatch::by_order() const {
  return std::any_of(pairs.begin(), pairs.end(), [](const TensorPair& pair) { return pair.by == MatchedBy::kOrder; });
}

ModelMatch MatchModels(const CheckContext& context, const ModelState& a, const ModelState& b) {
  return Matcher(context, a, b).Match();
}

}  // namespace paritect
