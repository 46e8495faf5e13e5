// Merging: how the records of several ranks, and of a run that was begun again, become one curve a rank. The rules are
// the table "Merging" of docs/log-formats.md, by their numbers.
//
// In: the records in the order of the file, with the places where a run says that it begins or goes on. Out: their
// global steps, those that do not count (`dropped`), the segments of the longest curve, and notes. Nothing is averaged
// and nothing is guessed: where two writers fill a file, all of it stays as it stands.
#ifndef PARITECT_FORMATS_LOGS_MACHINERY_SEGMENT_MERGER_H_
#define PARITECT_FORMATS_LOGS_MACHINERY_SEGMENT_MERGER_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "formats/logs/machinery/log_record.h"
#include "formats/logs/machinery/record_list.h"
#include "paritect/v1/run_stats.pb.h"

namespace paritect {

class SegmentMerger {
 public:
  using Note = std::function<void(absl::string_view kind, std::int64_t line, std::string message)>;

  // All must outlive it. `dropped` has a place for each record; those that are set have no part.
  SegmentMerger(RecordList<LogRecord>& entries, const std::vector<RestartMarker>& markers, std::vector<bool>& dropped,
                Note note)
      : entries_(entries), markers_(markers), dropped_(dropped), note_(std::move(note)) {}

  // Once.
  std::vector<v1::Segment> Merge();

 private:
  // Where steps go back, or the run says that it goes on.
  struct Break {
    std::size_t at = 0;
    const RestartMarker* marker = nullptr;
    const RestartMarker* banner = nullptr;
  };
  // Steps that stand twice: what the later ones took the place of.
  struct Replaced {
    std::int64_t steps = 0;
    std::int64_t not_finite = 0;  // whose loss was no number
    StepValues first;             // of those

    void Add(const StepValues& record);
  };

  // One writer's records on their way into segments.
  struct Walk {
    bool main = false;       // the longest curve: it tells of segments and notes
    bool keeps_all = false;  // nothing more is merged
    bool begun = false;      // the segment has a record
    v1::Segment segment;
    std::int64_t offset = 0;
    std::int64_t printed_before = 0;
    std::map<std::int64_t, std::size_t> by_step;
    Replaced replaced;
  };

  std::vector<Break> FindBreaks(const std::vector<std::size_t>& indices) const;
  bool OnlyGrows(const std::vector<std::size_t>& indices, bool main);
  void FoldEqualSteps(std::vector<std::size_t>& indices);
  void MergeOne(const std::vector<std::size_t>& indices, bool main);
  void BeginSegment(const Break& at, std::int64_t printed, Walk& walk);
  void AddToSegment(std::size_t index, Walk& walk);
  bool IsInterleaved(const std::vector<std::size_t>& indices, std::size_t breaks, std::size_t& back_or_again) const;
  void NoteBreak(const Break& at, std::int64_t step, std::int64_t last, std::int64_t offset);
  void NoteReplaced(const Replaced& replaced, bool main);

  RecordList<LogRecord>& entries_;
  const std::vector<RestartMarker>& markers_;
  std::vector<bool>& dropped_;
  const Note note_;
  std::vector<v1::Segment> segments_;
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_LOGS_MACHINERY_SEGMENT_MERGER_H_
