#include "client/render/table_writer.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/utf8.h"
#include "report/terminal.h"

namespace paritect {
namespace {

constexpr int kColumnsMin = 60;   // narrower than this, lines run over the edge
constexpr int kColumnsMax = 140;  // wider lines are hard to read

absl::string_view Code(Style style) {
  switch (style) {
    case Style::kBold: return "\x1b[1m";
    case Style::kDim: return "\x1b[2m";
    case Style::kRed: return "\x1b[1;31m";
    case Style::kGreen: return "\x1b[32m";
    case Style::kYellow: return "\x1b[33m";
    default: return "";
  }
}

}  // namespace

TableWriter::TableWriter(const RenderOptions& options, std::ostream& out)
    : options_(options),
      out_(out),
      columns_(static_cast<std::size_t>(std::clamp(options.columns, kColumnsMin, kColumnsMax))) {}

std::string TableWriter::Paint(absl::string_view text, Style style) const {
  if (!options_.colour || style == Style::kPlain || text.empty()) return std::string(text);
  return absl::StrCat(Code(style), text, "\x1b[0m");
}

void TableWriter::Line(absl::string_view text) {
  out_ << text << "\n";
}

void TableWriter::Heading(absl::string_view text) {
  std::string rule;
  const std::size_t width = std::min(columns_, DisplayWidth(text));
  for (std::size_t i = 0; i < width; ++i) rule += options_.ascii ? "-" : "─";
  Line();
  Line(Paint(text, Style::kBold));
  Line(Paint(rule, Style::kDim));
}

void TableWriter::Wrapped(int indent, absl::string_view label, absl::string_view text, Style label_style) {
  // A full-width colon brings its own blank.
  const bool parted = label.empty() || absl::EndsWith(label, "：");
  const std::string label_text = absl::StrCat(label, parted ? "" : " ");
  // A long label does not push its text against the edge.
  const std::size_t hang = static_cast<std::size_t>(indent) + std::min<std::size_t>(DisplayWidth(label_text), 24);
  const std::size_t first_used = static_cast<std::size_t>(indent) + DisplayWidth(label_text);
  const std::size_t room = columns_ > hang + 20 ? columns_ - hang : 20;
  std::vector<std::string> lines = Wrap(Plain(text), room);
  std::string head = absl::StrCat(std::string(static_cast<std::size_t>(indent), ' '), Paint(label_text, label_style));
  const bool fits = first_used + DisplayWidth(lines[0]) <= std::max(columns_, hang + 20);
  if (!fits) {
    Line(head);
    head = std::string(hang, ' ');
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    Line(absl::StrCat(i == 0 ? head : std::string(hang, ' '), lines[i]));
  }
}

void TableWriter::WrappedText(int indent, absl::string_view label, const v1::Text& text, Style label_style) {
  std::string shown;
  for (Language language : options_.languages) {
    const std::string& one = In(language, text);
    if (one.empty() || one == shown) continue;
    const bool first = shown.empty();
    Wrapped(first ? indent : indent + static_cast<int>(label.empty() ? 0 : DisplayWidth(label) + 1), first ? label : "",
            one, label_style);
    shown = one;
  }
}

std::string TableWriter::Plain(absl::string_view text) const {
  std::string safe = TerminalSafe(text);
  return options_.ascii ? absl::StrReplaceAll(safe, {{"→", "->"}, {" · ", " | "}, {"…", "..."}}) : safe;
}

std::string TableWriter::Safe(absl::string_view text, std::size_t columns) const {
  return Shorten(Plain(text), columns, options_.ascii);
}

}  // namespace paritect
