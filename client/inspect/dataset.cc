// paritect inspect --as dataset: the files of a folder or of a list.
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/datasets/follow_up.h"
#include "client/diff/dataset_lists.h"
#include "client/inspector.h"
#include "common/digest.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/datasets/manifest.h"

namespace paritect {
namespace {

bool Recognises(absl::string_view path, bool is_folder, absl::string_view head) {
  if (is_folder) return true;
  // A configuration may hold a digest, too: an object needs the words of a list.
  const bool object = absl::StartsWith(absl::StripLeadingAsciiWhitespace(head), "{");
  if (object && !absl::StrContains(head, "\"files\"") && !absl::StrContains(head, "\"relpath\"") &&
      !absl::StrContains(head, "\"Hashes\"") && !absl::StrContains(head, "\"etag\"")) {
    return false;
  }
  return LooksLikeManifest(head, path);
}

constexpr std::size_t kRecordFilesMax = 10'000;
constexpr std::uint64_t kRecordBytesMax = 1ull << 30;

const char* HintWord(int hint) {
  switch (hint) {
    case v1::FILE_HINT_EMPTY: return "empty_file";
    case v1::FILE_HINT_LFS_POINTER: return "lfs_pointer";
    case v1::FILE_HINT_LFS_POINTER_DAMAGED: return "lfs_pointer_damaged";
    case v1::FILE_HINT_HTML_PAGE: return "html_page";
    case v1::FILE_HINT_OS_JUNK: return "os_junk";
    case v1::FILE_HINT_UNFINISHED_TRANSFER: return "unfinished_transfer";
    case v1::FILE_HINT_EMPTY_ARCHIVE: return "empty_archive";
    case v1::FILE_HINT_DANGLING_LINK: return "dangling_link";
    case v1::FILE_HINT_LINK_LOOP: return "link_loop";
    case v1::FILE_HINT_CHANGED_WHILE_READ: return "changed_while_read";
    case v1::FILE_HINT_PARTIAL_ARCHIVE: return "partial_archive";
    default: return "";
  }
}

void PutPath(absl::string_view path, OrderedJson& json) {
  if (IsValidUtf8(path)) {
    json["path"] = std::string(path);
  } else {
    json["path_b64"] = absl::Base64Escape(path);
  }
}

OrderedJson FileToJson(const CommandEnv& env, const v1::FileEntry& file) {
  OrderedJson json;
  PutPath(file.path(), json);
  if (file.has_size_bytes()) json["size"] = file.size_bytes();
  json["md5"] = file.md5().empty() ? OrderedJson(nullptr) : OrderedJson(ToHex(file.md5()));
  // Lines of a plain text are no records of their own.
  if (file.has_records() && file.record_look().format() != "text") json["records"] = file.records();
  std::vector<std::string> hints;
  for (int hint : file.hints()) {
    if (*HintWord(hint) != '\0') hints.emplace_back(HintWord(hint));
  }
  if (!hints.empty()) json["hint"] = hints.front();
  if (hints.size() > 1) json["hints"] = hints;
  if (!file.link_target().empty()) json["link"] = DisplayBytes(file.link_target());
  if (file.has_error()) {
    const MessageArgs args(file.error().args().begin(), file.error().args().end());
    json["error"] = env.rules.messages.Say(file.error().id(), args).en();
  }
  return json;
}

bool IsFile(const v1::FileEntry& file) {
  return file.type() == v1::FILE_TYPE_REGULAR;
}

const char* TypeWord(const v1::FileEntry& file) {
  switch (file.type()) {
    case v1::FILE_TYPE_SYMLINK: return "link";
    case v1::FILE_TYPE_DIRECTORY: return "empty_folder";
    default: return "special";
  }
}

OrderedJson Summary(const CommandEnv& env, const v1::FileList& list) {
  OrderedJson json;
  std::int64_t files = 0;
  std::uint64_t bytes = 0;
  std::map<std::string, int> hints;
  const v1::FileEntry* first = nullptr;
  const v1::FileEntry* last = nullptr;
  for (const v1::FileEntry& file : list.files()) {
    for (int hint : file.hints()) ++hints[HintWord(hint)];
    if (!IsFile(file)) continue;
    ++files;
    bytes += file.size_bytes();
    if (first == nullptr) first = &file;
    last = &file;
  }
  json["files"] = files;
  json["bytes"] = bytes;
  for (const auto& [hint, count] : hints) {
    if (!hint.empty()) json["hints"][hint] = count;
  }
  if (first != nullptr) json["first"] = FileToJson(env, *first);
  if (last != nullptr) json["last"] = FileToJson(env, *last);
  return json;
}

OrderedJson ListToJson(const CommandEnv& env, const InspectRequest& request, const v1::FileList& list) {
  OrderedJson json;
  json["format"] = list.format();
  json["notes"] = OrderedJson::array();
  for (const v1::Note& note : list.notes()) {
    if (note.kind() != "list_md5") json["notes"].push_back(NoteToJson(note));  // what any tool tells of the file
  }
  for (const ListGap& gap : GapsOf(env, list)) json["notes"].push_back({{"kind", gap.id}, {"message", gap.text.en()}});
  if (request.summary) {
    json["summary"] = Summary(env, list);
  } else {
    json["files"] = OrderedJson::array();
    OrderedJson others = OrderedJson::array();
    for (const v1::FileEntry& file : list.files()) {
      if (IsFile(file)) {
        json["files"].push_back(FileToJson(env, file));
        continue;
      }
      OrderedJson other = FileToJson(env, file);
      other.erase("md5");
      other["type"] = TypeWord(file);
      others.push_back(std::move(other));
    }
    if (!others.empty()) json["others"] = std::move(others);
  }
  const bool whole = list.incomplete_size() == 0 && list.unread_folders_size() == 0;
  const std::string digest = whole ? ListingDigest(list) : "";
  json["digest"] = digest.empty() ? OrderedJson(nullptr) : OrderedJson(absl::StrCat("md5:", ToHex(digest)));
  return json;
}

OrderedJson UnknownToJson(const std::string& message) {
  OrderedJson json;
  json["format"] = "unknown";
  v1::Note note;
  note.set_kind("not_recognised");
  note.set_message(message);
  json["notes"] = OrderedJson::array({NoteToJson(note)});
  json["files"] = OrderedJson::array();
  return json;
}

// Names without digests: the order in which a folder is enumerated.
OrderedJson ListingToJson(const InspectRequest& request, const v1::DirectoryListing& listing) {
  OrderedJson json;
  json["format"] = "listing";
  json["notes"] = OrderedJson::array();
  if (request.summary) {
    json["summary"] = {{"files", listing.names_size()}};
    return json;
  }
  json["files"] = OrderedJson::array();
  for (const std::string& name : listing.names()) {
    OrderedJson file;
    PutPath(name, file);
    json["files"].push_back(std::move(file));
  }
  json["digest"] = nullptr;
  return json;
}

absl::StatusOr<OrderedJson> Inspect(CommandEnv& env, const InspectRequest& request) {
  const std::string& path = request.files[0];
  PARITECT_ASSIGN_OR_RETURN(FileInfo info, env.fs.Stat(path));
  if (info.type == FileInfo::Type::kDirectory) {
    PARITECT_ASSIGN_OR_RETURN(v1::FileList list, ReadDatasetTree(env, path, TreeOptions(), HashOptions()));
    RecordLooks looks(env.fs, list, kRecordFilesMax, kRecordBytesMax);
    for (v1::FileEntry& file : *list.mutable_files()) looks.Add(file);
    return ListToJson(env, request, list);
  }
  if (info.size_bytes == 0) return UnknownToJson("an empty file");
  auto list = ReadDatasetManifest(env, path);
  if (list.ok()) return ListToJson(env, request, *list);
  if (!absl::IsInvalidArgument(list.status())) return list.status();
  PARITECT_ASSIGN_OR_RETURN(std::string bytes, ReadWholeFile(env.fs, path, kManifestFileBytesMax));
  const bool controls = absl::string_view(bytes).find_first_of(
                            absl::string_view("\x01\x02\x03\x04\x05\x06\x0E\x0F\x10", 9)) != absl::string_view::npos;
  if (controls) return UnknownToJson("neither a folder nor a list of files: binary content");
  return ListingToJson(request, ParseListing(bytes));
}

}  // namespace

extern const Inspector kDatasetInspector;
const Inspector kDatasetInspector = {"dataset", &Recognises, &Inspect};

}  // namespace paritect
