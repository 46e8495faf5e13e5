#include "formats/pickle.h"

#include <bit>
#include <cstring>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/little_endian.h"
#include "common/numbers.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

using absl::StrCat;
using Kind = PickleValue::Kind;

constexpr std::int32_t kMark = -1;

absl::Status Damaged(absl::string_view why) {
  return absl::DataLossError(why);
}

class Walker {
 public:
  Walker(absl::string_view bytes, const PickleLimits& limits) : bytes_(bytes), limits_(limits) {}

  absl::StatusOr<Pickle> Walk() {
    while (!stopped_) {
      absl::string_view code;
      PARITECT_RETURN_IF_ERROR(Take(1, code));
      PARITECT_RETURN_IF_ERROR(Step(static_cast<unsigned char>(code[0])));
    }
    pickle_.bytes = at_;
    return std::move(pickle_);
  }

 private:
  absl::Status Step(unsigned char code) {
    handled_ = true;
    PARITECT_RETURN_IF_ERROR(Scalar(code));
    if (handled_) return absl::OkStatus();
    handled_ = true;
    PARITECT_RETURN_IF_ERROR(Text(code));
    if (handled_) return absl::OkStatus();
    handled_ = true;
    PARITECT_RETURN_IF_ERROR(Container(code));
    if (handled_) return absl::OkStatus();
    handled_ = true;
    PARITECT_RETURN_IF_ERROR(Object(code));
    if (handled_) return absl::OkStatus();
    handled_ = true;
    PARITECT_RETURN_IF_ERROR(Machine(code));
    return handled_ ? absl::OkStatus() : Damaged(StrCat("unknown opcode ", static_cast<int>(code)));
  }

  // --- bytes
  absl::Status Take(std::uint64_t size, absl::string_view& out) {
    if (size > bytes_.size() - at_) return Damaged("cut off");
    out = bytes_.substr(at_, static_cast<std::size_t>(size));
    at_ += static_cast<std::size_t>(size);
    return absl::OkStatus();
  }
  absl::Status TakeUnsigned(int size, std::uint64_t& out) {
    absl::string_view raw;
    PARITECT_RETURN_IF_ERROR(Take(static_cast<std::uint64_t>(size), raw));
    out = LittleEndian(raw, 0, raw.size());
    return absl::OkStatus();
  }
  absl::Status TakeLine(absl::string_view& out) {
    const std::size_t end = bytes_.find('\n', at_);
    if (end == absl::string_view::npos) return Damaged("cut off");
    out = bytes_.substr(at_, end - at_);
    at_ = end + 1;
    return absl::OkStatus();
  }

  // --- values and stack
  absl::Status New(PickleValue value) {
    text_bytes_ += value.text.size() + value.items.size() * sizeof(std::int32_t);
    if (pickle_.values.size() >= limits_.values_max || text_bytes_ > limits_.text_bytes_max) {
      return absl::ResourceExhaustedError("too many values");
    }
    pickle_.values.push_back(std::move(value));
    stack_.push_back(static_cast<std::int32_t>(pickle_.values.size() - 1));
    return absl::OkStatus();
  }
  absl::Status NewOf(Kind kind, std::vector<std::int32_t> items = {}) {
    PickleValue value;
    value.kind = kind;
    value.items = std::move(items);
    return New(std::move(value));
  }
  absl::Status NewText(Kind kind, absl::string_view text) {
    PickleValue value;
    value.kind = kind;
    value.text = std::string(text);
    return New(std::move(value));
  }
  absl::Status NewInteger(std::int64_t integer) {
    PickleValue value;
    value.kind = Kind::kInteger;
    value.integer = integer;
    return New(std::move(value));
  }
  absl::Status NewBoolean(bool boolean) {
    PickleValue value;
    value.kind = Kind::kBoolean;
    value.boolean = boolean;
    return New(std::move(value));
  }
  absl::Status NewNumber(double number) {
    PickleValue value;
    value.kind = Kind::kNumber;
    value.number = number;
    return New(std::move(value));
  }
  absl::Status Pop(std::int32_t& out) {
    if (stack_.empty() || stack_.back() == kMark) return Damaged("nothing on the stack");
    out = stack_.back();
    stack_.pop_back();
    return absl::OkStatus();
  }
  absl::Status PopToMark(std::vector<std::int32_t>& out) {
    std::size_t at = stack_.size();
    while (at > 0 && stack_[at - 1] != kMark) --at;
    if (at == 0) return Damaged("no mark on the stack");
    out.assign(stack_.begin() + static_cast<std::ptrdiff_t>(at), stack_.end());
    stack_.resize(at - 1);
    return absl::OkStatus();
  }
  // Appends to the value on top, which stays there.
  absl::Status Extend(const std::vector<std::int32_t>& items, bool pairs) {
    if (stack_.empty() || stack_.back() == kMark) return Damaged("nothing on the stack");
    text_bytes_ += items.size() * sizeof(std::int32_t);
    if (text_bytes_ > limits_.text_bytes_max) return absl::ResourceExhaustedError("too many values");
    PickleValue& top = pickle_.values[static_cast<std::size_t>(stack_.back())];
    if (top.kind == Kind::kObject) {
      if (!top.held.empty() && top.held_pairs != pairs) return Damaged("items and pairs in one object");
      top.held_pairs = pairs;
      top.held.insert(top.held.end(), items.begin(), items.end());
      return absl::OkStatus();
    }
    if (top.kind != (pairs ? Kind::kDict : Kind::kList)) return Damaged("an item for what holds none");
    top.items.insert(top.items.end(), items.begin(), items.end());
    return absl::OkStatus();
  }

  // --- opcodes by group; `handled_` is false where the code is of another one
  absl::Status Scalar(unsigned char code) {
    std::uint64_t raw = 0;
    absl::string_view line;
    switch (code) {
      case 'N': return NewOf(Kind::kNone);
      case 0x88: return NewBoolean(true);
      case 0x89: return NewBoolean(false);
      case 'J': PARITECT_RETURN_IF_ERROR(TakeUnsigned(4, raw)); return NewInteger(static_cast<std::int32_t>(raw));
      case 'K': PARITECT_RETURN_IF_ERROR(TakeUnsigned(1, raw)); return NewInteger(static_cast<std::int64_t>(raw));
      case 'M': PARITECT_RETURN_IF_ERROR(TakeUnsigned(2, raw)); return NewInteger(static_cast<std::int64_t>(raw));
      case 0x8a: PARITECT_RETURN_IF_ERROR(TakeUnsigned(1, raw)); return Long(raw);
      case 0x8b: PARITECT_RETURN_IF_ERROR(TakeUnsigned(4, raw)); return Long(raw);
      case 'G': return BinaryNumber();
      case 'I':
        PARITECT_RETURN_IF_ERROR(TakeLine(line));
        if (line == "00" || line == "01") return NewBoolean(line == "01");
        return NumberOfText(line);
      case 'L':
      case 'F':
        PARITECT_RETURN_IF_ERROR(TakeLine(line));
        absl::ConsumeSuffix(&line, "L");
        return NumberOfText(line);
      default: handled_ = false; return absl::OkStatus();
    }
  }
  absl::Status NumberOfText(absl::string_view text) {
    if (auto integer = ParseInt(text)) return NewInteger(*integer);
    if (auto number = ParseDouble(text)) return NewNumber(*number);
    return Damaged("not a number");
  }
  absl::Status BinaryNumber() {
    absl::string_view raw;
    PARITECT_RETURN_IF_ERROR(Take(8, raw));
    std::uint64_t bits = 0;
    for (char c : raw) bits = bits << 8 | static_cast<unsigned char>(c);
    return NewNumber(std::bit_cast<double>(bits));
  }
  // Two's complement, little-endian, of any length.
  absl::Status Long(std::uint64_t size) {
    absl::string_view raw;
    PARITECT_RETURN_IF_ERROR(Take(size, raw));
    if (raw.size() > 8) return NewText(Kind::kBytes, "");
    std::uint64_t value = LittleEndian(raw, 0, raw.size());
    const bool negative = !raw.empty() && (raw.back() & 0x80) != 0;
    if (negative && raw.size() < 8) value |= ~std::uint64_t{0} << (8 * raw.size());
    return NewInteger(static_cast<std::int64_t>(value));
  }

  absl::Status Sized(int size_bytes, Kind kind) {
    std::uint64_t size = 0;
    absl::string_view raw;
    PARITECT_RETURN_IF_ERROR(TakeUnsigned(size_bytes, size));
    PARITECT_RETURN_IF_ERROR(Take(size, raw));
    return NewText(kind, raw);
  }
  absl::Status Text(unsigned char code) {
    absl::string_view line;
    switch (code) {
      case 'X': return Sized(4, Kind::kText);
      case 0x8c: return Sized(1, Kind::kText);
      case 0x8d: return Sized(8, Kind::kText);
      case 'U': return Sized(1, Kind::kText);
      case 'T': return Sized(4, Kind::kText);
      case 'C': return Sized(1, Kind::kBytes);
      case 'B': return Sized(4, Kind::kBytes);
      case 0x8e:
      case 0x96: return Sized(8, Kind::kBytes);
      case 'V': PARITECT_RETURN_IF_ERROR(TakeLine(line)); return NewText(Kind::kText, line);
      case 'S':
        PARITECT_RETURN_IF_ERROR(TakeLine(line));
        if (line.size() < 2 || line.front() != line.back()) return Damaged("a text without quotes");
        return NewText(Kind::kText, line.substr(1, line.size() - 2));
      default: handled_ = false; return absl::OkStatus();
    }
  }

  absl::Status Container(unsigned char code) {
    std::vector<std::int32_t> items;
    switch (code) {
      case ')':
      case ']':
      case 0x8f: return NewOf(Kind::kList);
      case '}': return NewOf(Kind::kDict);
      case 't':
      case 'l':
      case 0x91: PARITECT_RETURN_IF_ERROR(PopToMark(items)); return NewOf(Kind::kList, std::move(items));
      case 'd': PARITECT_RETURN_IF_ERROR(PopToMark(items)); return NewDict(std::move(items));
      case 0x85:
      case 0x86:
      case 0x87: PARITECT_RETURN_IF_ERROR(PopLast(code - 0x84, items)); return NewOf(Kind::kList, std::move(items));
      case 'a': PARITECT_RETURN_IF_ERROR(PopLast(1, items)); return Extend(items, false);
      case 's': PARITECT_RETURN_IF_ERROR(PopLast(2, items)); return Extend(items, true);
      case 'e':
      case 0x90: PARITECT_RETURN_IF_ERROR(PopToMark(items)); return Extend(items, false);
      case 'u':
        PARITECT_RETURN_IF_ERROR(PopToMark(items));
        return items.size() % 2 == 0 ? Extend(items, true) : Damaged("a key without a value");
      default: handled_ = false; return absl::OkStatus();
    }
  }
  absl::Status NewDict(std::vector<std::int32_t> items) {
    return items.size() % 2 == 0 ? NewOf(Kind::kDict, std::move(items)) : Damaged("a key without a value");
  }
  absl::Status PopLast(int count, std::vector<std::int32_t>& out) {
    out.resize(static_cast<std::size_t>(count));
    for (int i = count - 1; i >= 0; --i) PARITECT_RETURN_IF_ERROR(Pop(out[static_cast<std::size_t>(i)]));
    return absl::OkStatus();
  }

  absl::Status Object(unsigned char code) {
    std::vector<std::int32_t> items;
    absl::string_view module, name;
    switch (code) {
      case 'c':
        PARITECT_RETURN_IF_ERROR(TakeLine(module));
        PARITECT_RETURN_IF_ERROR(TakeLine(name));
        return NewText(Kind::kGlobal, StrCat(module, " ", name));
      case 0x93:
        PARITECT_RETURN_IF_ERROR(PopLast(2, items));
        return NewText(Kind::kGlobal, StrCat(pickle_.at(items[0]).text, " ", pickle_.at(items[1]).text));
      case 'R': PARITECT_RETURN_IF_ERROR(PopLast(2, items)); return NewOf(Kind::kObject, std::move(items));
      case 0x81: PARITECT_RETURN_IF_ERROR(PopLast(2, items)); return NewObject(std::move(items));
      case 0x92:
        PARITECT_RETURN_IF_ERROR(PopLast(3, items));
        items.pop_back();
        return NewObject(std::move(items));
      case 'i':
        PARITECT_RETURN_IF_ERROR(TakeLine(module));
        PARITECT_RETURN_IF_ERROR(TakeLine(name));
        PARITECT_RETURN_IF_ERROR(PopToMark(items));
        PARITECT_RETURN_IF_ERROR(NewText(Kind::kGlobal, StrCat(module, " ", name)));
        return Call(std::move(items));
      case 'o':
        PARITECT_RETURN_IF_ERROR(PopToMark(items));
        if (items.empty()) return Damaged("an object without a class");
        stack_.push_back(items[0]);
        items.erase(items.begin());
        return Call(std::move(items));
      case 'b': return Build();
      case 'P': PARITECT_RETURN_IF_ERROR(TakeLine(name)); return NewOf(Kind::kPersistent);
      case 'Q': PARITECT_RETURN_IF_ERROR(PopLast(1, items)); return NewOf(Kind::kPersistent, std::move(items));
      default: handled_ = false; return absl::OkStatus();
    }
  }
  absl::Status NewObject(std::vector<std::int32_t> items) {
    PickleValue value;
    value.kind = Kind::kObject;
    value.items = std::move(items);
    value.boolean = true;
    return New(std::move(value));
  }
  // The class on the stack with these arguments.
  absl::Status Call(std::vector<std::int32_t> arguments) {
    PARITECT_RETURN_IF_ERROR(NewOf(Kind::kList, std::move(arguments)));
    std::vector<std::int32_t> items;
    PARITECT_RETURN_IF_ERROR(PopLast(2, items));
    return NewOf(Kind::kObject, std::move(items));
  }
  absl::Status Build() {
    std::int32_t state = 0;
    PARITECT_RETURN_IF_ERROR(Pop(state));
    if (stack_.empty() || stack_.back() == kMark) return Damaged("nothing on the stack");
    PickleValue& object = pickle_.values[static_cast<std::size_t>(stack_.back())];
    if (object.kind == Kind::kObject && object.items.size() == 2) object.items.push_back(state);
    return absl::OkStatus();
  }

  absl::Status Machine(unsigned char code) {
    std::uint64_t raw = 0;
    absl::string_view line;
    std::int32_t value = 0;
    std::vector<std::int32_t> items;
    switch (code) {
      case 0x80: return TakeUnsigned(1, raw);
      case 0x95: return TakeUnsigned(8, raw);
      case 0x98: return absl::OkStatus();
      case '(': return Push(kMark);
      case '0': return PopAny();
      case '1': return PopToMark(items);
      case '2': PARITECT_RETURN_IF_ERROR(Top(value)); return Push(value);
      case '.': stopped_ = true; return Pop(pickle_.root);
      case 'q': PARITECT_RETURN_IF_ERROR(TakeUnsigned(1, raw)); return Put(raw);
      case 'r': PARITECT_RETURN_IF_ERROR(TakeUnsigned(4, raw)); return Put(raw);
      case 'p': PARITECT_RETURN_IF_ERROR(TakeIndex(raw)); return Put(raw);
      case 0x94: return Put(memo_.size());
      case 'h': PARITECT_RETURN_IF_ERROR(TakeUnsigned(1, raw)); return Get(raw);
      case 'j': PARITECT_RETURN_IF_ERROR(TakeUnsigned(4, raw)); return Get(raw);
      case 'g': PARITECT_RETURN_IF_ERROR(TakeIndex(raw)); return Get(raw);
      default: handled_ = false; return absl::OkStatus();
    }
  }
  absl::Status Push(std::int32_t value) {
    if (stack_.size() >= limits_.values_max) return absl::ResourceExhaustedError("too many values");
    stack_.push_back(value);
    return absl::OkStatus();
  }
  absl::Status PopAny() {
    if (stack_.empty()) return Damaged("nothing on the stack");
    stack_.pop_back();
    return absl::OkStatus();
  }
  absl::Status Top(std::int32_t& out) const {
    if (stack_.empty() || stack_.back() == kMark) return Damaged("nothing on the stack");
    out = stack_.back();
    return absl::OkStatus();
  }
  absl::Status TakeIndex(std::uint64_t& out) {
    absl::string_view line;
    PARITECT_RETURN_IF_ERROR(TakeLine(line));
    const auto index = ParseInt(line);
    if (!index || *index < 0) return Damaged("not an index");
    out = static_cast<std::uint64_t>(*index);
    return absl::OkStatus();
  }
  absl::Status Put(std::uint64_t index) {
    if (memo_.size() >= limits_.values_max) return absl::ResourceExhaustedError("too many values");
    return Top(memo_[index]);
  }
  absl::Status Get(std::uint64_t index) {
    auto it = memo_.find(index);
    return it == memo_.end() ? Damaged("a value that was never kept") : Push(it->second);
  }

  absl::string_view bytes_;
  const PickleLimits& limits_;
  std::size_t at_ = 0;
  bool stopped_ = false;
  bool handled_ = false;
  std::size_t text_bytes_ = 0;
  Pickle pickle_;
  std::vector<std::int32_t> stack_;
  std::map<std::uint64_t, std::int32_t> memo_;
};

}  // namespace

absl::StatusOr<Pickle> ReadPickle(absl::string_view bytes, const PickleLimits& limits) {
  return Walker(bytes, limits).Walk();
}

}  // namespace paritect
