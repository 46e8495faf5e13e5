#include "formats/datasets/manifest.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/file_system.h"
#include "common/status_macros.h"
#include "formats/datasets/list_text.h"
#include "formats/datasets/manifest_builder.h"

namespace paritect {
namespace {

using absl::string_view;

constexpr std::size_t kHeadBytes = 64 << 10;

// In order of trial: the more particular first.
constexpr const ManifestForm* kForms[] = {&kHashdeepForm, &kMtreeForm,   &kJsonForm,    &kBagitForm,
                                          &kBsdForm,      &kLfsForm,     &kMd5sumForm,  &kCsvForm,
                                          &kBlocksForm,   &kBareCsvForm, &kColumnsForm, &kSfvForm};

// A list without tags is of MD5 where its digests have that length, unless its own name says another algorithm.
bool NamesOtherDigest(string_view file_name) {
  const std::string name = absl::AsciiStrToLower(BaseName(file_name));
  if (absl::StrContains(name, "md5")) return false;
  for (string_view word : {"md4", "md2", "blake2", "b2sum", "ripemd", "xxh128", "xxh3", "murmur"}) {
    if (absl::StrContains(name, word)) return true;
  }
  return absl::EndsWith(name, ".b2") || absl::EndsWith(name, ".xxh");
}

void ForgetMd5(v1::FileList& list) {
  for (v1::FileEntry& file : *list.mutable_files()) file.clear_md5();
  v1::Note& note = *list.add_notes();
  note.set_kind("no_md5");
  note.set_message("by its name this list is of another digest than MD5");
}

// The head at a line border, so that no form is judged by half a line.
string_view HeadOf(string_view text) {
  if (text.size() <= kHeadBytes) return text;
  const string_view head = text.substr(0, kHeadBytes);
  const auto end = head.rfind('\n');
  return end == string_view::npos ? head : head.substr(0, end + 1);
}

}  // namespace

bool LooksLikeManifest(string_view head, string_view file_name) {
  const std::string text = ListText(head).text;
  for (const ManifestForm* form : kForms) {
    if (form->fits(HeadOf(text), file_name)) return true;
  }
  return false;
}

absl::StatusOr<v1::FileList> ParseManifest(string_view bytes, string_view file_name) {
  const ReadableList readable = ListText(bytes);
  const std::string& text = readable.text;
  if (!readable.refused.empty()) return absl::InvalidArgumentError(readable.refused);
  absl::Status last = absl::InvalidArgumentError(
      "no line of a known list form (md5sum, BSD, hashdeep, BagIt, mtree, CSV, JSON, SFV, tables and blocks of tools)");
  for (const ManifestForm* form : kForms) {
    if (!form->fits(HeadOf(text), file_name)) continue;
    ManifestBuilder builder;
    const absl::Status status = form->read(text, builder);
    if (status.ok()) {
      if (readable.cut) builder.BadLine(SplitLines(text).back().number, "gzip: cut or damaged", true);
      // FCIV writes every name in lower case, whatever it is on the disk.
      if (absl::StrContains(HeadOf(text), kFcivMark)) {
        builder.AddNote(kLowerCaseNames, "FCIV writes every name in lower case: case is not compared");
      }
      if (readable.gbk) builder.AddNote("list_in_gbk", "the list is GBK text: its names were read as such");
      v1::FileList list = builder.Finish(form->format);
      if (NamesOtherDigest(file_name)) ForgetMd5(list);
      return list;
    }
    last = status;
  }
  return last;
}

v1::DirectoryListing ParseListing(string_view bytes) {
  const std::string text = ListText(bytes).text;
  const bool nul = text.find('\0') != std::string::npos;
  v1::DirectoryListing listing;
  for (const TextLine& line : SplitLines(text, nul ? '\0' : '\n')) {
    if (line.text.empty() || line.text == "." || line.text == "./") continue;
    listing.add_names(std::string(line.text));
  }
  std::vector<RawName> names;
  for (std::string& name : *listing.mutable_names()) names.push_back({&name});
  std::string root;
  UnifyNames(names, root);
  return listing;
}

}  // namespace paritect
