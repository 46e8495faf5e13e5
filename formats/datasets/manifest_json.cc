// Lists as JSON: {"files": [...]} (own form), a list of objects (DVC .dir, rclone lsjson), a map from name to
// digest or object, JSON Lines.
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/digest.h"
#include "common/document.h"
#include "common/status_macros.h"
#include "formats/datasets/list_fields.h"
#include "formats/datasets/manifest_builder.h"

namespace paritect {
namespace {

using absl::string_view;

constexpr DocumentLimits kLimits = {.bytes_max = 512 << 20, .nodes_max = 16'000'000, .depth_max = 16};

// Whether the object at the beginning states a digest under a key of that meaning.
bool StatesDigest(string_view head) {
  while (true) {
    const auto open = head.find('"');
    const auto close = open == string_view::npos ? open : head.find('"', open + 1);
    if (close == string_view::npos) return false;
    const string_view key = head.substr(open + 1, close - open - 1);
    head.remove_prefix(close + 1);
    string_view rest = absl::StripLeadingAsciiWhitespace(head);
    if (!absl::ConsumePrefix(&rest, ":")) continue;
    rest = absl::StripLeadingAsciiWhitespace(rest);
    if (!absl::ConsumePrefix(&rest, "\"") || ListColumnOf(key) != ListColumn::kDigest) continue;
    if (IsDigestText(rest.substr(0, rest.find('"')))) return true;
  }
}

bool FitsJson(string_view head, string_view) {
  head = absl::StripLeadingAsciiWhitespace(head);
  if (head.empty() || (head.front() != '{' && head.front() != '[')) return false;
  const std::string lower = absl::AsciiStrToLower(head);
  for (string_view word : {"\"md5\"", "\"md5sum\"", "\"relpath\"", "\"path_b64\"", "\"sha256\"", "\"etag\""}) {
    if (absl::StrContains(lower, word)) return true;
  }
  if (absl::StrContains(lower, "\"path\"") && absl::StrContains(lower, "\"size\"")) return true;
  if (StatesDigest(head)) return true;
  // {"name": "32 hexadecimal digits"}
  const auto colon = head.find(':');
  const auto quote = colon == string_view::npos ? colon : head.find('"', colon);
  return quote != string_view::npos && head.size() > quote + 33 && head[quote + 33] == '"' &&
         head.find_first_not_of("0123456789abcdefABCDEF", quote + 1) == quote + 33;
}

const DocumentNode* FindAny(const DocumentNode& node, absl::Span<const string_view> keys) {
  for (string_view key : keys) {
    if (const DocumentNode* found = node.Find(key)) return found;
  }
  return nullptr;
}

constexpr int kMembersDepthMax = 3;

bool IsContent(ListColumn column) {
  return column == ListColumn::kDigest || column == ListColumn::kEtag || column == ListColumn::kSha256 ||
         column == ListColumn::kSize;
}

// The members of one file's object; of objects within it (rclone's "Hashes", az's "properties", the "lfs" of a hub)
// what they tell of the content.
bool PutMembers(const DocumentNode& node, int depth, ListFields& fields) {
  bool ok = true;
  for (const auto& [key, value] : node.fields) {
    if (value.is_map() && depth < kMembersDepthMax) {
      ok = PutMembers(value, depth + 1, fields) && ok;
      continue;
    }
    const ListColumn column = ListColumnOf(key.text);
    if (!value.is_scalar() || value.text.empty() || value.text == "null") continue;
    if (depth == 0 || IsContent(column)) ok = fields.Put(column, value.text) && ok;
  }
  return ok;
}

// The keys of one file's object. False: it has no name or a value of no known form.
bool ReadObject(const DocumentNode& node, ManifestFile& file) {
  if (!node.is_map()) return false;
  // rclone lists folders too, with a size of -1.
  const DocumentNode* folder = node.Find("IsDir");
  ListFields fields;
  if (folder != nullptr && folder->text == "true") {
    if (const DocumentNode* path = FindAny(node, {"Path", "Name"})) file.path = path->text;
    file.directory = true;
    return !file.path.empty();
  }
  if (!PutMembers(node, 0, fields)) return false;
  auto read = fields.Finish();
  if (!read) return false;
  file = *std::move(read);
  const bool key = FindAny(node, {"Key", "key"}) != nullptr;
  const bool stated = !file.md5.empty() || !file.sha256.empty();
  file.directory = file.directory || (absl::EndsWith(file.path, "/") && (key || !stated));
  // Under a key of the store's own the ETag is no MD5 (Amazon S3 API, Object: ETag).
  const DocumentNode* sse = FindAny(node, {"ServerSideEncryption", "SSEKMSKeyId", "x-oss-server-side-encryption"});
  const bool kms = sse != nullptr &&
                   (absl::StrContains(absl::AsciiStrToLower(sse->text), "kms") || node.Find("SSEKMSKeyId") != nullptr);
  if (kms && file.etag) {
    file.multipart = true;
    file.md5.clear();
  }
  return true;
}

// Keys of a listing that was asked for with EncodingType=url: %XX, and '+' for a blank.
bool DecodeUrl(std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i] == '+' ? ' ' : text[i]);
      continue;
    }
    const auto byte = i + 2 < text.size() ? FromHex(string_view(text).substr(i + 1, 2)) : std::nullopt;
    if (!byte) return false;
    out += *byte;
    i += 2;
  }
  text = std::move(out);
  return true;
}

void ReadOne(const DocumentNode& node, bool url, ManifestBuilder& sink) {
  ManifestFile file;
  const bool ok = ReadObject(node, file);
  if (!ok || (url && !DecodeUrl(file.path))) {
    sink.BadLine(node.line, file.path.empty() ? "an object without a name" : file.path, false);
  } else if (!file.directory) {
    file.exact_name = file.exact_name || url;
    sink.Add(std::move(file));
  }
}

// An object whose key is the file's name.
bool ReadNamed(const DocumentNode& node, const std::string& name, ManifestFile& file) {
  ListFields fields;
  bool ok = PutMembers(node, 0, fields);
  fields.Put(ListColumn::kPath, name);
  if (auto read = ok ? fields.Finish() : std::nullopt) {
    file = *std::move(read);
  } else {
    ok = false;
  }
  file.path = name;
  return ok;
}

void ReadMap(const DocumentNode& root, ManifestBuilder& sink) {
  for (const auto& [key, value] : root.fields) {
    ManifestFile file;
    file.path = key.text;
    const bool ok = value.is_scalar() ? SetAnyDigest(value.text, "", file) : ReadNamed(value, key.text, file);
    if (ok || value.is_map()) {
      sink.Add(std::move(file));
    } else {
      sink.BadLine(key.line, key.text, false);
    }
  }
}

absl::Status ReadJsonLines(string_view text, ManifestBuilder& sink) {
  const std::vector<TextLine> lines = SplitLines(text);
  for (const TextLine& line : lines) {
    if (absl::StripAsciiWhitespace(line.text).empty()) continue;
    auto node = ParseJson(line.text, kLimits);
    ManifestFile file;
    if (!node.ok() || !ReadObject(*node, file)) {
      sink.BadLine(line.number, line.text, line.open);
      continue;
    }
    if (!file.directory) sink.Add(std::move(file));
  }
  return sink.size() == 0 ? absl::InvalidArgumentError("no object with a name") : absl::OkStatus();
}

// A document that is cut, or broken within: the files whose object stands on a line of its own (our form, rclone's) are
// still what it names.
absl::Status ReadBrokenJson(string_view text, ManifestBuilder& sink) {
  const std::vector<TextLine> lines = SplitLines(text);
  for (const TextLine& line : lines) {
    string_view object = absl::StripAsciiWhitespace(line.text);
    absl::ConsumeSuffix(&object, ",");
    if (!absl::StartsWith(object, "{")) continue;
    const auto node = ParseJson(object, kLimits);
    ManifestFile file;
    if (node.ok() && ReadObject(*node, file) && !file.directory) sink.Add(std::move(file));
  }
  sink.BadLine(lines.back().number, lines.back().text, true);
  return absl::OkStatus();
}

bool IsJsonLines(string_view text) {
  const string_view first = absl::StripAsciiWhitespace(text.substr(0, text.find('\n')));
  return absl::StartsWith(first, "{") && ParseJson(first, kLimits).ok();
}

// A bucket's listing says so where more follows; aws and gsutil leave "IsTruncated" away when they stop by themselves.
void SayMore(const DocumentNode& root, ManifestBuilder& sink) {
  const DocumentNode* more = root.Find("IsTruncated");
  if (more != nullptr && more->text == "true") sink.BadLine(more->line, "IsTruncated: true", false);
  const DocumentNode* folders = root.Find("CommonPrefixes");
  if (folders != nullptr && folders->is_list() && !folders->items.empty()) {
    sink.BadLine(folders->line, "CommonPrefixes: what stands below them is not listed", false);
  }
  for (string_view key : {"NextToken", "NextContinuationToken", "NextMarker", "NextKeyMarker", "nextPageToken"}) {
    const DocumentNode* token = root.Find(key);
    if (token == nullptr || !token->is_scalar() || token->text.empty() || token->text == "null") continue;
    sink.BadLine(token->line, absl::StrCat(key, ": ", token->text), false);
  }
}

// The member that lists the files: by its name, or the first list of objects that state a name and a digest.
const DocumentNode* FilesOf(const DocumentNode& root) {
  if (const DocumentNode* known = FindAny(root, {"files", "Contents"})) return known;
  for (const auto& [key, value] : root.fields) {
    ManifestFile file;
    if (!value.is_list() || value.items.empty() || !ReadObject(value.items[0], file)) continue;
    if (!file.md5.empty() || !file.sha256.empty() || file.etag) return &value;
  }
  return nullptr;
}

absl::Status ReadJson(string_view text, ManifestBuilder& sink) {
  auto root = ParseJson(text, kLimits);
  if (!root.ok()) return IsJsonLines(text) ? ReadJsonLines(text, sink) : ReadBrokenJson(text, sink);
  // A bucket's listing: {"Contents": [{"Key", "Size", "ETag"}]}; cut where it says so.
  const DocumentNode* files = root->is_list() ? &*root : FilesOf(*root);
  SayMore(*root, sink);
  const DocumentNode* encoding = root->Find("EncodingType");
  const bool url = encoding != nullptr && encoding->text == "url";
  if (files != nullptr && files->is_list()) {
    for (const DocumentNode& one : files->items) ReadOne(one, url, sink);
    if (const DocumentNode* prefix = root->Find("incomplete"); prefix != nullptr && prefix->text == "true") {
      sink.BadLine(prefix->line, "incomplete: true", false);
    }
  } else if (files != nullptr && files->is_map()) {
    ReadMap(*files, sink);
  } else if (root->Find("path") != nullptr || root->Find("relpath") != nullptr) {
    ReadOne(*root, false, sink);
  } else {
    ReadMap(*root, sink);
  }
  return absl::OkStatus();
}

}  // namespace

const ManifestForm kJsonForm = {"manifest-json", &FitsJson, &ReadJson};

}  // namespace paritect
