#include "agent/harmless.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/errno_status.h"
#include "common/numbers.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace paritect {
namespace {

// linux/ioprio.h; glibc has no wrapper.
constexpr int kIoprioWhoProcess = 1;
constexpr int kIoprioClassIdle = 3;
constexpr int kIoprioClassShift = 13;

constexpr double kBurstSeconds = 0.25;
constexpr std::uint64_t kSlowestBytesPerSecond = 1024;
constexpr std::size_t kReadBytesMin = 4096;
constexpr std::size_t kReadBytesMax = 4 << 20;

BandwidthLimit::Clock RealClock() {
  return {[] { return absl::Now(); }, [](absl::Duration time) { absl::SleepFor(time); }};
}

// The factor of "", "K", "KB", "KiB", ...; 0 for what is no unit.
double FactorOf(absl::string_view unit) {
  if (unit.empty() || unit == "b") return 1;
  static constexpr absl::string_view kLetters = "kmgt";
  const std::size_t power = kLetters.find(unit[0]);
  if (power == absl::string_view::npos) return 0;
  const absl::string_view rest = unit.substr(1);
  if (rest == "b") return std::pow(1000, power + 1);
  return rest.empty() || rest == "ib" || rest == "i" ? std::pow(1024, power + 1) : 0;
}

}  // namespace

std::vector<std::string> BecomeHarmless(int nice) {
  std::vector<std::string> refused;
  if (setpriority(PRIO_PROCESS, 0, std::clamp(nice, 0, 19)) != 0) {
    refused.push_back(absl::StrCat("nice ", nice, ": ", ErrnoText(errno)));
  }
  if (syscall(SYS_ioprio_set, kIoprioWhoProcess, 0, kIoprioClassIdle << kIoprioClassShift) != 0) {
    refused.push_back(absl::StrCat("idle I/O class: ", ErrnoText(errno)));
  }
  return refused;
}

absl::StatusOr<std::uint64_t> ParseBandwidth(absl::string_view text) {
  const std::string word = absl::AsciiStrToLower(absl::StripAsciiWhitespace(text));
  if (word == "none" || word == "unlimited") return 0;
  const std::size_t end = std::min(word.find_first_not_of("0123456789."), word.size());
  const absl::string_view unit = absl::StripLeadingAsciiWhitespace(absl::string_view(word).substr(end));
  const auto number = ParseDouble(word.substr(0, end));
  const double factor = FactorOf(unit);
  if (!number || factor == 0) {
    return absl::InvalidArgumentError(absl::StrCat("'", DisplayBytes(text), "' is no bandwidth; \"200M\" is"));
  }
  const double bytes = *number * factor;
  if (bytes == 0) return 0;
  if (bytes < kSlowestBytesPerSecond || bytes > 1e18) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", DisplayBytes(text), "': a bandwidth is at least 1K bytes a second; 0 is no limit"));
  }
  return static_cast<std::uint64_t>(bytes);
}

BandwidthLimit::BandwidthLimit(std::uint64_t bytes_per_second) : BandwidthLimit(bytes_per_second, RealClock()) {}

BandwidthLimit::BandwidthLimit(std::uint64_t bytes_per_second, Clock clock)
    : rate_(bytes_per_second),
      clock_(std::move(clock)),
      free_(static_cast<double>(bytes_per_second) * kBurstSeconds),
      filled_(clock_.now()) {}

void BandwidthLimit::Take(std::uint64_t bytes) {
  if (rate_ == 0 || bytes == 0) return;
  absl::Duration wait;
  {
    absl::MutexLock lock(&mutex_);
    const absl::Time now = clock_.now();
    const double rate = static_cast<double>(rate_);
    // A clock that was set back gives nothing and takes nothing.
    const double passed = std::max(0.0, absl::ToDoubleSeconds(now - filled_));
    filled_ = now;
    free_ = std::min(free_ + passed * rate, rate * kBurstSeconds) - static_cast<double>(bytes);
    if (free_ >= 0) return;
    wait = absl::Seconds(-free_ / rate);
  }
  clock_.sleep(wait);
}

std::size_t BandwidthLimit::ReadBytesMax() const {
  if (rate_ == 0) return kReadBytesMax;
  return static_cast<std::size_t>(std::clamp<std::uint64_t>(rate_ / 16, kReadBytesMin, kReadBytesMax));
}

namespace {

class LimitedFile : public File {
 public:
  LimitedFile(std::unique_ptr<File> file, BandwidthLimit& limit) : file_(std::move(file)), limit_(limit) {}

  absl::StatusOr<std::size_t> Read(absl::Span<char> buffer) override {
    PARITECT_ASSIGN_OR_RETURN(std::size_t n, file_->Read(buffer.subspan(0, limit_.ReadBytesMax())));
    limit_.Take(n);
    return n;
  }
  absl::StatusOr<std::size_t> ReadAt(std::uint64_t offset, absl::Span<char> buffer) override {
    std::size_t done = 0;
    while (done < buffer.size()) {
      const std::size_t wanted = std::min<std::size_t>(buffer.size() - done, limit_.ReadBytesMax());
      PARITECT_ASSIGN_OR_RETURN(std::size_t n, file_->ReadAt(offset + done, buffer.subspan(done, wanted)));
      limit_.Take(n);
      done += n;
      if (n < wanted) break;
    }
    return done;
  }
  absl::StatusOr<std::uint64_t> SkipHole() override { return file_->SkipHole(); }
  absl::StatusOr<FileInfo> Info() override { return file_->Info(); }
  absl::StatusOr<FileInfo> InfoAtOpen() override { return file_->InfoAtOpen(); }
  int Descriptor() const override { return file_->Descriptor(); }
  absl::Status Charge(std::uint64_t bytes) override {
    PARITECT_RETURN_IF_ERROR(file_->Charge(bytes));
    limit_.Take(bytes);
    return absl::OkStatus();
  }

 private:
  const std::unique_ptr<File> file_;
  BandwidthLimit& limit_;
};

class LimitedFolder : public Folder {
 public:
  LimitedFolder(std::unique_ptr<Folder> folder, BandwidthLimit& limit) : folder_(std::move(folder)), limit_(limit) {}

  absl::Status List(absl::FunctionRef<void(const DirectoryEntry&)> entry) override { return folder_->List(entry); }
  absl::StatusOr<FileInfo> Stat(const std::string& name) override { return folder_->Stat(name); }
  absl::StatusOr<FileInfo> LStat(const std::string& name) override { return folder_->LStat(name); }
  absl::StatusOr<std::string> ReadLink(const std::string& name) override { return folder_->ReadLink(name); }
  absl::StatusOr<std::unique_ptr<File>> Open(const std::string& name) override {
    PARITECT_ASSIGN_OR_RETURN(std::unique_ptr<File> file, folder_->Open(name));
    return std::make_unique<LimitedFile>(std::move(file), limit_);
  }
  absl::StatusOr<std::unique_ptr<Folder>> OpenFolder(const std::string& name) override {
    PARITECT_ASSIGN_OR_RETURN(std::unique_ptr<Folder> folder, folder_->OpenFolder(name));
    return std::make_unique<LimitedFolder>(std::move(folder), limit_);
  }

 private:
  const std::unique_ptr<Folder> folder_;
  BandwidthLimit& limit_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<File>> LimitedFileSystem::Open(absl::string_view path) {
  PARITECT_ASSIGN_OR_RETURN(std::unique_ptr<File> file, base_.Open(path));
  return std::make_unique<LimitedFile>(std::move(file), limit_);
}

absl::StatusOr<std::unique_ptr<Folder>> LimitedFileSystem::OpenFolder(absl::string_view path) {
  PARITECT_ASSIGN_OR_RETURN(std::unique_ptr<Folder> folder, base_.OpenFolder(path));
  return std::make_unique<LimitedFolder>(std::move(folder), limit_);
}

}  // namespace paritect
