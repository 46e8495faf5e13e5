// Every source that was looked at: by whom, when, as what it was recognised, what it holds.
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"
#include "checks/pictures/pictures.h"
#include "common/digest.h"
#include "common/utf8.h"

namespace paritect {
namespace {

// "run_log" of EVIDENCE_KIND_RUN_LOG.
std::string WordOf(absl::string_view name, absl::string_view prefix) {
  absl::ConsumePrefix(&name, prefix);
  return absl::AsciiStrToLower(name);
}

std::string FormatOf(const v1::Evidence& evidence) {
  switch (evidence.payload_case()) {
    case v1::Evidence::kFiles: return evidence.files().format();
    case v1::Evidence::kShards: return evidence.shards().format();
    case v1::Evidence::kSettings: return evidence.settings().format();
    case v1::Evidence::kRunLog: return evidence.run_log().format();
    case v1::Evidence::kWeights: return evidence.weights().format();
    case v1::Evidence::kTensorDump: return evidence.tensor_dump().format();
    default: return "";
  }
}

std::int64_t EntriesOf(const EvidenceSet& all, const v1::Evidence& evidence) {
  switch (evidence.payload_case()) {
    case v1::Evidence::kFiles: return all.FilesOf(evidence.files()).size();
    case v1::Evidence::kShards: return evidence.shards().items_size();
    case v1::Evidence::kSettings: return evidence.settings().settings_size();
    case v1::Evidence::kRunLog: return evidence.run_log().records_size();
    case v1::Evidence::kWeights: return evidence.weights().tensors_size();
    case v1::Evidence::kTensorDump: return evidence.tensor_dump().calls_size();
    case v1::Evidence::kScriptTree: return evidence.script_tree().files_size();
    case v1::Evidence::kListing: return evidence.listing().names_size();
    default: return -1;
  }
}

std::string Serialized(const v1::Evidence& evidence) {
  std::string bytes;
  google::protobuf::io::StringOutputStream text(&bytes);
  google::protobuf::io::CodedOutputStream out(&text);
  out.SetSerializationDeterministic(true);
  evidence.SerializeToCodedStream(&out);
  out.Trim();
  return bytes;
}

// Of the evidence as it was collected: where its list is kept by another, with the files again.
class Digests {
 public:
  explicit Digests(const EvidenceSet& all) : all_(all) {}

  std::string Of(const v1::Evidence& evidence) {
    if (!evidence.has_files() || all_.HoldsItsFiles(evidence.files())) return Sha256(Serialized(evidence));
    if (const auto& files = all_.FilesOf(evidence.files()); copied_ != &files) {
      copied_ = &files;
      copy_ = files;
    }
    v1::Evidence whole = evidence;
    whole.mutable_files()->mutable_files()->Swap(&copy_);
    std::string digest = Sha256(Serialized(whole));
    whole.mutable_files()->mutable_files()->Swap(&copy_);
    return digest;
  }

 private:
  using Files = google::protobuf::RepeatedPtrField<v1::FileEntry>;
  const EvidenceSet& all_;
  const Files* copied_ = nullptr;  // one list often stands for many
  Files copy_;
};

void Fill(const EvidenceSet& all, Digests& digests, Side side, const v1::Bundle& bundle, const v1::Evidence& evidence,
          v1::EvidenceRow& row) {
  row.set_side(std::string(SideName(side)));
  row.set_run(DisplayBytes(bundle.plan().run()));
  row.set_node(DisplayBytes(bundle.plan().node()));
  if (evidence.has_rank()) row.set_rank(evidence.rank());
  row.set_kind(WordOf(v1::EvidenceKind_Name(evidence.kind()), "EVIDENCE_KIND_"));
  row.set_outcome(WordOf(v1::Outcome_Name(evidence.outcome()), "OUTCOME_"));
  row.set_source(DisplayBytes(evidence.source()));
  row.set_format(DisplayBytes(FormatOf(evidence)));
  row.set_entries(EntriesOf(all, evidence));
  row.set_collected_by(DisplayBytes(bundle.collected_by()));
  row.set_collected_at_unix_ms(bundle.collected_at_unix_ms());
  row.set_sha256(digests.Of(evidence));
}

}  // namespace

void AddEvidenceRows(const CheckContext& context, const PictureBounds& bounds, v1::ReportPictures& out) {
  Digests digests(context.evidence);
  for (const Side side : kBothSides) {
    for (const v1::Bundle& bundle : context.evidence.bundles(side)) {
      for (const v1::Evidence& evidence : bundle.evidence()) {
        out.set_evidence_total(out.evidence_total() + 1);
        if (static_cast<std::size_t>(out.evidence_size()) == bounds.evidence_max) continue;
        v1::EvidenceRow& row = *out.add_evidence();
        Fill(context.evidence, digests, side, bundle, evidence, row);
        if (!evidence.has_problem()) continue;
        MessageArgs args;
        for (const auto& [name, value] : evidence.problem().args()) args.emplace_back(name, DisplayBytes(value));
        *row.mutable_problem() = context.rules.messages.Say(evidence.problem().id(), args);
      }
    }
  }
}

}  // namespace paritect
