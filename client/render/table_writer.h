// Lines of the table format: indents, colours, wrapping. What the terminal would obey never gets through.
#ifndef PARITECT_CLIENT_RENDER_TABLE_WRITER_H_
#define PARITECT_CLIENT_RENDER_TABLE_WRITER_H_

#include <ostream>
#include <string>

#include "absl/strings/string_view.h"
#include "client/report/renderer.h"

namespace paritect {

enum class Style { kPlain, kBold, kDim, kRed, kGreen, kYellow };

class TableWriter {
 public:
  // `options` and `out` must outlive it.
  TableWriter(const RenderOptions& options, std::ostream& out);

  // The text in colour, where there is colour. Its width is the text's.
  std::string Paint(absl::string_view text, Style style) const;

  // One line as it is (already safe and short enough).
  void Line(absl::string_view text = "");
  // A heading with a rule below it.
  void Heading(absl::string_view text);
  // A line that begins with `label` and is wrapped with a hanging indent behind it. The text is made safe.
  void Wrapped(int indent, absl::string_view label, absl::string_view text, Style label_style = Style::kPlain);
  // The text in each language, each on lines of its own.
  void WrappedText(int indent, absl::string_view label, const v1::Text& text, Style label_style = Style::kPlain);

  std::string Safe(absl::string_view text, std::size_t columns) const;  // safe and cut to columns
  // Safe, and without arrows, dots and ellipses of ours where the terminal has none.
  std::string Plain(absl::string_view text) const;
  std::size_t columns() const { return columns_; }
  absl::string_view dot() const { return options_.ascii ? " | " : " · "; }
  absl::string_view against() const { return options_.ascii ? "!=" : "≠"; }

 private:
  const RenderOptions& options_;
  std::ostream& out_;
  const std::size_t columns_;
};

}  // namespace paritect

#endif  // PARITECT_CLIENT_RENDER_TABLE_WRITER_H_
