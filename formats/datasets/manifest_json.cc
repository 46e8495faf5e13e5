// Lists as JSON: {"files": [...]} (own form), a list of objects (DVC .dir, rclone lsjson), a map from name to
// digest or object, JSON Lines.
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/digest.h"
#include "common/document.h"
#include "common/status_macros.h"
#include "formats/datasets/manifest_builder.h"

namespace paritect {
namespace {

using absl::string_view;

constexpr DocumentLimits kLimits = {.bytes_max = 512 << 20, .nodes_max = 16'000'000, .depth_max = 16};

bool FitsJson(string_view head, string_view) {
  head = absl::StripLeadingAsciiWhitespace(head);
  if (head.empty() || (head.front() != '{' && head.front() != '[')) return false;
  const std::string lower = absl::AsciiStrToLower(head);
  for (string_view word : {"\"md5\"", "\"md5sum\"", "\"relpath\"", "\"path_b64\"", "\"sha256\"", "\"etag\""}) {
    if (absl::StrContains(lower, word)) return true;
  }
  if (absl::StrContains(lower, "\"path\"") && absl::StrContains(lower, "\"size\"")) return true;
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

// The keys of one file's object. False: it has no name or a value of no known form.
bool ReadObject(const DocumentNode& node, ManifestFile& file) {
  if (!node.is_map()) return false;
  if (const DocumentNode* path = FindAny(node, {"path", "relpath", "Path", "name", "file", "Key"}))
    file.path = path->text;
  if (const DocumentNode* raw = node.Find("path_b64")) {
    if (!absl::Base64Unescape(raw->text, &file.path)) return false;
    file.exact_name = true;
  }
  // rclone lists folders too, with a size of -1.
  const DocumentNode* folder = FindAny(node, {"IsDir"});
  const bool folder_key = node.Find("Key") != nullptr && absl::EndsWith(file.path, "/");
  file.directory = folder_key || (folder != nullptr && folder->text == "true");
  if (file.directory) return !file.path.empty();
  const DocumentNode* digests = FindAny(node, {"Hashes", "hashes"});
  for (const DocumentNode* from : {&node, digests}) {
    if (from == nullptr) continue;
    for (string_view key : {"md5", "MD5", "md5sum", "sha256", "SHA-256"}) {
      const DocumentNode* digest = from->Find(key);
      if (digest != nullptr && digest->is_scalar() && !digest->text.empty() && !SetDigest(digest->text, file))
        return false;
    }
  }
  const DocumentNode* etag = FindAny(node, {"ETag", "etag", "Etag"});
  if (etag != nullptr && file.md5.empty() && etag->is_scalar()) {
    // Under a key of the store's own the ETag is no MD5 (Amazon S3 API, Object: ETag).
    const DocumentNode* sse = FindAny(node, {"ServerSideEncryption", "SSEKMSKeyId", "x-oss-server-side-encryption"});
    const bool kms = sse != nullptr && (absl::StrContains(absl::AsciiStrToLower(sse->text), "kms") ||
                                        node.Find("SSEKMSKeyId") != nullptr);
    if (kms) {
      file.etag = file.multipart = true;
    } else if (!SetEtag(etag->text, file)) {
      return false;
    }
  }
  std::uint64_t number = 0;
  if (const DocumentNode* size = FindAny(node, {"size", "Size", "size_bytes", "bytes"});
      size != nullptr && size->is_scalar()) {
    if (!absl::SimpleAtoi(size->text, &number)) return false;
    file.size_bytes = number;
  }
  if (const DocumentNode* records = node.Find("records");
      records != nullptr && absl::SimpleAtoi(records->text, &number)) {
    file.records = number;
  }
  return !file.path.empty();
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

void ReadMap(const DocumentNode& root, ManifestBuilder& sink) {
  for (const auto& [key, value] : root.fields) {
    ManifestFile file;
    file.path = key.text;
    const bool ok = value.is_scalar() ? SetDigest(value.text, file) : ReadObject(value, file);
    if (!value.is_scalar()) file.path = key.text;
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

absl::Status ReadJson(string_view text, ManifestBuilder& sink) {
  auto root = ParseJson(text, kLimits);
  if (!root.ok()) return IsJsonLines(text) ? ReadJsonLines(text, sink) : ReadBrokenJson(text, sink);
  // A bucket's listing: {"Contents": [{"Key", "Size", "ETag"}]}; cut where it says so.
  const DocumentNode* files = root->is_list() ? &*root : FindAny(*root, {"files", "Contents"});
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
