#include "common/pki/identity.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/digest.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr absl::string_view kScheme = "paritect://";
constexpr std::size_t kCommonNameBytesMax = 64;  // ub-common-name, RFC 5280 appendix A
constexpr std::size_t kShownBytesMax = 60;

bool IsAlphanumeric(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c));
}
bool IsNameByte(char c) {
  return IsAlphanumeric(c) || absl::StrContains("._-@+", absl::string_view(&c, 1));
}
// RFC 3986, section 2.3.
bool IsUnreserved(char c) {
  return IsAlphanumeric(c) || absl::StrContains("._-~", absl::string_view(&c, 1));
}

std::string Shown(absl::string_view name) {
  if (name.size() <= kShownBytesMax) return DisplayBytes(name);
  return absl::StrCat(DisplayBytes(name.substr(0, kShownBytesMax)), "...");
}

absl::StatusOr<std::string> PercentDecode(absl::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const auto byte = FromHex(text.substr(i + 1, 2));
    if (!byte || byte->size() != 1) return absl::InvalidArgumentError("a '%' without two hexadecimal digits");
    out += *byte;
    i += 2;
  }
  return out;
}

}  // namespace

absl::Status CheckName(absl::string_view name) {
  if (name.empty()) return absl::InvalidArgumentError("the name is empty");
  if (name.size() > kNameBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("the name '", Shown(name), "' has ", name.size(), " bytes; at most ", kNameBytesMax));
  }
  for (const char c : name) {
    if (IsNameByte(c)) continue;
    return absl::InvalidArgumentError(absl::StrCat("the name '", Shown(name), "' holds '",
                                                   DisplayBytes(absl::string_view(&c, 1)),
                                                   "'; allowed are letters, digits and . _ - @ +"));
  }
  if (!IsAlphanumeric(name.front())) {
    return absl::InvalidArgumentError(absl::StrCat("the name '", Shown(name), "' must begin with a letter or a digit"));
  }
  return absl::OkStatus();
}

std::string IdentityUri(const Identity& identity) {
  std::string uri = absl::StrCat(kScheme, RoleName(identity.role), "/");
  for (const char c : identity.name) {
    if (IsUnreserved(c)) {
      uri += c;
    } else {
      absl::StrAppend(&uri, "%", absl::AsciiStrToUpper(ToHex(absl::string_view(&c, 1))));
    }
  }
  return uri;
}

absl::StatusOr<Identity> ParseIdentityUri(absl::string_view uri) {
  const auto bad = [uri](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("'", Shown(uri), "' is not paritect://ROLE/NAME: ", why));
  };
  if (!absl::StartsWith(uri, kScheme)) return bad("another scheme");
  const absl::string_view rest = uri.substr(kScheme.size());
  const std::size_t slash = rest.find('/');
  if (slash == absl::string_view::npos) return bad("no name");
  const auto role = ParseRole(rest.substr(0, slash));
  if (!role) return bad("unknown role");
  auto name = PercentDecode(rest.substr(slash + 1));
  if (!name.ok()) return bad(name.status().message());
  if (const absl::Status status = CheckName(*name); !status.ok()) return bad(status.message());
  Identity identity{*role, *std::move(name)};
  if (IdentityUri(identity) != uri) return bad("not in its normal spelling");
  return identity;
}

std::string DescribeIdentity(const Identity& identity) {
  return absl::StrCat(RoleName(identity.role), " ", identity.name);
}

std::string CommonNameOf(absl::string_view name) {
  if (name.size() <= kCommonNameBytesMax) return std::string(name);
  const std::string digest = ToHex(Sha256(name)).substr(0, 16);
  return absl::StrCat(name.substr(0, kCommonNameBytesMax - 1 - digest.size()), "~", digest);
}

}  // namespace paritect
