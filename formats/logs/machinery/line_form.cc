#include "formats/logs/machinery/line_form.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"

namespace paritect {
namespace {

constexpr std::size_t kTextBytesMax = 4096;
constexpr std::size_t kPartsMax = 256;
constexpr std::size_t kFormsMax = 8;
constexpr int kCreditMax = 64;
constexpr int kLinesBetweenTrials = 1024;

template <typename Word>
bool SameWord(const char* a, const char* b) {
  Word x;
  Word y;
  std::memcpy(&x, a, sizeof(x));
  std::memcpy(&y, b, sizeof(y));
  return x == y;
}

// memcmp of a few bytes, without the call.
inline bool SameBytes(const char* a, const char* b, std::size_t n) {
  if (n >= 8) {
    for (std::size_t i = 0; i + 8 < n; i += 8) {
      if (!SameWord<std::uint64_t>(a + i, b + i)) return false;
    }
    return SameWord<std::uint64_t>(a + n - 8, b + n - 8);
  }
  if (n >= 4) return SameWord<std::uint32_t>(a, b) && SameWord<std::uint32_t>(a + n - 4, b + n - 4);
  for (std::size_t i = 0; i < n; ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}
bool IsWordLetter(char c) {
  return absl::ascii_isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '@' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool IsWord(char c) {
  return IsWordLetter(c) || IsDigit(c) || c == '.' || c == '-' || c == '/' || c == '+';
}

// Length of the plain number at the front, without a look at its value; 0 where there is none.
std::size_t PlainLength(absl::string_view text) {
  const char* p = text.data();
  const char* const end = p + text.size();
  if (p != end && *p == '-') ++p;
  if (p == end || !IsDigit(*p)) return 0;
  while (p != end && IsDigit(*p)) ++p;
  if (end - p > 1 && *p == '.' && IsDigit(p[1])) {
    ++p;
    while (p != end && IsDigit(*p)) ++p;
  }
  if (p != end && (*p == 'e' || *p == 'E')) {
    const char* q = p + 1;
    if (q != end && (*q == '-' || *q == '+')) ++q;
    if (q != end && IsDigit(*q)) {
      while (q != end && IsDigit(*q)) ++q;
      p = q;
    }
  }
  return static_cast<std::size_t>(p - text.data());
}

}  // namespace

// Cuts the text at its numbers.
bool LineForm::AddParts() {
  const absl::string_view text = text_;
  std::size_t begin = 0;  // of the piece of text
  for (std::size_t i = 0; i < text.size();) {
    const bool in_word = i > 0 && IsWord(text[i - 1]);
    if (IsWordLetter(text[i])) {  // the digits of a word are text
      while (i < text.size() && IsWord(text[i])) ++i;
      continue;
    }
    const bool sign = text[i] == '-' && !in_word;
    if (!IsDigit(text[i]) && !(sign && i + 1 < text.size() && IsDigit(text[i + 1]))) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end > begin && text[end - 1] == ' ') --end;
    Part part;
    part.begin = static_cast<std::uint32_t>(begin);
    part.size = static_cast<std::uint32_t>(end - begin);
    part.blanks = end < i;
    part.sign = !in_word;
    if (parts_.size() == kPartsMax) return false;
    parts_.push_back(part);
    i += PlainLength(text.substr(i));
    begin = i;
  }
  tail_ = text.substr(begin);
  return !parts_.empty();
}

std::unique_ptr<LineForm> LineForm::Learn(absl::string_view text, const LineFields& fields) {
  if (text.size() > kTextBytesMax) return nullptr;
  auto form = std::make_unique<LineForm>();
  form->text_ = std::string(text);
  if (!form->AddParts()) return nullptr;
  form->fields_ = fields;
  for (std::size_t i = 0; i < fields.values.size(); ++i) {
    LogNumber& number = form->fields_.values[i].number;
    const absl::string_view token = number.text;
    if (token.empty()) {
      number.text = {};
      continue;
    }
    if (token.data() < text.data() || token.data() + token.size() > text.data() + text.size()) return nullptr;
    const auto at = static_cast<std::size_t>(token.data() - text.data());
    number.text = absl::string_view(form->text_).substr(at, token.size());
    bool is_number = false;
    for (std::size_t p = 0; p < form->parts_.size(); ++p) {
      Part& part = form->parts_[p];
      const std::size_t next =
          p + 1 < form->parts_.size() ? form->parts_[p + 1].begin : form->text_.size() - form->tail_.size();
      std::size_t start = part.begin + part.size;
      while (start < next && form->text_[start] == ' ') ++start;
      if (at >= next || at + token.size() <= start) continue;
      // The value is this number, and nothing else was taken from it before.
      if (at != start || token.size() != next - start || part.value >= 0) return nullptr;
      if (number.kind != LogNumber::Kind::kValue) return nullptr;
      part.value = static_cast<std::int32_t>(i);
      is_number = true;
    }
    if (!is_number && number.kind == LogNumber::Kind::kSpliced) return nullptr;
  }
  return form;
}

const LineFields* LineForm::Match(absl::string_view text) {
  const char* p = text.data();
  const char* const end = p + text.size();
  for (const Part& part : parts_) {
    if (static_cast<std::size_t>(end - p) <= part.size || !SameBytes(p, text_.data() + part.begin, part.size)) {
      return nullptr;
    }
    p += part.size;
    if (part.blanks) {
      if (*p != ' ') return nullptr;
      while (p != end && *p == ' ') ++p;
      if (p == end) return nullptr;
    }
    if (*p == '-' && !part.sign) return nullptr;
    const absl::string_view rest(p, static_cast<std::size_t>(end - p));
    std::size_t length = 0;
    if (part.value < 0) {
      length = PlainLength(rest);
    } else {
      LogNumber& number = fields_.values[static_cast<std::size_t>(part.value)].number;
      length = ReadPlainLogNumber(rest, number);
    }
    if (length == 0) return nullptr;
    p += length;
  }
  return absl::string_view(p, static_cast<std::size_t>(end - p)) == tail_ ? &fields_ : nullptr;
}

const LineFields* LineForms::Match(absl::string_view text) {
  for (std::size_t i = 0; i < forms_.size(); ++i) {
    const LineFields* fields = forms_[i]->Match(text);
    if (fields == nullptr) continue;
    if (i > 0) std::swap(forms_[i], forms_[i - 1]);
    credit_ = std::min(credit_ + 1, kCreditMax);
    return fields;
  }
  return nullptr;
}

void LineForms::Learn(absl::string_view text, const LineFields& fields) {
  if (credit_ == 0 && ++waited_ < kLinesBetweenTrials) return;
  waited_ = 0;
  credit_ = std::max(credit_ - 1, 0);
  std::unique_ptr<LineForm> form = LineForm::Learn(text, fields);
  if (form == nullptr) return;
  if (forms_.size() == kFormsMax) forms_.pop_back();
  forms_.push_back(std::move(form));
}

}  // namespace paritect
