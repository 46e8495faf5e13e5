#include "client/report/meta.h"

#include "absl/strings/numbers.h"
#include "client/command.h"
#include "common/version.h"

namespace paritect {

v1::ReportMeta MetaOfNow(const CommandEnv& env) {
  v1::ReportMeta meta;
  std::int64_t seconds = 0;
  const bool given =
      absl::SimpleAtoi(env.getenv("SOURCE_DATE_EPOCH"), &seconds) && seconds >= 0 && seconds < std::int64_t{1} << 40;
  meta.set_at_unix_ms(given ? seconds * 1000 : env.now_unix_ms());
  meta.set_host(env.host_name);
  meta.set_version(std::string(kProgramVersion));
  return meta;
}

}  // namespace paritect
