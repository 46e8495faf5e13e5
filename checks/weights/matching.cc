#include "checks/weights/matching.h"

#include <algorithm>
#include <map>
#include <set>

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

  void ByParts(const Tensors& wholes, const Tensors& parts, bool whole_is_a) {
    const auto others = Unique(Left(parts), [](const ModelTensor& one) { return one.canonical; });
    for (const ModelTensor* whole : Left(wholes)) {
      for (const std::vector<std::string>& names : context_.rules.tensor_names.PartsOf(whole->canonical)) {
        Tensors found;
        for (const std::string& name : names) {
          const auto part = others.find(name);
          if (part != others.end() && part->second != nullptr) found.push_back(part->second);
        }
        if (found.size() != names.size()) continue;
        whole_is_a ? Pair({whole}, found, MatchedBy::kFused) : Pair(found, {whole}, MatchedBy::kFused);
        break;
      }
    }
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
