// The groups of three letters without one of which a line tells of no loss, overflow, restart or end.
#ifndef PARITECT_FORMATS_LOGS_MACHINERY_TELLING_GROUPS_H_
#define PARITECT_FORMATS_LOGS_MACHINERY_TELLING_GROUPS_H_

#include <array>
#include <cstddef>

#include "absl/strings/string_view.h"

namespace paritect::telling {

struct Group {
  unsigned char set;  // which groups share a set does not matter but for the number of comparisons in vain
  char letters[4];
};

// loss, acc(uracy), top1, mAP, IoU, BLEU, perplexity, F1, AUC, WER, rouge · overflow, *****, resume, checkpoint,
// continuing, traceback, cannot · error, Aborted, core dumped, Segmentation, terminate, exit, Signal, Killed, Fatal,
// interrupt, Watchdog, Ascend's error codes, exception · skip · 损失 (loss), 准确率 and 精度 (accuracy), 溢出
// (overflow), in UTF-8 and in GBK
inline constexpr Group kGroups[] = {
    {0, "oss"},          {0, "OSS"},          {0, "acc"},          {0, "Acc"},          {0, "ACC"},
    {0, "AUC"},          {0, "auc"},          {0, "Seg"},          {0, "Sig"},          {0, "SIG"},
    {1, "flo"},          {1, "nno"},          {1, "leu"},          {1, "F1:"},          {1, "f1_"},
    {1, "f1:"},          {1, "hdo"},          {2, "sum"},          {2, "kpo"},          {2, "mpe"},
    {2, "xce"},          {2, "ccu"},          {3, "rpl"},          {3, "rro"},          {3, "Abo"},
    {3, "rmi"},          {3, "xit"},          {3, "Kil"},          {3, "rru"},          {4, "FLO"},
    {4, "***"},          {4, "F1 "},          {4, "ERR"},          {4, "Fat"},          {4, "EZ9"},
    {4, "EE9"},          {4, "EL0"},          {4, "EH0"},          {5, "eba"},          {5, "mAP"},
    {5, "IoU"},          {5, "WER"},          {5, "EI0"},          {6, "uin"},          {6, "ppl"},
    {6, "PPL"},          {6, "uge"},          {6, "EJ0"},          {6, "EK0"},          {7, "c@1"},
    {7, "op1"},          {7, "op-"},          {7, "AP5"},          {7, "AP7"},          {7, "BLE"},
    {7, "ABO"},          {3, "\xE6\x8D\x9F"}, {6, "\xE5\x87\x86"}, {7, "\xE7\xB2\xBE"}, {3, "\xCB\xF0\xCA"},
    {6, "\xD7\xBC\xC8"}, {7, "\xBE\xAB\xB6"},  // the same in GBK: lines are looked at before
    {1, "kip"},          {2, "\xE6\xBA\xA2"}, {2, "\xD2\xE7\xB3"},
};

inline constexpr std::size_t kGroupCount = sizeof(kGroups) / sizeof(kGroups[0]);

inline constexpr std::array<char, 3 * kGroupCount> kLetterArray = [] {
  std::array<char, 3 * kGroupCount> letters = {};
  for (std::size_t i = 0; i < letters.size(); ++i) letters[i] = kGroups[i / 3].letters[i % 3];
  return letters;
}();

// All of them, one behind the other (line_letters.h).
inline constexpr absl::string_view kLetters = {kLetterArray.data(), kLetterArray.size()};

}  // namespace paritect::telling

#endif  // PARITECT_FORMATS_LOGS_MACHINERY_TELLING_GROUPS_H_
