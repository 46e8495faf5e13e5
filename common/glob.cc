#include "common/glob.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/numbers.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

// One element of a compiled path part.
struct Token {
  enum class Kind { kByte, kAny, kStar, kSet, kRank, kEpoch, kNode };
  Kind kind = Kind::kByte;
  char byte = 0;
  std::string set;  // as written between the brackets
};

bool InSet(absl::string_view set, char c) {
  bool negate = false;
  if (!set.empty() && (set.front() == '!' || set.front() == '^')) {
    negate = true;
    set.remove_prefix(1);
  }
  bool in = false;
  for (std::size_t i = 0; i < set.size(); ++i) {
    if (i + 2 < set.size() && set[i + 1] == '-') {
      in = in || (c >= set[i] && c <= set[i + 2]);
      i += 2;
    } else {
      in = in || c == set[i];
    }
  }
  return in != negate;
}

std::vector<Token> Compile(absl::string_view part) {
  std::vector<Token> tokens;
  while (!part.empty()) {
    Token token;
    std::size_t used = 1;
    if (part[0] == '*') {
      token.kind = Token::Kind::kStar;
    } else if (part[0] == '?') {
      token.kind = Token::Kind::kAny;
    } else if (absl::StartsWith(part, "{rank}")) {
      token.kind = Token::Kind::kRank;
      used = 6;
    } else if (absl::StartsWith(part, "{epoch}")) {
      token.kind = Token::Kind::kEpoch;
      used = 7;
    } else if (absl::StartsWith(part, "{node}")) {
      token.kind = Token::Kind::kNode;
      used = 6;
    } else if (auto close = part.find(']', 2); part[0] == '[' && close != absl::string_view::npos) {
      token.kind = Token::Kind::kSet;
      token.set = std::string(part.substr(1, close - 1));
      used = close + 1;
    } else {
      token.byte = part[0];
    }
    tokens.push_back(std::move(token));
    part.remove_prefix(used);
  }
  return tokens;
}

bool SetNumber(std::optional<std::int32_t>& slot, absl::string_view digits) {
  auto value = ParseInt(digits);
  if (!value || *value < 0 || *value > 0x7fffffff) return false;
  if (slot && *slot != *value) return false;
  slot = static_cast<std::int32_t>(*value);
  return true;
}

// Reachable (token, byte) pairs, so that the work is bounded by their product whatever the pattern.
// Then one way back through them gives the captures, longest digits first.
class PartMatcher {
 public:
  PartMatcher(const std::vector<Token>& tokens, absl::string_view text)
      : tokens_(tokens), text_(text), can_((tokens.size() + 1) * (text.size() + 1), false) {
    Fill();
  }

  bool matches() const { return can_[Index(0, 0)]; }

  bool Capture(PathCaptures& captures) const {
    std::size_t at = 0;
    for (std::size_t t = 0; t < tokens_.size(); ++t) {
      const std::size_t next = Next(t, at);
      const absl::string_view taken = text_.substr(at, next - at);
      if (tokens_[t].kind == Token::Kind::kRank && !SetNumber(captures.rank, taken)) return false;
      if (tokens_[t].kind == Token::Kind::kEpoch && !SetNumber(captures.epoch, taken)) return false;
      if (tokens_[t].kind == Token::Kind::kNode) {
        if (!captures.node.empty() && captures.node != taken) return false;
        captures.node = std::string(taken);
      }
      at = next;
    }
    return true;
  }

 private:
  std::size_t Index(std::size_t token, std::size_t at) const { return token * (text_.size() + 1) + at; }

  static bool IsNumber(const Token& token) {
    return token.kind == Token::Kind::kRank || token.kind == Token::Kind::kEpoch;
  }

  bool Takes(const Token& token, char c) const {
    switch (token.kind) {
      case Token::Kind::kByte: return c == token.byte;
      case Token::Kind::kSet: return InSet(token.set, c);
      case Token::Kind::kRank:
      case Token::Kind::kEpoch: return absl::ascii_isdigit(static_cast<unsigned char>(c));
      default: return true;
    }
  }

  // can_[t][i]: tokens from t on match the text from i on. Repeating tokens: star takes any number,
  // numbers and {node} at least one. `inside` is the same with the first byte already taken.
  void Fill() {
    const std::size_t n = text_.size();
    can_[Index(tokens_.size(), n)] = true;
    for (std::size_t t = tokens_.size(); t-- > 0;) {
      const Token& token = tokens_[t];
      const bool repeats = token.kind == Token::Kind::kStar || token.kind == Token::Kind::kNode || IsNumber(token);
      bool inside = can_[Index(t + 1, n)];
      if (token.kind == Token::Kind::kStar) can_[Index(t, n)] = inside;
      for (std::size_t i = n; i-- > 0;) {
        const bool taken = Takes(token, text_[i]);
        if (!repeats) {
          can_[Index(t, i)] = taken && can_[Index(t + 1, i + 1)];
          continue;
        }
        const bool after_one = taken && inside;
        const bool none = can_[Index(t + 1, i)];
        can_[Index(t, i)] = token.kind == Token::Kind::kStar ? (none || after_one) : after_one;
        inside = none || after_one;
      }
    }
  }

  // Where the token that starts at `at` ends: the longest that lets the rest match.
  std::size_t Next(std::size_t t, std::size_t at) const {
    const Token& token = tokens_[t];
    if (token.kind == Token::Kind::kByte || token.kind == Token::Kind::kAny || token.kind == Token::Kind::kSet) {
      return at + 1;
    }
    std::size_t end = at;
    while (end < text_.size() && Takes(token, text_[end])) ++end;
    while (end > at && !can_[Index(t + 1, end)]) --end;
    return end;
  }

  const std::vector<Token>& tokens_;
  const absl::string_view text_;
  std::vector<bool> can_;
};

constexpr std::size_t kPartBytesMax = 4096;

bool PartMatches(absl::string_view pattern, absl::string_view part, PathCaptures* captures) {
  if (pattern == part) return true;
  if (pattern.size() > kPartBytesMax || part.size() > kPartBytesMax) return false;
  const std::vector<Token> tokens = Compile(pattern);
  PartMatcher matcher(tokens, part);
  if (!matcher.matches()) return false;
  return captures == nullptr || matcher.Capture(*captures);
}

std::vector<absl::string_view> Parts(absl::string_view path) { return absl::StrSplit(path, '/'); }

// Matches part lists; "**" takes any number of parts. Same bounded table as above, one level up.
bool PartsMatch(const std::vector<absl::string_view>& pattern, const std::vector<absl::string_view>& path) {
  std::vector<bool> next(path.size() + 1, false);
  next[path.size()] = true;
  for (std::size_t p = pattern.size(); p-- > 0;) {
    std::vector<bool> now(path.size() + 1, false);
    const bool deep = pattern[p] == "**";
    const bool last = p + 1 == pattern.size();
    if (deep) now[path.size()] = next[path.size()] && !last;
    for (std::size_t i = path.size(); i-- > 0;) {
      if (deep) {
        now[i] = last || next[i] || now[i + 1];
      } else {
        now[i] = next[i + 1] && PartMatches(pattern[p], path[i], nullptr);
      }
    }
    next = std::move(now);
  }
  return next[0];
}

bool HasWildcard(absl::string_view part) {
  return part.find_first_of("*?[") != absl::string_view::npos || absl::StrContains(part, "{rank}") ||
         absl::StrContains(part, "{epoch}") || absl::StrContains(part, "{node}");
}

}  // namespace

bool GlobMatch(absl::string_view pattern, absl::string_view path) {
  while (absl::StartsWith(pattern, "./")) pattern.remove_prefix(2);
  return PartsMatch(Parts(pattern), Parts(path));
}

bool IsPathPattern(absl::string_view text) { return HasWildcard(text); }

namespace {

struct Candidate {
  std::string path;
  PathCaptures captures;
};

// All folders below (and including) each candidate, links not followed: what "**" stands for.
absl::Status AddFoldersBelow(FileSystem& fs, std::vector<Candidate>& candidates, std::size_t limit) {
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Candidate parent = candidates[i];
    std::vector<std::string> names;
    const absl::Status listed = fs.List(parent.path.empty() ? "." : parent.path,
                                        [&](const DirectoryEntry& entry) { names.push_back(entry.name); });
    if (!listed.ok()) continue;  // a file, or a folder that is not ours to read
    for (const std::string& name : names) {
      std::string path = JoinPath(parent.path, name);
      auto info = fs.LStat(path);
      if (info.ok() && info->type == FileInfo::Type::kDirectory) candidates.push_back({path, parent.captures});
      if (candidates.size() > limit) return absl::ResourceExhaustedError("too many folders match a pattern");
    }
  }
  return absl::OkStatus();
}

absl::Status ExpandPart(FileSystem& fs, absl::string_view part, std::vector<Candidate>& candidates,
                        std::size_t limit) {
  std::vector<Candidate> next;
  for (const Candidate& parent : candidates) {
    const absl::Status listed =
        fs.List(parent.path.empty() ? "." : parent.path, [&](const DirectoryEntry& entry) {
          if (entry.name.front() == '.' && part.front() != '.') return;  // hidden, as in a shell
          PathCaptures captures = parent.captures;
          if (!PartMatches(part, entry.name, &captures)) return;
          if (next.size() <= limit) next.push_back({JoinPath(parent.path, entry.name), std::move(captures)});
        });
    if (absl::IsPermissionDenied(listed)) return listed;
    if (next.size() > limit) {
      return absl::ResourceExhaustedError(absl::StrCat("more than ", limit, " paths match a pattern"));
    }
  }
  candidates = std::move(next);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<PathMatch>> ExpandPathPattern(FileSystem& fs, absl::string_view pattern,
                                                         std::size_t matches_max) {
  std::vector<PathMatch> matches;
  auto literal = fs.LStat(pattern);
  // A name that really holds a '*' or '[' beats its reading as a pattern.
  if (literal.ok()) return std::vector<PathMatch>{{std::string(pattern), {}}};
  if (!IsPathPattern(pattern)) return literal.status();

  const bool absolute = absl::StartsWith(pattern, "/");
  std::vector<Candidate> candidates = {{absolute ? "/" : "", {}}};
  const std::vector<absl::string_view> parts = absl::StrSplit(pattern, '/', absl::SkipEmpty());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] == "**" && i + 1 < parts.size()) {
      PARITECT_RETURN_IF_ERROR(AddFoldersBelow(fs, candidates, matches_max));
    } else if (HasWildcard(parts[i])) {
      PARITECT_RETURN_IF_ERROR(ExpandPart(fs, parts[i], candidates, matches_max));
    } else {
      for (Candidate& candidate : candidates) candidate.path = JoinPath(candidate.path, parts[i]);
    }
  }
  for (Candidate& candidate : candidates) {
    if (fs.LStat(candidate.path).ok()) matches.push_back({std::move(candidate.path), std::move(candidate.captures)});
  }
  std::sort(matches.begin(), matches.end(), [](const PathMatch& a, const PathMatch& b) {
    const int rank_a = a.captures.rank.value_or(-1);
    const int rank_b = b.captures.rank.value_or(-1);
    return rank_a != rank_b ? rank_a < rank_b : a.path < b.path;
  });
  return matches;
}

}  // namespace paritect
