#include "formats/weights/random_bytes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace paritect {
namespace {

using absl::StrCat;

class FileBytes final : public RandomBytes {
 public:
  FileBytes(std::string name, std::unique_ptr<File> file, const FileInfo& info)
      : RandomBytes(std::move(name), info.size_bytes), file_(std::move(file)), at_open_(info) {}

  absl::Status CheckUnchanged() override {
    PARITECT_ASSIGN_OR_RETURN(const FileInfo now, file_->Info());
    if (now.size_bytes == at_open_.size_bytes && now.mtime_ns == at_open_.mtime_ns) return absl::OkStatus();
    return absl::AbortedError(StrCat(DisplayBytes(name()), ": the file changed while it was read (",
                                     at_open_.size_bytes, " bytes before, ", now.size_bytes,
                                     " now): wait until it is written and read it again"));
  }
  int Descriptor() const override { return file_->Descriptor(); }

 private:
  absl::Status ReadInside(std::uint64_t offset, absl::Span<char> buffer) override {
    PARITECT_ASSIGN_OR_RETURN(const std::size_t got, file_->ReadAt(offset, buffer));
    if (got == buffer.size()) return absl::OkStatus();
    PARITECT_RETURN_IF_ERROR(CheckUnchanged());
    return absl::DataLossError(
        StrCat(DisplayBytes(name()), ": ", buffer.size(), " bytes wanted at ", offset, ", ", got, " read"));
  }

  std::unique_ptr<File> file_;
  FileInfo at_open_;
};

class PartBytes final : public RandomBytes {
 public:
  PartBytes(SharedBytes whole, std::uint64_t offset, std::uint64_t size)
      : RandomBytes(whole->name(), size), whole_(std::move(whole)), offset_(offset) {}

  absl::Status CheckUnchanged() override { return whole_->CheckUnchanged(); }

 private:
  absl::Status ReadInside(std::uint64_t offset, absl::Span<char> buffer) override {
    return whole_->Read(offset_ + offset, buffer);
  }

  SharedBytes whole_;
  std::uint64_t offset_;
};

class MemoryBytes final : public RandomBytes {
 public:
  MemoryBytes(std::string name, std::string bytes)
      : RandomBytes(std::move(name), bytes.size()), bytes_(std::move(bytes)) {}

 private:
  absl::Status ReadInside(std::uint64_t offset, absl::Span<char> buffer) override {
    std::copy_n(bytes_.data() + offset, buffer.size(), buffer.data());
    return absl::OkStatus();
  }

  std::string bytes_;
};

}  // namespace

absl::Status RandomBytes::Read(std::uint64_t offset, absl::Span<char> buffer) {
  if (offset > size_ || buffer.size() > size_ - offset) {
    return absl::DataLossError(StrCat(DisplayBytes(name_), ": ", buffer.size(), " bytes wanted at ", offset,
                                      ", there are ", size_, " in all (file cut off?)"));
  }
  return buffer.empty() ? absl::OkStatus() : ReadInside(offset, buffer);
}

absl::StatusOr<std::string> RandomBytes::ReadText(std::uint64_t offset, std::uint64_t length,
                                                  std::uint64_t length_max) {
  if (offset > size_ || length > size_ - offset) {
    return absl::DataLossError(StrCat(DisplayBytes(name_), ": ", length, " bytes wanted at ", offset, ", there are ",
                                      size_, " in all (file cut off?)"));
  }
  if (length > length_max) {
    return absl::ResourceExhaustedError(
        StrCat(DisplayBytes(name_), ": ", length, " bytes at ", offset, ", at most ", length_max, " are read"));
  }
  std::string text(static_cast<std::size_t>(length), '\0');
  PARITECT_RETURN_IF_ERROR(Read(offset, absl::MakeSpan(text.data(), text.size())));
  return text;
}

absl::StatusOr<SharedBytes> OpenRandomBytes(FileSystem& fs, const std::string& path) {
  PARITECT_ASSIGN_OR_RETURN(std::unique_ptr<File> file, fs.Open(path));
  PARITECT_ASSIGN_OR_RETURN(const FileInfo info, file->InfoAtOpen());
  return SharedBytes(std::make_shared<FileBytes>(path, std::move(file), info));
}

absl::StatusOr<SharedBytes> PartOfBytes(SharedBytes whole, std::uint64_t offset, std::uint64_t size) {
  if (offset > whole->size() || size > whole->size() - offset) {
    return absl::DataLossError(StrCat(DisplayBytes(whole->name()), ": a part of ", size, " bytes at ", offset,
                                      " is stated, there are ", whole->size(), " in all (file cut off?)"));
  }
  return SharedBytes(std::make_shared<PartBytes>(std::move(whole), offset, size));
}

SharedBytes BytesInMemory(std::string name, std::string bytes) {
  return std::make_shared<MemoryBytes>(std::move(name), std::move(bytes));
}

}  // namespace paritect
