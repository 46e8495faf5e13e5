// A line from which nothing but its loss is gone. A dialect knows its lines by their loss: without one it would not
// take such a line at all, and a step that gave no loss would look as if it had not been printed.
//
// The line read last with a loss tells what belongs there. Where a line is that one without the words and numbers of
// its loss, these are put back, with a number that no training prints in place of theirs, so that the dialect finds
// the step and the other values as in any of its lines; what holds that number is taken out of the record again.
#ifndef PARITECT_FORMATS_LOGS_MACHINERY_CUT_LOSS_H_
#define PARITECT_FORMATS_LOGS_MACHINERY_CUT_LOSS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "formats/logs/machinery/step_values.h"

namespace paritect {

class CutLoss {
 public:
  // A line that gave a loss.
  void Take(absl::string_view text);
  bool empty() const { return text_.empty(); }

  // `text` with the loss put back; nullopt: another line, or one longer than 4096 bytes.
  std::optional<std::string> PutBack(absl::string_view text);

  // Takes what was put back out of a record that a dialect read from such a line; false where it stands in a field that
  // is none of the loss.
  static bool TakeOut(StepValues& values);

 private:
  struct Token {
    std::size_t begin = 0;
    std::size_t end = 0;
    bool number = false;
  };

  static bool Next(absl::string_view text, std::size_t& at, Token& token);
  bool Same(absl::string_view text, const Token& token, const Token& mine) const;
  bool IsLoss(std::size_t first, std::size_t last) const;
  void Tokenise();

  std::string text_;
  std::vector<Token> tokens_;   // of text_; empty: not looked at yet
  std::size_t first_loss_ = 0;  // token that names the first loss
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_LOGS_MACHINERY_CUT_LOSS_H_
