#include "formats/weights/random_bytes.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/descriptor.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr std::size_t kCopyBlockBytes = 256 << 10;

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
  Place InFile() const override { return {file_->Descriptor(), 0}; }

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
  Place InFile() const override {
    const Place whole = whole_->InFile();
    return {whole.descriptor, whole.offset + offset_};
  }

 private:
  absl::Status ReadInside(std::uint64_t offset, absl::Span<char> buffer) override {
    return whole_->Read(offset_ + offset, buffer);
  }

  SharedBytes whole_;
  std::uint64_t offset_;
};

// In a file without a name, which goes when nobody holds it any more.
class NamelessBytes final : public RandomBytes {
 public:
  NamelessBytes(std::string name, std::uint64_t size, int descriptor)
      : RandomBytes(std::move(name), size), file_(descriptor) {}

  Place InFile() const override { return {file_.get(), 0}; }

 private:
  absl::Status ReadInside(std::uint64_t offset, absl::Span<char> buffer) override {
    while (!buffer.empty()) {
      const ssize_t got = pread(file_.get(), buffer.data(), buffer.size(), static_cast<off_t>(offset));
      if (got <= 0) return absl::InternalError(StrCat("read a copy of ", DisplayBytes(name())));
      offset += static_cast<std::uint64_t>(got);
      buffer.remove_prefix(static_cast<std::size_t>(got));
    }
    return absl::OkStatus();
  }

  Descriptor file_;
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

absl::StatusOr<SharedBytes> WithDescriptor(const SharedBytes& bytes, std::uint64_t bytes_max) {
  if (bytes->InFile().descriptor >= 0) return bytes;
  if (bytes->size() > bytes_max) {
    return absl::ResourceExhaustedError(StrCat(DisplayBytes(bytes->name()), ": ", bytes->size(), " bytes, at most ",
                                               bytes_max, " are copied for a program that reads them"));
  }
  const int descriptor = memfd_create("paritect", MFD_CLOEXEC);
  if (descriptor < 0) return absl::ErrnoToStatus(errno, "make a file in memory");
  const auto copy = std::make_shared<NamelessBytes>(bytes->name(), bytes->size(), descriptor);
  std::string block;
  for (std::uint64_t at = 0; at < bytes->size(); at += block.size()) {
    block.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kCopyBlockBytes, bytes->size() - at)));
    PARITECT_RETURN_IF_ERROR(bytes->Read(at, absl::MakeSpan(block.data(), block.size())));
    for (std::size_t done = 0; done < block.size();) {
      const ssize_t put = write(descriptor, block.data() + done, block.size() - done);
      if (put <= 0) return absl::ErrnoToStatus(errno, "copy into a file in memory");
      done += static_cast<std::size_t>(put);
    }
  }
  return SharedBytes(copy);
}

SharedBytes BytesInMemory(std::string name, std::string bytes) {
  return std::make_shared<MemoryBytes>(std::move(name), std::move(bytes));
}

}  // namespace paritect
