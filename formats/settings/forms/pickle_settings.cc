// The plain values of a pickle as settings (formats/settings/forms/pickle_settings.h).
#include "formats/settings/forms/pickle_settings.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/numbers.h"

namespace paritect {
namespace {

using absl::StrCat;
using Kind = PickleValue::Kind;

constexpr int kDepthMax = 6;
constexpr int kListItemsMax = 64;
constexpr int kVisitsMax = 50'000;  // a value may stand in itself, or in very many places

class Flattener {
 public:
  Flattener(const Pickle& pickle, SettingsBuilder& builder) : pickle_(pickle), builder_(builder) {}

  // NOLINTNEXTLINE(misc-no-recursion): kDepthMax bounds it
  void Add(const std::string& key, std::int32_t place, int depth) {
    if (depth > kDepthMax || ++visits_ > kVisitsMax) return;
    const PickleValue& value = pickle_.at(place);
    std::string text;
    if (value.kind == Kind::kText) {
      builder_.AddText(key, value.text, 0);
    } else if (Plain(place, text)) {
      builder_.Add(key, text, 0);
    } else if (value.kind == Kind::kDict) {
      AddDict(key, value, depth);
    } else if (value.kind == Kind::kList) {
      AddList(key, value);
    } else if (value.kind == Kind::kObject) {
      AddObject(key, value, depth);
    }
  }

 private:
  // None, a boolean or a number as Python writes it.
  bool Plain(std::int32_t place, std::string& text) const {
    const PickleValue& value = pickle_.at(place);
    switch (value.kind) {
      case Kind::kNone: text = "None"; return true;
      case Kind::kBoolean: text = value.boolean ? "True" : "False"; return true;
      case Kind::kInteger: text = StrCat(value.integer); return true;
      case Kind::kNumber: text = FormatDouble(value.number); return true;
      default: return false;
    }
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  void AddDict(const std::string& key, const PickleValue& dict, int depth) {
    for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2) {
      const PickleValue& name = pickle_.at(dict.items[i]);
      if (name.kind != Kind::kText || visits_ > kVisitsMax) continue;
      Add(key.empty() ? name.text : StrCat(key, ".", name.text), dict.items[i + 1], depth + 1);
    }
  }

  // Lists of single values only.
  void AddList(const std::string& key, const PickleValue& list) {
    v1::Value value;
    value.mutable_list();
    std::vector<std::string> texts;
    for (std::int32_t place : list.items) {
      const PickleValue& item = pickle_.at(place);
      std::string text = item.text;
      if (value.list().items_size() >= kListItemsMax || (item.kind != Kind::kText && !Plain(place, text))) return;
      v1::Value& out = *value.mutable_list()->add_items();
      if (item.kind == Kind::kText) {
        out.set_text(text);
      } else {
        out = ValueOfText(text);
      }
      texts.push_back(text);
    }
    v1::Setting* setting = builder_.AddText(key, absl::StrJoin(texts, ", "), 0);
    if (setting != nullptr) *setting->mutable_value() = std::move(value);
  }

  // An object with a state is that state; a call with one plain argument (an enum member, a path) is the argument.
  // NOLINTNEXTLINE(misc-no-recursion)
  void AddObject(const std::string& key, const PickleValue& object, int depth) {
    if (object.items.size() >= 3) return Add(key, object.items[2], depth + 1);
    if (object.items.size() < 2) return;
    const PickleValue& arguments = pickle_.at(object.items[1]);
    if (arguments.kind != Kind::kList || arguments.items.size() != 1) return;
    std::string text;
    const PickleValue& argument = pickle_.at(arguments.items[0]);
    if (argument.kind == Kind::kText || Plain(arguments.items[0], text)) Add(key, arguments.items[0], depth + 1);
  }

  const Pickle& pickle_;
  SettingsBuilder& builder_;
  int visits_ = 0;
};

}  // namespace

void AddPickle(const Pickle& pickle, SettingsBuilder& builder) {
  Flattener(pickle, builder).Add("", pickle.root, 0);
}

}  // namespace paritect
