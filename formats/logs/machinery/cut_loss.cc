#include "formats/logs/machinery/cut_loss.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "formats/logs/machinery/field_names.h"

namespace paritect {
namespace {

constexpr std::size_t kBytesMax = 4096;
constexpr std::size_t kTokensMax = 512;
constexpr std::size_t kQuotes = 4;  // tokens of punctuation before a loss's name that may differ
constexpr absl::string_view kPutBack = "8.642e+299";
constexpr double kPutBackValue = 8.642e+299;

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}
bool IsLetter(char c) {
  return absl::ascii_isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '@' ||
         static_cast<unsigned char>(c) >= 0x80;
}
// Within a word: "actor/pg_loss", "acc@1".
bool IsInWord(char c) {
  return IsLetter(c) || IsDigit(c) || c == '/' || c == '-' || c == '.';
}

// A gradient norm that is no number may stand where the other line has one.
bool IsNoNumber(absl::string_view word) {
  return absl::EqualsIgnoreCase(word, "nan") || absl::EqualsIgnoreCase(word, "inf") ||
         absl::EqualsIgnoreCase(word, "infinity");
}

bool NamesLoss(absl::string_view word) {
  const LogField field = ClassifyLogKey(word);
  return IsTrainingLoss(field) || field == LogField::kOtherLoss || field == LogField::kLossTerm;
}

}  // namespace

void CutLoss::Take(absl::string_view text) {
  if (text.size() > kBytesMax) return;
  text_.assign(text.data(), text.size());
  tokens_.clear();
}

// Words, numbers and punctuation; blanks only part them. A sign of its own belongs to no number, and a row of one
// sign counts once, however long (a bar that is drawn).
bool CutLoss::Next(absl::string_view text, std::size_t& at, Token& token) {
  while (at < text.size() && absl::ascii_isspace(static_cast<unsigned char>(text[at]))) ++at;
  if (at == text.size()) return false;
  token = {at, at, false};
  const char first = text[at];
  const bool in_word = at > 0 && IsInWord(text[at - 1]);
  if (IsLetter(first)) {
    while (at < text.size() && IsInWord(text[at])) ++at;
    while (!IsLetter(text[at - 1]) && !IsDigit(text[at - 1])) --at;
    token.number = IsNoNumber(text.substr(token.begin, at - token.begin));
  } else if (IsDigit(first) || ((first == '-' || first == '+') && !in_word && at + 1 < text.size() &&
                                (IsDigit(text[at + 1]) || text[at + 1] == 'i' || text[at + 1] == 'n'))) {
    const bool word = !IsDigit(first) && !IsDigit(text[at + 1]);
    ++at;
    while (at < text.size() &&
           (IsDigit(text[at]) || text[at] == '.' || (word && IsLetter(text[at])) ||
            ((text[at] == 'e' || text[at] == 'E') && IsDigit(text[at - 1])) ||
            ((text[at] == '-' || text[at] == '+') && (text[at - 1] == 'e' || text[at - 1] == 'E')))) {
      ++at;
    }
    token.number = true;
  } else {
    while (at < text.size() && text[at] == first) ++at;
  }
  token.end = at;
  return true;
}

void CutLoss::Tokenise() {
  std::size_t at = 0;
  Token token;
  first_loss_ = kTokensMax;
  while (tokens_.size() < kTokensMax && Next(text_, at, token)) {
    const absl::string_view word = absl::string_view(text_).substr(token.begin, token.end - token.begin);
    if (first_loss_ == kTokensMax && IsLetter(word[0]) && NamesLoss(word)) first_loss_ = tokens_.size();
    tokens_.push_back(token);
  }
}

bool CutLoss::Same(absl::string_view text, const Token& token, const Token& mine) const {
  if (token.number || mine.number) return token.number && mine.number;
  const absl::string_view a = text.substr(token.begin, token.end - token.begin);
  const absl::string_view b = absl::string_view(text_).substr(mine.begin, mine.end - mine.begin);
  return IsInWord(a[0]) ? a == b : a[0] == b[0];
}

// Whether the tokens name losses and nothing else, and give them.
bool CutLoss::IsLoss(std::size_t first, std::size_t last) const {
  bool named = false;
  bool given = false;
  for (std::size_t i = first; i < last; ++i) {
    const absl::string_view word = absl::string_view(text_).substr(tokens_[i].begin, tokens_[i].end - tokens_[i].begin);
    given = given || tokens_[i].number;
    if (tokens_[i].number || !IsLetter(word[0])) continue;
    if (NamesLoss(word)) {
      named = true;
      continue;
    }
    const bool unit = i > first && tokens_[i - 1].number && tokens_[i - 1].end == tokens_[i].begin;  // "0.12z"
    // "Train loss": the words name it together.
    const bool together =
        i + 1 < last && !tokens_[i + 1].number &&
        NamesLoss(absl::string_view(text_).substr(tokens_[i].begin, tokens_[i + 1].end - tokens_[i].begin));
    if (word != "is" && !unit && !together) return false;
  }
  return named && given;
}

std::optional<std::string> CutLoss::PutBack(absl::string_view text) {
  if (text_.empty() || text.size() >= text_.size() || text.empty()) return std::nullopt;
  if (tokens_.empty()) Tokenise();
  if (tokens_.size() == kTokensMax || first_loss_ == kTokensMax) return std::nullopt;
  std::vector<Token> theirs;
  std::size_t at = 0;
  Token token;
  std::size_t front = 0;  // tokens that are the same from the front on
  bool same = true;
  while (Next(text, at, token)) {
    if (theirs.size() == tokens_.size()) return std::nullopt;
    same = same && Same(text, token, tokens_[theirs.size()]);
    if (!same && front + kQuotes < first_loss_) return std::nullopt;
    front += same ? 1 : 0;
    theirs.push_back(token);
  }
  const std::size_t gone = tokens_.size() - theirs.size();
  for (std::size_t i = front; i < theirs.size(); ++i) {
    if (!Same(text, theirs[i], tokens_[i + gone])) return std::nullopt;
  }
  if (gone == 0 || !IsLoss(front, front + gone)) return std::nullopt;
  std::string whole(text.substr(0, front < theirs.size() ? theirs[front].begin : text.size()));
  if (front == theirs.size()) whole += ' ';
  for (std::size_t i = front; i < front + gone; ++i) {
    const Token& mine = tokens_[i];
    const std::size_t next = i + 1 < tokens_.size() ? tokens_[i + 1].begin : text_.size();
    absl::StrAppend(&whole, mine.number ? kPutBack : absl::string_view(text_).substr(mine.begin, mine.end - mine.begin),
                    absl::string_view(text_).substr(mine.end, next - mine.end));
  }
  if (front < theirs.size()) absl::StrAppend(&whole, text.substr(theirs[front].begin));
  return whole;
}

bool CutLoss::TakeOut(StepValues& values) {
  if (!values.has_loss() || values.loss() < kPutBackValue) return false;  // above: a sum of several that are gone
  values.clear_loss();
  values.clear_loss_resolution();
  values.mutable_metrics().RemoveValue(kPutBackValue);
  for (const double other :
       {values.lr(), values.grad_norm(), values.loss_scale(), values.eval_loss(), values.accuracy(), values.epoch()}) {
    if (other == kPutBackValue) return false;
  }
  return true;
}

}  // namespace paritect
